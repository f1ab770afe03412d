//! Tiers in a curve of latency by size: where it is flat, and where it leaves one level for the next.

use crate::order::median_in_place;
use crate::special::MAD_TO_SIGMA;
use crate::usable;

/// A stretch of sizes over which the value stays level: one tier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plateau {
    /// Smallest size on it.
    pub from: f64,
    /// Largest size on it.
    pub to: f64,
    /// Median value over it.
    pub value: f64,
}

/// Where one plateau ends: the measured capacity of its tier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Boundary {
    /// Largest size measured on the lower plateau.
    pub low: f64,
    /// Smallest size measured on the next plateau; where the curve ends on its way there, the first past half of that
    /// way.
    pub high: f64,
    /// Size at which the value has made a tenth of its way to the next level (or to the curve's end), between measured
    /// sizes on a log scale.
    pub estimate: f64,
}

/// Plateaus and the boundaries between them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tiers {
    /// In order of size.
    pub plateaus: Vec<Plateau>,
    /// One between each two plateaus; one more behind the last where the curve climbs from there to its end.
    pub boundaries: Vec<Boundary>,
}

/// Costs are in units of the noise σ of ln(value). A level point costs about 0.8 (mean |z|), so a point in transition
/// at 3 is taken only when it is really off, and 4 a plateau keeps noise from splitting one.
const PLATEAU_COST: f64 = 4.0;
const TRANSITION_COST: f64 = 3.0;
/// One wild point in a plateau costs no more than this, or it would cut the plateau in two.
const OUTLIER_COST: f64 = 4.0;
/// Noise of one point: below 0.5 % a plateau's own small waves (sets, pages) would split it; above 5 % transitions
/// would pass for noise.
const NOISE: std::ops::RangeInclusive<f64> = 0.005..=0.05;
/// A plateau has at least this many points and this range of sizes in octaves (a little under 3/4, since sizes are
/// rounded to lines): with 3 % noise a shorter one cannot be separated from a slope.
const MIN_POINTS: usize = 3;
const MIN_OCTAVES: f64 = 0.74;
/// Steepest plateau, d ln(value)/d ln(size): 0.15 is 11 % per doubling, what TLB reach adds within a tier.
const MAX_SLOPE: f64 = 0.15;
/// Tiers differ at least by this factor; levels nearer to each other are one tier.
const MIN_STEP: f64 = 1.3;
/// Points at the end of a run that stand for it where it meets the next: enough for a median that one wild point leaves
/// alone, few enough to be near the end.
const EDGE: usize = 4;
/// Share of the way to the next level that marks the boundary: with hits in proportion to capacity/size, the mark is at
/// 1.11 × the capacity, and a tenth of a tier step is still clear of the noise.
const LEAVING: f64 = 0.1;

/// The plateaus of a curve of (size, value); see [`tiers`], which also gives the boundaries.
#[must_use]
pub fn plateaus(points: &[(f64, f64)]) -> Vec<Plateau> {
    tiers(points).plateaus
}

/// Finds the tiers of a curve of (size, latency), or (size, time per byte): use times, for it is times that mix in
/// proportion to hits where a tier is outgrown.
///
/// On logarithms of both axes the curve is cut, by dynamic programming over all segmentations (Jackson et al., "An
/// Algorithm for Optimal Partitioning of Data on an Interval", IEEE Signal Processing Letters 12(2), 2005), into level
/// stretches, each fitted by its median with capped absolute deviations, and single points in transition. The noise is
/// estimated from the differences of neighbours by MAD. The costs are named above. Levels closer than 30 %, and
/// stretches that climb into one another without a step, are then merged, and shoulders of slow transitions are
/// dropped. Sizes measured more than once count with the median of their values. A tier whose level part is shorter
/// than 3/4 of an octave between its two transitions (a cache only four times the one before it) is not told from the
/// slope around it.
///
/// With hits in proportion to capacity/size a tier is level only from about seven times the capacity before it: a curve
/// that ends earlier ends in a climb, which bounds the last plateau all the same.
///
/// Give at least four points an octave. Empty when there is no plateau, or a size or value is not finite and positive.
#[must_use]
pub fn tiers(points: &[(f64, f64)]) -> Tiers {
    let Some(curve) = Curve::new(points) else { return Tiers::default() };
    let runs = curve.merged(curve.without_shoulders(curve.merged(curve.segments())));
    let plateaus = runs
        .iter()
        .map(|run| Plateau { from: curve.raw_size[run.start], to: curve.raw_size[run.end - 1], value: run.level.exp() })
        .collect();
    let last = runs.last().and_then(|last| Some(curve.boundary(last, &curve.climb_after(last)?)));
    let boundaries = runs.windows(2).map(|pair| curve.boundary(&pair[0], &pair[1])).chain(last).collect();
    Tiers { plateaus, boundaries }
}

