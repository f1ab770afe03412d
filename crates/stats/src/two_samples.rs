//! Two samples: whether they differ, by how much, and what that is worth among many comparisons.

use crate::order::midranks;
use crate::special::normal_two_sided;
use crate::usable;

/// Samples up to this product of their sizes have exact p-values, if no two values are equal.
const EXACT: usize = 900;

/// Two-sided p-value of "both samples come from one distribution" by their ranks: Mann & Whitney, "On a Test of Whether
/// one of Two Random Variables is Stochastically Larger than the Other", Annals of Mathematical Statistics 18(1), 1947.
/// Exact for small samples without ties, by the recursion of that paper; else the normal approximation with the
/// correction for ties and continuity (Lehmann, "Nonparametrics", 1975, §1.3 and §1.4).
///
/// `None` for an empty sample or a value that is not finite.
#[must_use]
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<f64> {
    if !usable(a) || !usable(b) {
        return None;
    }
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let (ranks, ties) = midranks(&all);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let u = ranks[..a.len()].iter().sum::<f64>() - n * (n + 1.0) / 2.0;
    let least = u.min(n * m - u);
    if ties == 0.0 && a.len() * b.len() <= EXACT {
        return Some((2.0 * share_up_to(least.round() as usize, a.len(), b.len())).min(1.0));
    }
    let all = n + m;
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return Some(1.0);
    }
    Some(normal_two_sided((n * m / 2.0 - least - 0.5).max(0.0) / variance.sqrt()))
}

/// Samples have exact p-values by [`split_p`] up to this number of steps, which 30 and 30 values take: at most 5 ms.
const MOST_STEPS: usize = 30 * 30 * 30;
/// The same with ties: values times those of the smaller sample. All samples up to a product of 900 are within it.
const MOST_TIED: usize = 2 * EXACT;

/// Two-sided p-value of "the first `n` of these values come from the distribution of the others", as [`mann_whitney`],
/// but exact with ties too (the shift algorithm: Streitberg & Röhmel, "Exact Distributions for Permutation and Rank
/// Tests", Statistical Software Newsletter 12, 1986), and for a few values among many: there the normal approximation
/// is far too careful (5 values above 500 others: 1e-4 instead of 7e-12).
///
/// `None` as there.
pub(crate) fn split_p(values: &[f64], n: usize) -> Option<f64> {
    if !usable(values) || n == 0 || n >= values.len() {
        return None;
    }
    let (ranks, ties) = midranks(values);
    let count = values.len();
    let (few, many) = (n.min(count - n), n.max(count - n));
    if ties == 0.0 && few * few * many <= MOST_STEPS {
        let sum: f64 = ranks[..n].iter().sum();
        let u = (sum - (n * (n + 1)) as f64 / 2.0).round() as usize;
        return Some((2.0 * share_up_to(u.min(n * (count - n) - u), few, many)).min(1.0));
    }
    if ties == 0.0 || count * few > MOST_TIED {
        return mann_whitney(&values[..n], &values[n..]);
    }
    // Twice a shared rank is whole. Either sample will do: their sums are as far from their means.
    let doubled: Vec<usize> = ranks.iter().map(|rank| (2.0 * rank).round() as usize).collect();
    let sample = if n == few { &doubled[..n] } else { &doubled[n..] };
    Some(share_as_far(&doubled, sample))
}

/// Share of all choices of as many ranks as the sample has, whose sum is as far from its mean as that of the sample.
fn share_as_far(doubled: &[usize], sample: &[usize]) -> f64 {
    let n = sample.len();
    // Ranks in order of size: the largest sum of n of them.
    let mut sorted = doubled.to_vec();
    sorted.sort_unstable();
    let largest: usize = sorted.iter().rev().take(n).sum();
    // counts[k][s]: choices of k values with the doubled rank sum s.
    let mut counts = vec![vec![0.0f64; largest + 1]; n + 1];
    counts[0][0] = 1.0;
    for rank in &sorted {
        for k in (1..=n).rev() {
            let (fewer, more) = counts.split_at_mut(k);
            for (to, from) in more[0][*rank..].iter_mut().zip(&fewer[k - 1]) {
                *to += from;
            }
        }
    }
    let mean = n * (doubled.len() + 1);
    let seen = sample.iter().sum::<usize>().abs_diff(mean);
    let total: f64 = counts[n].iter().sum();
    let far = counts[n].iter().enumerate().filter(|(sum, _)| sum.abs_diff(mean) >= seen);
    (far.map(|(_, count)| count).sum::<f64>() / total).min(1.0)
}

