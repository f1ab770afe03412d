//! Slow movement of a level while measuring.

use crate::order::median_in_place;
use crate::{median, usable};

/// Theil–Sen slope: the median of the slopes between all pairs of points with different x, in y units per x unit. Up to
/// 29 % of the points may be wild. Sen, "Estimates of the Regression Coefficient Based on Kendall's Tau", JASA 63, 1968.
/// `None` when lengths differ, fewer than two x are different, or a value is not finite. Takes time n².
#[must_use]
pub fn theil_sen(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() != y.len() || !usable(x) || !usable(y) {
        return None;
    }
    let mut slopes = Vec::with_capacity(x.len() * (x.len() - 1) / 2);
    for i in 1..x.len() {
        for j in 0..i {
            let run = x[i] - x[j];
            if run != 0.0 {
                slopes.push((y[i] - y[j]) / run);
            }
        }
    }
    usable(&slopes).then(|| median_in_place(&mut slopes))
}

/// How far a repeated cell moved: (median of `last` − median of `first`) / |median of `first`|; 0.02 = 2 % up.
/// `None` when either is empty or non-finite, or the first median is zero.
#[must_use]
pub fn relative_drift(first: &[f64], last: &[f64]) -> Option<f64> {
    let start = median(first)?;
    let drift = (median(last)? - start) / start.abs();
    drift.is_finite().then_some(drift)
}
