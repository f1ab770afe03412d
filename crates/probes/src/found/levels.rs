//! Plateaus of a curve, and the end of each.

use tiermark_stats::{Sample, Transition, tiers, transition};

use super::CurvePoint;
use super::clean::half_width;

/// Standard error of a point at least, relative: pages and sets make waves of this size on any plateau.
const LEAST_SIGMA: f64 = 0.01;
/// Half-width of a 95 % interval in standard errors.
const HALF_WIDTH: f64 = 1.96;
/// A curve has left a level where it is this much above it: more than translation adds up to there.
pub(super) const LEFT: f64 = 1.3;
/// The end of a level is fitted up to this multiple of where the curve left it: with hits as 1/footprint three quarters of the
/// way up lie within, and the next level's own end mostly does not. Where it does (a cache that others evict has no plateau), no
/// law fits, and a shorter stretch is tried.
pub(super) const SPANS: [f64; 3] = [4.0, 2.0, 1.5];
/// Levels further apart than this have another between them: L3 takes 3 to 8 times as long as L2, memory 15 and more.
pub(super) const SKIPS: f64 = 10.0;
/// A law fits where the points lie off it by up to this many standard errors: waves of a plateau are two or three.
pub(super) const FITS: f64 = 4.0;
/// A point up to this much above a level is on it: the noise of a curve's points.
const ON_LEVEL: f64 = 1.05;
/// Points at the end of a stretch whose median is its height.
const TOP: usize = 3;

/// A plateau and its end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Level {
    /// Smallest measured footprint on it.
    pub(super) from: u64,
    /// Largest.
    pub(super) to: u64,
    pub(super) ns: f64,
    /// `None` where the curve does not leave it, or the end could not be fitted.
    pub(super) end: Option<Transition>,
    /// Whether the curve leaves it.
    pub(super) left: bool,
}

/// The plateaus of a cleaned curve with their ends.
pub(super) fn levels(curve: &[CurvePoint]) -> Vec<Level> {
    let points: Vec<(f64, f64)> = curve.iter().map(|p| (p.bytes as f64, p.ns)).collect();
    let found = tiers(&points);
    let mut out = Vec::new();
    for (index, plateau) in found.plateaus.iter().enumerate() {
        let (from, to) = (plateau.from.round() as u64, plateau.to.round() as u64);
        let level = Level { from, to, ns: plateau.value, end: None, left: index < found.boundaries.len() };
        out.push(level);
    }
    for index in 0..out.len() {
        let next = out.get(index + 1).copied();
        out[index].end = if out[index].left { end(curve, &out[index], next.as_ref()) } else { None };
    }
    out
}

/// The end of `level`, fitted to the curve up to the end of the `next` level at most.
pub(super) fn end(curve: &[CurvePoint], level: &Level, next: Option<&Level>) -> Option<Transition> {
    let skipped = next.is_some_and(|next| next.ns > SKIPS * level.ns);
    let until = next.map_or(u64::MAX, |next| if skipped { next.from } else { next.to });
    let mut first = None;
    for span in SPANS {
        let samples = stretch(curve, level, until, span);
        let Some(found) = top(&samples).and_then(|top| transition(&samples, (level.ns, top))) else { continue };
        // The level above has to be in sight, or the climb to it is fitted for the end of this one.
        let in_sight = next.is_none_or(|n| samples.last().is_some_and(|s| s.size >= n.from as f64)) && !skipped;
        let found = if in_sight { found } else { widened(found, &samples) };
        if found.misfit <= FITS && (in_sight || span < SPANS[0]) {
            return Some(found);
        }
        first.get_or_insert(found);
    }
    first
}

/// An end whose level above is out of sight, so that the laws can't be told apart: it may lie anywhere from the last footprint
/// that is still on the level, and the middle of that range is its size.
fn widened(found: Transition, samples: &[Sample]) -> Transition {
    let on_level = samples.iter().rfind(|s| s.value <= ON_LEVEL * found.from).map_or(found.low, |s| s.size);
    let low = found.low.min(on_level);
    Transition { low, size: (low * found.high).sqrt(), ..found }
}

/// Height of the last samples.
pub(super) fn top(samples: &[Sample]) -> Option<f64> {
    let last: Vec<f64> = samples.iter().rev().take(TOP).map(|s| s.value).collect();
    tiermark_stats::median(&last)
}

/// The points of a level, of the climb behind it and of the beginning of what follows.
pub(super) fn stretch(curve: &[CurvePoint], level: &Level, until: u64, span: f64) -> Vec<Sample> {
    let left = curve.iter().find(|p| p.bytes > level.to && p.ns > LEFT * level.ns);
    let end = left.map_or(until, |p| until.min((p.bytes as f64 * span) as u64));
    let sigma = |p: &CurvePoint| (half_width(p) / HALF_WIDTH).max(LEAST_SIGMA);
    curve
        .iter()
        .filter(|p| p.bytes >= level.from && p.bytes <= end)
        .map(|p| Sample { size: p.bytes as f64, value: p.ns, sigma: sigma(p) })
        .collect()
}
