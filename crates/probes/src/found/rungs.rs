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
/// Part of a cache that a rung fills at most, so that stack and page tables do not push the footprint out.
const PART: u64 = 2;
/// Multiples of the level below between which a cache that others use as well is measured: beyond the hits of that level, and before
/// others have evicted much.
const ABOVE: (f64, f64) = (2.0, 4.0);
/// A point within this factor of a footprint says how long an access takes there.
const NEAR: f64 = 1.2;
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
    let next = |level: u8| seen.iter().find(|(l, _)| *l > level).map_or(past, |(_, found)| found.from);
    for level in levels {
        let below = tiers.last().map(|tier| Below { holds: holds(tier, declared), tier: *tier });
        let shared = declared.iter().any(|d| d.level == level && d.shared);
        let said = declared.iter().find(|d| d.level == level).map(|d| d.bytes);
        let past = next(level);
        // Of a cache that others use as well: a footprint up to a limit that is the same in every run.
        let steady = |size: Option<u64>, to: u64| {
            let most = size.or(said).map_or(u64::MAX, |bytes| bytes / PART).min(past.saturating_sub(1));
            below.as_ref().filter(|_| shared && level > 1).and_then(|below| steady(below, most.min(to)))
        };
        // What lies within the level below is a step of its end, and no plateau of this one.
        let beyond = |found: &Level| below.as_ref().is_none_or(|b| !shared || found.to > b.holds);
        let tier = match seen.iter().find(|(l, found)| *l == level && beyond(found)) {
            Some((_, found)) => {
                let latest = latest(flat, found, memory.map(|(from, _)| from));
                let size = size(flat, found, latest, private(declared, level));
                on_plateau(found, level, below.as_ref(), size, |to| steady(size.resolved(), to), grain.as_ref())
            }
            None => below
                .as_ref()
                .and_then(|b| without_plateau(curve, level, b, past.max(b.holds + 1), steady(None, u64::MAX))),
        };
        tiers.extend(tier.filter(|t| below.as_ref().is_none_or(|b| t.rung > b.tier.rung && t.ns > b.tier.ns)));
    }
    Found { tiers, grain, memory }
}

/// The level below, and what it may hold, bytes.
struct Below {
    tier: FoundTier,
    holds: u64,
}

/// What a level may hold: at least what a private cache is said to have, since a curve that others disturb ends too early.
fn holds(tier: &FoundTier, declared: &[Declared]) -> u64 {
    let (low, high) = tier.size.range();
    match (tier.size.resolved(), private(declared, tier.level)) {
        (found, Some(declared)) => declared.max(found.unwrap_or(low)),
        (Some(found), None) => found,
        (None, None) if high < u64::MAX => high,
        (None, None) => low,
    }
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
    below: Option<&Below>,
    size: Size,
    steady: impl Fn(u64) -> Option<u64>,
    grain: Option<&Grain>,
) -> Option<FoundTier> {
    let (from, to) = (found.from.max(below.map_or(0, |b| b.tier.rung + ROUND)), found.to);
    let within = grain.map_or(to, |g| to.min((g.knee as f64 * REACH) as u64));
    // Where others evict, the plateau ends before the level below is outgrown; a footprint that it answers part of is worse.
    let rung = match steady(within).or_else(|| steady(u64::MAX)) {
        Some(rung) => rung,
        None => {
            // Above twice what the level below holds, where the plateau reaches so far.
            let twice = below.map_or(LEAST, |b| b.holds.saturating_mul(2));
            let wanted = size.resolved().unwrap_or(to) / PART;
            rounded(wanted.max(twice).min(within.max(from)).max(from), from, to)?
        }
    };
    Some(FoundTier { level, plateau: Some((found.from, found.to)), ns: found.ns, size, rung })
}

/// The footprint of a cache that others use as well: the same in every run, since the ends of its plateau are not. The largest power of two
/// up to `to` and up to [`ABOVE`] times what the level below holds; `None` where that is so little that the level below answers part of it.
fn steady(below: &Below, to: u64) -> Option<u64> {
    let rung = power_of_two(((below.holds as f64 * ABOVE.1) as u64).min(to));
    (rung > below.tier.rung && rung as f64 >= ABOVE.0 * below.holds as f64).then_some(rung)
}

/// The largest power of two up to `bytes`.
fn power_of_two(bytes: u64) -> u64 {
    1 << bytes.max(1).ilog2()
}

/// The largest power of two up to `bytes` that lies within, else the multiple of [`ROUND`], else `bytes` itself: ends of a curve come out a
/// little different each time, and figures of other footprints are other figures.
fn rounded(bytes: u64, from: u64, to: u64) -> Option<u64> {
    [power_of_two(bytes), bytes / ROUND * ROUND, bytes].into_iter().find(|b| (from..=to).contains(b))
}

/// A cache that the curve shows no plateau of: measured just above the level below.
fn without_plateau(
    curve: &[CurvePoint],
    level: u8,
    below: &Below,
    past: u64,
    steady: Option<u64>,
) -> Option<FoundTier> {
    let full = below.holds as f64;
    let above = |p: &&CurvePoint| p.bytes > below.tier.rung && p.ns > below.tier.ns;
    let lowest = |points: &mut dyn Iterator<Item = &CurvePoint>| points.min_by(|a, b| a.ns.total_cmp(&b.ns)).copied();
    let away = |rung: u64, p: &CurvePoint| (p.bytes as f64 / rung as f64).ln().abs();
    let near = |rung: u64| {
        let nearest = curve.iter().filter(above).min_by(|a, b| away(rung, a).total_cmp(&away(rung, b)))?;
        (away(rung, nearest) < NEAR.ln()).then_some((rung, nearest.ns))
    };
    // Where others evict so much that memory's plateau begins there already, any footprint beyond the level below has to do.
    let (rung, ns) = steady.and_then(near).or_else(|| {
        lowest(&mut curve.iter().filter(above).filter(|p| p.bytes as f64 > full)).map(|p| (p.bytes, p.ns))
    })?;
    let size = Size::NotResolved { low: below.holds, high: past.max(below.holds), why: WhyNot::NoPlateau };
    Some(FoundTier { level, plateau: None, ns, size, rung })
}
