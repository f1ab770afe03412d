//! What the borders of a step's blocks cost, from all of its visits, and its values without them. Pure.
//!
//! Each shot is analysed with one stamp of the clock for each border. But a border also stops what overlaps (reads ahead,
//! 0.1 to 0.3 µs in memory), or overlaps itself (stores that go around caches: 0). So every worker measures it at the
//! end of its visits, and what the middle of all visits differs by from a stamp is taken out at the end.

use tiermark_model::{BlockValues, Metric, Visit, Visits};

use crate::accounting::StepAccounting;
use crate::host::Shot;

/// Standard deviation of borders over kernels and tiers, ns, as far as it is known before a visit: 0 to 300 on Zen 4,
/// 15 to 140 on an Intel guest.
const BETWEEN_KERNELS_NS: f64 = 100.0;
/// Standard deviations of a normal value per MAD, and the standard error of a median of n values in them, times √n.
const MAD_TO_SIGMA: f64 = 1.4826;
const OF_MEDIAN: f64 = 1.2533;
/// Visits from which their scatter says how well their median is known.
const FEWEST: usize = 3;

/// The borders of one visit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Border {
    /// What one costs, ns, in the mean of the threads that count; `None` if it was not measured.
    ns: Option<f64>,
    /// Work in one block of a thread.
    block_work: f64,
}

impl Border {
    /// Those of a shot.
    pub(crate) fn of(shot: &Shot, accounting: &StepAccounting) -> Self {
        let members = accounting.members();
        let counted = || members.iter().filter_map(|index| shot.threads.get(*index));
        let seen: Option<Vec<f64>> = counted().map(|thread| thread.border_ns).collect();
        let mean = |seen: Vec<f64>| seen.iter().sum::<f64>() / seen.len() as f64;
        Self {
            ns: seen.filter(|seen| !seen.is_empty()).map(mean),
            block_work: counted().next().map_or(0.0, |thread| thread.per_block),
        }
    }
}

/// What a border costs, ns: the median over visits, drawn towards the cost of a stamp as far as it is not known.
/// (The posterior mean of a normal value with a normal prior; Gelman et al., Bayesian Data Analysis, 2.5.)
pub(crate) fn cost(borders: &[Border], stamp_ns: f64) -> f64 {
    let seen: Vec<f64> = borders.iter().filter_map(|border| border.ns).collect();
    let known = tiermark_stats::median(&seen).zip(tiermark_stats::mad(&seen)).filter(|_| seen.len() >= FEWEST);
    let Some((median, mad)) = known else { return stamp_ns };
    let error = mad * MAD_TO_SIGMA * OF_MEDIAN / (seen.len() as f64).sqrt();
    let weight = BETWEEN_KERNELS_NS.powi(2) / (BETWEEN_KERNELS_NS.powi(2) + error.powi(2));
    (stamp_ns + weight * (median - stamp_ns)).max(0.0)
}

/// The visits with borders of this cost taken out, where a stamp was.
pub(crate) fn without(
    visits: &Visits,
    borders: &[Border],
    (cost_ns, stamp_ns): (f64, f64),
    accounting: &StepAccounting,
) -> Visits {
    let more_ns = cost_ns - stamp_ns;
    let threads = accounting.members().len() as f64;
    // Parts have blocks of their own.
    let parts = 1..1 + accounting.parts.len();
    let visit = |(index, visit): (usize, &Visit)| {
        let Some(border) = borders.get(index) else { return visit.clone() };
        let one = |value: f64| less(accounting.metric, value, more_ns, border.block_work);
        let all = |value: f64| threads * one(value / threads);
        let mut visit = visit.clone();
        for window in &mut visit.windows {
            for (index, value) in window.values.iter_mut().enumerate().filter(|(index, _)| !parts.contains(index)) {
                let is_sum = index == 0 && accounting.metric == Metric::Bandwidth;
                *value = value.map(|value| if is_sum { all(value) } else { one(value) });
            }
        }
        for values in visit.blocks.iter_mut().filter_map(|blocks| blocks.values.as_mut()) {
            let BlockValues { mean, median, p10, p90 } = *values;
            *values = BlockValues { mean: one(mean), median: one(median), p10: one(p10), p90: one(p90) };
        }
        visit
    };
    Visits { list: visits.list.iter().enumerate().map(visit).collect(), ..*visits }
}

/// A thread's value without so much more time of each block.
fn less(metric: Metric, value: f64, more_ns: f64, block_work: f64) -> f64 {
    let block_ns = match metric {
        Metric::Latency => value * block_work,
        Metric::Bandwidth => block_work / value * 1e9,
    };
    let share = more_ns / block_ns;
    match metric {
        _ if !(share.is_finite() && share < 1.0) => value,
        Metric::Latency => value * (1.0 - share),
        Metric::Bandwidth => value / (1.0 - share),
    }
}

#[cfg(test)]
mod tests {
    use tiermark_model::Window;

    use super::*;

    fn visits(values: &[f64], block_work: f64, border: Option<f64>, parts: usize) -> (Visits, Vec<Border>) {
        let windows = vec![Window { clean: true, values: values.iter().copied().map(Some).collect(), clocks: vec![] }];
        let visit = Visit { windows, ..Visit::default() };
        let list = vec![visit; 8];
        (Visits { list, ..Visits::new(parts, 1) }, vec![Border { ns: border, block_work }; 8])
    }

    #[test]
    fn a_time_and_a_rate_lose_what_the_border_takes_beyond_a_stamp() {
        // Blocks of 4 µs without borders, measured with borders of 60 ns, less stamps of 20.
        let accounting = StepAccounting::plain(Metric::Latency, 1);
        let (seen, borders) = visits(&[4.04], 1_000.0, Some(60.0), 0);
        let cost_ns = cost(&borders, 20.0);
        assert!((cost_ns - 60.0).abs() < 1e-9);
        let left = without(&seen, &borders, (cost_ns, 20.0), &accounting);
        assert!((left.list[3].windows[0].values[0].unwrap() - 4.0).abs() < 1e-9);
        let accounting = StepAccounting::plain(Metric::Bandwidth, 2);
        let rate = 4e5 / 4_040.0 * 1e9;
        let (seen, borders) = visits(&[2.0 * rate, rate, rate], 4e5, Some(60.0), 0);
        let left = without(&seen, &borders, (60.0, 20.0), &accounting);
        let values = &left.list[0].windows[0].values;
        assert!((values[0].unwrap() / 2e11 - 1.0).abs() < 1e-9 && (values[2].unwrap() / 1e11 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_border_that_scatters_stays_near_a_stamp_and_one_that_is_unknown_is_a_stamp() {
        let scattered: Vec<Border> =
            (0..9).map(|at| Border { ns: Some(f64::from(at - 4) * 400.0 + 500.0), block_work: 1.0 }).collect();
        let drawn = cost(&scattered, 20.0);
        // Known to 600 ns: hardly.
        assert!(drawn > 20.0 && drawn < 60.0, "{drawn}");
        assert_eq!(cost(&[Border { ns: None, block_work: 1.0 }; 9], 20.0), 20.0);
        assert_eq!(cost(&scattered[..2], 20.0), 20.0);
    }
}
