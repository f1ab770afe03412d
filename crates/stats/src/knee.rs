//! The knee of a curve, e.g. where more load stops giving more bandwidth and starts costing latency.

use crate::usable;

/// Shape of the curve whose knee is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curve {
    /// Rises fast, then flattens (bandwidth by threads).
    ConcaveIncreasing,
    /// Rises slowly, then steeply (latency by load).
    ConvexIncreasing,
    /// Falls slowly, then steeply.
    ConcaveDecreasing,
    /// Falls fast, then flattens.
    ConvexDecreasing,
}

/// Scale of the x axis before it is normalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XScale {
    /// As given.
    Linear,
    /// Logarithm; needs positive x. For sizes and thread counts.
    Log,
}

/// The bend of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knee {
    /// Index of the point, in the input.
    pub index: usize,
    /// Its x, as given.
    pub x: f64,
    /// Its y, as given.
    pub y: f64,
    /// Distance from the straight line between the ends, 0 to 1 of the curve's height: how marked the knee is.
    pub distance: f64,
}

/// Kneedle: Satopää, Albrecht, Irwin & Raghavan, "Finding a 'Kneedle' in a Haystack", ICDCS Workshops 2011. Both axes
/// are normalised to 0..1 and the curve turned so that it rises and flattens; a knee is a local maximum of y − x after
/// which the difference falls by more than `sensitivity` × the mean distance between x (1 is the paper's advice; larger
/// is more conservative). Of several, the most marked one is returned. Nothing is smoothed here: give medians.
///
/// `points` are (x, y) with x strictly rising. `None` when there is no knee, fewer than 5 points, a value is not
/// finite, x does not rise or is not positive on a log scale, or y is constant.
#[must_use]
pub fn knee(points: &[(f64, f64)], shape: Curve, scale: XScale, sensitivity: f64) -> Option<Knee> {
    let difference = difference(points, shape, scale)?;
    let n = difference.len();
    let allowance = sensitivity / (n as f64 - 1.0);
    let mut best: Option<(usize, f64)> = None;
    for i in 1..n - 1 {
        let here = difference[i];
        if here <= difference[i - 1] || here < difference[i + 1] {
            continue;
        }
        // The fall counts until the curve climbs above this maximum again.
        let falls = difference[i + 1..].iter().take_while(|d| **d <= here).any(|d| *d < here - allowance);
        if falls && best.is_none_or(|(_, d)| here > d) {
            best = Some((i, here));
        }
    }
    let (turned, distance) = best?;
    let index = if turns_x(shape) { n - 1 - turned } else { turned };
    let (x, y) = points[index];
    Some(Knee { index, x, y, distance })
}

/// Whether the shape is turned by reversing the x axis.
fn turns_x(shape: Curve) -> bool {
    matches!(shape, Curve::ConvexIncreasing | Curve::ConcaveDecreasing)
}

/// Height of the normalised, turned curve above its diagonal, in order of turned x.
fn difference(points: &[(f64, f64)], shape: Curve, scale: XScale) -> Option<Vec<f64>> {
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    if points.len() < 5 || (scale == XScale::Log && x.iter().any(|v| *v <= 0.0)) {
        return None;
    }
    let x: Vec<f64> = if scale == XScale::Log { x.iter().map(|v| v.ln()).collect() } else { x };
    if x.windows(2).any(|w| w[0] >= w[1]) {
        return None;
    }
    let (x, y) = (normalised(&x)?, normalised(&y)?);
    let turns_y = matches!(shape, Curve::ConvexIncreasing | Curve::ConvexDecreasing);
    let mut above: Vec<f64> = x
        .iter()
        .zip(&y)
        .map(|(x, y)| {
            let x = if turns_x(shape) { 1.0 - x } else { *x };
            let y = if turns_y { 1.0 - y } else { *y };
            y - x
        })
        .collect();
    if turns_x(shape) {
        above.reverse();
    }
    Some(above)
}

fn normalised(values: &[f64]) -> Option<Vec<f64>> {
    if !usable(values) {
        return None;
    }
    let (low, high) = (crate::min(values)?, crate::max(values)?);
    let range = high - low;
    (range.is_finite() && range > 0.0).then(|| values.iter().map(|v| (v - low) / range).collect())
}
