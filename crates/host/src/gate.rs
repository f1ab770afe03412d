//! The start gate: the last worker to arrive lets all of them go at one moment.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tiermark_system::{Mapping, SharedLines};

/// Bytes from one word of a gate to the next: adjacent-line prefetchers pair lines of 64.
const APART: usize = 128;
/// Workers that have arrived in this round.
const ARRIVED: usize = 0;
/// Rises by one each time the gate opens; what waiting workers watch.
const OPENED: usize = 1;
/// The clock at the last opening.
const OPENED_AT: usize = 2;
/// Not 0 when the gate is broken.
const BROKEN: usize = 3;
/// The clock when the first worker arrived at the next opening, and at the last one; 0 while none has.
const FIRST_NOW: usize = 4;
const FIRST: usize = 5;
/// Words of a gate.
const WORDS: usize = 6;

/// A word alone on its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded(AtomicU64);

/// Where the words of a gate are.
#[derive(Debug)]
enum Words {
    /// In this process.
    Own(Box<[Padded; WORDS]>),
    /// In memory that several processes have.
    Shared(SharedLines),
}

/// The gate was broken: a worker failed before it arrived, or the run was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

/// An opening of the gate, the same for all workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Opening {
    /// The clock when the last worker arrived.
    pub(crate) at: u64,
    /// The clock when the first one did.
    pub(crate) first: u64,
}

/// A reusable gate for a fixed number of workers.
#[derive(Debug)]
pub(crate) struct StartGate {
    workers: u64,
    words: Words,
}

impl StartGate {
    /// Bytes of memory for a gate that several processes share: a whole page, whatever the kernel's pages are.
    pub(crate) const BYTES: usize = 64 << 10;

    /// A gate for this many workers.
    pub(crate) fn new(workers: usize) -> Self {
        Self { workers: workers as u64, words: Words::Own(Box::default()) }
    }

    /// The same in a file that is shared with the processes of the other workers, and zero at first.
    ///
    /// # Errors
    /// Those of mapping it.
    pub(crate) fn shared(workers: usize, file: &File) -> io::Result<Self> {
        let mapping = Arc::new(Mapping::of_file(file, 0, Self::BYTES, Self::BYTES, true)?);
        let lines = SharedLines::new(&mapping, Self::BYTES).map_err(io::Error::other)?;
        Ok(Self { workers: workers as u64, words: Words::Shared(lines) })
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        match &self.words {
            Words::Own(words) => &words[at].0,
            Words::Shared(lines) => lines.word(at * APART),
        }
    }

    /// Waits until all workers are here.
    ///
    /// `now` reads the clock; `pause(n)` is called on the n-th look at a closed gate: it spins a while and yields
    /// after, and returns whether to keep waiting.
    ///
    /// # Errors
    /// [`Broken`] when a worker failed and will never arrive, or `pause` returned false.
    pub(crate) fn arrive(&self, now: impl Fn() -> u64, mut pause: impl FnMut(u32) -> bool) -> Result<Opening, Broken> {
        let (opened, opened_at, first) = (self.word(OPENED), self.word(OPENED_AT), self.word(FIRST));
        let round = opened.load(Ordering::Acquire);
        // Only the first finds 0 there.
        let _ = self.word(FIRST_NOW).compare_exchange(0, now(), Ordering::Relaxed, Ordering::Relaxed);
        if self.word(ARRIVED).fetch_add(1, Ordering::AcqRel) + 1 == self.workers {
            // Reset before opening: a worker that passes may arrive at the next round at once.
            self.word(ARRIVED).store(0, Ordering::Relaxed);
            first.store(self.word(FIRST_NOW).swap(0, Ordering::Relaxed), Ordering::Relaxed);
            opened_at.store(now(), Ordering::Relaxed);
            opened.store(round + 1, Ordering::Release);
        }
        let mut looks = 0;
        while opened.load(Ordering::Acquire) == round {
            if self.is_broken() {
                return Err(Broken);
            }
            if !pause(looks) {
                self.break_open();
                return Err(Broken);
            }
            looks = looks.saturating_add(1);
        }
        Ok(Opening { at: opened_at.load(Ordering::Relaxed), first: first.load(Ordering::Relaxed) })
    }

    /// Whether a worker failed.
    pub(crate) fn is_broken(&self) -> bool {
        self.word(BROKEN).load(Ordering::Acquire) != 0
    }

    /// Lets everybody out with an error: a worker failed. The gate is of no use after.
    pub(crate) fn break_open(&self) {
        self.word(BROKEN).store(1, Ordering::Release);
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
                        let Opening { at, first } = gate.arrive(|| arrivals.load(Ordering::SeqCst), pause).unwrap();
                        // At the opening all workers had arrived this round, and none had begun the next one.
                        assert_eq!(at, round * WORKERS as u64);
                        assert!(first > at - WORKERS as u64 && first <= at, "{first}, {at}: of another round");
                    }
                });
            }
        });
    }

    #[test]
    fn a_gate_in_shared_memory_opens_for_all_who_have_it() {
        let file = tiermark_system::shared_file(StartGate::BYTES as u64).unwrap();
        let gate = || StartGate::shared(2, &file).unwrap();
        let (ours, theirs) = (gate(), gate());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| theirs.arrive(|| 7, pause));
            let both = Opening { at: 7, first: 7 };
            assert_eq!((ours.arrive(|| 7, pause), waiting.join().unwrap()), (Ok(both), Ok(both)));
        });
        theirs.break_open();
        assert!(ours.is_broken());
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
        assert_eq!(gate.arrive(|| 7, |_| panic!("waited")), Ok(Opening { at: 7, first: 7 }));
    }
}
