//! One server process: started inside its control groups, waited for, and ended.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_setfl};
use tiermark_load::{Address, Client, Target};
use tiermark_model::Refusal;
use tiermark_model::messages::tenants as messages;

use crate::scenario::{MemoryLimit, SERVER_OPTIONS};

/// Puts itself into the groups named before `--`, and becomes what is named after it: so that nothing that the server
/// ever does is outside of them. The kernel kills it before anything else that runs here.
pub(super) const ENTER: &str = "exec 2>&1; echo 1000 > /proc/self/oom_score_adj; \
                     while [ \"$1\" != -- ]; do echo $$ > \"$1/cgroup.procs\" || exit 97; shift; done; shift; exec \
                         \"$@\"";
/// A server without data answers within milliseconds; a machine that swaps may need longer.
const READY: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(10);
/// One answer of a server that has just started.
const ANSWER: Duration = Duration::from_secs(5);
/// Ports that are tried where any will do.
const ATTEMPTS: u32 = 5;
/// Words in a server's output that mean that the port is taken.
const TAKEN: &str = "Address already in use";
/// Words in a server's output that explain why it does not start.
const OUTPUT_MOST: usize = 2000;

/// A server's process.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    pub(super) target: Target,
}

/// How a server is started.
#[derive(Debug)]
pub(super) struct Start<'a> {
    /// Its program, and what stands before it (`numactl`-like).
    pub(super) program: &'a [String],
    /// Its groups' directories below the root.
    pub(super) groups: &'a [String],
    /// When it evicts keys, and which.
    pub(super) memory: MemoryLimit,
    /// The port; `None` takes one that is free.
    pub(super) port: Option<u16>,
    /// The tenant's number, from 0.
    pub(super) number: u32,
    /// Ends the wait for it when set.
    pub(super) stop: &'a AtomicBool,
}

impl Server {
    /// Starts one, and waits until it answers.
    ///
    /// # Errors
    /// A [`Refusal`]: the port is taken, the program does not exist, or it ends or does not answer, with its output.
    pub(super) fn start(start: &Start<'_>) -> Result<Self, Refusal> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match Self::attempt(start) {
                // Another program took the port between the check and the start.
                Err(refusal) if start.port.is_none() && attempts < ATTEMPTS && is_taken(&refusal) => {}
                other => return other,
            }
        }
    }

    fn attempt(start: &Start<'_>) -> Result<Self, Refusal> {
        let (port, password) = (free_port(start.port)?, password());
        let mut child = command(start, port)
            .spawn()
            .map_err(|why| messages::server_not_started(&start.program.join(" "), &why.to_string()))?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that ended already says why it did.
            let _ = writeln!(stdin, "requirepass {password}");
        }
        let target = Target {
            number: Some(u64::from(start.number)),
            password: Some(password),
            ..Target::new(Address::Tcp("127.0.0.1".to_owned(), port))
        };
        let mut server = Self { child, target };
        match server.wait_until_ready(start) {
            Ok(()) => {
                // No more output is read, and a server that logs a warning must not block on a full pipe.
                drop(server.child.stdout.take());
                Ok(server)
            }
            Err(refusal) => {
                server.end();
                Err(refusal)
            }
        }
    }

    fn wait_until_ready(&mut self, start: &Start<'_>) -> Result<(), Refusal> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.exited() {
                let output = self.output();
                return Err(messages::server_ended(start.number + 1, &status.to_string(), status.code(), &output));
            }
            match Client::connect(&self.target, ANSWER, start.stop) {
                Ok(_) => return Ok(()),
                Err(_) if start.stop.load(Ordering::Relaxed) => {
                    return Err(messages::server_start_stopped(start.number + 1));
                }
                Err(_) if begun.elapsed() < READY => thread::sleep(POLL),
                Err(refusal) => {
                    return Err(messages::server_silent(start.number + 1, READY.as_secs(), &refusal.why));
                }
            }
        }
    }

    /// The exit status; `None` while the server runs.
    fn exited(&mut self) -> Option<ExitStatus> {
        // `try_wait` fails only for a process that is no child of this one.
        self.child.try_wait().ok().flatten()
    }

    pub(super) fn has_ended(&mut self) -> bool {
        self.exited().is_some()
    }

    /// The server's output, to be read once it has ended.
    fn output(&mut self) -> String {
        let mut text = Vec::new();
        if let Some(out) = self.child.stdout.take() {
            // Reads only what is there by now: a process that a wrapper started may hold the pipe open for ever.
            let _ = fcntl_setfl(&out, OFlags::NONBLOCK);
            let _ = out.take(OUTPUT_MOST as u64).read_to_end(&mut text);
        }
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        // The error is at the end of the output; the version is before it.
        lines[lines.len().saturating_sub(3)..].join("; ")
    }

    /// Sends SIGKILL, without waiting for the end.
    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Ends it, if it has not ended.
    pub(super) fn end(&mut self) {
        tiermark_undo::end(&mut self.child);
    }
}

