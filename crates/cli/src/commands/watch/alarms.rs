//! Alarms: samples are judged by the alerts, and changes are reported.

use tiermark_expect::{Alert, Alerts};
use tiermark_model::{Exit, WatchAlert, WatchSample};

use crate::output::tell;

/// The alerts of this watch.
pub(super) struct Alarms {
    alerts: Alerts,
    /// Whether the screen shows them, which lines on standard error would spoil.
    on_screen: bool,
    raised: bool,
    /// Reports that wait for the end of the screen.
    held_back: Vec<String>,
}

impl Alarms {
    /// Alerts of samples at an interval, in seconds.
    pub(super) fn new(alerts: &[Alert], interval: f64, on_screen: bool) -> Self {
        Self { alerts: Alerts::new(alerts.iter().cloned(), interval), on_screen, raised: false, held_back: Vec::new() }
    }

    /// Judges a sample. Without alerts, a sample of a recording keeps what it was judged when it was recorded.
    pub(super) fn judge(&mut self, sample: &mut WatchSample) {
        if !self.alerts.is_empty() {
            sample.alerts = self.alerts.judge(sample);
        }
        self.raised |= sample.alerts.iter().any(|alert| alert.alarm);
        for alert in sample.alerts.iter().filter(|alert: &&WatchAlert| alert.change.is_some()) {
            let report = format!("tiermark: {}", tiermark_watch::monitor::watch_alarm(alert, &sample.time));
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
        for name in self.alerts.never_judged() {
            tell(format_args!(
                "tiermark: warning: no sample had a value of '{name}', so that its alert was never judged"
            ));
        }
        match ended {
            Exit::Done | Exit::Command(0) | Exit::Interrupted | Exit::HungUp | Exit::Terminated if self.raised => {
                Exit::Regression
            }
            // No alarm is no answer of an alert that was never judged.
            Exit::Done | Exit::Command(0) if self.alerts.never_judged().next().is_some() => Exit::Partial,
            ended => ended,
        }
    }
}
