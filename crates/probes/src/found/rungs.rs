//! Tiers out of named levels, with the footprint that measures each.

use tiermark_model::KIB;

use super::levels::{FITS, LEFT, Level};
use super::naming::Named;
use super::prior::{interval, private, supports};
use super::{CurvePoint, Declared, Found, FoundTier, Grain, Size, WhyNot};

/// A size is resolved when both ends of its interval are within this factor of it.
const RESOLVED: f64 = 1.1;
/// Eviction by others as likely as this leaves a size open.
const EVICTED: f64 = 0.05;
/// More samples than this outside of the best law: the law is not it.
const OUTSIDE: f64 = 0.3;
/// Points within the interval that a declared size is found in: with none the curve says only that a cache ends between two
/// footprints, and one or two may be wild.
const POINTS: usize = 3;
/// Smallest rung: shorter chains fit what was fetched ahead.
const LEAST: u64 = 8 * KIB;
/// A rung is a multiple of this: no finer than a page.
const ROUND: u64 = 4 * KIB;
/// Part of a private cache, so that stack and page tables do not push the footprint out, and of a shared one, of which others use
/// a part.
const PRIVATE_PART: f64 = 2.0;
const SHARED_PART: f64 = 4.0;
/// Multiples of the level below between which a cache without plateau is measured: beyond the hits of that level, and before
/// others have evicted much.
const ABOVE: (f64, f64) = (2.0, 4.0);
/// Part of the grain's reach that a rung may fill: the stack and the chain's neighbours need entries too.
const REACH: f64 = 7.0 / 8.0;

/// The tiers; `curve` is what was measured, `flat` the same without the cost of translation.
pub(super) fn tiers(
    curve: &[CurvePoint],
    flat: &[CurvePoint],
    named: &[Named],
    declared: &[Declared],
    grain: Option<Grain>,
) -> Found {
    let memory = named.iter().rev().find(|n| n.level.is_none()).map(|n| (n.found.from, n.found.ns));
    let end = flat.last().map_or(0, |p| p.bytes);
    let past = memory.map_or(end, |(from, _)| from);
    let mut tiers: Vec<FoundTier> = Vec::new();
    let seen: Vec<(u8, &Level)> = named.iter().filter_map(|n| Some((n.level?, &n.found))).collect();
    let levels: std::collections::BTreeSet<u8> =
        declared.iter().map(|d| d.level).chain(seen.iter().map(|(level, _)| *level)).collect();
    for level in levels {
        let below = tiers.last().copied();
        let shared = declared.iter().any(|d| d.level == level && d.shared);
        let tier = match seen.iter().find(|(l, _)| *l == level) {
            Some((_, found)) => {
                let latest = latest(flat, found, memory.map(|(from, _)| from));
                let size = size(flat, found, latest, private(declared, level));
                on_plateau(found, level, shared, below.as_ref(), size, grain.as_ref())
            }
            None => {
                let next = seen.iter().find(|(l, _)| *l > level).map_or(past, |(_, found)| found.from);
                below.and_then(|below| without_plateau(curve, level, &below, next))
            }
        };
        tiers.extend(tier.filter(|t| below.is_none_or(|b| t.rung > b.rung && t.ns > b.ns)));
    }
    Found { tiers, grain, memory }
}

/// Where a level has ended at the latest: where the curve is clearly above it, or memory begins; `u64::MAX` where neither is seen.
fn latest(flat: &[CurvePoint], level: &Level, memory: Option<u64>) -> u64 {
    let above = flat.iter().find(|p| p.bytes > level.to && p.ns > LEFT * level.ns).map(|p| p.bytes);
    let memory = memory.filter(|from| *from > level.to);
    above.filter(|_| !level.left).or(memory).or(above).unwrap_or(u64::MAX)
}

