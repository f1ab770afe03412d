//! Tiers out of named levels, with the footprint that measures each.

use tiermark_model::{KIB, WhyNot};

use super::levels::{FITS, LEFT, Level};
use super::naming::Named;
use super::prior::{interval, private, supports};
use super::types::{CurvePoint, Declared, Found, FoundTier, Grain, Size};

/// A size is resolved when both ends of its interval are within this factor of it.
const RESOLVED: f64 = 1.1;
/// Eviction by others as likely as this leaves a size open.
const EVICTED: f64 = 0.05;
/// More samples than this outside of the best law: the law is not it.
const OUTSIDE: f64 = 0.3;
/// Points within the interval that a declared size is found in: with none the curve says only that a cache ends between
/// two footprints, and one or two may be wild.
const POINTS: usize = 3;
/// Smallest rung: shorter chains fit the prefetched lines.
const LEAST: u64 = 8 * KIB;
/// A rung is a multiple of this: no finer than a page.
const ROUND: u64 = 4 * KIB;
/// A rung is at most a cache's size divided by this, so that stack and page tables do not evict the footprint.
const PART: u64 = 2;
/// Part of a plateau that a rung takes at most where the size of the cache is not resolved: plateaus of runs that
/// resolve it and of those that do not end at the same point, and half of it would be another footprint.
const OF_PLATEAU: (u64, u64) = (3, 4);
/// A cache beyond the first is measured between these multiples of the level below: too large for hits in that level,
/// too small for others to evict much, and within the reach of a TLB of small pages where it has one.
const ABOVE: (f64, f64) = (2.0, 4.0);
/// A curve point within this factor of a footprint gives its access time.
const NEAR: f64 = 1.2;
/// Part of the grain's reach that a rung may fill: the stack and the chain's neighbours need entries too.
const REACH: f64 = 7.0 / 8.0;

/// The tiers; `curve` is the measured one, `flat` the same without the cost of translation.
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
        let declared_bytes = declared.iter().find(|d| d.level == level).map(|d| d.bytes);
        let past = next(level);
        // A footprint that is the same in every run, whatever ends its plateau early: others, or the reach of a TLB.
        let steady = |size: Option<u64>| {
            // A size that was found near the declared one is that, in each run; another one that is a little below a
            // power of two is that power, as far as curves resolve it.
            let size = size
                .filter(|found| !declared_bytes.is_some_and(|declared_bytes| is_declared(*found, declared_bytes)))
                .map(|found| (found as f64 * RESOLVED) as u64)
                .or(declared_bytes);
            let half = size.map_or(u64::MAX, |bytes| bytes / PART);
            let most = half.min(past.saturating_sub(1));
            below.as_ref().and_then(|below| steady(below, most))
        };
        // A plateau that ends within the level below is part of that level's end.
        let beyond = |found: &Level| below.as_ref().is_none_or(|b| !shared || found.to > b.holds);
        let tier = match seen.iter().find(|(l, found)| *l == level && beyond(found)) {
            Some((_, found)) => {
                let latest = latest(flat, found, memory.map(|(from, _)| from));
                let own = private(declared, level);
                let size = size(flat, found, latest, own);
                let reached = grain.map_or(found.to, |grain| found.to.min((grain.knee as f64 * REACH) as u64));
                let on_it = |rung: &u64| shared || (found.from..=reached).contains(rung);
                on_plateau(found, level, below.as_ref(), size, steady(size.resolved()).filter(on_it), grain.as_ref())
            }
            None => below.as_ref().and_then(|b| without_plateau(curve, level, b, past.max(b.holds + 1), steady(None))),
        };
        tiers.extend(tier.filter(|t| below.as_ref().is_none_or(|b| t.rung > b.tier.rung && t.ns > b.tier.ns)));
    }
    Found { tiers, grain, memory }
}

/// Whether a size that a curve shows is the declared one, as far as curves resolve sizes.
pub(crate) fn is_declared(found: u64, declared: u64) -> bool {
    (found as f64 / declared as f64).ln().abs() < RESOLVED.ln()
}

