//! Bootstrap interval of a median over allocations and the samples within each.

use crate::order::quantile_sorted;
use crate::{Interval, Rng};

/// Percentile interval of the pooled median by two-level resampling: groups (allocations) are drawn with replacement,
/// then samples within each drawn group. Resampling the outer level first keeps the variation between allocations in
/// the interval, which pooling the samples would hide: Davison & Hinkley, "Bootstrap Methods and their Application",
/// 1997, §3.8; Kalibera & Jones, "Rigorous Benchmarking in Reasonable Time", ISMM 2013.
///
/// Deterministic: the same groups in the same order with the same seed give the same interval. Empty groups are
/// ignored. With few groups a percentile interval is too narrow (by about √((g − 1)/g)); the stop rule therefore asks
/// for a minimum of groups.
///
/// `None` when there are fewer than 3 samples, a sample is not finite, `level` is not in (0, 1), or `resamples` is too
/// few to have a resample beyond each end (2/(1 − level); 40 for 95 %).
#[must_use]
pub fn bootstrap_median(groups: &[Vec<f64>], level: f64, resamples: usize, seed: u64) -> Option<Interval> {
    if !(level > 0.0 && level < 1.0) || (resamples as f64) < 2.0 / (1.0 - level) - 1e-6 {
        return None;
    }
    let pool = Pool::new(groups)?;
    let mut rng = Rng::new(seed);
    let mut counts = vec![0u32; pool.sorted.len()];
    let mut medians: Vec<f64> = (0..resamples).map(|_| pool.resampled_median(&mut rng, &mut counts)).collect();
    medians.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - level) / 2.0;
    Some(Interval { low: quantile_sorted(&medians, tail), high: quantile_sorted(&medians, 1.0 - tail), level })
}

/// All samples in ascending order, and each group as ranks into them. A resample is then a count per rank and its
/// median one walk over the counts: no sorting, no moving of samples, in the loop that runs after every shot.
struct Pool {
    sorted: Vec<f64>,
    groups: Vec<Vec<u32>>,
}

impl Pool {
    fn new(groups: &[Vec<f64>]) -> Option<Self> {
        let mut keyed: Vec<(f64, u32)> = Vec::new();
        let mut kept = 0u32;
        for group in groups.iter().filter(|g| !g.is_empty()) {
            keyed.extend(group.iter().map(|&v| (v, kept)));
            kept += 1;
        }
        if keyed.len() < 3 || keyed.iter().any(|(v, _)| !v.is_finite()) {
            return None;
        }
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut ranks = vec![Vec::new(); kept as usize];
        for (rank, (_, group)) in keyed.iter().enumerate() {
            ranks[*group as usize].push(rank as u32);
        }
        Some(Self { sorted: keyed.into_iter().map(|(v, _)| v).collect(), groups: ranks })
    }

    fn resampled_median(&self, rng: &mut Rng, counts: &mut [u32]) -> f64 {
        counts.fill(0);
        let mut total = 0;
        for _ in 0..self.groups.len() {
            let group = &self.groups[rng.below(self.groups.len())];
            total += group.len();
            draw(group, rng, counts);
        }
        self.counted_median(counts, total)
    }

    /// Median of `total` samples given as a count per rank.
    fn counted_median(&self, counts: &[u32], total: usize) -> f64 {
        // 1-based positions of the two middle samples; equal when the total is odd.
        let (first, second) = (total.div_ceil(2), total / 2 + 1);
        let mut seen = 0;
        let mut lower = None;
        for (value, &count) in self.sorted.iter().zip(counts) {
            seen += count as usize;
            if lower.is_none() && seen >= first {
                lower = Some(*value);
            }
            if seen >= second {
                return lower.map_or(*value, |low| crate::order::midpoint(low, *value));
            }
        }
        self.sorted[self.sorted.len() - 1]
    }
}

/// Draws as many samples as the group has, two from each 64 random bits (the bias of 32 bits is n/2^32).
fn draw(group: &[u32], rng: &mut Rng, counts: &mut [u32]) {
    let n = group.len() as u64;
    let mut left = group.len();
    while left > 0 {
        let bits = rng.next_u64();
        for half in [bits >> 32, bits & 0xffff_ffff].into_iter().take(left) {
            counts[group[((half * n) >> 32) as usize] as usize] += 1;
        }
        left = left.saturating_sub(2);
    }
}
