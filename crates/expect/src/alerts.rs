//! Alerts over samples, one after the other. Pure: the same samples give the same alarms, live and from a recording.

use std::collections::BTreeMap;

use tiermark_model::{WatchAlert, WatchAlertChange, WatchSample};

use crate::alert::Alert;

/// Alerts, and since when the condition of each has held.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Alerts(Vec<Standing>);

#[derive(Debug, Clone, PartialEq)]
struct Standing {
    alert: Alert,
    /// Seconds since the first sample in a row in which it held.
    held: Option<f64>,
    alarm: bool,
}

impl Alerts {
    /// Alerts before the first sample.
    pub fn new(alerts: impl IntoIterator<Item = Alert>) -> Self {
        Self(alerts.into_iter().map(|alert| Standing { alert, held: None, alarm: false }).collect())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Judges the next sample.
    ///
    /// An alarm begins with the sample whose condition has held for the whole time of the alert, to the nearest sample, and
    /// ends with the first in which the condition does not hold. In a sample that lacks a number of it, it does not.
    pub fn judge(&mut self, sample: &WatchSample) -> Vec<WatchAlert> {
        if self.is_empty() {
            return Vec::new();
        }
        let numbers: BTreeMap<String, f64> =
            sample.figures().into_iter().filter_map(|figure| Some((figure.name(), figure.value?))).collect();
        let passed = sample.seconds.filter(|seconds| seconds.is_finite()).unwrap_or(0.0).max(0.0);
        self.0.iter_mut().map(|standing| standing.judge(&numbers, passed)).collect()
    }
}

impl Standing {
    fn judge(&mut self, numbers: &BTreeMap<String, f64>, passed: f64) -> WatchAlert {
        let sides = self.alert.sides(numbers);
        self.held = self.alert.holds(sides).then(|| self.held.map_or(0.0, |held| held + passed));
        // Samples are some ms early or late: the one nearest to the end of the time decides. While the condition holds, an
        // alarm stays.
        let alarm = self.held.is_some_and(|held| self.alarm || held + passed / 2.0 >= self.alert.seconds());
        let change = match (self.alarm, alarm) {
            (false, true) => Some(WatchAlertChange::Raised),
            (true, false) => Some(WatchAlertChange::Ended),
            _ => None,
        };
        self.alarm = alarm;
        WatchAlert {
            alert: self.alert.text().to_owned(),
            alarm,
            change,
            held_seconds: self.held,
            value: sides[0],
            limit: sides[1],
            unit: self.alert.unit(),
        }
    }
}

#[cfg(test)]
mod tests;