/// Points `start..end` at `level` (logarithm).
#[derive(Debug, Clone, Copy)]
struct Run {
    start: usize,
    end: usize,
    level: f64,
}

/// The curve in logarithms, sizes rising.
struct Curve {
    /// Sizes as they were given, for a logarithm does not come back exactly.
    raw_size: Vec<f64>,
    size: Vec<f64>,
    value: Vec<f64>,
    noise: f64,
}

impl Curve {
    fn new(points: &[(f64, f64)]) -> Option<Self> {
        let usable_point = |(s, v): &(f64, f64)| s.is_finite() && v.is_finite() && *s > 0.0 && *v > 0.0;
        if points.is_empty() || !points.iter().all(usable_point) {
            return None;
        }
        let mut sorted = points.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut raw_size, mut value) = (Vec::new(), Vec::new());
        for same in sorted.chunk_by(|a, b| a.0 == b.0) {
            raw_size.push(same[0].0);
            value.push(level(same.iter().map(|p| p.1.ln())));
        }
        let steps: Vec<f64> = value.windows(2).map(|w| (w[1] - w[0]).abs()).collect();
        // A difference of two points has √2 times the noise of one.
        let noise = if usable(&steps) { level(steps) * MAD_TO_SIGMA / std::f64::consts::SQRT_2 } else { 0.0 };
        let size = raw_size.iter().map(|s| s.ln()).collect();
        Some(Self { raw_size, size, value, noise: noise.clamp(*NOISE.start(), *NOISE.end()) })
    }

    /// The cheapest cut into plateaus and transitions; returns the plateaus.
    fn segments(&self) -> Vec<Run> {
        let n = self.value.len();
        // best[i]: least cost of the first i points, and the plateau that ends there, if one does.
        let mut best: Vec<(f64, Option<Run>)> = vec![(0.0, None)];
        for end in 1..=n {
            let mut choice = (best[end - 1].0 + TRANSITION_COST, None);
            for (start, (before, _)) in best.iter().enumerate().take((end + 1).saturating_sub(MIN_POINTS)) {
                // A fit costs at least its plateau; most starts are ruled out before they are fitted.
                if before + PLATEAU_COST < choice.0
                    && let Some((cost, run)) = self.fit(start, end)
                    && before + cost < choice.0
                {
                    choice = (before + cost, Some(run));
                }
            }
            best.push(choice);
        }
        let mut runs = Vec::new();
        let mut at = n;
        while at > 0 {
            at = match best[at].1 {
                Some(run) => {
                    runs.push(run);
                    run.start
                }
                None => at - 1,
            };
        }
        runs.reverse();
        runs
    }

    /// Cost of `start..end` as one plateau; `None` when it is too short or too steep to be one.
    fn fit(&self, start: usize, end: usize) -> Option<(f64, Run)> {
        let (sizes, values) = (&self.size[start..end], &self.value[start..end]);
        if sizes[sizes.len() - 1] - sizes[0] < MIN_OCTAVES * std::f64::consts::LN_2 {
            return None;
        }
        let half = sizes.len() / 2;
        let rest = sizes.len() - half;
        let rise = level(values[rest..].iter().copied()) - level(values[..half].iter().copied());
        let run = level(sizes[rest..].iter().copied()) - level(sizes[..half].iter().copied());
        if (rise / run).abs() > MAX_SLOPE {
            return None;
        }
        let level = level(values.iter().copied());
        let misfit: f64 = (start..end).map(|i| self.misfit(i, level)).sum();
        Some((PLATEAU_COST + misfit, Run { start, end, level }))
    }

    /// Joins neighbours that are one tier, the closest first: those too close in level, and those whose difference
    /// comes about mostly inside them, for a tier ends in a step and a climb within it (page walks) does not.
    fn merged(&self, mut runs: Vec<Run>) -> Vec<Run> {
        loop {
            let gaps = runs.windows(2).map(|pair| {
                let gap = (pair[1].level - pair[0].level).abs();
                let step = self.step_between(&pair[0], &pair[1]);
                if step < gap / 2.0 { step.min(gap) } else { gap }
            });
            let closest = gaps.enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
            match closest {
                Some((i, gap)) if gap < MIN_STEP.ln() => {
                    let (start, end) = (runs[i].start, runs[i + 1].end);
                    runs[i] = Run { start, end, level: level(self.value[start..end].iter().copied()) };
                    runs.remove(i + 1);
                }
                _ => return runs,
            }
        }
    }

    /// The upper half of the climb behind the last plateau as if it were a tier, where the curve ends a step above it.
    fn climb_after(&self, last: &Run) -> Option<Run> {
        let end = self.value.len();
        let beyond = &self.value[last.end..];
        let top = level(beyond.get(beyond.len().checked_sub(EDGE)?..)?.iter().copied());
        let half = f64::midpoint(last.level.exp(), top.exp()).ln();
        let start = (last.end..end).rfind(|&i| self.value[i] < half).map_or(last.end, |i| i + 1);
        (top - last.level >= MIN_STEP.ln() && start < end).then_some(Run { start, end, level: top })
    }

    /// Difference between the end of one run and the beginning of the next.
    fn step_between(&self, lower: &Run, upper: &Run) -> f64 {
        let end = &self.value[lower.end.saturating_sub(EDGE).max(lower.start)..lower.end];
        let begin = &self.value[upper.start..(upper.start + EDGE).min(upper.end)];
        (level(begin.iter().copied()) - level(end.iter().copied())).abs()
    }

    /// Drops each run that a slow transition from the run before it to the run after it explains more cheaply: with
    /// random replacement hits fall as capacity/size, and the shoulder of that curve is nearly flat.
    fn without_shoulders(&self, mut runs: Vec<Run>) -> Vec<Run> {
        let mut i = 1;
        while i + 1 < runs.len() {
            if self.is_shoulder(&runs[i - 1], &runs[i], &runs[i + 1]) {
                runs.remove(i);
                i = i.saturating_sub(1).max(1);
            } else {
                i += 1;
            }
        }
        runs
    }

    fn is_shoulder(&self, before: &Run, run: &Run, after: &Run) -> bool {
        let capacity = self.boundary(before, after).estimate.ln() + (1.0 - LEAVING).ln();
        let (from, to) = (before.level.exp(), after.level.exp());
        let ramp = |i: usize| (to + (from - to) * (capacity - self.size[i]).exp().min(1.0)).ln();
        let as_ramp: f64 = (before.end..after.start).map(|i| self.misfit(i, ramp(i))).sum();
        let level: f64 = (run.start..run.end).map(|i| self.misfit(i, run.level)).sum();
        let in_transition = (run.start - before.end + after.start - run.end) as f64;
        as_ramp < level + PLATEAU_COST + TRANSITION_COST * in_transition
    }

    /// Distance of point `i` from `expected` in units of the noise, capped.
    fn misfit(&self, i: usize, expected: f64) -> f64 {
        ((self.value[i] - expected).abs() / self.noise).min(OUTLIER_COST)
    }

    fn boundary(&self, lower: &Run, upper: &Run) -> Boundary {
        let (from, to) = (lower.level.exp(), upper.level.exp());
        let way = |i: usize| (self.value[i].exp() - from) / (to - from);
        // The last point not yet on its way, seen from the upper plateau, so that a wild point below it is passed over.
        let last = (lower.start..upper.start).rev().find(|&i| way(i) <= LEAVING).unwrap_or(lower.end - 1);
        let (here, next) = (way(last), way(last + 1));
        let share = if next > here { ((LEAVING - here) / (next - here)).clamp(0.0, 1.0) } else { 0.5 };
        let estimate = self.size[last] + share * (self.size[last + 1] - self.size[last]);
        Boundary { low: self.raw_size[lower.end - 1], high: self.raw_size[upper.start], estimate: estimate.exp() }
    }
}

/// Median of finite values, of which there is at least one.
fn level(values: impl IntoIterator<Item = f64>) -> f64 {
    median_in_place(&mut values.into_iter().collect::<Vec<f64>>())
}
