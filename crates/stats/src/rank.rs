//! Ranks of values.

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
