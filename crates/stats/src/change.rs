//! Changes of level in a series.

use std::ops::RangeInclusive;

use crate::order::midranks;
use crate::two_samples::{log_choose, split_p};
use crate::{median, usable};

/// Where a series changed level, and how sure that is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value after the change.
    pub index: usize,
    /// Pettitt's statistic K = max |U_t|.
    pub statistic: f64,
    /// Approximate two-sided p-value: how often a statistic this large would occur by chance in a series of one level.
    pub p_value: f64,
    /// Median before the change.
    pub before: f64,
    /// Median from the change on.
    pub after: f64,
}

/// The most likely single change of level and its p-value: Pettitt, "A Non-Parametric Approach to the Change-Point
/// Problem", Applied Statistics 28(2), 1979. Rank based: outliers and the shape of the distribution do not matter; ties
/// make the p-value larger than it should be, never smaller. p ≈ 2·exp(−6K²/(n³ + n²)), good to two decimals below 0.5.
/// The index may be a few values off a true step when the values next to it happen to lie towards the other level.
///
/// `None` for fewer than 4 values (nothing can be said) or a non-finite one.
#[must_use]
pub fn change_point(series: &[f64]) -> Option<ChangePoint> {
    let n = series.len();
    if n < 4 || !usable(series) {
        return None;
    }
    let (ranks, _) = midranks(series);
    let mut rank_sum = 0.0;
    let (mut index, mut statistic) = (1, -1.0);
    for t in 1..n {
        rank_sum += ranks[t - 1];
        let u = (2.0 * rank_sum - t as f64 * (n as f64 + 1.0)).abs();
        if u > statistic {
            (index, statistic) = (t, u);
        }
    }
    let size = n as f64;
    let p_value = (2.0 * (-6.0 * statistic * statistic / (size.powi(3) + size.powi(2))).exp()).min(1.0);
    Some(ChangePoint { index, statistic, p_value, before: median(&series[..index])?, after: median(&series[index..])? })
}

/// A change of level between two stretches of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelChange {
    /// Index of the first value after the change.
    pub index: usize,
    /// Two-sided p-value of "no change", corrected for the choice of the index, or of both ends of a stay.
    pub p_value: f64,
    /// Median before the change.
    pub before: f64,
    /// Median from the change on.
    pub after: f64,
}

/// What counts as a change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelRule {
    /// The fewest values between two changes, and before the first and after the last.
    pub fewest: usize,
    /// The highest p-value at which a stretch is divided.
    pub search: f64,
    /// The highest p-value of "no difference" between the stretches on both sides of a change, uncorrected: an end of a
    /// stay that the stretches next to it do not show is no change.
    pub near: f64,
    /// The least ratio of the larger to the smaller median on both sides of a change.
    pub ratio: f64,
}

/// The most likely place where a stretch has another level, with one end (a step) or two (a stay, after which the
/// series returns). It is for series that are too short for [`change_point`], whose approximate p-value is 0.07 at best
/// for 5 values before a step and 5 after.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OtherLevel {
    /// Index of the first value of the other level.
    pub start: usize,
    /// Index after its last value: the length of the series for a step.
    pub end: usize,
    /// Two-sided p-value of "no change", corrected for the number of places.
    pub p_value: f64,
}

/// Finds the most likely step or stay with at least `fewest` values in each part.
///
/// A step is where the standardised rank sum is largest (maximally selected rank statistics: Lausen & Schumacher,
/// Biometrics 48(1), 1992). A stay is the interval with the largest one (circular binary segmentation: Olshen,
/// Venkatraman, Lucito & Wigler, Biostatistics 5(4), 2004): a search for steps alone misses it, since both levels are
/// on both sides of each of its ends. The p-value of either is that of Mann & Whitney, times the number of possible
/// places (Bonferroni), and times two where both are possible. It is exact for short series, with ties too. Assumes
/// that the values are independent except for the change.
///
/// `None` for a series that is too short, or has a value that is not finite.
#[must_use]
pub fn other_level(series: &[f64], fewest: usize) -> Option<OtherLevel> {
    let (n, fewest) = (series.len(), fewest.max(1));
    if n < 2 * fewest || !usable(series) {
        return None;
    }
    let sums = rank_sums(series);
    let step = best(&sums, fewest..=n - fewest, |_| n..=n);
    // The last start leaves room for the stay and for what follows it.
    let stay = (n >= 3 * fewest)
        .then(|| best(&sums, fewest..=n - 2 * fewest, |start| start + fewest..=n - fewest))
        .and_then(|places| tested(series, places));
    let step = tested(series, step)?;
    let Some(stay) = stay else { return Some(step) };
    let likelier = if stay.p_value < step.p_value { stay } else { step };
    Some(OtherLevel { p_value: (2.0 * likelier.p_value).min(1.0), ..likelier })
}

