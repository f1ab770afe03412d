//! What the program spends beside its measurements: reading the system, output, screen.

/// Rounds before it is judged: the first ones open files and grow buffers.
const LEAST_ROUNDS: u32 = 5;
/// Rounds after which older ones weigh half: about a minute at one a second.
const MEMORY_ROUNDS: u32 = 64;
/// Part of the budget from which on too little is left: a visit to one of nine cells is then rarer than one in some
/// tens of samples.
const TOO_MUCH: f64 = 0.7;
/// Part of the budget that it takes at the interval that is advised: the other half is that of the measurements.
const FAIR: f64 = 0.5;
/// The longest interval of a watch, seconds.
const LONGEST: f64 = 3600.0;

/// Cpu time beside the measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Overhead {
    /// Share of one cpu that the whole program may use.
    budget: f64,
    rounds: u32,
    /// Seconds that passed, and cpu time that was used in them.
    passed: f64,
    used: f64,
}

/// A budget of which too little is left for measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Excess {
    /// Share of one cpu that the program uses beside its measurements.
    pub(super) share: f64,
    /// Seconds between samples that would leave half of the budget to measurements.
    pub(super) interval: f64,
    /// Share of one cpu that would leave half of it to measurements.
    pub(super) budget: f64,
}

impl Overhead {
    pub(super) fn new(budget: f64) -> Self {
        Self { budget, rounds: 0, passed: 0.0, used: 0.0 }
    }

    /// Takes in a round: the time since the one before, and the cpu time that was used in it for other things.
    pub(super) fn add(&mut self, passed: f64, used: f64) {
        if self.rounds >= MEMORY_ROUNDS {
            (self.rounds, self.passed, self.used) = (self.rounds / 2, self.passed / 2.0, self.used / 2.0);
        }
        self.rounds += 1;
        self.passed += passed;
        self.used += used;
    }

    /// What is wrong, if too little of the budget is left.
    pub(super) fn excess(&self) -> Option<Excess> {
        let share = self.used / self.passed;
        if self.rounds < LEAST_ROUNDS || share.is_nan() || share <= TOO_MUCH * self.budget {
            return None;
        }
        let each = self.used / f64::from(self.rounds);
        Some(Excess {
            share,
            interval: above(each / (FAIR * self.budget)).min(LONGEST),
            budget: above(share / FAIR * 100.0) / 100.0,
        })
    }
}

/// The next number that is written shortly: by tenths, from 10 on whole.
fn above(number: f64) -> f64 {
    let steps = if number < 10.0 { 10.0 } else { 1.0 };
    (number * steps).ceil() / steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(rounds: u32, interval: f64, used: f64) -> Option<Excess> {
        let mut overhead = Overhead::new(0.01);
        (0..rounds).for_each(|_| overhead.add(interval, used));
        overhead.excess()
    }

    #[test]
    fn an_interval_that_is_too_short_names_one_that_will_do() {
        // 3.4 ms of each 0.2 s are 1.7 % of a cpu, and at 0.7 s half of a budget of 1 %.
        let excess = after(10, 0.2, 3.4e-3).unwrap();
        assert!((excess.share - 0.017).abs() < 1e-9);
        assert_eq!((excess.interval, excess.budget), (0.7, 0.034));
        assert_eq!(after(10, 0.7, 3.4e-3), None, "the interval that was advised is fine");
        assert_eq!(after(4, 0.2, 3.4e-3), None, "the first rounds are not judged");
        assert_eq!(after(10, 0.0, 0.0), None);
        assert_eq!(after(10, 1.0, 1.0).unwrap().interval, 200.0);
    }

    #[test]
    fn what_was_once_dear_is_forgotten() {
        let mut overhead = Overhead::new(0.01);
        (0..200).for_each(|_| overhead.add(1.0, 0.02));
        assert!(overhead.excess().is_some());
        (0..400).for_each(|_| overhead.add(1.0, 0.001));
        assert_eq!(overhead.excess(), None);
    }
}
