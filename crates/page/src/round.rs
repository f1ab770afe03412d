//! Round numbers for axes.

use crate::plot::Abscissa;

/// The lowest round value that no point is above: finer than the ticks between, so that little of the height is lost.
pub(crate) fn ceiling(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let round = [1.0, 1.2, 1.5, 1.8, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0].iter().map(|m| m * decade);
    round.into_iter().find(|v| *v >= value * (1.0 - 1e-9)).unwrap_or(10.0 * decade)
}

/// The ends of a linear axis of values. It begins at zero, where a share of the height is a share of the value, unless
/// a curve of one quantity over another would be a flat line there.
pub(crate) fn linear(least: f64, most: f64, abscissa: Abscissa) -> (f64, f64) {
    if most <= 0.0 {
        return (0.0, 1.0);
    }
    // Less than a tenth is not blown up to the whole height: noise would look like a slope.
    let spread = (most - least).max(0.1 * most);
    let low = if abscissa == Abscissa::Linear && spread < 0.5 * most { most - 1.2 * spread } else { 0.0 };
    let (step, _) = steps(low, most);
    let low = (low / step + 1e-9).floor() * step;
    (low, (most / step - 1e-9).ceil() * step)
}

/// The round step between the ticks of a linear axis that loses least of its height, and how many of them there are.
pub(crate) fn steps(low: f64, high: f64) -> (f64, usize) {
    let decade = 10f64.powf((high - low).log10().floor());
    let round = [0.2, 0.25, 0.5, 1.0, 2.0, 2.5, 5.0].map(|m| m * decade);
    let count = |step: f64| ((high / step - 1e-9).ceil() - (low / step + 1e-9).floor()) as usize;
    let lost = |step: &f64| count(*step) as f64 * step / (high - low);
    let fits = round.into_iter().filter(|step| (2..=5).contains(&count(*step)));
    let best = fits.min_by(|a, b| lost(a).total_cmp(&lost(b))).unwrap_or(decade);
    (best, count(best))
}

/// 0.30000000000000004 is not a number anybody wants to read: six digits are.
pub(crate) fn tidy(value: f64) -> f64 {
    let scale = 10f64.powi(5 - value.abs().max(f64::MIN_POSITIVE).log10().floor() as i32);
    let rounded = (value * scale).round() / scale;
    if rounded.is_finite() { rounded } else { value }
}

/// The next of 1, 2, 5 × 10ⁿ.
pub(crate) fn nice(step: f64) -> f64 {
    let decade = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0].iter().map(|m| m * decade).find(|s| *s >= step).unwrap_or(10.0 * decade)
}