fn command(start: &Start<'_>, port: u16) -> Command {
    let port = port.to_string();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", ENTER, "tiermark-tenant"]);
    command.args(start.groups.iter().map(|group| format!("/{group}")));
    // The password comes through standard input, where other users do not see it.
    command.arg("--").args(start.program).arg("-");
    // No connections from other machines.
    command
        .args(["--port", &port, "--bind", "127.0.0.1"])
        .args(SERVER_OPTIONS.iter().flatten())
        .args(start.memory.options());
    // A key that ends this program does not reach tenants: they are taken away in an order.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// A random password of this server alone: another user of this machine could otherwise write to the server, and
/// through it to files as the user who runs it. The standard library keys its hashes with the system's randomness.
fn password() -> String {
    let word = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", word(), word())
}

/// A port of this machine that no program listens on.
pub(super) fn free_port(wanted: Option<u16>) -> Result<u16, Refusal> {
    let found = TcpListener::bind(("127.0.0.1", wanted.unwrap_or(0))).and_then(|listener| listener.local_addr());
    let wanted = wanted.unwrap_or(0);
    found.map(|address| address.port()).map_err(|why| match why.kind() {
        io::ErrorKind::AddrInUse => messages::port_taken(wanted),
        _ => messages::port_unusable(wanted, &why.to_string()),
    })
}

/// Whether a server ended since another program listens on its port.
fn is_taken(refusal: &Refusal) -> bool {
    refusal.code == messages::codes::server_ended && refusal.text("output").is_some_and(|output| output.contains(TAKEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(program: &[&str], groups: &[&str], port: Option<u16>) -> Result<Server, Refusal> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        Server::start(&Start {
            program: &words(program),
            groups: &words(groups),
            memory: MemoryLimit::default(),
            port,
            number: 4,
            stop: &AtomicBool::new(false),
        })
    }

    #[test]
    fn what_does_not_start_says_why() {
        let refused = start(&["/nonexistent/redis"], &[], None).unwrap_err();
        assert_eq!((refused.code.as_str(), refused.data["code"].as_i64()), ("server_ended", Some(127)), "{refused}");
        let refused = start(&["sh", "-c", "echo cannot; exit 3"], &[], None).unwrap_err();
        assert_eq!((refused.data["code"].as_i64(), refused.text("output")), (Some(3), Some("cannot")), "{refused}");
        let begun = Instant::now();
        let refused = start(&["sh", "-c", "echo left one behind; sleep 20 & exit 3"], &[], None).unwrap_err();
        assert!(
            refused.text("output") == Some("left one behind") && begun.elapsed() < Duration::from_secs(15),
            "{refused}"
        );
        let refused = start(&["true"], &["nonexistent-group"], None).unwrap_err();
        assert_eq!((refused.data["code"].as_i64(), refused.data["tenant"].as_i64()), (Some(97), Some(5)), "{refused}");
    }

    #[test]
    fn another_port_is_tried_where_any_will_do() {
        let dir = tempfile::tempdir().unwrap();
        let count = dir.path().join("count");
        let script = format!("echo x >> {}; echo 'bind: Address already in use'; exit 1", count.display());
        for (port, tries) in [(None, ATTEMPTS), (Some(free_port(None).unwrap()), 1)] {
            start(&["sh", "-c", &script], &[], port).unwrap_err();
            assert_eq!(std::fs::read_to_string(&count).unwrap().lines().count(), tries as usize, "{port:?}");
            std::fs::remove_file(&count).unwrap();
        }
    }

    #[test]
    fn a_taken_port_is_refused_before_anything_is_started() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let refused = start(&["/nonexistent"], &[], Some(port)).unwrap_err();
        assert_eq!(refused.code, messages::codes::port_taken);
    }
}
