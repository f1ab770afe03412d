//! Values that lie far from most others.

use crate::{mad, median};

/// Iglewicz and Hoaglin's limit: a value whose modified z-score exceeds it is a possible outlier.
pub const OUTLYING: f64 = 3.5;

/// Modified z-scores: how far each value lies from the median, in deviations of a normal sample with the same median
/// absolute deviation. Half of the values, whatever they are, cannot move it. Iglewicz & Hoaglin, "How to Detect and
/// Handle Outliers", ASQC Basic References in Quality Control 16, 1993. Where more than half of the values are equal,
/// all others are infinitely far away. `None` for empty or non-finite input.
#[must_use]
pub fn modified_z(values: &[f64]) -> Option<Vec<f64>> {
    /// The median absolute deviation of a normal sample, in standard deviations.
    const OF_NORMAL: f64 = 0.6745;
    let (centre, deviation) = (median(values)?, mad(values)?);
    let score = |value: &f64| match value - centre {
        0.0 => 0.0,
        away if deviation == 0.0 => f64::INFINITY.copysign(away),
        away => OF_NORMAL * away / deviation,
    };
    Some(values.iter().map(score).collect())
}
