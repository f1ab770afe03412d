//! Order statistics: median, quantiles, median absolute deviation, extremes, ranks, outliers.

use crate::usable;

/// The median: the middle value, or the mean of the two middle ones. `None` for empty or non-finite input.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    if !usable(values) {
        return None;
    }
    let mut copy = values.to_vec();
    Some(median_in_place(&mut copy))
}

/// Median of finite, non-empty values by selection; reorders them.
pub(crate) fn median_in_place(values: &mut [f64]) -> f64 {
    let n = values.len();
    let (below, middle, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    let upper = *middle;
    if n % 2 == 1 {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    midpoint(lower, upper)
}

/// The middle value; of an even number of values the upper of the two in the middle, so that the result is one of the
/// values. `None` without values.
#[must_use]
pub fn upper_median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Mean of two finite values without overflow.
pub(crate) fn midpoint(a: f64, b: f64) -> f64 {
    a / 2.0 + b / 2.0
}

/// Quantile `p` (0 to 1) of *ascending* values by linear interpolation at (n − 1)·p: type 7 of Hyndman & Fan,
/// "Sample Quantiles in Statistical Packages", The American Statistician 50(4), 1996; the default of R and NumPy.
/// `None` when empty, non-finite, not ascending, or `p` is outside 0..=1.
#[must_use]
pub fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    if !usable(sorted) || !sorted.is_sorted() || !(0.0..=1.0).contains(&p) {
        return None;
    }
    Some(quantile_sorted(sorted, p))
}

/// [`quantile`] for values already known to be finite, ascending and non-empty.
pub(crate) fn quantile_sorted(sorted: &[f64], p: f64) -> f64 {
    let (index, fraction) = position(sorted.len(), p);
    interpolate(sorted[index], sorted.get(index + 1).copied(), fraction)
}

/// Quantiles `ps` of unordered values by selection (reorders `values`), each as [`quantile`] defines it.
/// `None` under the same conditions.
#[must_use]
pub fn quantiles(values: &mut [f64], ps: &[f64]) -> Option<Vec<f64>> {
    if !usable(values) || ps.iter().any(|p| !(0.0..=1.0).contains(p)) {
        return None;
    }
    let mut found = Vec::with_capacity(ps.len());
    for &p in ps {
        let (index, fraction) = position(values.len(), p);
        let (_, at, above) = values.select_nth_unstable_by(index, f64::total_cmp);
        let next = above.iter().copied().reduce(f64::min);
        found.push(interpolate(*at, next, fraction));
    }
    Some(found)
}

/// Index below the quantile and the fraction of the way to the next value.
fn position(n: usize, p: f64) -> (usize, f64) {
    let h = (n - 1) as f64 * p;
    let index = (h.floor() as usize).min(n - 1);
    (index, h - index as f64)
}

fn interpolate(at: f64, next: Option<f64>, fraction: f64) -> f64 {
    match next {
        // The weighted form cannot overflow, unlike at + fraction·(next − at); its rounding may leave the two values.
        Some(next) if fraction > 0.0 => (at * (1.0 - fraction) + next * fraction).clamp(at, next),
        _ => at,
    }
}

/// Median absolute deviation from the median, unscaled (multiply by 1.4826 for the σ of a normal sample).
/// Hampel, "The Influence Curve and its Role in Robust Estimation", JASA 69, 1974.
#[must_use]
pub fn mad(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let mut deviations: Vec<f64> = values.iter().map(|v| (v - centre).abs()).collect();
    usable(&deviations).then(|| median_in_place(&mut deviations))
}

/// Smallest value.
#[must_use]
pub fn min(values: &[f64]) -> Option<f64> {
    usable(values).then(|| values.iter().copied().fold(f64::INFINITY, f64::min))
}

/// Largest value.
#[must_use]
pub fn max(values: &[f64]) -> Option<f64> {
    usable(values).then(|| values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// Ranks from 1, ties sharing their mean rank, and Σ(t³ − t) over the groups of ties.
pub(crate) fn midranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut ties = 0.0;
    let mut start = 0;
    while start < order.len() {
        let same = order[start..].iter().take_while(|&&i| values[i] == values[order[start]]).count();
        let shared = start as f64 + (same as f64 + 1.0) / 2.0;
        for &i in &order[start..start + same] {
            ranks[i] = shared;
        }
        let t = same as f64;
        ties += t * t * t - t;
        start += same;
    }
    (ranks, ties)
}

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

/// The 95 % interval of the median, by the ranks of the values (Conover, Practical Nonparametric Statistics, 1999, section
/// 3.2): it assumes no distribution. `None` for fewer than six values, of which no two ranks suffice, and
/// for values that are not finite.
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    const FEWEST: usize = 6;
    const BEYOND: f64 = 1.96;
    if values.len() < FEWEST || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let below = ((count - BEYOND * count.sqrt()) / 2.0).floor().max(0.0) as usize;
    Some((sorted[below], sorted[sorted.len() - 1 - below]))
}
