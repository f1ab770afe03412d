//! Latencies in ns as an HdrHistogram: merged exactly, never averaged.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use tiermark_model::load::LoadHistogram;

use crate::schedule::first_without;

/// Longest latency with a bucket of its own, ns: one minute. Longer ones count as this.
pub const LONGEST_NS: u64 = 60_000_000_000;
/// Significant decimal digits that are kept.
const DIGITS: u8 = 3;

/// A distribution of latencies: 1 ns to 60 s with three significant digits (Tene's HdrHistogram).
///
/// In documents it is the list of its values, each with its count; it survives reading back and merging.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "LoadHistogram", try_from = "LoadHistogram")]
pub struct Latencies {
    counts: Histogram<u64>,
    /// Sum of the recorded values, ns: the mean is exact, without buckets.
    sum: u128,
}

impl Default for Latencies {
    fn default() -> Self {
        Self::new()
    }
}

impl Latencies {
    /// An empty distribution.
    pub fn new() -> Self {
        // It starts small and grows with the longest latency: most tenants never need a minute's buckets.
        let counts = Histogram::new(DIGITS).unwrap_or_else(|_| unreachable!("three digits are allowed"));
        Self { counts, sum: 0 }
    }

    /// An empty distribution that has all its memory, 216 KiB, and has touched it: recording never waits for more.
    /// Hundreds of tenants whose histograms grow with their first answers would make a client some ten ms late.
    pub(crate) fn ready() -> Self {
        let counts = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        let mut counts = counts.unwrap_or_else(|_| unreachable!("a minute in ns is within the bounds"));
        // The system gives pages that read as zero; writing makes them the program's own.
        counts.reset();
        Self { counts, sum: 0 }
    }

    /// Adds a latency, ns. Below 1 ns it counts as 1 ns, above [`LONGEST_NS`] as that.
    pub fn record(&mut self, ns: u64) {
        self.sum += u128::from(ns);
        if self.counts.record(ns.clamp(1, LONGEST_NS)).is_err() {
            unreachable!("it grows up to a minute");
        }
    }

    /// Adds `count` latencies of `ns`, none of which is above the one before and which fall evenly. It takes a few
    /// steps for each value that the histogram tells apart, however many there are.
    pub(crate) fn record_falling(&mut self, count: u64, ns: impl Fn(u64) -> u64) {
        let counted = |number| ns(number).clamp(1, LONGEST_NS);
        let mut at = 0;
        while at < count {
            let least = self.counts.lowest_equivalent(counted(at));
            let next = first_without(at..count, |number| counted(number) >= least);
            if self.counts.record_n(counted(at), next - at).is_err() {
                unreachable!("it grows up to a minute");
            }
            self.sum += (u128::from(ns(at)) + u128::from(ns(next - 1))) * u128::from(next - at) / 2;
            at = next;
        }
    }

    /// Adds all of another distribution.
    pub fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        if self.counts.add(&other.counts).is_err() {
            unreachable!("both hold the same digits and grow");
        }
    }

    /// The counts themselves, for callers that derive several figures.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.counts
    }

    /// How many latencies there are.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The mean, ns, of the latencies themselves. `None` without any.
    pub fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum as f64 / self.count() as f64)
    }

    /// The sum of the latencies, ns; as much as 584 years.
    pub fn sum_ns(&self) -> u64 {
        u64::try_from(self.sum).unwrap_or(u64::MAX)
    }

    /// The smallest value that at least this share (0 to 1) of the latencies do not exceed, ns, to three digits.
    /// `None` without any.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        (self.count() > 0).then(|| self.counts.value_at_quantile(share).min(self.counts.max()))
    }

    /// The longest, ns, to three digits. `None` without any.
    pub fn max(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.counts.max())
    }

    /// The shortest, ns, to three digits. `None` without any.
    pub fn min(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.counts.min())
    }

    /// How many exceed a latency, ns, by more than the histogram's resolution.
    pub fn above(&self, ns: u64) -> u64 {
        self.count() - self.counts.count_between(0, ns.min(LONGEST_NS))
    }
}

impl From<Latencies> for LoadHistogram {
    fn from(latencies: Latencies) -> Self {
        let counts = latencies.counts.iter_recorded().map(|at| (at.value_iterated_to(), at.count_at_value())).collect();
        Self { sum_ns: latencies.sum_ns(), counts }
    }
}

impl TryFrom<LoadHistogram> for Latencies {
    type Error = String;

    fn try_from(stored: LoadHistogram) -> Result<Self, Self::Error> {
        let mut latencies = Self { sum: u128::from(stored.sum_ns), ..Self::new() };
        let mut left = u64::MAX;
        for (value, count) in stored.counts {
            // Longer values would make the histogram grow without a limit. The last bucket's name lies above the last
            // value.
            if value > 2 * LONGEST_NS {
                return Err(format!("a latency of {value} ns is above the range of the histogram"));
            }
            left = left.checked_sub(count).ok_or("more latencies than can be counted")?;
            latencies.counts.record_n(value, count).map_err(|e| e.to_string())?;
        }
        Ok(latencies)
    }
}

