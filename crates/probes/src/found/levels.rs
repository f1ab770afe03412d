//! Plateaus of a curve, and the end of each.

use tiermark_model::KIB;
use tiermark_stats::{Sample, Transition, tiers, transition};

use super::types::{CurvePoint, half_width};

/// Standard error of a point at least, relative: pages and sets make waves of this size on any plateau.
const LEAST_SIGMA: f64 = 0.01;
/// Half-width of a 95 % interval in standard errors.
const HALF_WIDTH: f64 = 1.96;
/// A curve has left a level where it is this much above it: more than translation adds up to there.
pub(super) const LEFT: f64 = 1.3;
/// The end of a level is fitted up to this multiple of where the curve left it: with hits as 1/footprint three quarters
/// of the way up lie within, and the next level's own end mostly does not. Where it does (a cache that others evict has
/// no plateau), no law fits, and a shorter stretch is tried.
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

/// The plateaus of a cleaned curve, without their ends: fitting those takes longest.
pub(super) fn plateaus(curve: &[CurvePoint]) -> Vec<Level> {
    let points: Vec<(f64, f64)> = curve.iter().map(|p| (p.bytes as f64, p.ns)).collect();
    let found = tiers(&points);
    let level = |(index, plateau): (usize, &tiermark_stats::Plateau)| Level {
        from: plateau.from.round() as u64,
        to: plateau.to.round() as u64,
        ns: plateau.value,
        end: None,
        left: index < found.boundaries.len(),
    };
    found.plateaus.iter().enumerate().map(level).collect()
}

/// The plateaus of a curve, measured on pages of `page` bytes, with their ends.
pub(super) fn levels(curve: &[CurvePoint], page: u64) -> Vec<Level> {
    let mut out = plateaus(curve);
    for index in 0..out.len() {
        let next = out.get(index + 1).copied();
        out[index].end = if out[index].left { end(curve, &out[index], next.as_ref(), page) } else { None };
    }
    out
}

/// The end of `level`, fitted to the curve up to the end of the `next` level at most.
pub(super) fn end(curve: &[CurvePoint], level: &Level, next: Option<&Level>, page: u64) -> Option<Transition> {
    let skipped = next.is_some_and(|next| next.ns > SKIPS * level.ns);
    let until = next.map_or(u64::MAX, |next| if skipped { next.from } else { next.to });
    let luck = left_at(curve, level).map_or(0.0, |p| luck(p.bytes, page));
    let mut first = None;
    for span in SPANS {
        let samples = stretch(curve, level, until, span);
        let Some(found) = top(&samples).and_then(|top| transition(&samples, (level.ns, top), luck)) else { continue };
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

/// An end whose next level is not visible, so that the laws fit equally well: it may lie anywhere from the last
/// footprint that is still on the level, and the middle of that range is its size.
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

/// Where a curve has left a level.
fn left_at<'a>(curve: &'a [CurvePoint], level: &Level) -> Option<&'a CurvePoint> {
    curve.iter().find(|p| p.bytes > level.to && p.ns > LEFT * level.ns)
}

/// Ways of the caches whose sets are numbered by physical address: 8 to 20 on x86 and Arm servers.
const WAYS: f64 = 16.0;
/// Standard deviation of ln(size) by which pages an allocation got, times the root of the number of colours: 0.1 to
/// 0.35 in simulations of pages at random in 16 to 512 colours of 8 to 20 ways. Seven curves of a Zen 5 whose L2 has 16
/// colours gave sizes that scatter by 10 %, and 10 % too small on average (page tables want room as well), which is 0.5
/// together.
const LUCK: f64 = 0.5;
/// With many colours luck averages out, but not what is not known of sets that are crowded and not least-recently-used:
/// a law with 12 ways at 32 MiB was taken for a softer one at 27 MiB.
const LEAST_LUCK: f64 = 0.04;

/// Larger pages cover the sets of any private cache, and those of a last level are numbered by a hash of the whole
/// address.
const SMALL: u64 = 64 * KIB;

/// Effect of the placement of pages at random on the size of a cache of about `bytes`, where pages have `page` bytes.
///
/// A cache has size / (ways x page) colours, of which pages take one each at random (Kessler & Hill, "Page placement
/// algorithms for large real-indexed caches", ACM TOCS 10(4), 1992). With one colour (large pages, or small caches)
/// there is no luck.
pub(super) fn luck(bytes: u64, page: u64) -> f64 {
    let colours = bytes as f64 / (WAYS * page as f64);
    if colours <= 1.0 || page > SMALL {
        return 0.0;
    }
    // The number of pages is fixed, so that one colour's gain is another's loss: the variance of a multinomial share.
    (LUCK * ((1.0 - 1.0 / colours) / colours).sqrt()).max(LEAST_LUCK)
}

/// The points of a level, of the climb behind it and of the beginning of what follows.
pub(super) fn stretch(curve: &[CurvePoint], level: &Level, until: u64, span: f64) -> Vec<Sample> {
    let end = left_at(curve, level).map_or(until, |p| until.min((p.bytes as f64 * span) as u64));
    let sigma = |p: &CurvePoint| (half_width(p) / HALF_WIDTH).max(LEAST_SIGMA);
    curve
        .iter()
        .filter(|p| p.bytes >= level.from && p.bytes <= end)
        .map(|p| Sample { size: p.bytes as f64, value: p.ns, sigma: sigma(p) })
        .collect()
}
