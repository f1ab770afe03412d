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

impl Shared {
    /// Counts a beat, which came so long after the one before.
    fn beat(&self, after: Duration) {
        let late = after.saturating_sub(BEAT).as_nanos();
        self.latest_ns.fetch_max(u64::try_from(late).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// A thread that does nothing but wake up.
#[derive(Debug)]
pub(super) struct Heartbeat {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    /// Starts the thread. If the system refuses a thread, the next beat counts as centuries late, so that the trial
    /// ends.
    pub(super) fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let body = move || {
            while !own.ends.load(Ordering::Relaxed) {
                let slept = Instant::now();
                thread::sleep(BEAT);
                own.beat(slept.elapsed());
            }
        };
        let thread = thread::Builder::new().name("heartbeat".to_owned()).spawn(body).ok();
        if thread.is_none() {
            shared.latest_ns.store(u64::MAX, Ordering::Relaxed);
        }
        Self { shared, thread }
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
    fn the_latest_beat_is_reported_once() {
        let heartbeat = Heartbeat { shared: Arc::new(Shared::default()), thread: None };
        for late in [1, 2, 0] {
            heartbeat.shared.beat(BEAT + Duration::from_secs(late));
        }
        heartbeat.shared.beat(BEAT / 2);
        assert_eq!([heartbeat.late(), heartbeat.late()], [2.0, 0.0]);
    }

    #[test]
    fn a_thread_beats_until_the_heartbeat_ends() {
        let heartbeat = Heartbeat::start();
        let shared = Arc::clone(&heartbeat.shared);
        // A sleep is never shorter than requested, and never exactly as long.
        assert!((0..600).any(|_| {
            thread::sleep(BEAT / 2);
            heartbeat.late() > 0.0
        }));
        drop(heartbeat);
        assert_eq!(Arc::strong_count(&shared), 1, "the thread has ended");
    }
}
