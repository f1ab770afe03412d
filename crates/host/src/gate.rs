//! The start gate: the last worker to arrive lets all of them go at one moment.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// A field alone on its cache lines: 128 bytes, because adjacent-line prefetchers pair lines of 64.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded<T>(T);

/// The gate was broken: a worker failed before it arrived, or the run was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

/// A reusable gate for a fixed number of workers.
#[derive(Debug, Default)]
pub(crate) struct StartGate {
    workers: usize,
    arrived: Padded<AtomicUsize>,
    /// Rises by one each time the gate opens; what waiting workers watch.
    opened: Padded<AtomicU64>,
    /// The clock at the last opening.
    opened_at: Padded<AtomicU64>,
    broken: Padded<AtomicBool>,
}

impl StartGate {
    /// A gate for this many workers.
    pub(crate) fn new(workers: usize) -> Self {
        Self { workers, ..Self::default() }
    }

    /// Waits until all workers are here; returns the clock at the opening, the same for all of them.
    ///
    /// `now` reads the clock; `pause(n)` is called on the n-th look at a closed gate: it spins a while and yields after,
    /// and returns whether to keep waiting.
    ///
    /// # Errors
    /// [`Broken`] when a worker failed and will never arrive, or `pause` returned false.
    pub(crate) fn arrive(&self, now: impl FnOnce() -> u64, mut pause: impl FnMut(u32) -> bool) -> Result<u64, Broken> {
        let round = self.opened.0.load(Ordering::Acquire);
        if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == self.workers {
            // Reset before opening: a worker that passes may arrive at the next round at once.
            self.arrived.0.store(0, Ordering::Relaxed);
            self.opened_at.0.store(now(), Ordering::Relaxed);
            self.opened.0.store(round + 1, Ordering::Release);
        }
        let mut looks = 0;
        while self.opened.0.load(Ordering::Acquire) == round {
            if self.broken.0.load(Ordering::Acquire) {
                return Err(Broken);
            }
            if !pause(looks) {
                self.break_open();
                return Err(Broken);
            }
            looks = looks.saturating_add(1);
        }
        Ok(self.opened_at.0.load(Ordering::Relaxed))
    }

    /// Whether a worker failed.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.0.load(Ordering::Acquire)
    }

    /// Lets everybody out with an error: a worker failed. The gate is of no use after.
    pub(crate) fn break_open(&self) {
        self.broken.0.store(true, Ordering::Release);
    }
}

/// Breaks the gate when the worker that holds it panics.
#[derive(Debug)]
pub(crate) struct BreakOnPanic<'a>(pub(crate) &'a StartGate);

impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_open();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yields at once: these tests run on few, busy cpus.
    fn pause(_: u32) -> bool {
        std::thread::yield_now();
        true
    }

    #[test]
    fn nobody_leaves_before_the_last_arrives_round_after_round() {
        const WORKERS: usize = 5;
        const ROUNDS: u64 = 200;
        let gate = StartGate::new(WORKERS);
        let arrivals = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..WORKERS {
                scope.spawn(|| {
                    for round in 1..=ROUNDS {
                        arrivals.fetch_add(1, Ordering::SeqCst);
                        let at = gate.arrive(|| arrivals.load(Ordering::SeqCst), pause).unwrap();
                        // At the opening all workers had arrived this round, and none had begun the next one.
                        assert_eq!(at, round * WORKERS as u64);
                    }
                });
            }
        });
    }

    #[test]
    fn a_panicking_worker_frees_the_others() {
        let gate = StartGate::new(2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.arrive(|| 0, pause));
            let failing = scope.spawn(|| {
                let _guard = BreakOnPanic(&gate);
                panic!("a worker failed");
            });
            assert!(failing.join().is_err());
            assert_eq!(waiting.join().unwrap(), Err(Broken));
        });
    }

    #[test]
    fn all_leave_when_one_is_told_to_wait_no_longer() {
        let gate = StartGate::new(3);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.arrive(|| 0, pause));
            assert_eq!(gate.arrive(|| 0, |looks| looks < 10), Err(Broken));
            assert_eq!(waiting.join().unwrap(), Err(Broken));
        });
    }

    #[test]
    fn a_single_worker_never_waits() {
        let gate = StartGate::new(1);
        assert_eq!(gate.arrive(|| 7, |_| panic!("waited")), Ok(7));
    }
}