/// The p-value that [`other_level`] gives a complete step of `fewest` values against all others without ties: no step
/// with so few values on one side has a smaller one. `None` for a series that is too short.
#[must_use]
pub fn least_step_p(n: usize, fewest: usize) -> Option<f64> {
    let places = (n + 1).checked_sub(2 * fewest).filter(|places| *places > 0)?;
    let kinds = if n >= 3 * fewest { 2.0 } else { 1.0 };
    Some((2.0 * (-log_choose(n, fewest)).exp() * places as f64 * kinds).min(1.0))
}

/// The step of a series with at most one, with at least `fewest` values on either side: where the absolute
/// deviations from the medians of both sides are least (Bai, "Least Absolute Deviation Estimation of a Shift",
/// Econometric Theory 11(3), 1995), so that small differences elsewhere do not hide a large one near an end. The p-value
/// is that of Mann & Whitney, exact for a few values among many, times the number of places (Bonferroni).
///
/// `None` for a series that is too short, or has a value that is not finite.
#[must_use]
pub fn step(series: &[f64], fewest: usize) -> Option<LevelChange> {
    let (n, fewest) = (series.len(), fewest.max(1));
    if n < 2 * fewest || !usable(series) {
        return None;
    }
    let medians = |index: usize| Some((median(&series[..index])?, median(&series[index..])?));
    let deviations = |values: &[f64], middle: f64| values.iter().map(|value| (value - middle).abs()).sum::<f64>();
    let fit = |index: usize| {
        let (before, after) = medians(index)?;
        Some((index, deviations(&series[..index], before) + deviations(&series[index..], after)))
    };
    let (index, _) = (fewest..=n - fewest).filter_map(fit).min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (before, after) = medians(index)?;
    let places = (n + 1 - 2 * fewest) as f64;
    Some(LevelChange { index, p_value: (split_p(series, index)? * places).min(1.0), before, after })
}

/// The sums of the ranks of the first values: of none, of one, and so on.
fn rank_sums(series: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; series.len() + 1];
    for (at, rank) in midranks(series).0.iter().enumerate() {
        sums[at + 1] = sums[at] + rank;
    }
    sums
}

/// The interval with the largest standardised rank sum, and the number of intervals that were looked at.
fn best(
    sums: &[f64],
    starts: RangeInclusive<usize>,
    ends: impl Fn(usize) -> RangeInclusive<usize>,
) -> (usize, usize, usize) {
    let n = sums.len() - 1;
    let (mut found, mut largest, mut count) = ((0, n), -1.0, 0);
    for start in starts {
        for end in ends(start) {
            count += 1;
            let inside = (end - start) as f64;
            let apart = sums[end] - sums[start] - inside * (n as f64 + 1.0) / 2.0;
            // The variance of a rank sum is inside · outside · (n + 1) / 12; n is the same for all.
            let standardised = apart * apart / (inside * (n as f64 - inside));
            if standardised > largest {
                (found, largest) = ((start, end), standardised);
            }
        }
    }
    (found.0, found.1, count)
}

/// The p-value of an interval, corrected for the number of places.
fn tested(series: &[f64], (start, end, places): (usize, usize, usize)) -> Option<OtherLevel> {
    let inside = series[start..end].iter();
    let moved: Vec<f64> = inside.chain(&series[..start]).chain(&series[end..]).copied().collect();
    let p_value = (split_p(&moved, end - start)? * places as f64).min(1.0);
    Some(OtherLevel { start, end, p_value })
}

