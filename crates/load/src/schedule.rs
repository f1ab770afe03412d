//! When requests are due: the intended starts of an open loop.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use tiermark_stats::Rng;

use crate::clock::SECOND;

/// How requests of an open loop are spread in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    #[default]
    /// One every 1/rate seconds.
    Constant,
    /// A Poisson process: gaps independent and exponential, as from many independent users.
    Poisson,
}

/// Requests of a Poisson process that are counted one by one. Chance changes the number of more by less than a
/// thousandth (the deviation of a million is a thousand), so that those are taken at even distances.
const ONE_BY_ONE: u64 = 1_000_000;

/// Requests that are due at even distances, at least one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spaced {
    /// When request 0 is or would have been due, ns after the common start.
    offset: f64,
    /// ns.
    gap: f64,
    /// The number of the first.
    first: u64,
    count: u64,
}

impl Spaced {
    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// When one of them is due, counted from 0: ns after the common start.
    pub(crate) fn due(&self, number: u64) -> u64 {
        // From the number of the request, not by adding gaps: no error adds up. 2^53 ns are 104 days.
        (self.offset + (self.first + number) as f64 * self.gap) as u64
    }
}

/// The first number of a range for which something does not hold that holds for all before and for none after; the end
/// of the range if it holds for all.
pub(crate) fn first_without(range: Range<u64>, holds: impl Fn(u64) -> bool) -> u64 {
    let Range { start: mut low, end: mut high } = range;
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The intended starts of one tenant's requests, ns after the common start.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    arrivals: Arrivals,
    /// Mean gap, ns.
    gap: f64,
    /// Start of the first request of a constant rate, ns; start of the next one of a Poisson process.
    offset: f64,
    /// Requests taken so far.
    taken: u64,
    /// Whether the next request is due one gap after the last was taken, however late that was: a closed loop that
    /// keeps to a rate.
    waits: bool,
    rng: Rng,
}

impl Schedule {
    /// Requests at `rate` a second. `stagger` (0 to 1, in gaps) moves a constant rate, so that tenants do not all send
    /// at once.
    pub(crate) fn new(arrivals: Arrivals, rate: f64, stagger: f64, seed: u64) -> Self {
        let gap = SECOND as f64 / rate;
        let mut schedule = Self { arrivals, gap, offset: stagger * gap, taken: 0, waits: false, rng: Rng::new(seed) };
        if arrivals == Arrivals::Poisson {
            // The time to the first arrival is exponential too: the process has no memory.
            schedule.offset = schedule.exponential();
        }
        schedule
    }

    /// Requests at `rate` a second at most, of which each waits for the one before.
    pub(crate) fn paced(rate: f64, stagger: f64) -> Self {
        Self { waits: true, ..Self::new(Arrivals::Constant, rate, stagger, 0) }
    }

    /// Time between two requests of a closed loop that keeps to a rate, ns; `None` for an open loop.
    pub(crate) fn period(&self) -> Option<u64> {
        self.waits.then_some(self.gap as u64)
    }

    /// When the next request is due.
    pub(crate) fn due(&self) -> u64 {
        match self.arrivals {
            Arrivals::Constant if self.waits => self.offset as u64,
            Arrivals::Constant => self.spaced(self.taken, 1).due(0),
            Arrivals::Poisson => self.offset as u64,
        }
    }

    /// Requests that were taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Takes the next request and gives back when it is due.
    pub(crate) fn take(&mut self) -> u64 {
        let due = self.due();
        self.taken += 1;
        if self.arrivals == Arrivals::Poisson {
            self.offset += self.exponential();
        }
        due
    }

    /// Takes the next request at `now`, by when it is due. The start that its time counts from: when it was due, or
    /// `now` in a closed loop, which knows no other.
    pub(crate) fn take_at(&mut self, now: u64) -> u64 {
        if !self.waits {
            return self.take();
        }
        self.taken += 1;
        self.offset = now as f64 + self.gap;
        now
    }

    /// Requests that are due before `now`, those that were taken included.
    pub(crate) fn due_before(&mut self, now: u64) -> u64 {
        while self.take_before(now, u64::MAX).is_some() {}
        self.taken
    }

    /// Takes requests that are due before `end`, at most so many, as far as they lie at even distances; `None` if there
    /// is none. Of a Poisson process these are single ones, unless more than a million are left: then all of them,
    /// their number and times as expected.
    pub(crate) fn take_before(&mut self, end: u64, most: u64) -> Option<Spaced> {
        if most == 0 || self.due() >= end {
            return None;
        }
        let Some(left) = self.evenly_before(end) else {
            return Some(Spaced { offset: self.take() as f64, gap: 0.0, first: 0, count: 1 });
        };
        let spaced = match self.arrivals {
            Arrivals::Constant => self.spaced(self.taken, left.min(most)),
            Arrivals::Poisson => self.spaced(0, left.min(most)),
        };
        self.taken += spaced.count;
        if self.arrivals == Arrivals::Poisson {
            self.offset += spaced.count as f64 * self.gap;
        }
        Some(spaced)
    }

    /// How many requests before `end` are taken at even distances; `None` where they are drawn one by one.
    fn evenly_before(&self, end: u64) -> Option<u64> {
        let gaps = |time: f64| (time / self.gap) as u64;
        match self.arrivals {
            Arrivals::Constant => {
                // Rounding moves the quotient by less than two.
                let beyond = gaps(end as f64).saturating_add(2).max(self.taken);
                Some(first_without(self.taken..beyond, |n| self.spaced(n, 1).due(0) < end) - self.taken)
            }
            Arrivals::Poisson => Some(gaps(end as f64 - self.offset)).filter(|left| *left > ONE_BY_ONE),
        }
    }

