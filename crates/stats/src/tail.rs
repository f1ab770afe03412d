//! The tail of a sample.

use crate::quantiles;

/// Quantiles of the tail, in the samples' unit, each by [`crate::quantile`]'s rule. A quantile with fewer than ten
/// samples beyond it is `None`: it would be the largest few values under another name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TailSummary {
    /// Number of samples.
    pub count: usize,
    /// Median.
    pub p50: f64,
    /// 90th percentile; needs 100 samples.
    pub p90: Option<f64>,
    /// 99th percentile; needs 1,000.
    pub p99: Option<f64>,
    /// 99.9th percentile; needs 10,000.
    pub p99_9: Option<f64>,
    /// 99.99th percentile; needs 100,000.
    pub p99_99: Option<f64>,
    /// Largest sample.
    pub max: f64,
}

/// Samples beyond a quantile that make it worth printing: its rank then has a relative standard error of 1/√10 of the
/// tail (binomial), about a third.
const BEYOND: f64 = 10.0;

impl TailSummary {
    /// Summary by selection (reorders `values`). `None` for empty or non-finite input.
    #[must_use]
    pub fn of(values: &mut [f64]) -> Option<Self> {
        const PS: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 1.0];
        let count = values.len();
        let found = quantiles(values, &PS)?;
        // The subtraction in 1 − p is off by an ulp; the slack keeps round counts such as 1,000 on the right side.
        let shown = |i: usize| (count as f64 * (1.0 - PS[i]) >= BEYOND - 1e-6).then(|| found[i]);
        Some(Self {
            count,
            p50: found[0],
            p90: shown(1),
            p99: shown(2),
            p99_9: shown(3),
            p99_99: shown(4),
            max: found[5],
        })
    }

    /// Summary of whole counts, e.g. nanoseconds or ticks.
    #[must_use]
    pub fn of_u32(values: &[u32]) -> Option<Self> {
        let mut floats: Vec<f64> = values.iter().map(|&v| f64::from(v)).collect();
        Self::of(&mut floats)
    }
}
