//! Intervals of a median.

use crate::usable;

/// An interval that covers the true value with probability `level`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end, in the samples' unit.
    pub low: f64,
    /// Upper end, in the samples' unit.
    pub high: f64,
    /// Coverage, 0 to 1: what was attained where that is known exactly, what was asked for otherwise.
    pub level: f64,
}

impl Interval {
    /// Half the width as a share of `centre`: 0.01 reads "± 1 %". `None` when `centre` is zero or not finite.
    #[must_use]
    pub fn relative_half_width(&self, centre: f64) -> Option<f64> {
        let relative = (self.high / 2.0 - self.low / 2.0) / centre.abs();
        relative.is_finite().then_some(relative)
    }
}

/// Distribution-free interval of the median between two order statistics, x₍k₎ and x₍n+1−k₎, with exact coverage
/// 1 − 2·P(Bin(n, ½) < k): Hahn & Meeker, "Statistical Intervals", 1991, §5.2. The narrowest that reaches `level` is
/// taken, and the level it attains is returned with it.
///
/// Assumes independent samples of one distribution; samples of several allocations want [`crate::bootstrap_median`].
/// `None` when no such interval reaches `level` (95 % needs 6 samples, 99 % needs 8), when `level` is not in (0, 1), or
/// when the input is empty or non-finite.
#[must_use]
pub fn median_interval_order(values: &[f64], level: f64) -> Option<Interval> {
    let level_usable = level > 0.0 && level < 1.0;
    if !usable(values) || !level_usable {
        return None;
    }
    let n = values.len();
    let (k, coverage) = order_rank(n, level)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(Interval { low: sorted[k - 1], high: sorted[n - k], level: coverage })
}

/// The largest rank k whose interval still covers `level`, with its coverage.
fn order_rank(n: usize, level: f64) -> Option<(usize, f64)> {
    // Terms C(n, k)/2ⁿ in logarithms: 2⁻ⁿ alone underflows beyond n = 1074.
    let mut log_term = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    let mut best = None;
    for k in 1..=n / 2 {
        below += log_term.exp();
        let coverage = 1.0 - 2.0 * below;
        if coverage < level {
            break;
        }
        best = Some((k, coverage));
        log_term += ((n - k + 1) as f64 / k as f64).ln();
    }
    best
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