/// Whether and how a level's size is known; `past` is where it has ended at the latest, `declared` what a private cache is said to
/// have.
fn size(flat: &[CurvePoint], level: &Level, past: u64, declared: Option<u64>) -> Size {
    let unresolved = |low: f64, high: f64, why: WhyNot| {
        let low = low.round() as u64;
        // u64::MAX comes back from f64 as itself: the cast saturates.
        Size::NotResolved { low, high: (high.round() as u64).max(low), why }
    };
    if !level.left {
        return unresolved(level.to as f64, past as f64, WhyNot::CurveEnds);
    }
    let Some(end) = level.end else { return unresolved(level.to as f64, past as f64, WhyNot::Irregular) };
    if end.evicted > EVICTED {
        return unresolved(end.low.min(level.to as f64), past as f64, WhyNot::Evicted);
    }
    if end.outside > OUTSIDE || end.misfit > FITS {
        return unresolved(end.low, end.high, WhyNot::Irregular);
    }
    if end.high / end.low > RESOLVED * RESOLVED {
        let seen = flat.iter().filter(|p| (end.low..=end.high).contains(&(p.bytes as f64))).count();
        if let Some(bytes) = declared.filter(|bytes| seen >= POINTS && supports(end.low, end.high, *bytes)) {
            let (low, high) = interval(bytes);
            return Size::Resolved { bytes, low, high, declared: true };
        }
        return unresolved(end.low, end.high, WhyNot::Coarse);
    }
    // Of a lopsided interval the median may be further from one end.
    let bytes = end.size.clamp(end.high / RESOLVED, end.low * RESOLVED).round() as u64;
    Size::Resolved { bytes, low: end.low.round() as u64, high: end.high.round() as u64, declared: false }
}

fn on_plateau(
    found: &Level,
    level: u8,
    shared: bool,
    below: Option<&FoundTier>,
    size: Size,
    grain: Option<&Grain>,
) -> Option<FoundTier> {
    let (from, to) = (found.from.max(below.map_or(0, |b| b.rung + ROUND)), found.to);
    // Above twice what the level below holds, where the plateau reaches so far.
    let twice = below.map_or(LEAST, |b| (b.size.range().1 as f64 * ABOVE.0) as u64);
    let within = grain.map_or(to, |g| to.min((g.knee as f64 * REACH) as u64)).max(from);
    let part = if shared && level > 1 { SHARED_PART } else { PRIVATE_PART };
    let wanted = (size.resolved().unwrap_or(to) as f64 / part) as u64;
    let rung = rounded(wanted.max(twice).min(within).max(from), from, to)?;
    Some(FoundTier { level, plateau: Some((found.from, found.to)), ns: found.ns, size, rung })
}

/// The multiple of [`ROUND`] below `bytes` that lies within, or `bytes` itself.
fn rounded(bytes: u64, from: u64, to: u64) -> Option<u64> {
    let down = bytes / ROUND * ROUND;
    let within = |b: &u64| (from..=to).contains(b);
    Some(down).filter(within).or(Some(bytes).filter(within))
}

/// A cache that the curve shows no plateau of: measured at the lowest point just above the level below.
fn without_plateau(curve: &[CurvePoint], level: u8, below: &FoundTier, past: u64) -> Option<FoundTier> {
    let full = below.size.range().1 as f64;
    let above = |p: &&CurvePoint| p.bytes > below.rung && p.ns > below.ns;
    let near = |p: &&CurvePoint| p.bytes < past && (ABOVE.0 * full..=ABOVE.1 * full).contains(&(p.bytes as f64));
    let lowest = |points: &mut dyn Iterator<Item = &CurvePoint>| points.min_by(|a, b| a.ns.total_cmp(&b.ns)).copied();
    // Where others evict so much that memory's plateau begins there already, any footprint beyond the level below has to do.
    let point = lowest(&mut curve.iter().filter(above).filter(near))
        .or_else(|| lowest(&mut curve.iter().filter(above).filter(|p| p.bytes as f64 > full)))?;
    let size =
        Size::NotResolved { low: full.round() as u64, high: past.max(full.round() as u64), why: WhyNot::NoPlateau };
    Some(FoundTier { level, plateau: None, ns: point.ns, size, rung: point.bytes })
}
