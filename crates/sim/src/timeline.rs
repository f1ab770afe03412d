//! The clock of simulated cores over time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::f64::consts::TAU;

use tiermark_stats::Rng;

use super::CORE_HZ;

/// How the clock of the cores moves. Each core has a course of its own, decided by the seed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum SimClock {
    /// 3 GHz for ever.
    #[default]
    Fixed,
    /// From one step to another, each as likely as any other, at moments drawn from an exponential distribution.
    Steps {
        /// The lowest clock, cycles per second.
        low: f64,
        /// The highest.
        high: f64,
        /// Distance between two steps.
        step: f64,
        /// Mean time at a step, seconds.
        mean_dwell_seconds: f64,
    },
    /// Up and down without steps.
    Glide {
        /// The lowest clock, cycles per second.
        low: f64,
        /// The highest.
        high: f64,
        /// Time from one peak to the next, seconds.
        period_seconds: f64,
    },
}

/// The clocks of all cores: as far as they were asked for.
#[derive(Debug, Default)]
pub(super) struct Timelines {
    seed: u64,
    by_core: RefCell<BTreeMap<u64, Stretches>>,
}

/// The steps that a core took so far.
#[derive(Debug)]
struct Stretches {
    rng: Rng,
    /// Second in which each ends, and its clock.
    list: Vec<(f64, f64)>,
}

impl Timelines {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, by_core: RefCell::default() }
    }

    /// The clock of a core in a second.
    pub(super) fn hz(&self, clock: SimClock, core: u64, at: f64) -> f64 {
        let rng = || Rng::new(self.seed ^ (core + 1).wrapping_mul(0x94d0_49bb_1331_11eb));
        match clock {
            SimClock::Fixed => CORE_HZ,
            SimClock::Glide { low, high, period_seconds } => glide(low, high, period_seconds, rng().unit(), at),
            SimClock::Steps { low, high, step, mean_dwell_seconds } => {
                let mut by_core = self.by_core.borrow_mut();
                let own = by_core.entry(core).or_insert_with(|| Stretches { rng: rng(), list: Vec::new() });
                let steps = ((high - low) / step).round() as usize + 1;
                while own.list.last().is_none_or(|(end, _)| *end <= at) {
                    let from = own.list.last().map_or(0.0, |(end, _)| *end);
                    let hz = low + step * own.rng.below(steps) as f64;
                    own.list.push((from - mean_dwell_seconds * (1.0 - own.rng.unit()).ln(), hz));
                }
                own.list[own.list.partition_point(|(end, _)| *end <= at)].1
            }
        }
    }
}

/// The clock of a core that glides, by the phase of its course.
fn glide(low: f64, high: f64, period: f64, phase: f64, at: f64) -> f64 {
    f64::midpoint(low, high) + (high - low) / 2.0 * (TAU * (at / period + phase)).sin()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_has_one_course_whatever_is_asked_first() {
        let clock = SimClock::Steps { low: 2.8e9, high: 3.2e9, step: 1e8, mean_dwell_seconds: 0.01 };
        let (forward, back) = (Timelines::new(5), Timelines::new(5));
        let times: Vec<f64> = (0..500).map(|i| f64::from(i) * 0.003).collect();
        let seen: Vec<f64> = times.iter().map(|at| forward.hz(clock, 1, *at)).collect();
        let mut reversed: Vec<f64> = times.iter().rev().map(|at| back.hz(clock, 1, *at)).collect();
        reversed.reverse();
        assert_eq!(seen, reversed);
        assert!((0..5).all(|step| seen.iter().any(|hz| (hz - 2.8e9 - 1e8 * f64::from(step)).abs() < 1.0)));
        assert!(times.iter().any(|at| forward.hz(clock, 0, *at) != forward.hz(clock, 1, *at)));
    }

    #[test]
    fn a_clock_that_glides_stays_in_its_range() {
        let clock = SimClock::Glide { low: 2.8e9, high: 3.2e9, period_seconds: 0.1 };
        let seen: Vec<f64> = (0..100).map(|i| Timelines::new(5).hz(clock, 0, f64::from(i) * 0.001)).collect();
        let (least, most) = seen.iter().fold((f64::MAX, 0.0f64), |(least, most), hz| (least.min(*hz), most.max(*hz)));
        assert!((2.8e9..2.801e9).contains(&least) && (3.199e9..=3.2e9).contains(&most), "{least} {most}");
    }
}
