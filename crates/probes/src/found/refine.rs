//! Which footprints to measure next, so that the ends of levels and the grain come out narrower.

use tiermark_model::KIB;

use super::grain::first_level_between;
use super::types::{CurvePoint, clean};

/// Neighbours that differ by this (ratio) and are further apart than [`FINE`] get a point between them: an end lies
/// there.
const JUMPS: f64 = 1.2;
/// A jump is narrowed to this (ratio of footprints): one wild point then moves an end by less than the 10 % of a
/// resolved size.
const FINE: f64 = 1.045;
/// Neighbours that differ by this, more than noise and waves make, …
const MOVES: f64 = 1.06;
/// … get a point where they are further apart than this: a slope needs fewer points than a jump. So do the neighbours
/// of a jump, where the curve begins to bend.
const NEAR: f64 = 1.1;
/// Where the first level of a TLB may be full, a rise by this share over three neighbours may be its bend, which is
/// smaller than the end of a cache.
const BENDS: std::ops::Range<f64> = 1.05..1.8;
/// Points a round at most, so that later rounds know more.
pub(crate) const MOST: usize = 16;
/// The curve is followed beyond its end while its last octave rises by more than this: memory is flat.
const RISING: f64 = 1.08;

/// Footprints to measure next, rising, at most `most` and [`MOST`]: between neighbours that differ, next to jumps, and,
/// up to `largest` bytes, beyond a curve that ends in a climb. Empty when nothing is gained.
///
/// Each end of a level gets its best point before any gets a second one: the climb to memory, which is the highest,
/// would take all that a quick run has, and it is the one that neighbours blur.
pub(crate) fn refine(curve: &[CurvePoint], largest: u64, most: usize) -> Vec<u64> {
    let kept = clean(curve);
    let rise = |i: usize| kept[i + 1].ns / kept[i].ns;
    let gap = |i: usize| kept[i + 1].bytes as f64 / kept[i].bytes as f64;
    let pairs = kept.len().saturating_sub(1);
    let beside_jump = |i: usize| (i > 0 && rise(i - 1) > JUMPS) || (i + 1 < pairs && rise(i + 1) > JUMPS);
    let may_bend = |i: usize| {
        let (from, to) = (i.saturating_sub(1), (i + 2).min(kept.len() - 1));
        first_level_between(kept[i].bytes, kept[to].bytes) && BENDS.contains(&(kept[to].ns / kept[from].ns))
    };
    let most = most.min(MOST);
    let wanted: Vec<(usize, f64, u64)> = (0..pairs)
        .filter(|&i| {
            let limit = if rise(i) > JUMPS { FINE } else { NEAR };
            gap(i) > limit && (rise(i) > MOVES || beside_jump(i) || may_bend(i))
        })
        .filter_map(|i| {
            let gain = rise(i).ln().abs().max(MOVES.ln()) * gap(i).ln();
            Some((i, gain, inside(curve, kept[i].bytes, kept[i + 1].bytes)?))
        })
        .collect();
    let beyond = beyond(&kept, largest);
    let mut sizes = by_turns(wanted);
    sizes.truncate(most.saturating_sub(usize::from(beyond.is_some())));
    sizes.extend(beyond.filter(|_| most > 0));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Footprints by gain, in turns: the best of each climb (neighbouring pairs, given by the first one's index and gain),
/// the second, …
fn by_turns(wanted: Vec<(usize, f64, u64)>) -> Vec<u64> {
    let mut climbs: Vec<Vec<(usize, f64, u64)>> = Vec::new();
    for pair in wanted {
        match climbs.last_mut() {
            Some(climb) if climb.last().is_some_and(|last| last.0 + 1 == pair.0) => climb.push(pair),
            _ => climbs.push(vec![pair]),
        }
    }
    let mut turns: Vec<(usize, f64, u64)> = Vec::new();
    for mut climb in climbs {
        climb.sort_by(|a, b| b.1.total_cmp(&a.1));
        turns.extend(climb.into_iter().enumerate().map(|(turn, (_, gain, bytes))| (turn, gain, bytes)));
    }
    turns.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    turns.into_iter().map(|(_, _, bytes)| bytes).collect()
}

/// Where between two neighbours the next point lies (share of the way, in log): half-way, or beside that where the
/// point there was measured and found wrong.
const PLACES: [f64; 5] = [0.5, 0.4, 0.6, 0.3, 0.7];

/// A footprint between two others that was not measured yet, in KiB; `None` if there is no such footprint.
fn inside(curve: &[CurvePoint], low: u64, high: u64) -> Option<u64> {
    let at = |share: &f64| {
        let bytes = low as f64 * (high as f64 / low as f64).powf(*share);
        (bytes / KIB as f64).round() as u64 * KIB
    };
    PLACES.iter().map(at).find(|bytes| low < *bytes && *bytes < high && curve.iter().all(|p| p.bytes != *bytes))
}

/// Half an octave beyond the end of a curve that still rises.
fn beyond(kept: &[CurvePoint], largest: u64) -> Option<u64> {
    let last = kept.last()?;
    let before = kept.iter().rev().find(|p| p.bytes <= last.bytes / 2)?;
    let next = (last.bytes as f64 * std::f64::consts::SQRT_2 / KIB as f64).round() as u64 * KIB;
    (last.ns > RISING * before.ns && next <= largest).then_some(next)
}