/// The largest power of two up to half of a private cache. All runs have to measure over the same footprint, and the
/// bounds of a size scatter between runs. `None` if the plateau begins beyond that half, or the curve contradicts the
/// declared size (a hypervisor may declare a larger one). A plateau may end early, at the reach of a TLB or where
/// neighbours evict: quick surveys of an unchanged 1 MiB found at least 0.36 to 0.93 MiB and at most 0.91 to 1.34 MiB.
/// Of two surveys of 2 MiB beside neighbours, one measured over 1 MiB, the other over 512 KiB.
pub(crate) fn half_of(declared: u64, from: u64, size: Size) -> Option<u64> {
    let half = power_of_two(declared / PART);
    let (least, most) = size.range();
    let is_as_large = half <= 2 * least && most >= declared / 4 * 3;
    let agrees = size.resolved().is_none_or(|found| is_declared(found, declared));
    (from <= half && is_as_large && agrees).then_some(half)
}

/// The level below, and its size in bytes.
struct Below {
    tier: FoundTier,
    holds: u64,
}

/// Bytes a level may hold: at least the declared size of a private cache, since a disturbed curve ends too early.
fn holds(tier: &FoundTier, declared: &[Declared]) -> u64 {
    let (low, high) = tier.size.range();
    match (tier.size.resolved(), private(declared, tier.level)) {
        (found, Some(declared)) => declared.max(found.unwrap_or(low)),
        (Some(found), None) => found,
        (None, None) if high < u64::MAX => high,
        (None, None) => low,
    }
}

/// Where a level has ended at the latest: where the curve is clearly above it, or memory begins; `u64::MAX` where
/// neither is seen.
fn latest(flat: &[CurvePoint], level: &Level, memory: Option<u64>) -> u64 {
    let above = flat.iter().find(|p| p.bytes > level.to && p.ns > LEFT * level.ns).map(|p| p.bytes);
    let memory = memory.filter(|from| *from > level.to);
    above.filter(|_| !level.left).or(memory).or(above).unwrap_or(u64::MAX)
}

/// Whether and how a level's size is known; `past` is where it has ended at the latest, `declared` what a private cache
/// is said to have.
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
    steady: Option<u64>,
    grain: Option<&Grain>,
) -> Option<FoundTier> {
    let (from, to) = (found.from.max(below.map_or(0, |b| b.tier.rung + ROUND)), found.to);
    let within = grain.map_or(to, |g| to.min((g.knee as f64 * REACH) as u64));
    // Under eviction the plateau ends early; a rung beyond it is better than one that the level below partly answers.
    let rung = match steady {
        Some(rung) => rung,
        None => {
            // Above twice what the level below holds, where the plateau reaches so far.
            let twice = below.map_or(LEAST, |b| b.holds.saturating_mul(2));
            let wanted = size.resolved().map_or(to / OF_PLATEAU.1 * OF_PLATEAU.0, |bytes| bytes / PART);
            rounded(wanted.max(twice).min(within.max(from)).max(from), from.max(twice.min(to)), to)
                .or_else(|| rounded(within.max(from), from, to))?
        }
    };
    Some(FoundTier { level, plateau: Some((found.from, found.to)), ns: found.ns, size, rung })
}

/// Rung of a cache beyond the first, independent of the ends of its plateau, which differ between runs: the largest
/// power of two that is at most `to` and `ABOVE.1` x what the level below holds. On a plateau the footprint does not
/// matter: L2 of an Emerald Rapids took 5.33 to 5.35 ns over 96 KiB to 1 MiB. `None` if less than `ABOVE.0` x that: the level
/// below would answer part of it.
fn steady(below: &Below, to: u64) -> Option<u64> {
    // The nearest power: what a curve finds of 1 MiB lies on both sides of it.
    let holds = (below.holds.max(1) as f64).log2().round().exp2();
    let rung = power_of_two(((ABOVE.1 * holds) as u64).min(to));
    (rung > below.tier.rung && rung as f64 >= ABOVE.0 * holds).then_some(rung)
}

/// The largest power of two up to `bytes`.
fn power_of_two(bytes: u64) -> u64 {
    1 << bytes.max(1).ilog2()
}

