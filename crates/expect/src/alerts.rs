//! Alerts over samples, one after the other. Pure: the same samples give the same alarms, live and from a recording.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tiermark_model::{WatchAlert, WatchAlertChange, WatchSample};

use crate::alert::Alert;

/// Intervals without a sample from which on what was between is not known: the program was stopped, or the machine
/// suspended. A busy machine delays a sample by less.
const GAP: f64 = 4.0;
/// The shortest gap, in seconds: a program of low priority waits as long for its cpu.
const LEAST_GAP: f64 = 1.0;
/// Intervals after which the newest visit of a cell of `--active` says nothing of now. With the default budget each
/// cell is visited within some ten.
const STALE: f64 = 30.0;
/// Intervals whose median is the usual one, and the fewest that have one: a machine that is too slow for its interval
/// has samples at a longer one.
const USUAL: std::ops::RangeInclusive<usize> = 3..=15;
/// Ends of the names of a figure of `--active` and of its age.
const NOW: &str = ".now";
const AGE: &str = ".age_seconds";

/// Alerts, and since when the condition of each has held.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Alerts {
    all: Vec<Standing>,
    /// Seconds between two samples, as it was asked for.
    interval: f64,
    /// Seconds between the newest samples.
    passed: VecDeque<f64>,
    /// Ages of figures in the sample before, by their names.
    ages: BTreeMap<String, f64>,
    /// Figures of alerts that no sample has reported yet: a name may be of a node or a counter that the system lacks.
    unseen: BTreeSet<String>,
    samples: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct Standing {
    alert: Alert,
    /// Seconds since the first sample in a row in which it held.
    held: Option<f64>,
    /// Seconds since the newest sample that was judged.
    unjudged: f64,
    alarm: bool,
}

/// The time before a sample.
#[derive(Debug, Clone, Copy)]
struct Step {
    passed: f64,
    /// Seconds that usually pass between two samples.
    usual: f64,
}

impl Step {
    fn is_gap(self) -> bool {
        self.passed > (GAP * self.usual).max(LEAST_GAP)
    }
}

impl Alerts {
    /// Alerts before the first sample, and the seconds between two.
    pub fn new(alerts: impl IntoIterator<Item = Alert>, interval: f64) -> Self {
        let standing = |alert| Standing { alert, held: None, unjudged: 0.0, alarm: false };
        let interval = if interval.is_finite() { interval.max(0.0) } else { 0.0 };
        let all: Vec<Standing> = alerts.into_iter().map(standing).collect();
        let unseen = all.iter().flat_map(|standing| standing.alert.figures()).map(str::to_owned).collect();
        Self { all, interval, unseen, ..Self::default() }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Judges the next sample.
    ///
    /// An alarm begins with the sample whose condition has held for the whole time of the alert, to the nearest sample,
    /// and ends with the first in which the condition does not hold. In a sample that lacks a number of it, it does
    /// not. Time in which there was no sample for several intervals does not count. Of figures of `--active`, samples
    /// between two visits are not judged, since they repeat the visit before; one whose newest visit is too old is
    /// lacking.
    pub fn judge(&mut self, sample: &WatchSample) -> Vec<WatchAlert> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut numbers: BTreeMap<String, f64> =
            sample.figures().into_iter().filter_map(|figure| Some((figure.name(), figure.value?))).collect();
        self.samples = self.samples.saturating_add(1);
        self.unseen.retain(|name| !numbers.contains_key(name));
        let step = self.step(sample);
        let ages: BTreeMap<String, f64> = numbers
            .iter()
            .filter_map(|(name, age)| Some((format!("{}{NOW}", name.strip_suffix(AGE)?), *age)))
            .filter(|(name, _)| numbers.contains_key(name))
            .collect();
        for (name, _) in ages.iter().filter(|(_, age)| **age > STALE * step.usual) {
            numbers.remove(name);
        }
        // A figure that was not visited has aged by the time that passed, which is taken at another moment of the
        // sample.
        let is_new = |name: &str| {
            ages.get(name).map(|age| self.ages.get(name).is_none_or(|before| *age < before + step.passed / 2.0))
        };
        let judged = self.all.iter_mut().map(|standing| {
            let visited: Vec<bool> = standing.alert.figures().filter_map(is_new).collect();
            let is_news = visited.is_empty() || visited.contains(&true);
            standing.judge(&numbers, step, is_news)
        });
        let judged = judged.collect();
        self.ages = ages;
        judged
    }

    /// The figures that no sample has reported; none before the second sample, since the first has no rates.
    pub fn never_judged(&self) -> impl Iterator<Item = &str> {
        self.unseen.iter().filter(|_| self.samples > 1).map(String::as_str)
    }

    /// The time before a sample.
    fn step(&mut self, sample: &WatchSample) -> Step {
        let passed = sample.seconds.filter(|seconds| seconds.is_finite()).unwrap_or(0.0).max(0.0);
        let mut sorted: Vec<f64> = self.passed.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let median = sorted.get(sorted.len() / 2).filter(|_| sorted.len() >= *USUAL.start());
        let usual = median.copied().unwrap_or_default().max(self.interval);
        if passed > 0.0 {
            self.passed.push_back(passed);
        }
        if self.passed.len() > *USUAL.end() {
            self.passed.pop_front();
        }
        Step { passed, usual }
    }
}

impl Standing {
    fn judge(&mut self, numbers: &BTreeMap<String, f64>, step: Step, is_news: bool) -> WatchAlert {
        self.unjudged += step.passed;
        if step.is_gap() {
            // The time begins anew; an alarm stays until the condition is seen not to hold.
            self.held = self.held.map(|_| 0.0);
            self.unjudged = 0.0;
        }
        let sides = self.alert.sides(numbers);
        let before = self.alarm;
        if is_news || sides.contains(&None) {
            self.held = self.alert.holds(sides).then(|| self.held.map_or(0.0, |held| held + self.unjudged));
            self.unjudged = 0.0;
            self.alarm = self.held.is_some_and(|held| self.alarm || self.is_long_enough(held, step));
        }
        let change = match (before, self.alarm) {
            (false, true) => Some(WatchAlertChange::Raised),
            (true, false) => Some(WatchAlertChange::Ended),
            _ => None,
        };
        WatchAlert {
            alert: self.alert.text().to_owned(),
            alarm: self.alarm,
            change,
            held_seconds: self.held,
            value: sides[0],
            limit: sides[1],
            unit: self.alert.unit(),
        }
    }

    /// Whether the condition has held for the time of the alert. Samples are some ms early or late: the one nearest to
    /// the end of the time decides. One sample alone has no time.
    fn is_long_enough(&self, held: f64, step: Step) -> bool {
        let seconds = self.alert.seconds();
        seconds <= 0.0 || held > 0.0 && held + step.passed.min(step.usual) / 2.0 >= seconds
    }
}

#[cfg(test)]
mod tests;
