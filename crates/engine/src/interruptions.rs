//! How often, for how long and with what share of the time a cpu is taken away from the threads that measure on it.

use std::collections::BTreeMap;

use tiermark_model::{CpuId, Finding, Interrupted, Interval, Labels, Quantity, Unit};
use tiermark_stats::{BEYOND, poisson_interval};

use crate::analyse::LONG_NS;
use crate::host::Shot;

/// A watch says what share of the time interruptions take now: of the last second, and of as many seconds before it as
/// make this much time of watching, ns. 8,600 interruptions a second then are 170, known to 8 %.
const WATCHED_NS: f64 = 20e6;
const RECENT_SECONDS: f64 = 1.0;

/// What a thread saw on its cpu in one visit, while it did nothing but read the clock.
#[derive(Debug, Clone, Copy)]
struct Watch {
    at: f64,
    ns: f64,
    short_ns: f64,
    /// Of all interruptions.
    taken_ns: f64,
}

/// The interruptions of a run.
#[derive(Debug, Clone, Default)]
pub struct Interruptions {
    by_cpu: BTreeMap<CpuId, Seen>,
}

#[derive(Debug, Clone, Default)]
struct Seen {
    watches: Vec<Watch>,
    watched_ns: f64,
    long_ns: f64,
    gaps_ns: Vec<f32>,
}

impl Interruptions {
    /// Adds what the threads of a shot saw.
    pub fn add(&mut self, at: f64, shot: &Shot) {
        for thread in shot.threads.iter().filter(|thread| thread.idle.ns > 0.0) {
            let seen = self.by_cpu.entry(thread.guard.cpu).or_default();
            let gaps = || thread.idle.gaps_ns.iter().map(|gap| f64::from(*gap));
            let (short_ns, taken_ns): (f64, f64) = (gaps().filter(|gap| *gap <= LONG_NS).sum(), gaps().sum());
            seen.watches.push(Watch { at, ns: thread.idle.ns, short_ns, taken_ns });
            seen.watched_ns += thread.idle.ns;
            seen.long_ns += taken_ns - short_ns;
            seen.gaps_ns.extend(&thread.idle.gaps_ns);
        }
    }

    /// Share of the time that interruptions of up to 20 µs take on a cpu now; 0 where nothing is known of it.
    pub fn short_share(&self, cpu: CpuId) -> f64 {
        self.now(cpu, |watch| watch.short_ns).unwrap_or(0.0)
    }

    /// Share of the time that interruptions of over 20 µs take on a cpu, over the run so far: they are rare.
    pub fn long_share(&self, cpu: CpuId) -> f64 {
        let Some(seen) = self.by_cpu.get(&cpu) else { return 0.0 };
        if seen.watched_ns > 0.0 { seen.long_ns / seen.watched_ns } else { 0.0 }
    }

    /// Share of the time that all interruptions take on a cpu now; `None` where nothing is known of it.
    pub fn share(&self, cpu: CpuId) -> Option<f64> {
        self.now(cpu, |watch| watch.taken_ns)
    }

    fn now(&self, cpu: CpuId, taken_ns: fn(&Watch) -> f64) -> Option<f64> {
        let seen = self.by_cpu.get(&cpu)?;
        let last = seen.watches.last()?.at;
        let (mut ns, mut taken) = (0.0, 0.0);
        for watch in seen.watches.iter().rev() {
            if ns >= WATCHED_NS && watch.at < last - RECENT_SECONDS {
                break;
            }
            (ns, taken) = (ns + watch.ns, taken + taken_ns(watch));
        }
        (ns > 0.0).then(|| taken / ns)
    }

    /// The interruptions of each cpu over the run.
    pub fn of_cpus(&self) -> Vec<Interrupted> {
        self.by_cpu.iter().map(|(cpu, seen)| seen.summary(*cpu)).collect()
    }
}

/// The interruptions of a run over all cpus that measured, as findings of their own: how many a second and their share
/// of the time, of all and of those longer than 20 µs. The intervals are those of their numbers.
pub(crate) fn findings(cpus: &[Interrupted]) -> Vec<Finding> {
    let Some(all) = Interrupted::of(cpus) else { return Vec::new() };
    let finding = |quantity: Quantity, value: f64, unit: Unit, count: u64| {
        let interval = poisson_interval(count, BEYOND).map(|(low, high)| {
            // Of none it is not known how long one is: at least as long as what counts as long.
            let least = if unit == Unit::Ratio { LONG_NS / 1e9 } else { 1.0 } / all.watched_seconds;
            let each = if count == 0 { least } else { value / count as f64 };
            Interval { low: low * each, high: high * each, level: 1.0 - 2.0 * BEYOND }
        });
        Finding { interval, samples: count, ..Finding::new(quantity, Labels::new(), Some(value), unit) }
    };
    vec![
        finding(Quantity::InterruptionsRate, all.rate(), Unit::PerSecond, all.count),
        finding(Quantity::InterruptionsShare, all.share, Unit::Ratio, all.count),
        finding(Quantity::InterruptionsLongRate, all.long_rate(), Unit::PerSecond, all.long),
        finding(Quantity::InterruptionsLongShare, all.long_share, Unit::Ratio, all.long),
    ]
}

