//! The value of a window, from its blocks.

use super::track::Track;
use crate::accounting::{Gauge, Work};

/// The value of some threads in a window; `None` if no block of theirs lies in the window.
pub(super) fn of(gauge: Gauge, tracks: &[&Track<'_>], window: (f64, f64), stamp_ns: f64) -> Option<f64> {
    let turns = || tracks.iter().map(|track| turn(track, window, stamp_ns)).collect::<Option<Vec<f64>>>();
    match gauge {
        Gauge::Own(Work::Accesses | Work::Revisits | Work::FirstAccesses | Work::Turns) => {
            tiermark_stats::median(&turns()?)
        }
        Gauge::Own(Work::Calls | Work::Meetings) => middle_block(tracks, window, stamp_ns),
        Gauge::Own(Work::Bytes | Work::Transfers) => rate(tracks, window, stamp_ns),
        Gauge::Own(Work::Service) => None,
        Gauge::Line => Some(1.0 / turns()?.iter().map(|ns| 1.0 / ns).sum::<f64>()),
        Gauge::Evenness => {
            let turns = turns()?;
            let (least, most) = (turns.iter().copied().reduce(f64::min)?, turns.iter().copied().reduce(f64::max)?);
            Some(least / most)
        }
    }
}

/// Time between two accesses of a thread, or its turns: that of the window over those it had in it.
fn turn(track: &Track<'_>, window: (f64, f64), stamp_ns: f64) -> Option<f64> {
    let (turns, ns) = track.counted(window, stamp_ns);
    Some(ns / turns).filter(|ns| ns.is_finite() && *ns > 0.0)
}

/// Time of an operation over the blocks of a window: the mean of the middle fifth of them, which is as robust as the
/// median and does not stand on the clock's own steps (10 ns on some processors, 0.25 % of a short block).
fn middle_block(tracks: &[&Track<'_>], (from, to): (f64, f64), stamp_ns: f64) -> Option<f64> {
    let mut values = Vec::new();
    for track in tracks {
        let stamps = &track.shot.stamps_ns;
        let first = stamps.partition_point(|s| *s < from);
        let inside = stamps[first..].iter().take_while(|s| **s <= to).count();
        values
            .extend(stamps[first..first + inside].windows(2).map(|w| (w[1] - w[0] - stamp_ns) / track.shot.per_block));
    }
    middle_fifth(values)
}

pub(super) fn middle_fifth(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let from = values.len() * 2 / 5;
    let middle = values.get(from..values.len() - from)?;
    (!middle.is_empty()).then(|| middle.iter().sum::<f64>() / middle.len() as f64)
}

/// Bytes a second that all threads moved inside the window.
fn rate(tracks: &[&Track<'_>], window: (f64, f64), stamp_ns: f64) -> Option<f64> {
    let track_rate = |track: &&Track<'_>| {
        let (bytes, ns) = track.counted(window, stamp_ns);
        bytes / ns * 1e9
    };
    Some(tracks.iter().map(track_rate).sum()).filter(|rate: &f64| rate.is_finite() && *rate > 0.0)
}
