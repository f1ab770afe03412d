//! How much samples differ within an allocation and between allocations.

use crate::order::median_in_place;
use crate::{mad, median};

/// Standard deviations, as shares of the median of all samples (0.02 = 2 %).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Between samples of one group. `None` when no group has two samples.
    pub within: Option<f64>,
    /// Between groups, with what the samples' own noise adds to a group's median taken away. `None` with one group.
    pub between: Option<f64>,
}

/// Robust components of variance of samples in groups (allocations). Each standard deviation is a MAD scaled for the
/// normal distribution, with the small-sample factors of Croux & Rousseeuw, "Time-Efficient Algorithms for Two Highly
/// Robust Estimators of Scale", COMPSTAT 1992.
///
/// `within` is the square root of the mean of the groups' variances weighted by samples. The medians of groups vary by
/// `between`² plus π/2 · `within`²/n (the asymptotic variance of a normal sample's median), which is subtracted.
/// Empty groups are ignored. `None` when there is no sample, one is not finite, or the median is zero.
#[must_use]
pub fn spread(groups: &[Vec<f64>]) -> Option<Spread> {
    let groups: Vec<&[f64]> = groups.iter().map(Vec::as_slice).filter(|g| !g.is_empty()).collect();
    let centre = median(&groups.concat())?.abs();
    if centre == 0.0 {
        return None;
    }
    let within = within(&groups);
    let medians = groups.iter().map(|g| median(g)).collect::<Option<Vec<f64>>>()?;
    let between = robust_sigma(&medians).map(|sigma| {
        let mut sizes: Vec<f64> = groups.iter().map(|g| g.len() as f64).collect();
        let noise = std::f64::consts::FRAC_PI_2 * within.unwrap_or(0.0).powi(2) / median_in_place(&mut sizes);
        (sigma * sigma - noise).max(0.0).sqrt() / centre
    });
    Some(Spread { within: within.map(|w| w / centre), between })
}

fn within(groups: &[&[f64]]) -> Option<f64> {
    let (mut sum, mut weight) = (0.0, 0.0);
    for group in groups {
        if let Some(sigma) = robust_sigma(group) {
            let degrees = group.len() as f64 - 1.0;
            sum += sigma * sigma * degrees;
            weight += degrees;
        }
    }
    (weight > 0.0).then(|| (sum / weight).sqrt())
}

/// Standard deviation of a normal sample from its MAD; `None` for fewer than two values.
#[must_use]
pub fn robust_sigma(values: &[f64]) -> Option<f64> {
    /// Croux & Rousseeuw's factors for n = 2 to 9; n/(n − 0.8) from 10 on.
    const SMALL: [f64; 8] = [1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107];
    let n = values.len();
    if n < 2 {
        return None;
    }
    let factor = SMALL.get(n - 2).copied().unwrap_or(n as f64 / (n as f64 - 0.8));
    mad(values).map(|m| m * crate::special::MAD_TO_SIGMA * factor)
}
