//! The lines of alerts.

use ratatui::text::Line;
use tiermark_model::{WatchAlert, WatchSample};
use tiermark_page::{Ink, Style};

use crate::monitor::backend::line;
use crate::monitor::text::watch_alert_value;

/// The alerts in at most so many lines, alarms first. The last line counts those that do not fit.
pub(crate) fn shown(sample: &WatchSample, most: usize, style: &Style) -> Vec<Line<'static>> {
    let mut alerts: Vec<&WatchAlert> = sample.alerts.iter().collect();
    alerts.sort_by_key(|alert| !alert.alarm);
    let hidden = alerts.len().saturating_sub(most);
    let mut lines: Vec<Line<'static>> = alerts.iter().take(most).map(|alert| shown_alert(alert, style)).collect();
    if let Some(last) = lines.last_mut().filter(|_| hidden > 0) {
        let alarms = alerts[most..].iter().filter(|alert| alert.alarm).count();
        last.push_span(format!(" (and {hidden} more, {alarms} with alarm)"));
    }
    lines
}

fn shown_alert(alert: &WatchAlert, style: &Style) -> Line<'static> {
    let (mark, ink) = if alert.alarm { ("!ALARM", Ink::Bad) } else { (" alert", Ink::Dim) };
    let now = watch_alert_value(alert).unwrap_or_else(|| "not reported".to_owned());
    line(format!("{mark} {}: {now}", alert.alert), ink, style)
}
