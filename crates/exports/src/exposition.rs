//! A sample in the text format that Prometheus scrapes, in base units (bytes, seconds, ratios).

mod traffic;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tiermark_model::{WatchFigure, WatchKind, WatchSample};

use crate::openmetrics::{escaped, name};

/// Renders a sample: gauges, since rates are made already. What the system does not report has no line.
pub fn watch_exposition(sample: &WatchSample) -> String {
    // All lines of a family follow each other.
    let mut families: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // Traffic has lines by channel, whose sums Prometheus makes itself.
    for figure in sample.figures().into_iter().filter(|figure| !figure.is_traffic()) {
        let Some(value) = figure.value.filter(|value| value.is_finite()) else { continue };
        let labels = labels(&figure);
        let value = match figure.kind {
            WatchKind::Percent => value / 100.0,
            WatchKind::Nanoseconds => value / 1e9,
            _ => value,
        };
        families.entry(family(&figure)).or_default().push(format!("{labels} {value}"));
    }
    for (family, line) in sample.traffic.iter().flat_map(traffic::lines) {
        families.entry(family.to_owned()).or_default().push(line);
    }
    // A comment, which Prometheus passes over: a person who looks at the page sees it.
    let banner = |name: &String| format!("# SIMULATED machine '{}': nothing was measured\n", escaped(name));
    let mut out = sample.simulated.as_ref().map_or_else(String::new, banner);
    for (family, lines) in families {
        let _ = writeln!(out, "# TYPE {family} gauge");
        for line in lines {
            let _ = writeln!(out, "{family}{line}");
        }
    }
    out + "# EOF\n"
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
