//! What the blocks inside clean windows come to.

use super::track::Track;
use crate::roll::{Gauge, Work};

/// What a gauge says of some threads; `None` where nothing clean is left.
pub(super) fn of(gauge: Gauge, tracks: &[&Track<'_>], clean: &[(f64, f64)], stamp_ns: f64) -> Option<f64> {
    let turns = || tracks.iter().map(|track| turn(track, clean, stamp_ns)).collect::<Option<Vec<f64>>>();
    match gauge {
        Gauge::Own(Work::Accesses | Work::Calls | Work::Meetings) => median_block(tracks, clean, stamp_ns),
        Gauge::Own(Work::Bytes) => median_rate(tracks, clean, stamp_ns),
        Gauge::Own(Work::Transfers) => whole_rate(tracks, clean, stamp_ns),
        Gauge::Own(Work::Turns) => tiermark_stats::median(&turns()?),
        Gauge::Own(Work::Service) => None,
        Gauge::Line => Some(1.0 / turns()?.iter().map(|ns| 1.0 / ns).sum::<f64>()),
        Gauge::Evenness => {
            let turns = turns()?;
            let (least, most) = (turns.iter().copied().reduce(f64::min)?, turns.iter().copied().reduce(f64::max)?);
            Some(least / most)
        }
    }
}

/// Time between the turns of one contender: that of all clean windows over the turns it had in them, since a median block would be
/// one inside a burst, without the wait for it.
fn turn(track: &Track<'_>, clean: &[(f64, f64)], stamp_ns: f64) -> Option<f64> {
    let time: f64 = clean.iter().map(|(from, to)| to - from).sum();
    let turns: f64 = clean.iter().map(|(from, to)| track.work_at(*to) - track.work_at(*from)).sum();
    // Time spent stamping is not time spent waiting.
    Some(time / turns - stamp_ns / track.shot.per_block).filter(|ns| ns.is_finite() && *ns > 0.0)
}

/// Median time of an access over the blocks inside clean windows: the mean of the middle fifth of them, which is as
/// robust as the median and does not stand on the clock's own steps (10 ns on some processors, 0.25 % of a short block).
fn median_block(tracks: &[&Track<'_>], clean: &[(f64, f64)], stamp_ns: f64) -> Option<f64> {
    let mut values = Vec::new();
    for track in tracks {
        let stamps = &track.shot.stamps_ns;
        for (from, to) in clean {
            let first = stamps.partition_point(|s| s < from);
            let inside = stamps[first..].iter().take_while(|s| *s <= to).count();
            values.extend(
                stamps[first..first + inside].windows(2).map(|w| (w[1] - w[0] - stamp_ns) / track.shot.per_block),
            );
        }
    }
    middle_fifth(values)
}

pub(super) fn middle_fifth(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let from = values.len() * 2 / 5;
    let middle = values.get(from..values.len() - from)?;
    (!middle.is_empty()).then(|| middle.iter().sum::<f64>() / middle.len() as f64)
}

/// Median over clean windows of the bytes all threads moved inside the window, over its length.
fn median_rate(tracks: &[&Track<'_>], clean: &[(f64, f64)], stamp_ns: f64) -> Option<f64> {
    let rates: Vec<f64> = clean
        .iter()
        .map(|(from, to)| {
            tracks
                .iter()
                .map(|t| {
                    // Time spent stamping is not time spent moving bytes.
                    let busy = 1.0 - stamp_ns / t.median_block;
                    (t.work_at(*to) - t.work_at(*from)) / ((to - from) * busy) * 1e9
                })
                .sum()
        })
        .collect();
    tiermark_stats::median(&rates)
}

/// Bytes of all clean windows over their length. Not a median: a channel has fast and slow phases, and whoever uses it has both.
fn whole_rate(tracks: &[&Track<'_>], clean: &[(f64, f64)], stamp_ns: f64) -> Option<f64> {
    let time: f64 = clean.iter().map(|(from, to)| to - from).sum();
    let of = |track: &&Track<'_>| {
        let bytes: f64 = clean.iter().map(|(from, to)| track.work_at(*to) - track.work_at(*from)).sum();
        // The stamps of so many blocks are not time that it took.
        bytes / (time - stamp_ns * bytes / track.shot.per_block) * 1e9
    };
    Some(tracks.iter().map(of).sum()).filter(|rate: &f64| rate.is_finite() && *rate > 0.0)
}
