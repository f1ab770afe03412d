//! A sample in the text format that Prometheus scrapes, in base units (bytes, seconds, ratios).

mod traffic;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tiermark_model::{WatchFigure, WatchKind, WatchSample};

use crate::metrics;
use crate::openmetrics::{begin, escaped, name, unix_seconds};

/// Renders a sample: gauges, since rates are made already. What the system does not report has no line.
pub fn watch_exposition(sample: &WatchSample) -> String {
    // All lines of a family follow each other.
    let mut families = Families::new();
    let about = [
        (metrics::WATCH_TIMESTAMP, unix_seconds(&sample.time).map(|at| format!(" {at}"))),
        // A line and no comment: OpenMetrics allows none, and Prometheus would refuse the whole page.
        (
            metrics::WATCH_SIMULATED,
            sample.simulated.as_ref().map(|name| format!("{{machine=\"{}\"}} 1", escaped(name))),
        ),
    ];
    for (metric, line) in about {
        if let Some(line) = line {
            put(&mut families, metric.name, metric.help, line);
        }
    }
    // Traffic has lines by channel, whose sums Prometheus makes itself.
    for figure in sample.figures().into_iter().filter(|figure| !figure.is_traffic()) {
        let Some(value) = figure.value.filter(|value| value.is_finite()) else { continue };
        let labels = labels(&figure);
        let value = match figure.kind {
            WatchKind::Percent => value / 100.0,
            WatchKind::Nanoseconds => value / 1e9,
            _ => value,
        };
        let help = format!("Figure {} of a sample of tiermark watch.", figure.path.join("."));
        put(&mut families, &family(&figure), &help, format!("{labels} {value}"));
    }
    for (metric, line) in sample.traffic.iter().flat_map(traffic::lines) {
        put(&mut families, metric.name, metric.help, line);
    }
    let mut out = String::new();
    for (family, (help, lines)) in families {
        begin(&mut out, &family, &help);
        for line in lines {
            let _ = writeln!(out, "{family}{line}");
        }
    }
    out + "# EOF\n"
}

/// The help of a family and its lines, by its name.
type Families = BTreeMap<String, (String, Vec<String>)>;

fn put(families: &mut Families, family: &str, help: &str, line: String) {
    families.entry(family.to_owned()).or_insert_with(|| (help.to_owned(), Vec::new())).1.push(line);
}

/// `tiermark_watch_psi_memory_some_avg10_ratio`, `tiermark_watch_nodes_free_bytes`.
fn family(figure: &WatchFigure) -> String {
    let plain = name(&figure.path.join("_"));
    let suffix = match figure.kind {
        WatchKind::Seconds | WatchKind::Nanoseconds if !plain.ends_with("seconds") => "_seconds",
        WatchKind::Bytes | WatchKind::Seconds | WatchKind::Nanoseconds | WatchKind::Count => "",
        WatchKind::Hertz => "_hertz",
        WatchKind::Percent | WatchKind::Share => "_ratio",
        WatchKind::BytesPerSecond if !plain.ends_with("bytes") => "_bytes_per_second",
        WatchKind::BytesPerSecond | WatchKind::PerSecond => "_per_second",
    };
    format!("tiermark_watch_{plain}{suffix}")
}

fn labels(figure: &WatchFigure) -> String {
    figure.item.as_ref().map_or_else(String::new, |(key, item)| format!("{{{key}=\"{}\"}}", escaped(item)))
}

#[cfg(test)]
mod tests;