impl Seen {
    fn summary(&self, cpu: CpuId) -> Interrupted {
        let mut gaps: Vec<f64> = self.gaps_ns.iter().map(|gap| f64::from(*gap)).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        let long = &gaps[gaps.partition_point(|gap| *gap <= LONG_NS)..];
        let at = |q: f64| tiermark_stats::quantile(&gaps, q);
        Interrupted {
            cpu: Some(cpu),
            watched_seconds: self.watched_ns / 1e9,
            count: gaps.len() as u64,
            long: long.len() as u64,
            share: gaps.iter().sum::<f64>() / self.watched_ns,
            long_share: long.iter().sum::<f64>() / self.watched_ns,
            median_ns: at(0.5),
            p99_ns: at(0.99),
            longest_ns: gaps.last().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Guard, IdleWatch, ThreadShot};

    fn shot(gaps_ns: &[f32]) -> Shot {
        let idle = IdleWatch { ns: 200_000.0, gaps_ns: gaps_ns.to_vec() };
        let guard = Guard { cpu: 3, seen_on: [3, 3], ..Guard::default() };
        Shot { threads: vec![ThreadShot { idle, guard, ..ThreadShot::default() }], ..Shot::default() }
    }

    #[test]
    fn the_share_is_that_of_the_last_second_or_of_enough_watching() {
        let mut seen = Interruptions::default();
        assert_eq!(seen.short_share(3), 0.0);
        // 2 % of the time for ten seconds, then 5 %.
        (0..1_000).for_each(|i| seen.add(f64::from(i) * 0.01, &shot(&[2_000.0, 2_000.0])));
        (0..200).for_each(|i| seen.add(10.0 + f64::from(i) * 0.01, &shot(&[10_000.0])));
        assert!((seen.short_share(3) - 0.05).abs() < 1e-9);
        assert_eq!(seen.short_share(0), 0.0, "another cpu");
    }

    #[test]
    fn long_ones_are_told_apart() {
        let mut seen = Interruptions::default();
        (0..99).for_each(|i| seen.add(f64::from(i), &shot(&[2_000.0])));
        seen.add(99.0, &shot(&[100_000.0]));
        let [all] = seen.of_cpus().try_into().unwrap();
        assert_eq!((all.cpu, all.count, all.long), (Some(3), 100, 1));
        assert!((all.long_share - 0.005).abs() < 1e-9 && (all.share - 0.0149).abs() < 1e-9, "{all:?}");
        assert_eq!((all.median_ns, all.longest_ns), (Some(2_000.0), Some(100_000.0)));
        assert!((seen.short_share(3) - 0.01).abs() < 0.001, "long ones are cut out of blocks: {all:?}");
        assert!(seen.share(3).unwrap() > 0.014 && seen.share(0).is_none(), "{all:?}");
    }

    #[test]
    fn a_run_has_them_as_findings_over_all_cpus() {
        let cpu = Interrupted {
            cpu: Some(0),
            watched_seconds: 0.5,
            count: 4_300,
            long: 150,
            share: 0.02,
            long_share: 0.009,
            median_ns: Some(2_000.0),
            p99_ns: Some(30_000.0),
            longest_ns: Some(2e5),
        };
        let all = findings(&[cpu, Interrupted { cpu: Some(1), share: 0.04, long: 50, ..cpu }]);
        let of = |quantity: Quantity| all.iter().find(|found| found.quantity == quantity).unwrap();
        let value = |quantity: Quantity| of(quantity).value.unwrap();
        assert!((value(Quantity::InterruptionsRate) - 8_600.0).abs() < 1e-6);
        assert!((value(Quantity::InterruptionsShare) - 0.03).abs() < 1e-9);
        let long = of(Quantity::InterruptionsLongRate);
        let Interval { low, high, .. } = long.interval.unwrap();
        assert_eq!((long.value, long.samples, long.unit), (Some(200.0), 200, Unit::PerSecond));
        // ±14 %: 200 events.
        assert!((170.0..175.0).contains(&low) && (227.0..232.0).contains(&high), "{low} {high}");
        assert!(all.iter().all(|found| found.verdict.reasons.is_empty() && found.evidence.is_empty()));
        assert!(findings(&[]).is_empty());
    }

    #[test]
    fn none_in_a_while_may_still_be_some() {
        let cpu = Interrupted {
            cpu: Some(0),
            watched_seconds: 0.5,
            count: 0,
            long: 0,
            share: 0.0,
            long_share: 0.0,
            median_ns: None,
            p99_ns: None,
            longest_ns: None,
        };
        for found in findings(&[cpu]) {
            let Interval { low, high, .. } = found.interval.unwrap();
            assert!(found.value == Some(0.0) && low == 0.0 && high > 1e-4, "{found:?}");
        }
    }
}