/// The largest power of two up to `bytes` within `from..=to`, else the multiple of [`ROUND`], else `bytes`; `None` if
/// none is within. Rounding lets runs whose curves end slightly differently use the same footprint: half of a cache
/// that is found a little smaller than it is would be the next smaller power, so that one just above counts as well.
fn rounded(bytes: u64, from: u64, to: u64) -> Option<u64> {
    let just_above = power_of_two((bytes as f64 * RESOLVED) as u64);
    [just_above, power_of_two(bytes), bytes / ROUND * ROUND, bytes].into_iter().find(|b| (from..=to).contains(b))
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
    // Where others evict so much that memory's plateau begins there already, any footprint beyond the level below has
    // to do.
    let (rung, ns) = steady.and_then(near).or_else(|| {
        lowest(&mut curve.iter().filter(above).filter(|p| p.bytes as f64 > full)).map(|p| (p.bytes, p.ns))
    })?;
    let size = Size::NotResolved { low: below.holds, high: past.max(below.holds), why: WhyNot::NoPlateau };
    Some(FoundTier { level, plateau: None, ns, size, rung })
}

#[cfg(test)]
mod tests {
    use tiermark_model::MIB;

    use super::*;

    #[test]
    fn half_of_a_cache_that_is_found_a_little_smaller_is_the_same_rung() {
        for half in [15_900, 16 * KIB, 17_000] {
            assert_eq!(rounded(half, 8 * KIB, 30 * KIB), Some(16 * KIB), "{half}");
        }
        // Not beyond the end of the plateau, and not far above.
        assert_eq!(rounded(15_900, 8 * KIB, 16_000), Some(8 * KIB));
        assert_eq!(rounded(12 * KIB, 8 * KIB, 30 * KIB), Some(8 * KIB));
    }

    /// L2 of 1 MiB beyond L1 of 32 KiB (Zen 4) and of 48 KiB (Zen 5), of 2 MiB beyond 48 KiB (Sapphire Rapids): the same
    /// rung whatever a run finds of the ends of the plateau, and whether it finds the bend of translation.
    #[test]
    fn a_second_level_has_the_same_rung_in_every_run() {
        let l1 = |bytes: u64| {
            let size = Size::Resolved { bytes, low: bytes, high: bytes, declared: true };
            let tier = FoundTier { level: 1, plateau: Some((8 * KIB, bytes)), ns: 1.0, size, rung: 16 * KIB };
            Below { tier, holds: bytes }
        };
        for (holds, rung) in
            [(32 * KIB, 128 * KIB), (36 * KIB, 128 * KIB), (48 * KIB, 256 * KIB), (52 * KIB, 256 * KIB)]
        {
            for most in [300 * KIB, 450 * KIB, 512 * KIB, MIB] {
                assert_eq!(steady(&l1(holds), most), Some(rung), "{holds} {most}");
            }
        }
        // Less than twice the first level is answered by it.
        assert_eq!(steady(&l1(48 * KIB), 90 * KIB), None);
    }

    #[test]
    fn half_of_what_is_declared_unless_the_curve_contradicts_it() {
        let open = |low: u64, high: u64| Size::NotResolved { low: low * KIB, high: high * KIB, why: WhyNot::Coarse };
        let of = |size: Size| half_of(1 << 20, 96 * KIB, size).map(|half| half / KIB);
        assert_eq!(of(open(640, 2048)), Some(512), "the plateau ends at the reach of a TLB");
        assert_eq!(of(open(365, 937)), Some(512), "what quick surveys found of an unchanged cache");
        assert_eq!(of(open(256, 2048)), Some(512), "others evict the upper half");
        assert_eq!(of(open(455, 600)), None, "it is smaller than declared");
        assert_eq!(of(open(200, 2048)), None, "it may be a part of what is declared");
        let found = Size::Resolved { bytes: 2 << 20, low: 2_000_000, high: 2_200_000, declared: false };
        assert_eq!(of(found), None, "what is found counts");
        assert_eq!(half_of(1 << 20, 600 * KIB, open(640, 2048)), None, "the plateau begins beyond half");
    }
}