/// Share of the arrangements of `n` and `m` values whose U is at most `u`.
fn share_up_to(u: usize, n: usize, m: usize) -> f64 {
    // counts[k]: arrangements of i values of one sample among m of the other with U = k. One more value of the first
    // sample, the largest of them, stands above 0 to m values of the second: the Gaussian binomial coefficients.
    let mut counts = vec![0.0; u.min(n * m) + 1];
    counts[0] = 1.0;
    for i in 1..=n {
        for k in (i + m..counts.len()).rev() {
            counts[k] -= counts[k - i - m];
        }
        for k in i..counts.len() {
            counts[k] += counts[k - i];
        }
    }
    let all: f64 = (1..=n).map(|i| (m + i) as f64 / i as f64).product();
    counts.iter().sum::<f64>() / all
}

/// Two-sided p-value of "both samples have the same share of hits": Fisher, "The Logic of Inductive Inference", Journal
/// of the Royal Statistical Society 98(1), 1935; twice the smaller tail. With hits above a limit between two high
/// quantiles it is the test of a control quantile, which generalises the median test (Mood 1950).
///
/// `None` for an empty sample, or more hits than values.
#[must_use]
pub fn fisher_exact(hits_a: usize, of_a: usize, hits_b: usize, of_b: usize) -> Option<f64> {
    if of_a == 0 || of_b == 0 || hits_a > of_a || hits_b > of_b {
        return None;
    }
    let hits = hits_a + hits_b;
    let (least, most) = (hits.saturating_sub(of_b), hits.min(of_a));
    // Each term from the one before: samples may be large.
    let mut ln = log_choose(of_a, least) + log_choose(of_b, hits - least) - log_choose(of_a + of_b, hits);
    let (mut low, mut high) = (0.0, 0.0);
    for x in least..=most {
        low += if x <= hits_a { ln.exp() } else { 0.0 };
        high += if x >= hits_a { ln.exp() } else { 0.0 };
        let (left, right) = ((of_a - x) as f64 * (hits - x) as f64, (x + 1) as f64 * (of_b + x + 1 - hits) as f64);
        ln += (left / right).ln();
    }
    Some((2.0 * f64::min(low, high)).min(1.0))
}

pub(crate) fn log_choose(n: usize, k: usize) -> f64 {
    let k = k.min(n - k);
    (1..=k).map(|i| ((n - k + i) as f64 / i as f64).ln()).sum()
}

/// Corrects the p-values of several tests for the number of tests. If each hypothesis whose corrected p-value is at
/// most α is rejected, the probability that any true hypothesis is rejected is at most α, even if the tests depend on
/// each other (Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics
/// 6(2), 1979).
///
/// The corrected values are in the order of `p_values`.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let factors = holm_factors(p_values);
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for index in order {
        largest = largest.max(factors[index] * p_values[index]).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

/// Corrects the p-values of several tests for the number of tests. If each hypothesis whose corrected p-value is at
/// most α is rejected, at most this share of the rejected ones is expected to be true, where the tests are independent or
/// depend on each other positively (Benjamini & Hochberg, "Controlling the False Discovery Rate", Journal of the Royal
/// Statistical Society B 57(1), 1995; Benjamini & Yekutieli, Annals of Statistics 29(4), 2001).
///
/// The corrected values are in the order of `p_values`.
#[must_use]
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[b].total_cmp(&p_values[a]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least: f64 = 1.0;
    for (index, rank) in order.into_iter().zip((1..=p_values.len()).rev()) {
        least = least.min(p_values[index] * p_values.len() as f64 / rank as f64);
        adjusted[index] = least;
    }
    adjusted
}

/// The factor by which [`holm`] multiplies each p-value: the number of tests less those with a smaller one.
fn holm_factors(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut factors = vec![1.0; p_values.len()];
    order.into_iter().enumerate().for_each(|(rank, index)| factors[index] = (p_values.len() - rank) as f64);
    factors
}

/// The level at which each of several tests is made, so that the probability that any true hypothesis is rejected is at
/// most `level` ([`holm`]): for a test of several steps, of which `p_values` has the first. A test that is not
/// rejected, and all with larger p-values, have the level at which it was not.
#[must_use]
pub fn holm_levels(p_values: &[f64], level: f64) -> Vec<f64> {
    let factors = holm_factors(p_values);
    let failed = (0..p_values.len()).filter(|at| p_values[*at] * factors[*at] > level);
    let most = failed.map(|at| factors[at]).fold(0.0, f64::max);
    factors.into_iter().map(|factor| level / factor.max(most)).collect()
}

/// A positive value with its interval of some level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Between {
    /// The value.
    pub value: f64,
    /// Lower end, at most the value.
    pub low: f64,
    /// Upper end, at least the value.
    pub high: f64,
}

impl Between {
    fn is_sound(&self) -> bool {
        let Self { value, low, high } = *self;
        [value, low, high].iter().all(|v| v.is_finite() && *v > 0.0) && low <= value && value <= high
    }
}

