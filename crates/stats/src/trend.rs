//! Whether values in order of time rise or fall.

use std::cmp::Ordering;

use crate::special::normal_two_sided;
use crate::usable;

/// The longest series whose exact distribution is computed; beyond it the normal approximation is within 0.002.
const EXACT_LENGTH: usize = 40;

/// Result of a Mann–Kendall test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannKendall {
    /// Pairs that rise less those that fall: positive where the values tend to rise.
    pub s: f64,
    /// Two-sided p-value of "no trend".
    pub p_value: f64,
    /// Whether the p-value is exact, not the normal approximation.
    pub exact: bool,
}

/// Two-sided Mann–Kendall test for a trend, of whatever shape (Mann, "Nonparametric Tests Against Trend", Econometrica
/// 13, 1945; Kendall, "Rank Correlation Methods", 4th ed. 1975, §4 and §5). Exact when there are no ties and the series
/// is short; otherwise the normal approximation with continuity correction and the variance corrected for ties.
///
/// Assumes values that do not depend on each other but for the trend. `None` for fewer than three or non-finite values.
#[must_use]
pub fn mann_kendall(values: &[f64]) -> Option<MannKendall> {
    let n = values.len();
    if n < 3 || !usable(values) {
        return None;
    }
    let later = |i: usize| values[i + 1..].iter().map(move |v| rise(values[i], *v));
    let s: f64 = (0..n).flat_map(later).sum();
    let (_, ties) = crate::order::midranks(values);
    let exact = ties == 0.0 && n <= EXACT_LENGTH;
    let p_value = if exact { exact_p(n, s) } else { normal_p(values, s) };
    Some(MannKendall { s, p_value, exact })
}

/// Slope of the values over x: the median of the slopes of all pairs (Theil, "A rank-invariant method of linear and
/// polynomial regression analysis", Proc. Kon. Ned. Akad. v. Wetensch. A 53, 1950; Sen, "Estimates of the Regression
/// Coefficient Based on Kendall's Tau", J. Amer. Stat. Assoc. 63, 1968). Pairs with the same x are left out.
///
/// `None` if the slices have different lengths, all x are the same, or a number is not finite.
#[must_use]
pub fn theil_sen(x: &[f64], values: &[f64]) -> Option<f64> {
    if x.len() != values.len() || !usable(x) || !usable(values) {
        return None;
    }
    let later = |i: usize| (i + 1..x.len()).map(move |j| (x[j] - x[i], values[j] - values[i]));
    let pairs = (0..x.len()).flat_map(later).filter(|(run, _)| *run != 0.0);
    crate::median(&pairs.map(|(run, rise)| rise / run).collect::<Vec<f64>>())
}

/// 1 where the later value is larger, −1 where it is smaller.
fn rise(earlier: f64, later: f64) -> f64 {
    match later.partial_cmp(&earlier) {
        Some(Ordering::Greater) => 1.0,
        Some(Ordering::Less) => -1.0,
        _ => 0.0,
    }
}

/// Twice the tail of the exact distribution: the number of orders of n values with k pairs that fall follows
/// c(n, k) = Σ c(n − 1, k − j), j = 0 … n − 1.
fn exact_p(n: usize, s: f64) -> f64 {
    let pairs = n * (n - 1) / 2;
    let mut counts = vec![0.0f64; pairs + 1];
    counts[0] = 1.0;
    for length in 2..=n {
        let shorter = counts.clone();
        for (k, count) in counts.iter_mut().enumerate() {
            *count = shorter[k.saturating_sub(length - 1)..=k].iter().sum();
        }
    }
    let total: f64 = counts.iter().sum();
    // S = pairs − 2 · falling pairs, and its distribution is symmetric.
    let falling = ((pairs as f64 - s.abs()) / 2.0).round() as usize;
    let tail: f64 = counts[..=falling].iter().sum();
    (2.0 * tail / total).min(1.0)
}

fn normal_p(values: &[f64], s: f64) -> f64 {
    let term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let tied: f64 = sorted.chunk_by(|a, b| a == b).map(|group| term(group.len() as f64)).sum();
    let variance = (term(values.len() as f64) - tied) / 18.0;
    if variance <= 0.0 {
        return 1.0;
    }
    normal_two_sided((s.abs() - 1.0).max(0.0) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    fn near(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
    }

    #[test]
    fn small_series_match_counting_by_hand() {
        // Of 24 orders of four values one rises throughout, and one falls.
        let rising = mann_kendall(&[1.0, 2.0, 5.0, 9.0]).unwrap();
        near(rising.p_value, 2.0 / 24.0);
        assert!(rising.s == 6.0 && rising.exact);
        assert_eq!(mann_kendall(&[9.0, 5.0, 2.0, 1.0]).unwrap().s, -6.0);
        // Of 120 orders of five, one has no falling pair and four have one.
        near(mann_kendall(&[1.0, 2.0, 3.0, 5.0, 4.0]).unwrap().p_value, 10.0 / 120.0);
        // Ten rising values: 2 / 10!.
        let ten: Vec<f64> = (0..10).map(f64::from).collect();
        near(mann_kendall(&ten).unwrap().p_value, 2.0 / 3_628_800.0);
    }

    #[test]
    fn ties_take_from_the_variance() {
        // S = 8, two groups of two: the variance is (5·4·15 − 2 · 2·1·9) / 18.
        let tied = mann_kendall(&[1.0, 1.0, 2.0, 2.0, 3.0]).unwrap();
        assert!(!tied.exact && tied.s == 8.0);
        let z: f64 = 7.0 / ((5.0 * 4.0 * 15.0 - 2.0 * 2.0 * 9.0) / 18.0f64).sqrt();
        near(tied.p_value, normal_two_sided(z));
        near(mann_kendall(&[4.0; 10]).unwrap().p_value, 1.0);
    }

    #[test]
    fn noise_has_a_trend_as_often_as_the_level_says() {
        let mut rng = Rng::new(7);
        let mut found = |slope: f64, length: usize| {
            let trends = (0..1000).filter(|_| {
                let values: Vec<f64> = (0..length).map(|i| slope * i as f64 + rng.normal()).collect();
                mann_kendall(&values).unwrap().p_value < 0.05
            });
            trends.count()
        };
        // The exact test is a little below its level; both within four standard deviations of a count of 50.
        assert!((20..80).contains(&found(0.0, 10)) && (20..80).contains(&found(0.0, 60)));
        assert!(found(0.5, 10) > 900);
    }

    #[test]
    fn a_slope_ignores_an_outlier() {
        // numpy: median of (y[j]-y[i])/(x[j]-x[i]) over all pairs.
        near(theil_sen(&[0.0, 1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 5.0, 90.0, 9.0]).unwrap(), 2.0);
        near(theil_sen(&[0.0, 0.0, 2.0], &[1.0, 3.0, 6.0]).unwrap(), 2.0);
        assert_eq!(theil_sen(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(theil_sen(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(theil_sen(&[0.0, f64::NAN], &[1.0, 2.0]), None);
    }

    #[test]
    fn unusable_input_is_none() {
        assert_eq!(mann_kendall(&[1.0, 2.0]), None);
        assert_eq!(mann_kendall(&[1.0, f64::NAN, 2.0]), None);
    }
}
