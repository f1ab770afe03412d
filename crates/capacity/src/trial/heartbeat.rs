//! A heartbeat of this process: where it comes late, the whole machine stands still, and no figure is one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time between two beats.
const BEAT: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
struct Shared {
    latest_ns: AtomicU64,
    ends: AtomicBool,
}

/// A thread that does nothing but wake up.
#[derive(Debug)]
pub(super) struct Heartbeat {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    /// Starts it. Without a thread nothing is ever late.
    pub(super) fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let body = move || {
            while !own.ends.load(Ordering::Relaxed) {
                let slept = Instant::now();
                thread::sleep(BEAT);
                let late = slept.elapsed().saturating_sub(BEAT);
                own.latest_ns.fetch_max(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
        };
        Self { shared, thread: thread::Builder::new().name("heartbeat".to_owned()).spawn(body).ok() }
    }

    /// Seconds by which the latest beat since the last call came late.
    pub(super) fn late(&self) -> f64 {
        Duration::from_nanos(self.shared.latest_ns.swap(0, Ordering::Relaxed)).as_secs_f64()
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It panics nowhere, and ends within a beat.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_told_once() {
        let heartbeat = Heartbeat::start();
        thread::sleep(3 * BEAT);
        // Waking up takes some time always.
        assert!(heartbeat.late() > 0.0);
        heartbeat.shared.latest_ns.store(2_000_000_000, Ordering::Relaxed);
        assert!(heartbeat.late() >= 2.0 && heartbeat.late() < 2.0);
    }
}