/// All changes of level of a series, oldest first, with the medians of the stretches between them.
///
/// The most likely step or stay is found first ([`other_level`]), then those of the stretches between its ends, as long
/// as the p-value allows (binary segmentation: Vostrikova, "Detecting disorder in multidimensional random processes",
/// Soviet Mathematics Doklady 24, 1981). A change that is too small divides its stretch as well, since a larger one may
/// lie beside it; such changes are removed at the end, the smallest first.
#[must_use]
pub fn level_changes(series: &[f64], rule: LevelRule) -> Vec<LevelChange> {
    let mut found: Vec<LevelChange> = Vec::new();
    let mut stretches = vec![(0, series.len())];
    while let Some((start, end)) = stretches.pop() {
        let place = other_level(&series[start..end], rule.fewest).filter(|place| place.p_value <= rule.search);
        let Some(place) = place else { continue };
        let mut from = start;
        for index in [start + place.start, start + place.end] {
            stretches.push((from, index));
            from = index;
            if index < end {
                found.push(LevelChange { index, p_value: place.p_value, before: 0.0, after: 0.0 });
            }
        }
        if from < end {
            stretches.push((from, end));
        }
    }
    found.sort_unstable_by_key(|change| change.index);
    loop {
        place(series, &mut found, rule.fewest);
        let Some(none) = least_sure(series, &mut found, rule) else { return found };
        found.remove(none);
    }
}

/// Moves each change, between its neighbours, to where the absolute deviations from the medians of both sides are least
/// (Bai, "Least Absolute Deviation Estimation of a Shift", Econometric Theory 11(3), 1995). Ranks alone place the end
/// of a stay a few values off, since both of its sides have values of several levels.
fn place(series: &[f64], changes: &mut [LevelChange], fewest: usize) {
    for at in 0..changes.len() {
        let start = if at == 0 { 0 } else { changes[at - 1].index };
        let end = changes.get(at + 1).map_or(series.len(), |next| next.index);
        let index = changes[at].index;
        let (Some(before), Some(after)) = (median(&series[start..index]), median(&series[index..end])) else {
            continue;
        };
        // What the deviations rise by if values are counted to the side before the change.
        let (mut rise, mut least) = (0.0, f64::INFINITY);
        for next in start + 1..=end.saturating_sub(fewest) {
            let value = series[next - 1];
            rise += (value - before).abs() - (value - after).abs();
            if next >= start + fewest && rise < least {
                (least, changes[at].index) = (rise, next);
            }
        }
    }
}

/// Sets the medians of each change to those of the stretches between it and its neighbours. Returns the change that is
/// none by the rule: the smallest that is too small, else the one that the stretches next to it show least.
fn least_sure(series: &[f64], changes: &mut [LevelChange], rule: LevelRule) -> Option<usize> {
    let ends: Vec<usize> = std::iter::once(0).chain(changes.iter().map(|c| c.index)).chain([series.len()]).collect();
    for (change, ends) in changes.iter_mut().zip(ends.windows(3)) {
        change.before = median(&series[ends[0]..ends[1]])?;
        change.after = median(&series[ends[1]..ends[2]])?;
    }
    let size = |change: &LevelChange| (change.after / change.before).ln().abs();
    let small = (0..changes.len()).filter(|at| size(&changes[*at]) <= rule.ratio.ln());
    if let Some(smallest) = small.min_by(|a, b| size(&changes[*a]).total_cmp(&size(&changes[*b]))) {
        return Some(smallest);
    }
    let near = |(at, ends): (usize, &[usize])| Some((at, split_p(&series[ends[0]..ends[2]], ends[1] - ends[0])?));
    let worst = ends.windows(3).enumerate().filter_map(near).max_by(|a, b| a.1.total_cmp(&b.1))?;
    (worst.1 > rule.near).then_some(worst.0)
}
