//! A Redis server of a test's own.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::answers;

/// A server that ends with the test.
pub(crate) struct Redis {
    child: Child,
    _home: TempDir,
    /// Where it listens.
    pub(crate) target: String,
}

impl Redis {
    /// A server on a free port, with more arguments, or `None` where there is none. CI must not skip.
    pub(crate) fn start(more: &[&str]) -> Option<Self> {
        let home = tempfile::tempdir().unwrap();
        let target = free_port();
        let port = target.rsplit(':').next().unwrap();
        let mut command = Command::new("redis-server");
        command.args(["--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]).args(more);
        let child = match command.current_dir(home.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
            Ok(child) => child,
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "redis-server: {error}; CI must not skip this");
                crate::common::skipped(format_args!("redis-server: {error}"));
                return None;
            }
        };
        let redis = Self { child, _home: home, target };
        let begun = Instant::now();
        while !answers(&redis.target) {
            assert!(begun.elapsed() < Duration::from_secs(10), "redis-server does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        Some(redis)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address at which nobody listened a moment ago.
pub(crate) fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}
