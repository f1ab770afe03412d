//! Intervals of a median.

use crate::usable;

/// An interval that covers the true value with probability `level`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end, in the samples' unit.
    pub low: f64,
    /// Upper end, in the samples' unit.
    pub high: f64,
    /// Coverage, 0 to 1: the attained one if it is known exactly, the requested one otherwise.
    pub level: f64,
}

/// Half-width of Student's 95 % interval of the mean of a few values: t × s / √n (Student, Biometrika 6, 1908).
///
/// Given the medians of independent allocations it is the interval that Kalibera & Jones ("Rigorous benchmarking in reasonable
/// time", ISMM 2013, §6) take at the highest level of repetition. `None` with fewer than two values.
#[must_use]
pub fn student_half_width(values: &[f64]) -> Option<f64> {
    /// Two-sided 95 % quantiles of t with 1, 2, 3 … degrees of freedom (scipy.stats.t.ppf(0.975, df)).
    const T: [f64; 20] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
        2.120, 2.110, 2.101, 2.093, 2.086,
    ];
    let n = values.len();
    if n < 2 || !usable(values) {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    // Beyond the table the last row errs on the wide side.
    Some(T[(n - 2).min(T.len() - 1)] * (variance / n as f64).sqrt())
}
