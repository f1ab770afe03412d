//! Samples of `--active` as text.

use tiermark_model::{WatchActive, WatchBest, WatchSample, format_gbs, format_ns};

use super::{Column, percent};

/// The columns of samples with measurements, which fit 80 with a space between two.
pub(super) const COLUMNS: [Column; 13] = [
    ("time UTC", 8, |s| Some(s.time.get(11..19).unwrap_or(&s.time).to_owned())),
    // Stolen time is a part of it.
    ("away%", 5, |s| s.active.as_ref()?.interrupted.map(percent)),
    ("GHz", 4, |s| now(s.active.as_ref()?.clock).map(|hz| format!("{:.2}", hz / 1e9))),
    ("L1 ns", 5, |s| now(s.active.as_ref()?.l1.latency).map(format_ns)),
    ("GB/s", 5, |s| now(s.active.as_ref()?.l1.bandwidth).map(format_gbs)),
    ("L2 ns", 5, |s| now(s.active.as_ref()?.l2.latency).map(format_ns)),
    ("L3 ns", 5, |s| now(s.active.as_ref()?.l3.latency).map(format_ns)),
    ("lasts", 6, |s| now(s.active.as_ref()?.l3.lasts).map(watch_time)),
    ("DRAM", 5, |s| now(s.active.as_ref()?.dram.latency).map(format_ns)),
    ("GB/s", 5, |s| now(s.active.as_ref()?.dram.bandwidth).map(format_gbs)),
    ("ping", 5, |s| slowest_ping(s.active.as_ref()?).map(format_ns)),
    ("moves", 5, |s: &WatchSample| {
        s.active.as_ref().filter(|active| !active.pings.is_empty()).map(|a| a.moves.to_string())
    }),
    ("cost", 5, |s| cost(s).map(|share| format!("{:.2}", share * 100.0))),
];

fn now(best: Option<WatchBest>) -> Option<f64> {
    best?.now
}

/// The slowest round trip between two cpus.
fn slowest_ping(active: &WatchActive) -> Option<f64> {
    active.pings.iter().filter_map(|ping| ping.now).reduce(f64::max)
}

/// Cpu time of the program, as a share of one cpu; of a simulated machine that of the measurements.
fn cost(sample: &WatchSample) -> Option<f64> {
    sample.own.cpu_share.or(sample.active.as_ref()?.cost_share)
}

/// A time in at most six characters: `0.85ms`, `12.3ms`, `1.50s`.
pub(crate) fn watch_time(seconds: f64) -> String {
    let (number, unit) = time(seconds);
    number + unit
}

/// A time as a number of its unit.
pub(super) fn time(seconds: f64) -> (String, &'static str) {
    match seconds {
        seconds if seconds < 0.1 => (format_ns(seconds * 1e3), "ms"),
        seconds if seconds < 1.0 => (format!("{:.0}", seconds * 1e3), "ms"),
        seconds => (format_ns(seconds), "s"),
    }
}
