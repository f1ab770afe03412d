//! Changes of level in a series.

use crate::rank::midranks;
use crate::two_samples::split_p;
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
    /// Two-sided p-value of "no change", corrected for the choice of the index.
    pub p_value: f64,
    /// Median before the change.
    pub before: f64,
    /// Median from the change on.
    pub after: f64,
}

/// The most likely single change of level with at least `fewest` values on both sides. It is for series that are too short
/// for [`change_point`], whose approximate p-value is 0.07 at best for 5 values before a step and 5 after.
///
/// The index is that of the largest standardised rank sum (maximally selected rank statistics: Lausen & Schumacher,
/// Biometrics 48(1), 1992). The p-value is that of Mann & Whitney at this index, times the number of possible indices
/// (Bonferroni). It is exact for short series, with ties too. Assumes that the values are independent except for the
/// change.
///
/// `None` for a series that is too short, or has a value that is not finite.
#[must_use]
pub fn level_change(series: &[f64], fewest: usize) -> Option<LevelChange> {
    let (n, fewest) = (series.len(), fewest.max(1));
    if n < 2 * fewest || !usable(series) {
        return None;
    }
    let (ranks, _) = midranks(series);
    let (mut rank_sum, mut index, mut largest) = (0.0, fewest, -1.0);
    for t in 1..=n - fewest {
        rank_sum += ranks[t - 1];
        if t < fewest {
            continue;
        }
        let (before, after) = (t as f64, (n - t) as f64);
        let expected = before * (n as f64 + 1.0) / 2.0;
        // The variance of a rank sum is before · after · (n + 1) / 12; n is the same for all.
        let standardised = (rank_sum - expected).abs() / (before * after).sqrt();
        if standardised > largest {
            (index, largest) = (t, standardised);
        }
    }
    let looked_at = (n - 2 * fewest + 1) as f64;
    let p_value = (split_p(series, index)? * looked_at).min(1.0);
    Some(LevelChange { index, p_value, before: median(&series[..index])?, after: median(&series[index..])? })
}

/// All changes of level of a series, oldest first. The most likely change is found first, then those of the stretches
/// before and after it, as long as `is_one` accepts what is found (binary segmentation: Vostrikova, "Detecting disorder in
/// multidimensional random processes", Soviet Mathematics Doklady 24, 1981). The medians are those of the stretches
/// between the changes.
#[must_use]
pub fn level_changes(series: &[f64], fewest: usize, is_one: impl Fn(&LevelChange) -> bool) -> Vec<LevelChange> {
    let mut found: Vec<LevelChange> = Vec::new();
    let mut stretches = vec![(0, series.len())];
    while let Some((start, end)) = stretches.pop() {
        let Some(change) = level_change(&series[start..end], fewest).filter(&is_one) else { continue };
        let index = start + change.index;
        found.push(LevelChange { index, ..change });
        stretches.extend([(start, index), (index, end)]);
    }
    found.sort_unstable_by_key(|change| change.index);
    loop {
        between(series, &mut found);
        // What two further changes leave between them may be no change any more.
        let Some(none) = found.iter().position(|change| !is_one(change)) else { return found };
        found.remove(none);
    }
}

/// Sets the medians of each change to those of the stretches between it and its neighbours.
fn between(series: &[f64], changes: &mut [LevelChange]) {
    let ends: Vec<usize> = std::iter::once(0).chain(changes.iter().map(|c| c.index)).chain([series.len()]).collect();
    for (at, change) in changes.iter_mut().enumerate() {
        let (before, after) = (&series[ends[at]..ends[at + 1]], &series[ends[at + 1]..ends[at + 2]]);
        (change.before, change.after) =
            (median(before).unwrap_or(change.before), median(after).unwrap_or(change.after));
    }
}