    fn spaced(&self, first: u64, count: u64) -> Spaced {
        Spaced { offset: self.offset, gap: self.gap, first, count }
    }

    fn exponential(&mut self) -> f64 {
        // By inversion; 1 − u is in (0, 1], so the logarithm is finite.
        -(1.0 - self.rng.unit()).ln() * self.gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_stats::ks_uniform;

    #[test]
    fn a_constant_rate_keeps_its_times_for_days() {
        let mut schedule = Schedule::new(Arrivals::Constant, 5000.0, 0.25, 1);
        assert_eq!((0..3).map(|_| schedule.take()).collect::<Vec<_>>(), [50_000, 250_000, 450_000]);
        schedule.taken = 5000 * 86_400 * 7;
        assert_eq!(schedule.due(), 7 * 86_400 * SECOND + 50_000);
    }

    #[test]
    fn a_closed_loop_puts_its_schedule_off() {
        let mut schedule = Schedule::paced(1000.0, 0.5);
        assert_eq!((schedule.due(), schedule.period()), (500_000, Some(1_000_000)));
        assert_eq!((schedule.take_at(600_000), schedule.due()), (600_000, 1_600_000));
        // The answer came late: nothing is made up for.
        assert_eq!((schedule.take_at(7_000_000), schedule.due(), schedule.taken()), (7_000_000, 8_000_000, 2));
        let mut open = Schedule::new(Arrivals::Constant, 1000.0, 0.5, 1);
        assert_eq!((open.take_at(7_000_000), open.due(), open.period()), (500_000, 1_500_000, None));
    }

    #[test]
    fn staggered_tenants_share_the_gap_evenly() {
        let first = |tenant: u32| Schedule::new(Arrivals::Constant, 1000.0, f64::from(tenant) / 4.0, 1).due();
        assert_eq!([0, 1, 2, 3].map(first), [0, 250_000, 500_000, 750_000]);
    }

    #[test]
    fn what_is_due_is_counted_once() {
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let mut schedule = Schedule::new(arrivals, 1000.0, 0.0, 3);
            let mut ahead = schedule.clone();
            let mut taken = 0;
            for now in (0..=SECOND).step_by(7_000_000) {
                while schedule.due() < now {
                    schedule.take();
                    taken += 1;
                }
                assert_eq!(ahead.due_before(now), taken);
                assert_eq!(ahead.due_before(now), taken, "asking changes nothing");
            }
        }
    }

    #[test]
    fn what_is_due_is_taken_together_as_it_is_one_by_one() {
        for (rate, stagger) in [(1000.0, 0.25), (3.7, 0.0), (1e8, 0.5)] {
            let (mut together, mut single) = (Schedule::new(Arrivals::Constant, rate, stagger, 1), Vec::new());
            let mut one_by_one = together.clone();
            let end = (2000.0 * 1e9 / rate) as u64;
            while one_by_one.due() < end {
                single.push(one_by_one.take());
            }
            let first = together.take_before(end, 700).unwrap();
            let rest = together.take_before(end, u64::MAX).unwrap();
            assert_eq!((first.count(), rest.count()), (700, single.len() as u64 - 700), "{rate}");
            let taken: Vec<u64> = [first, rest].iter().flat_map(|s| (0..s.count()).map(|n| s.due(n))).collect();
            assert_eq!(taken, single, "{rate}");
            assert!(together.take_before(end, u64::MAX).is_none());
            assert_eq!((together.taken(), together.due()), (one_by_one.taken(), one_by_one.due()), "{rate}");
        }
    }

    /// Ten minutes at the highest rate: 6 × 10¹⁰ requests, which nobody counts one by one.
    #[test]
    fn a_long_rest_is_counted_at_once() {
        let end = 600 * SECOND;
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let mut schedule = Schedule::new(arrivals, 1e8, 0.0, 3);
            let began = schedule.take_before(end, 10).unwrap();
            let mut last = began.due(began.count() - 1);
            while let Some(spaced) = schedule.take_before(end, u64::MAX) {
                assert!(last <= spaced.due(0) && spaced.due(spaced.count() - 1) < end);
                last = spaced.due(spaced.count() - 1);
            }
            assert!(schedule.taken().abs_diff(60_000_000_000) < 100, "{arrivals:?}: {}", schedule.taken());
        }
    }

    #[test]
    fn gaps_of_a_poisson_process_are_exponential() {
        let (rate, n) = (5000.0, 100_000);
        let mut schedule = Schedule::new(Arrivals::Poisson, rate, 0.5, 7);
        let times: Vec<u64> = (0..n).map(|_| schedule.take()).collect();
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
        // The probability integral transform of exponential gaps is uniform.
        let gaps = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e9);
        let transformed: Vec<f64> = gaps.map(|gap| 1.0 - (-gap * rate).exp()).collect();
        let ks = ks_uniform(&transformed, 0.0, 1.0).unwrap();
        assert!(ks.p_value > 0.001, "{ks:?}");
        // The number in a second is Poisson: its variance is its mean. Sampling error of the ratio over 20 seconds:
        // sqrt(2/19).
        let mean_rate = n as f64 / (times[n - 1] as f64 / 1e9);
        assert!((mean_rate / rate - 1.0).abs() < 4.0 / (n as f64).sqrt(), "{mean_rate}");
        let same: Vec<u64> = {
            let mut again = Schedule::new(Arrivals::Poisson, rate, 0.5, 7);
            (0..100).map(|_| again.take()).collect()
        };
        assert_eq!(same, times[..100], "a seed repeats the schedule");
    }
}
