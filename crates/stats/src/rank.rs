//! Comparing two samples by ranks.

use crate::special::normal_two_sided;
use crate::usable;

/// The largest product of sample sizes for which the exact distribution is computed (milliseconds there). Beyond it the
/// normal approximation is within 0.003 where p < 0.2 for sizes no more than six-fold apart, within 0.007 for five
/// values against many.
const EXACT_PRODUCT: usize = 2500;

/// Result of a Mann–Whitney test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// U of the first sample: pairs in which it is the larger, ties counting half.
    pub u: f64,
    /// Two-sided p-value of "neither sample tends to be larger".
    pub p_value: f64,
    /// Probability that a value of the first sample exceeds one of the second (ties half): the effect's size.
    pub superiority: f64,
    /// Whether the p-value is exact, not the normal approximation.
    pub exact: bool,
}

/// Two-sided Mann–Whitney U test (Mann & Whitney, Annals of Mathematical Statistics 18, 1947). Exact when there are no
/// ties and the samples are small; otherwise the normal approximation with continuity correction and the variance
/// corrected for ties (Hollander & Wolfe, "Nonparametric Statistical Methods", 1999, §4.1).
///
/// `None` when either sample is empty or has a non-finite value. All values equal gives p = 1.
#[must_use]
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<MannWhitney> {
    if !usable(first) || !usable(second) {
        return None;
    }
    let (n, m) = (first.len(), second.len());
    let (ranks, ties) = midranks(&[first, second].concat());
    let (nf, mf) = (n as f64, m as f64);
    let u = ranks[..n].iter().sum::<f64>() - nf * (nf + 1.0) / 2.0;
    let exact = ties == 0.0 && n * m <= EXACT_PRODUCT;
    let p_value = if exact { exact_p(n, m, u) } else { normal_p(nf, mf, u, ties) };
    Some(MannWhitney { u, p_value, superiority: u / (nf * mf), exact })
}

fn normal_p(n: f64, m: f64, u: f64, ties: f64) -> f64 {
    let total = n + m;
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let distance = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
    normal_two_sided(distance / variance.sqrt())
}

/// Twice the tail of the exact distribution of U, whose counts follow Mann & Whitney's recurrence
/// N(n, m, u) = N(n − 1, m, u − m) + N(n, m − 1, u).
fn exact_p(n: usize, m: usize, u: f64) -> f64 {
    let width = n * m + 1;
    // counts[i][v]: orderings of i firsts and the current number of seconds with U = v.
    let mut counts = vec![vec![0.0f64; width]; n + 1];
    for row in &mut counts {
        row[0] = 1.0;
    }
    for seconds in 1..=m {
        for i in 1..=n {
            for v in seconds..=i * seconds {
                let with_first_largest = counts[i - 1][v - seconds];
                counts[i][v] += with_first_largest;
            }
        }
    }
    let total: f64 = counts[n].iter().sum();
    let smaller = u.min((n * m) as f64 - u) as usize;
    let tail: f64 = counts[n][..=smaller].iter().sum();
    (2.0 * tail / total).min(1.0)
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