/// Adds the time of an answer, and those of the requests that were due every `period` ns while it was waited for: each
/// would have waited until the same answer, so one period less than the one before. The last of them is not left out:
/// it is sent late, as the next request, from which the schedule goes on. The estimate is the one of HdrHistogram's
/// `recordValueWithExpectedInterval`, which adds no time below the period either.
pub(crate) fn record_with_omitted(times: &mut Latencies, waited: u64, period: u64) {
    let mut left = waited;
    times.record(left);
    while period > 0 && left / 2 >= period {
        left -= period;
        times.record(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_stats::Rng;

    fn some(seed: u64, n: usize) -> Vec<u64> {
        let mut rng = Rng::new(seed);
        (0..n).map(|_| (10f64.powf(1.0 + 9.0 * rng.unit())) as u64).collect()
    }

    fn of(values: &[u64]) -> Latencies {
        let mut latencies = Latencies::new();
        values.iter().for_each(|v| latencies.record(*v));
        latencies
    }

    #[test]
    fn merged_is_as_if_recorded_together() {
        let (a, b) = (some(1, 5000), some(2, 300));
        let mut merged = of(&a);
        merged.merge(&of(&b));
        assert_eq!(merged, of(&[a, b].concat()));
        let mut nothing = Latencies::new();
        nothing.merge(&merged);
        assert_eq!(nothing, merged);
    }

    #[test]
    fn quantiles_are_those_of_the_values_to_three_digits() {
        let mut values = some(3, 20_001);
        let latencies = of(&values);
        values.sort_unstable();
        for share in [0.0, 0.5, 0.95, 0.99, 0.999, 1.0] {
            let exact = values[((share * values.len() as f64).ceil() as usize).saturating_sub(1)] as f64;
            let found = latencies.quantile(share).unwrap() as f64;
            assert!((found / exact - 1.0).abs() < 1.5e-3, "{share}: {found} for {exact}");
        }
        let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
        assert!((latencies.mean().unwrap() / mean - 1.0).abs() < 1e-12);
        assert_eq!(latencies.above(0), 20_001);
        let median = values[10_000];
        assert!((latencies.above(median).abs_diff(10_000)) < 20);
    }

    #[test]
    fn extremes_are_kept_and_nothing_is_told_of_nothing() {
        let latencies = of(&[0, 1, LONGEST_NS, u64::MAX / 4]);
        assert_eq!((latencies.count(), latencies.min()), (4, Some(1)));
        let max = latencies.max().unwrap() as f64;
        assert!((max / LONGEST_NS as f64 - 1.0).abs() < 1e-3, "{max}");
        let nothing = Latencies::new();
        assert_eq!((nothing.mean(), nothing.quantile(0.5), nothing.max(), nothing.min()), (None, None, None, None));
        assert_eq!(nothing.above(5), 0);
    }

    #[test]
    fn one_that_is_ready_holds_all_without_growing() {
        let mut ready = Latencies::ready();
        assert_eq!((ready.count(), ready.max()), (0, None));
        let room = ready.histogram().distinct_values();
        assert!(room * size_of::<u64>() <= 216 << 10, "{room}");
        let values = [1, 1000, LONGEST_NS, u64::MAX / 4];
        values.iter().for_each(|v| ready.record(*v));
        assert_eq!(ready.histogram().distinct_values(), room);
        assert_eq!(LoadHistogram::from(ready.clone()), LoadHistogram::from(of(&values)));
        assert!(Latencies::new().histogram().distinct_values() < room, "else nothing is shown");
        let mut merged = of(&some(5, 100));
        merged.merge(&ready);
        assert_eq!(merged.count(), 104);
    }

    #[test]
    fn what_falls_evenly_is_counted_as_one_by_one() {
        for (longest, step, count) in [(9_000_000, 997, 9000), (70 * 1_000_000_000, 7_000_003, 10_000), (50, 1, 60)] {
            let ns = |number: u64| (longest - 1_u64).saturating_sub(number * step);
            let mut together = Latencies::new();
            together.record_falling(count, ns);
            let single = of(&(0..count).map(ns).collect::<Vec<u64>>());
            assert_eq!(together.counts, single.counts, "{longest}");
            // Half a nanosecond for each value that is told apart.
            assert!(together.sum.abs_diff(single.sum) <= 20_000, "{} and {}", together.sum, single.sum);
        }
    }

    #[test]
    fn stored_and_read_back_it_is_the_same() {
        let latencies = of(&some(4, 4000));
        let back = Latencies::try_from(LoadHistogram::from(latencies.clone())).unwrap();
        assert_eq!(back, latencies);
        let most = LoadHistogram { sum_ns: 1, counts: vec![(5, u64::MAX), (6, 1)] };
        assert!(Latencies::try_from(most).is_err());
        assert!(Latencies::try_from(LoadHistogram { sum_ns: 1, counts: vec![(u64::MAX, 1)] }).is_err());
    }

    #[test]
    fn every_request_that_was_left_out_meanwhile_is_counted_once() {
        let of = |waited, period| {
            let mut times = Latencies::ready();
            record_with_omitted(&mut times, waited, period);
            (times.count(), times.min(), times.max())
        };
        assert_eq!(of(900, 1000), (1, Some(900), Some(900)));
        assert_eq!(of(1000, 1000), (1, Some(1000), Some(1000)), "the next is due as the answer comes");
        assert_eq!(of(1010, 1000).0, 1, "the next is sent a little late, and not left out");
        assert_eq!(of(350, 100), (3, Some(150), Some(350)), "those due after 100 and 200; that of 300 is sent at 350");
        assert_eq!(of(350, 0).0, 1, "no period");
    }
}
