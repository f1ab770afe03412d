//! The interval of a quantile, as ranks: for samples that are counted in a histogram and never listed.

use crate::special::normal_two_sided;

/// What lies beyond each end of a 95 % interval.
pub const BEYOND: f64 = 0.025;
/// Samples up to which the binomial distribution is summed; beyond it, where both sides of the quantile hold more than
/// ten times the square of the normal's own quantile, the normal approximation is off by a rank or two.
const EXACT: u64 = 10_000;

/// Ranks, from 1, between which a quantile lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuantileRanks {
    /// Rank of the lower end; `None` where even the smallest sample may lie above the quantile.
    pub low: Option<u64>,
    /// Rank of the upper end; `None` where even the largest sample may lie below it: too few samples.
    pub high: Option<u64>,
}

/// Distribution-free interval of quantile `p` (0 to 1) of `n` samples, as ranks of order statistics: x₍l₎ and x₍u₎ with
/// P(Bin(n, p) < l) ≤ `beyond` and P(Bin(n, p) ≥ u) ≤ `beyond` (Hahn & Meeker, "Statistical Intervals", 1991, §5.2).
/// [`BEYOND`] makes it one of 95 %; [`BEYOND`] / m makes m of them hold all at once (Bonferroni; Dunn 1961).
///
/// Assumes independent samples; requests that wait behind each other are not, which makes it narrower than it should
/// be. `None` for no samples, a `p` outside of 0 to 1 or a `beyond` outside of 0 to 0.5.
#[must_use]
pub fn quantile_ranks(n: u64, p: f64, beyond: f64) -> Option<QuantileRanks> {
    if !(beyond > 0.0 && beyond < 0.5) || n == 0 || !(p > 0.0 && p < 1.0) {
        return None;
    }
    let (mean, sigma) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
    let z = normal_beyond(beyond);
    if n > EXACT && sigma * sigma > 10.0 * z * z {
        let low = (mean - z * sigma).floor().max(1.0) as u64;
        let high = (mean + z * sigma).ceil() as u64 + 1;
        return Some(QuantileRanks { low: Some(low), high: (high <= n).then_some(high) });
    }
    Some(exact(n, p, beyond))
}

/// The point of the standard normal that a share `beyond` (0 to 0.5) lies above, found by halving: its tail falls
/// everywhere.
#[must_use]
pub fn normal_beyond(beyond: f64) -> f64 {
    // Beyond 40 there is nothing that a float can hold.
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if normal_two_sided(middle) > 2.0 * beyond { low = middle } else { high = middle }
    }
    low
}

fn exact(n: u64, p: f64, beyond: f64) -> QuantileRanks {
    let (mean, sigma) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
    // Far from the mean, on either side, the terms add up to nothing that counts.
    let first = (mean - 40.0 * sigma - 40.0).floor().max(0.0) as u64;
    let last = ((mean + 40.0 * sigma + 40.0).ceil() as u64).min(n);
    let (mut below, mut low, mut high) = (0.0, None, None);
    let mut log_term = log_binomial(n, first, p);
    for k in first..=last {
        // Here `below` is P(Bin < k).
        if below <= beyond && k >= 1 {
            low = Some(k);
        }
        if high.is_none() && 1.0 - below <= beyond {
            high = Some(k);
        }
        below += log_term.exp();
        log_term += ((n - k) as f64 / (k + 1) as f64).ln() + (p / (1.0 - p)).ln();
    }
    QuantileRanks { low, high: high.filter(|k| *k >= 1) }
}

/// ln P(Bin(n, p) = k).
fn log_binomial(n: u64, k: u64, p: f64) -> f64 {
    let choose: f64 = (1..=k.min(n - k)).map(|i| ((n - k.min(n - k) + i) as f64 / i as f64).ln()).sum();
    choose + k as f64 * p.ln() + (n - k) as f64 * (1.0 - p).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    fn ranks(n: u64, p: f64) -> (Option<u64>, Option<u64>) {
        let found = quantile_ranks(n, p, BEYOND).unwrap();
        (found.low, found.high)
    }

    #[test]
    fn medians_have_the_tabulated_ranks() {
        // The table of sign-test intervals: 10 samples take the 2nd and the 9th, 20 the 6th and the 15th, 5 none.
        assert_eq!(ranks(10, 0.5), (Some(2), Some(9)));
        assert_eq!(ranks(20, 0.5), (Some(6), Some(15)));
        assert_eq!(ranks(5, 0.5), (None, None));
    }

    #[test]
    fn the_tail_wants_many_samples() {
        // 1 − 0.99ⁿ reaches 97.5 % at 368 samples.
        assert_eq!(ranks(367, 0.99).1, None);
        assert_eq!(ranks(368, 0.99).1, Some(368));
        assert_eq!(ranks(3_000, 0.999).1, None);
        assert!(ranks(4_000, 0.999).1.is_some());
        assert_eq!(quantile_ranks(0, 0.5, BEYOND), None);
        assert_eq!(quantile_ranks(9, 1.0, BEYOND), None);
    }

    #[test]
    fn both_ways_of_computing_agree() {
        for (n, p) in [(20_000, 0.5), (20_000, 0.99), (100_000, 0.999)] {
            for (beyond, ranks) in [(BEYOND, 2), (BEYOND / 100.0, 8)] {
                let (exact, normal) = (exact(n, p, beyond), quantile_ranks(n, p, beyond).unwrap());
                let apart = |a: Option<u64>, b: Option<u64>| a.unwrap().abs_diff(b.unwrap());
                let most = apart(exact.low, normal.low).max(apart(exact.high, normal.high));
                assert!(most <= ranks, "{n} {p} {beyond}: {exact:?} {normal:?}");
            }
        }
    }

    #[test]
    fn the_normal_s_point_is_the_tabulated_one() {
        for (beyond, z) in [(0.025, 1.959_964), (0.005, 2.575_829), (0.000_25, 3.480_756)] {
            assert!((normal_beyond(beyond) - z).abs() < 1e-5, "{beyond}: {}", normal_beyond(beyond));
        }
        assert_eq!(quantile_ranks(9, 0.5, 0.5), None);
    }

    #[test]
    fn the_interval_covers_the_quantile_as_often_as_it_says() {
        let mut rng = Rng::new(3);
        let found = quantile_ranks(1_000, 0.99, BEYOND).unwrap();
        let covered = (0..2_000).filter(|_| {
            let mut values: Vec<f64> = (0..1_000).map(|_| rng.unit()).collect();
            values.sort_unstable_by(f64::total_cmp);
            let at = |rank: Option<u64>| values[rank.unwrap() as usize - 1];
            at(found.low) <= 0.99 && 0.99 <= at(found.high)
        });
        assert!((1_880..=1_990).contains(&covered.count()));
    }
}
