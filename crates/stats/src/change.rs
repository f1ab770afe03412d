//! One change of level in a series.

use crate::rank::midranks;
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
