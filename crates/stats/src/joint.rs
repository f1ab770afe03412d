//! Changes of level of several series that were measured together.

use crate::Rng;

/// Shuffles at most. The p-value of a complete step of five values against five, 2/252, has a standard error of 0.0013.
const SHUFFLES: usize = 4_999;
/// Any: a history is judged the same each time.
const SEED: u64 = 1993;
/// Statistics nearer than this are the same: sums of one group depend on the order by rounding.
const SAME: f64 = 1e-6;
/// Relative deviations up to this are rounding: such values are equal.
const EQUAL: f64 = 1e-9;
/// The largest share of a variance that a step explains: more is rounding.
const ALL: f64 = 1.0 - 1e-9;

/// For each of several series, the p-value of "no change of level", corrected for all places and all series. A series
/// has a value for each run, or `None`; steps and stays have at least `fewest` values in each part, as in
/// [`other_level`](crate::other_level).
///
/// The runs are shuffled, for all series alike: without a change each order of the runs is as likely. The p-value is
/// the share of the orders in which the largest t statistic of any series and place is at least that of the series
/// (single-step maxT: Westfall & Young, "Resampling-Based Multiple Testing", 1993; with the order seen counted:
/// Phipson & Smyth, Stat. Appl. Genet. Mol. Biol. 9(1), 2010). No distribution is assumed, and series may depend on
/// each other. Unlike the corrected p-value of a rank test, it does not grow with the number of series for a step that
/// scatter hardly ever resembles. Ends early once no p-value can be `level` or less (Besag & Clifford, Biometrika 78(2),
/// 1991).
#[must_use]
pub fn joint_changes(series: &[Vec<Option<f64>>], fewest: usize, level: f64) -> Vec<f64> {
    let runs = series.iter().map(Vec::len).max().unwrap_or_default();
    let mut order: Vec<usize> = (0..runs).collect();
    let (mut rng, mut values) = (Rng::new(SEED), Vec::with_capacity(runs));
    let mut largest = |of: &[Option<f64>], order: &[usize]| {
        values.clear();
        values.extend(order.iter().filter_map(|run| of.get(*run).copied().flatten()));
        largest_t(&values, fewest)
    };
    let seen: Vec<f64> = series.iter().map(|of| largest(of, &order) * (1.0 - SAME)).collect();
    let mut reached = vec![0usize; series.len()];
    let most = (level * (SHUFFLES + 1) as f64) as usize;
    let mut shuffles = 0;
    while shuffles < SHUFFLES && reached.iter().any(|count| *count < most) {
        shuffles += 1;
        for at in (1..runs).rev() {
            order.swap(at, rng.below(at + 1));
        }
        let top = series.iter().map(|of| largest(of, &order)).fold(0.0, f64::max);
        reached.iter_mut().zip(&seen).for_each(|(count, seen)| *count += usize::from(top >= *seen));
    }
    reached.into_iter().map(|count| (count + 1) as f64 / (shuffles + 1) as f64).collect()
}

/// The square of the largest t statistic of a step or a stay; 0 of too few or of equal values.
fn largest_t(values: &[f64], fewest: usize) -> f64 {
    let (n, fewest) = (values.len(), fewest.max(1));
    if n < 2 * fewest {
        return 0.0;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let all: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if all <= n as f64 * (mean * EQUAL).powi(2) {
        return 0.0;
    }
    let mut sums = vec![0.0; n + 1];
    values.iter().enumerate().for_each(|(at, value)| sums[at + 1] = sums[at] + value - mean);
    let between = |start: usize, end: usize| {
        let inside = (end - start) as f64;
        (sums[end] - sums[start]).powi(2) * n as f64 / (inside * (n as f64 - inside))
    };
    let steps = (fewest..=n - fewest).map(|start| (start, n));
    let stays = (fewest..(n + 1).saturating_sub(2 * fewest))
        .flat_map(|start| (start + fewest..=n - fewest).map(move |end| (start, end)));
    let largest = steps.chain(stays).map(|(start, end)| between(start, end)).fold(0.0, f64::max);
    let share = (largest / all).min(ALL);
    (n as f64 - 2.0) * share / (1.0 - share)
}