/// The ratio of one value to another with its interval, of the level of theirs, which need not be symmetric: the method
/// of variance estimates recovery on logarithms (Zou & Donner, "Construction of confidence limits about effect
/// measures", Statistics in Medicine 27(10), 2008). Assumes that the two were estimated independently.
///
/// `None` where a number is not positive and finite, or a value lies outside its interval.
#[must_use]
pub fn ratio(of: Between, to: Between) -> Option<Between> {
    if !of.is_sound() || !to.is_sound() {
        return None;
    }
    let apart = |a: f64, b: f64| (a / b).ln();
    let value = of.value / to.value;
    let down = apart(of.value, of.low).hypot(apart(to.high, to.value));
    let up = apart(of.high, of.value).hypot(apart(to.value, to.low));
    Some(Between { value, low: value * (-down).exp(), high: value * up.exp() })
}

/// Two-sided p-value of "the ratio is 1" from its 95 % interval, taken for normal on logarithms: z is the distance to 1
/// in standard errors, of which the half of the interval towards 1 holds 1.96.
///
/// `None` where the numbers are not positive and finite, or the interval has no width.
#[must_use]
pub fn ratio_p(ratio: Between) -> Option<f64> {
    const Z: f64 = 1.959_964;
    if !ratio.is_sound() {
        return None;
    }
    let half = if ratio.value > 1.0 { ratio.value / ratio.low } else { ratio.high / ratio.value }.ln();
    (half > 0.0).then(|| normal_two_sided(ratio.value.ln() / half * Z))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    fn near(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-9
    }

    #[test]
    fn false_discoveries_are_controlled_by_rank() {
        // The example of the paper (15 tests): at 5 % it rejects the four smallest.
        let all = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0,
        ];
        let rejected = benjamini_hochberg(&all).iter().filter(|p| **p <= 0.05).count();
        assert_eq!(rejected, 4);
        assert_eq!(benjamini_hochberg(&[0.04, 0.01]), [0.04, 0.02]);
        assert!(benjamini_hochberg(&[]).is_empty());
    }

    #[test]
    fn ranks_have_the_tabulated_p_values() {
        // Of 5 and 5 values there are 252 arrangements; U = 0 is one of them, U ≤ 2 are four (Mann & Whitney 1947,
        // table I).
        let low = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert!(near(mann_whitney(&low, &[6.0, 7.0, 8.0, 9.0, 10.0]).unwrap(), 2.0 / 252.0));
        assert!(near(mann_whitney(&low, &[3.5, 6.0, 7.0, 8.0, 9.0]).unwrap(), 8.0 / 252.0));
        assert!(near(mann_whitney(&[1.0, 4.0], &[2.0, 3.0]).unwrap(), 1.0));
        assert!(mann_whitney(&[1.0, 1.0, 1.0], &[1.0, 1.0]).unwrap() > 0.99, "all alike");
        assert_eq!(mann_whitney(&[], &low), None);
        assert_eq!(mann_whitney(&[f64::NAN], &low), None);
    }

    #[test]
    fn ties_within_the_samples_leave_the_exact_p_value() {
        let split = |first: &[f64], other: &[f64]| split_p(&[first, other].concat(), first.len()).unwrap();
        assert!(near(split(&[1.0; 5], &[2.0; 5]), 2.0 / 252.0));
        // Of the ways to choose 2 of 1, 1, 2, 3: 1+1 and, as far on the other side, 2+3; 1+3 and 1+2 (two each) are
        // nearer.
        assert!(near(split(&[1.0, 1.0], &[2.0, 3.0]), 2.0 / 6.0));
        assert!(near(split(&[3.0, 3.0, 3.0], &[3.0, 3.0]), 1.0));
        let (a, b) = ([1.0, 2.5, 3.0, 7.0], [2.0, 4.0, 5.0, 6.0, 8.0]);
        assert!(near(split(&a, &b), mann_whitney(&a, &b).unwrap()));
        assert_eq!(split_p(&[1.0, 1.0], 0), None);
        assert_eq!(split_p(&[1.0, f64::NAN, 1.0], 1), None);
        // Few among many: 2 / C(505, 5), and the same with one tie that changes no sum.
        let mut few: Vec<f64> = (0..505).map(f64::from).collect();
        assert!(near(split_p(&few, 500).unwrap(), 2.0 * (-log_choose(505, 5)).exp()));
        few.truncate(30);
        let untied = split_p(&few, 25).unwrap();
        few[3] = few[4];
        assert!(near(split_p(&few, 25).unwrap(), untied));
        // Beyond the limit as approximated.
        let many = [vec![1.0; 31], vec![2.0; 31]].concat();
        assert_eq!(split_p(&many, 31), mann_whitney(&many[..31], &many[31..]));
    }

    #[test]
    fn ties_are_exact_up_to_thirty_values_and_thirty() {
        // Apart entirely, of C(n + m, n) choices: 2 of as many values, else 1, since no choice is as far on the other
        // side.
        for (n, m) in [(15, 15), (20, 20), (30, 30), (5, 180), (180, 5)] {
            let values = [vec![1.0; n], vec![2.0; m]].concat();
            let as_far = if n == m { 2.0 } else { 1.0 };
            assert!(near(split_p(&values, n).unwrap(), as_far * (-log_choose(n + m, n)).exp()), "{n} {m}");
        }
    }

    #[test]
    fn the_levels_of_several_tests_are_those_of_holm() {
        let p = [0.04, 0.001, 0.03, 0.003];
        let levels = holm_levels(&p, 0.01);
        let passed: Vec<bool> = p.iter().zip(&levels).map(|(p, level)| p <= level).collect();
        assert_eq!(passed, holm(&p).iter().map(|p| *p <= 0.01).collect::<Vec<_>>());
        assert_eq!(levels, [0.005, 0.0025, 0.005, 0.01 / 3.0]);
        assert!(holm_levels(&[], 0.01).is_empty());
    }

    #[test]
    fn exact_and_approximate_p_values_agree() {
        let mut rng = Rng::new(4);
        for _ in 0..50 {
            // One value more than what is computed exactly.
            let a: Vec<f64> = (0..31).map(|_| rng.unit()).collect();
            let b: Vec<f64> = (0..30).map(|_| rng.unit() + 0.1).collect();
            let above: usize = a.iter().map(|a| b.iter().filter(|b| a > *b).count()).sum();
            let exact = (2.0 * share_up_to(above.min(31 * 30 - above), 31, 30)).min(1.0);
            let normal = mann_whitney(&a, &b).unwrap();
            assert!((exact - normal).abs() < 0.01, "{exact} {normal}");
        }
    }

    #[test]
    fn equal_distributions_are_rejected_as_often_as_the_level_says() {
        let mut rng = Rng::new(9);
        let rejected = (0..2_000).filter(|_| {
            let [a, b] = [20, 25].map(|n| (0..n).map(|_| rng.unit()).collect::<Vec<f64>>());
            mann_whitney(&a, &b).unwrap() < 0.05
        });
        assert!((60..=140).contains(&rejected.count()));
    }

    #[test]
    fn hits_have_the_p_values_of_the_lady_who_tastes_tea() {
        assert!(near(fisher_exact(4, 4, 0, 4).unwrap(), 2.0 / 70.0));
        assert!(near(fisher_exact(3, 4, 1, 4).unwrap(), 34.0 / 70.0));
        assert!(near(fisher_exact(2, 4, 2, 4).unwrap(), 1.0));
        assert_eq!(fisher_exact(0, 3, 0, 5), Some(1.0));
        assert_eq!(fisher_exact(1, 0, 0, 5), None);
        assert_eq!(fisher_exact(2, 1, 0, 5), None);
        assert!(fisher_exact(150, 150, 0, 150).unwrap() < 1e-80);
    }

    #[test]
    fn many_tests_count_for_less() {
        let adjusted = holm(&[0.04, 0.01, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.06, 0.03, 0.06, 0.02]) {
            assert!(near(*found, expected), "{adjusted:?}");
        }
        assert_eq!(holm(&[0.7, 0.9]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn a_ratio_has_the_width_of_both() {
        let value = |value: f64, share: f64| Between { value, low: value / share, high: value * share };
        let found = ratio(value(110.0, 1.03), value(100.0, 1.04)).unwrap();
        let half = (1.03f64.ln().powi(2) + 1.04f64.ln().powi(2)).sqrt();
        assert!(near(found.value, 1.1) && near(found.high, 1.1 * half.exp()) && near(found.low, 1.1 * (-half).exp()));
        // Only the sides that lie towards each other count.
        let lopsided = Between { value: 110.0, low: 109.0, high: 200.0 };
        assert!(ratio(lopsided, value(100.0, 1.001)).unwrap().low > 1.08);
        assert_eq!(ratio(Between { value: 0.0, low: 0.0, high: 1.0 }, lopsided), None);
        assert_eq!(ratio(Between { value: 3.0, low: 1.0, high: 2.0 }, lopsided), None);
        // 1.96 standard errors from 1.
        let p = ratio_p(Between { value: 1.1, low: 1.0, high: 1.21 }).unwrap();
        assert!((p - 0.05).abs() < 1e-6, "{p}");
        assert_eq!(ratio_p(Between { value: 1.0, low: 1.0, high: 1.0 }), None);
    }
}
