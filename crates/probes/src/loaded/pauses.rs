//! Where the next points of a curve of latency over bandwidth go. Pure.

use tiermark_stats::{Curve, XScale, isotonic, knee};

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LoadPoint {
    /// Time between two pieces, ns; `None` without any load.
    pub(crate) pause: Option<u32>,
    /// Useful bytes a second that the load moved.
    pub(crate) rate: f64,
    /// Time of an access at this pause, ns.
    pub(crate) latency: f64,
}

/// Pauses of the first points, ns. A piece of 2 KiB takes some 100 ns without pause: the first ones halve a core's rate
/// and so on, the last ones leave even a hundred cores below the rate of one memory (128 x 2 KiB / 30 us = 9 GB/s).
pub(super) const FIRST: [u32; 6] = [0, 100, 400, 1_500, 6_000, 30_000];
/// Points added at once: three while the curve has fewer than a dozen, then one to each side of the knee; more would be
/// placed without knowing what the first of them show.
const AT_ONCE: (usize, usize, usize) = (3, 12, 2);
/// Neighbours nearer than this share of the curve's width or height need no point between them.
const NEAR: f64 = 0.015;
/// Kneedle's sensitivity: the value its authors advise.
const SENSITIVITY: f64 = 1.0;
/// Least height of a bend: a straight line with 2 % of noise comes to half of it.
const MARKED: f64 = 0.1;
/// Latency must have risen by this factor over that of the lightest load for a bend to be the knee: less is a bend in
/// the noise.
const LOADED: f64 = 1.25;

/// The part of a curve on which more pressure gives more bandwidth: in order of falling pauses, each point that moves
/// more than all before it. What comes after the most is overload.
pub(crate) fn rising(points: &[LoadPoint]) -> Vec<LoadPoint> {
    let mut kept: Vec<LoadPoint> = Vec::new();
    for point in by_pressure(points) {
        if kept.last().is_none_or(|last| point.rate > last.rate) {
            kept.push(point);
        }
    }
    kept
}

/// The same points with latencies that never fall as the rate rises: more load makes no access faster, so what falls is
/// noise.
pub(crate) fn monotone(rising: &[LoadPoint]) -> Vec<LoadPoint> {
    let latencies = isotonic(&rising.iter().map(|p| p.latency).collect::<Vec<_>>());
    let raised = |latencies: Vec<f64>| {
        rising.iter().zip(latencies).map(|(point, latency)| LoadPoint { latency, ..*point }).collect()
    };
    latencies.map_or_else(|| rising.to_vec(), raised)
}

/// Points in order of rising pressure: no load first, then by falling pause.
pub(crate) fn by_pressure(points: &[LoadPoint]) -> Vec<LoadPoint> {
    let mut ordered = points.to_vec();
    ordered.sort_by_key(|p| p.pause.map_or((0, 0), |pause| (1, u32::MAX - pause)));
    ordered
}

/// The knee: where latency begins to rise steeply with bandwidth (Satopää, Albrecht, Irwin & Raghavan 2011). `None`
/// where the load never made it rise, or the curve has no marked bend. The point without load is not used: the step
/// from it to the lightest load is lost cache, not waiting.
pub(crate) fn knee_of(points: &[LoadPoint]) -> Option<LoadPoint> {
    let mut rising = rising(points);
    rising.retain(|point| point.pause.is_some());
    let smooth = monotone(&rising);
    let (first, last) = (smooth.first()?, smooth.last()?);
    if last.latency < LOADED * first.latency {
        return None;
    }
    let curve: Vec<(f64, f64)> = smooth.iter().map(|p| (p.rate, p.latency)).collect();
    let found = knee(&curve, Curve::ConvexIncreasing, XScale::Linear, SENSITIVITY)?;
    (found.distance >= MARKED).then(|| rising[found.index])
}

/// Pauses that would add most to the curve: near the knee, and in the widest gaps. At most as many as `room`.
pub(super) fn next(points: &[LoadPoint], room: usize) -> Vec<u32> {
    let ordered = by_pressure(points);
    let width = ordered.iter().map(|p| p.rate).fold(0.0, f64::max);
    let (low, high) = ordered.iter().fold((f64::MAX, 0.0f64), |(l, h), p| (l.min(p.latency), h.max(p.latency)));
    // A curve that stays level is refined in steps of bandwidth alone.
    let height = (high - low).max(0.2 * low);
    let knee = knee_of(points).and_then(|knee| ordered.iter().position(|p| p.pause == knee.pause));
    let mut gaps: Vec<(f64, LoadPoint, LoadPoint)> = Vec::new();
    for (index, pair) in ordered.windows(2).enumerate() {
        let (a, b) = (pair[0], pair[1]);
        let (dx, dy) = ((b.rate - a.rate).abs() / width, (b.latency - a.latency).abs() / height);
        // Towards no load latency may step without any bandwidth between: that is lost cache, which no pause resolves.
        if dx <= NEAR && (dy <= NEAR || a.pause.is_none()) {
            continue;
        }
        // Gaps beside the knee come first, then those one further on: noise may have named a neighbour of the knee, and
        // behind it lies the gap that is still wide. No gap is wider than the curve.
        let rank = match knee.map(|at| if index < at { at - 1 - index } else { index - at }) {
            Some(0) if dx > NEAR => 4.0,
            Some(1) if dx > NEAR => 2.0,
            _ => 0.0,
        };
        gaps.push((dx.hypot(dy) + rank, a, b));
    }
    gaps.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (early, dozen, late) = AT_ONCE;
    let room = room.min(if points.len() < dozen { early } else { late });
    let mut pauses: Vec<u32> = Vec::new();
    for (_, a, b) in gaps {
        if pauses.len() >= room {
            break;
        }
        let pause = between(a, b);
        pauses.extend(pause.filter(|p| !pauses.contains(p) && points.iter().all(|known| known.pause != Some(*p))));
    }
    pauses
}

