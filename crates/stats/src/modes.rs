//! Whether positive values fall into groups that lie far apart.

use crate::usable;

/// Groups lie at least this far apart, as a factor between their medians: two cpus with one last-level cache answer
/// each other in 40 to 60 ns, two with one each in 150 to 350 ns.
const APART: f64 = 1.6;
/// Values of a group at least, and their share of all: fewer are outliers.
const FEWEST: usize = 3;
const LEAST_SHARE: f64 = 0.02;
/// Share of the values that may lie in the middle third between two groups, on a log scale: with more there is no
/// valley.
const BETWEEN: f64 = 0.1;
/// Groups at most: the same core, the same cache, the same socket, another socket.
const MOST: usize = 4;

/// Limits between groups of positive values, rising; empty where all are one group.
///
/// The values are cut where the variance between the groups' logarithms is largest (Otsu, "A threshold selection method
/// from gray-level histograms", IEEE Trans. SMC 9(1), 1979), and again within each part, as long as the parts lie apart
/// and leave a valley between them. Empty where a value is not finite and positive.
#[must_use]
pub fn group_limits(values: &[f64]) -> Vec<f64> {
    if !usable(values) || values.iter().any(|v| *v <= 0.0) {
        return Vec::new();
    }
    let mut sorted: Vec<f64> = values.iter().map(|v| v.ln()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let least = FEWEST.max((LEAST_SHARE * sorted.len() as f64).ceil() as usize);
    let mut cuts = Vec::new();
    cut(&sorted, 0, least, &mut cuts);
    cuts.sort_unstable();
    cuts.truncate(MOST - 1);
    cuts.iter().map(|at| f64::midpoint(sorted[at - 1], sorted[*at]).exp()).collect()
}

/// The index of the group of a value.
#[must_use]
pub fn group_of(value: f64, limits: &[f64]) -> usize {
    limits.partition_point(|limit| *limit <= value)
}

/// Cuts sorted logarithms, and then the parts on both sides of the cut.
fn cut(sorted: &[f64], offset: usize, least: usize, cuts: &mut Vec<usize>) {
    let Some(at) = best_cut(sorted, least) else { return };
    cuts.push(offset + at);
    let (low, high) = sorted.split_at(at);
    cut(low, offset, least, cuts);
    cut(high, offset + at, least, cuts);
}

fn best_cut(sorted: &[f64], least: usize) -> Option<usize> {
    let (n, total) = (sorted.len(), sorted.iter().sum::<f64>());
    if n < 2 * least {
        return None;
    }
    let mut below = sorted[..least].iter().sum::<f64>();
    let mut best = (0.0, least);
    for (at, value) in sorted.iter().enumerate().take(n - least + 1).skip(least) {
        let difference = below / at as f64 - (total - below) / (n - at) as f64;
        let between = difference * difference * at as f64 * (n - at) as f64;
        if between > best.0 {
            best = (between, at);
        }
        below += value;
    }
    let (low, high) = sorted.split_at(best.1);
    let (low, high) = (low[low.len() / 2], high[high.len() / 2]);
    let third = (high - low) / 3.0;
    let inside = sorted.iter().filter(|v| (low + third..high - third).contains(v)).count();
    (high - low >= APART.ln() && inside as f64 <= BETWEEN * n as f64).then_some(best.1)
}
