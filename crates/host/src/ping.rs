//! Whether cpus answer each other quickly: a few round trips between pairs of a rig's workers, before and after a shot.
//!
//! A hypervisor moves virtual cpus between cores without telling. Cpus of one last-level cache answer in some 50 ns,
//! cpus of two in 150 and more, and what all threads together get of memory changes with it.

use std::sync::atomic::{AtomicU32, Ordering};

use tiermark_system::Clock;

/// Trips of a batch, and batches; the fastest batch counts, so that one that was interrupted does not. Some 20 to 50 µs
/// in all.
const TRIPS: u32 = 25;
const BATCHES: u32 = 5;
/// How long a partner may not answer, ns: it lost its cpu.
const PATIENCE_NS: f64 = 200_000.0;
/// Most rounds of pairs: partners at distance 1, 2 and 4 show which of eight cpus lie together, in the same time for
/// any number of cpus.
const ROUNDS: usize = 3;

/// A word alone on its cache lines: 128 bytes, because adjacent-line prefetchers pair lines of 64.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Alone(AtomicU32);

/// The words that pairs of workers send back and forth.
#[derive(Debug)]
pub(crate) struct Pings {
    workers: usize,
    words: Vec<Alone>,
}

impl Pings {
    /// For this many workers.
    pub(crate) fn new(workers: usize) -> Self {
        let words = (0..workers * ROUNDS).map(|_| Alone::default()).collect();
        Self { workers, words }
    }

    /// The round trips that a worker leads, ns, one for each partner of a higher number; 0 where that one did not
    /// answer in time. All workers call this at the same time.
    pub(crate) fn trips(&self, index: usize, clock: &Clock, stamp_ns: f64) -> Vec<f64> {
        let mut trips = Vec::new();
        for round in 0..ROUNDS {
            let partner = index ^ (1 << round);
            if partner >= self.workers {
                continue;
            }
            let word = &self.words[index.min(partner) * ROUNDS + round].0;
            if index < partner {
                trips.push(lead(word, clock, stamp_ns).unwrap_or_default());
            } else {
                follow(word, clock);
            }
        }
        trips
    }
}

/// Waits for a value of the word; whether it came in time.
fn wait(word: &AtomicU32, wanted: u32, clock: &Clock) -> bool {
    /// Looks at the word between two looks at the clock.
    const LOOKS: u32 = 256;
    let began = clock.now();
    loop {
        for _ in 0..LOOKS {
            if word.load(Ordering::Acquire) == wanted {
                return true;
            }
            tiermark_system::relax();
        }
        if clock.between(began, clock.now()) > PATIENCE_NS {
            return false;
        }
    }
}

/// Sends odd numbers and waits for the even ones after them.
fn lead(word: &AtomicU32, clock: &Clock, stamp_ns: f64) -> Option<f64> {
    word.store(0, Ordering::Release);
    let mut best: Option<f64> = None;
    let mut turn = 1;
    for _ in 0..BATCHES {
        let began = clock.now();
        for _ in 0..TRIPS {
            word.store(turn, Ordering::Release);
            if !wait(word, turn + 1, clock) {
                return None;
            }
            turn += 2;
        }
        let ns = (clock.between(began, clock.now()) - stamp_ns) / f64::from(TRIPS);
        best = Some(best.map_or(ns, |best: f64| best.min(ns)));
    }
    best
}

/// Answers every odd number with the next.
fn follow(word: &AtomicU32, clock: &Clock) {
    let mut turn = 1;
    for _ in 0..BATCHES * TRIPS {
        if !wait(word, turn, clock) {
            return;
        }
        word.store(turn + 1, Ordering::Release);
        turn += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{CpuModel, System};

    #[test]
    fn partners_answer_each_other_and_nobody_waits_for_ever() {
        let clock = Clock::choose(&CpuModel::default(), &System::default()).0;
        for workers in [1usize, 2, 3, 5] {
            let pings = Pings::new(workers);
            let trips: Vec<Vec<f64>> = std::thread::scope(|scope| {
                let one = |index| {
                    let pings = &pings;
                    scope.spawn(move || pings.trips(index, &clock, 0.0))
                };
                let all: Vec<_> = (0..workers).map(one).collect();
                all.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let pairs: usize = trips.iter().map(Vec::len).sum();
            assert_eq!(pairs, tiermark_engine::ping_pairs(workers).len(), "{workers}");
            assert!(trips.iter().flatten().all(|ns| *ns >= 0.0));
        }
    }
}
