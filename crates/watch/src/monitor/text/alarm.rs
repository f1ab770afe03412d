//! An alarm in words.

use tiermark_model::{Bytes, CheckUnit, WatchAlert, WatchAlertChange, format_gbs, format_ns};

/// An alert whose alarm began or ended, in one line.
pub fn watch_alarm(alert: &WatchAlert, time: &str) -> String {
    let what = match alert.change {
        Some(WatchAlertChange::Ended) => "alarm ended",
        _ if alert.alarm => "alarm",
        _ => "no alarm",
    };
    format!(
        "{what} at {time}: {}{}",
        alert.alert,
        watch_alert_value(alert).map_or_else(String::new, |now| format!(": now {now}"))
    )
}

/// The two sides of an alert, with their unit: `212 ns, limit 150 ns`; `None` where the left one is not reported.
pub(crate) fn watch_alert_value(alert: &WatchAlert) -> Option<String> {
    let is_share = alert.alert.contains('%');
    let shown = |value: f64| match alert.unit {
        CheckUnit::Ns if value >= 1e9 => format!("{:.1} s", value / 1e9),
        CheckUnit::Ns => format!("{} ns", format_ns(value)),
        CheckUnit::BytesPerSecond => rate(value),
        CheckUnit::TransfersPerSecond => format!("{:.0} MT/s", value / 1e6),
        CheckUnit::Bytes => Bytes(value as u64).to_string(),
        CheckUnit::Hz => format!("{:.2} GHz", value / 1e9),
        CheckUnit::Number if is_share => format!("{:.1} %", value * 100.0),
        CheckUnit::Number | CheckUnit::Text => super::short(value, 1000.0),
    };
    let value = shown(alert.value?);
    Some(alert.limit.map_or_else(|| value.clone(), |limit| format!("{value}, limit {}", shown(limit))))
}

/// A rate in the unit of its size: swapping that raises an alarm may be a thousandth of what memory carries.
fn rate(bytes_per_second: f64) -> String {
    let units = [(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "KB/s")];
    match units.into_iter().find(|(of, _)| bytes_per_second.abs() >= *of) {
        // The digits of `format_gbs` are those of the number in front of the unit.
        Some((of, unit)) => format!("{} {unit}", format_gbs(bytes_per_second / of * 1e9)),
        None => format!("{bytes_per_second:.0} B/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_name_their_numbers() {
        let alert = |text: &str, unit, value, limit| WatchAlert {
            alert: text.to_owned(),
            alarm: true,
            change: Some(WatchAlertChange::Raised),
            held_seconds: Some(30.0),
            value,
            limit,
            unit,
        };
        let text = "latency.dram > 1.5 x capability for 30s";
        let raised = alert(text, CheckUnit::Ns, Some(212.4), Some(150.0));
        let time = "2026-11-25T14:20:03.250Z";
        assert_eq!(watch_alarm(&raised, time), format!("alarm at {time}: {text}: now 212 ns, limit 150 ns"));
        let ended = WatchAlert { alarm: false, change: Some(WatchAlertChange::Ended), value: None, ..raised };
        assert_eq!(watch_alarm(&ended, time), format!("alarm ended at {time}: {text}"));
        let shown = |text, unit, value| watch_alert_value(&alert(text, unit, Some(value), None)).unwrap();
        assert_eq!(shown("cpu.steal > 5 %", CheckUnit::Number, 0.123), "12.3 %");
        assert_eq!(shown("vm.faults > 5", CheckUnit::Number, 12_500.0), "12.5K");
        assert_eq!(shown("a", CheckUnit::Bytes, 3.0 * (1u64 << 30) as f64), "3 GiB");
        assert_eq!(shown("a", CheckUnit::BytesPerSecond, 12.5e9), "12.5 GB/s");
        // Swapping: 0.01 GB/s and a limit of 0.00 GB/s say nothing.
        assert_eq!(shown("a", CheckUnit::BytesPerSecond, 7.25e6), "7.25 MB/s");
        assert_eq!(shown("a", CheckUnit::BytesPerSecond, 1e6), "1.00 MB/s");
        assert_eq!(shown("a", CheckUnit::BytesPerSecond, 4096.0), "4.10 KB/s");
        assert_eq!(shown("a", CheckUnit::BytesPerSecond, 0.0), "0 B/s");
        assert_eq!(shown("seconds > 2 s", CheckUnit::Ns, 2.5e9), "2.5 s");
    }
}
