//! Alarms: samples are judged by the alerts, and changes are reported.

use std::collections::BTreeSet;

use tiermark_expect::{Alert, Alerts};
use tiermark_model::{Exit, WatchAlert, WatchSample};

use crate::output::tell;

/// The alerts of this watch.
pub(super) struct Alarms {
    alerts: Alerts,
    missing: Missing,
    /// Whether the screen shows them, which lines on standard error would spoil.
    on_screen: bool,
    raised: bool,
    /// Reports that wait for the end of the screen.
    held_back: Vec<String>,
}

impl Alarms {
    /// Alerts of samples at an interval, in seconds.
    pub(super) fn new(alerts: &[Alert], interval: f64, on_screen: bool) -> Self {
        Self {
            alerts: Alerts::new(alerts.iter().cloned(), interval),
            missing: Missing::new(alerts),
            on_screen,
            raised: false,
            held_back: Vec::new(),
        }
    }

    /// Judges a sample. Without alerts, a sample of a recording keeps what it was judged when it was recorded.
    pub(super) fn judge(&mut self, sample: &mut WatchSample) {
        if !self.alerts.is_empty() {
            sample.alerts = self.alerts.judge(sample);
            self.missing.see(sample);
        }
        self.raised |= sample.alerts.iter().any(|alert| alert.alarm);
        for alert in sample.alerts.iter().filter(|alert: &&WatchAlert| alert.change.is_some()) {
            let report = format!("tiermark: {}", tiermark_report::watch_alarm(alert, &sample.time));
            if self.on_screen { self.hold_back(report) } else { tell(report) }
        }
    }

    /// Keeps the newest reports: a watch may last for months.
    fn hold_back(&mut self, report: String) {
        const MOST: usize = 20;
        if self.held_back.len() == MOST {
            self.held_back.remove(0);
        }
        self.held_back.push(report);
    }

    /// The exit code of a watch that ended so: an alarm counts, unless the command failed.
    pub(super) fn exit(&self, ended: Exit) -> Exit {
        self.held_back.iter().for_each(tell);
        for name in self.missing.names() {
            tell(format_args!(
                "tiermark: warning: no sample had a value of '{name}', so that its alert was never judged"
            ));
        }
        match ended {
            Exit::Done | Exit::Command(0) | Exit::Interrupted | Exit::HungUp | Exit::Terminated if self.raised => {
                Exit::Regression
            }
            // No alarm is no answer of an alert that was never judged.
            Exit::Done | Exit::Command(0) if self.missing.names().next().is_some() => Exit::Partial,
            ended => ended,
        }
    }
}

/// Figures of alerts that no sample has reported yet: a name may be of a node or a counter that this system lacks.
#[derive(Debug, Default)]
struct Missing {
    names: BTreeSet<String>,
    samples: u64,
}

impl Missing {
    fn new(alerts: &[Alert]) -> Self {
        let names = alerts.iter().flat_map(Alert::figures).map(str::to_owned).collect();
        Self { names, ..Self::default() }
    }

    fn see(&mut self, sample: &WatchSample) {
        self.samples = self.samples.saturating_add(1);
        if !self.names.is_empty() {
            for figure in sample.figures().iter().filter(|figure| figure.value.is_some()) {
                self.names.remove(&figure.name());
            }
        }
    }

    /// The figures that were never reported; none before the second sample, since the first has no rates.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter(|_| self.samples > 1).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_no_sample_has_are_named_once() {
        let alerts = ["seconds > 5 s", "nodes.7.free_bytes < 1 GiB", "nodes.7.free_bytes < 2 GiB"];
        let mut missing = Missing::new(&alerts.map(|text| Alert::parse(text).unwrap()));
        missing.see(&WatchSample::default());
        assert_eq!(missing.names().count(), 0, "the first sample has no rates");
        missing.see(&WatchSample { seconds: Some(1.0), ..WatchSample::default() });
        assert_eq!(missing.names().collect::<Vec<_>>(), ["nodes.7.free_bytes"]);
    }
}