/// The pause half-way between two points: in bandwidth where that differs, else in the pause itself.
///
/// A round takes its own time and the pause, so while memory keeps up the inverse of the rate is a straight line over
/// the pause; where it no longer does, the line still ends at the two points, and the next one falls between them.
fn between(a: LoadPoint, b: LoadPoint) -> Option<u32> {
    /// Nearer to either end than this share of the gap, a point would add little.
    const EDGE: f64 = 0.2;
    let least = f64::from(b.pause?);
    let Some(most) = a.pause.map(f64::from) else {
        // Beyond the longest pause there is only no load at all: a factor of four further on.
        let pause = 4.0 * least.max(100.0);
        return (pause <= f64::from(u32::MAX)).then_some(pause as u32);
    };
    let (slow, fast, wanted) = (1.0 / a.rate, 1.0 / b.rate, 2.0 / (a.rate + b.rate));
    let share = ((wanted - fast) / (slow - fast)).clamp(EDGE, 1.0 - EDGE);
    let pause = if share.is_finite() { least + share * (most - least) } else { f64::midpoint(least, most) };
    (pause > least + 0.5 && pause < most - 0.5).then(|| pause.round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A machine of so many cores at 20 bytes/ns each, a ceiling of 200 GB/s, and a knee.
    fn point(pause: Option<u32>, cores: f64, knee: f64) -> LoadPoint {
        let rate = pause.map_or(0.0, |p| (cores * 2048.0 / (102.4 + f64::from(p))).min(200.0));
        let beyond = ((rate / 200.0 - knee) / (1.0 - knee)).max(0.0);
        LoadPoint { pause, rate: rate * 1e9, latency: 95.0 * (1.0 + 0.1 * rate / 200.0 + 1.5 * beyond) }
    }

    fn curve(cores: f64, knee: f64, most: usize) -> Vec<LoadPoint> {
        let first = FIRST.iter().map(|p| Some(*p)).chain([None]);
        let mut points: Vec<LoadPoint> = first.map(|pause| point(pause, cores, knee)).collect();
        while points.len() < most {
            let more = next(&points, most - points.len());
            if more.is_empty() {
                break;
            }
            points.extend(more.into_iter().map(|pause| point(Some(pause), cores, knee)));
        }
        points
    }

    #[test]
    fn few_points_resolve_the_knee() {
        for (cores, knee) in [(15.0, 0.8), (31.0, 0.7), (127.0, 0.85), (63.0, 0.6)] {
            let points = curve(cores, knee, 19);
            let found = knee_of(&points).unwrap();
            let share = found.rate / 200e9;
            assert!((share / knee - 1.0).abs() < 0.03, "{cores} cores, knee {knee}: {share} of {points:?}");
        }
    }

    #[test]
    fn a_level_curve_has_no_knee_and_even_points() {
        // One core cannot load this memory.
        let points = curve(1.0, 0.8, 12);
        assert_eq!(points.len(), 12);
        assert_eq!(knee_of(&points), None);
        let rising = rising(&points);
        let widest = rising.windows(2).map(|p| p[1].rate - p[0].rate).fold(0.0, f64::max);
        assert!(widest < 0.25 * rising[rising.len() - 1].rate, "{rising:?}");
    }

    #[test]
    fn overload_is_not_on_the_rising_branch() {
        let mut points: Vec<LoadPoint> = [Some(1000), Some(500), Some(0), None].map(|p| point(p, 15.0, 0.8)).to_vec();
        points[2].rate *= 0.2;
        assert_eq!(rising(&points).iter().map(|p| p.pause).collect::<Vec<_>>(), [None, Some(1000), Some(500)]);
    }

    proptest! {
        #[test]
        fn new_pauses_are_new_and_few(
            rates in prop::collection::vec((0u32..50_000, 0.0f64..1e12, 0.0f64..1e4), 0..20), room in 0usize..9
        ) {
            let points: Vec<LoadPoint> =
                rates.iter().map(|&(pause, rate, latency)| LoadPoint { pause: Some(pause), rate, latency }).collect();
            let more = next(&points, room);
            prop_assert!(more.len() <= room.min(AT_ONCE.0));
            prop_assert!(more.iter().all(|pause| points.iter().all(|p| p.pause != Some(*pause))));
        }
    }
}
