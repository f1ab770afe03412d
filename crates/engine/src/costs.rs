//! What only all visits of a step together show: what the borders of its blocks cost, and whether its memory stalls.
//! Its values with that corrected. Pure.
//!
//! A shot is analysed with one stamp of the clock for each border. A border can cost more (reads of memory stop
//! overlapping: 100 to 300 ns) or nothing (stores around the caches). So each worker measures borders at the end of its
//! visits, and the difference between their median and a stamp is taken out when the step is estimated.
//!
//! A shot is analysed without its gaps. If most visits have gaps that nothing takes the cpus away for, the memory or its
//! host stalls, and a program has these stalls too: their time is added.

use tiermark_model::{BlockValues, Disturbance, Metric, Visit, Visits};

use crate::accounting::StepAccounting;
use crate::host::Shot;

/// Standard deviation of borders around the cost of a stamp, ns (the prior of [`border_ns`]): of streams over kernels and
/// tiers (0 to 300 on Zen 4, 15 to 140 on an Intel guest), and of chases (20 to 50, and 15 to 20).
const OF_STREAMS_NS: f64 = 100.0;
const OF_CHASES_NS: f64 = 15.0;
/// Standard deviations of a normal value per MAD, and the standard error of a median of n values in them, times √n.
const MAD_TO_SIGMA: f64 = 1.4826;
const OF_MEDIAN: f64 = 1.2533;
/// Visits from which their scatter says how well their median is known.
const FEWEST: usize = 3;

/// What one visit costs beside its work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Costs {
    /// A border, ns, in the mean of the threads that count; `None` if it was not measured.
    border_ns: Option<f64>,
    /// Work in one block of a thread.
    block_work: f64,
    /// Share of its time in gaps that nothing takes the cpus away for.
    stalled: f64,
}

impl Costs {
    /// Those of a shot.
    pub(crate) fn of(shot: &Shot, accounting: &StepAccounting, seen: &Disturbance) -> Self {
        let members = accounting.members();
        let counted = || members.iter().filter_map(|index| shot.threads.get(*index));
        let borders: Option<Vec<f64>> = counted().map(|thread| thread.border_ns).collect();
        let mean = |borders: Vec<f64>| borders.iter().sum::<f64>() / borders.len() as f64;
        Self {
            border_ns: borders.filter(|borders| !borders.is_empty()).map(mean),
            block_work: counted().next().map_or(0.0, |thread| thread.per_block),
            stalled: seen.stalled_share,
        }
    }
}

/// What a border costs, ns: the median over visits, shrunk towards the cost of a stamp by its standard error. (The
/// posterior mean of a normal value with a normal prior; Gelman et al., Bayesian Data Analysis, 2.5.)
pub(crate) fn border_ns(costs: &[Costs], stamp_ns: f64, metric: Metric) -> f64 {
    let seen: Vec<f64> = costs.iter().filter_map(|costs| costs.border_ns).collect();
    let known = tiermark_stats::median(&seen).zip(tiermark_stats::mad(&seen)).filter(|_| seen.len() >= FEWEST);
    let Some((median, mad)) = known else { return stamp_ns };
    let error = mad * MAD_TO_SIGMA * OF_MEDIAN / (seen.len() as f64).sqrt();
    let between = if metric == Metric::Latency { OF_CHASES_NS } else { OF_STREAMS_NS };
    let weight = between.powi(2) / (between.powi(2) + error.powi(2));
    (stamp_ns + weight * (median - stamp_ns)).max(0.0)
}

/// Whether most visits stall.
pub(crate) fn is_stalled(seen: &Disturbance) -> bool {
    2 * seen.stalled_shots > seen.shots
}

/// The visits with borders of this cost taken out in place of a stamp, and, if most of them stall, with the stalls.
pub(crate) fn corrected(
    visits: &Visits,
    costs: &[Costs],
    (border_ns, stamp_ns): (f64, f64),
    accounting: &StepAccounting,
    is_stalled: bool,
) -> Visits {
    let more_ns = border_ns - stamp_ns;
    let threads = accounting.members().len() as f64;
    // Parts have blocks of their own.
    let parts = 1..1 + accounting.parts.len();
    let visit = |(index, visit): (usize, &Visit)| {
        let Some(costs) = costs.get(index) else { return visit.clone() };
        let stalled = if is_stalled { costs.stalled } else { 0.0 };
        let one = |value: f64| {
            let value = less(accounting.metric, value, more_ns, costs.block_work);
            if accounting.metric == Metric::Latency { value / (1.0 - stalled) } else { value * (1.0 - stalled) }
        };
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

    fn visits(values: &[f64], block_work: f64, border_ns: f64, stalled: f64) -> (Visits, Vec<Costs>) {
        let windows = vec![Window { clean: true, values: values.iter().copied().map(Some).collect(), clocks: vec![] }];
        let visit = Visit { windows, ..Visit::default() };
        let list = vec![visit; 8];
        (Visits { list, ..Visits::new(0, 1) }, vec![Costs { border_ns: Some(border_ns), block_work, stalled }; 8])
    }

    #[test]
    fn a_time_and_a_rate_lose_what_the_border_takes_beyond_a_stamp() {
        // Blocks of 4 µs without borders, measured with borders of 60 ns, less stamps of 20.
        let accounting = StepAccounting::plain(Metric::Latency, 1);
        let (seen, costs) = visits(&[4.04], 1_000.0, 60.0, 0.0);
        let border_ns = border_ns(&costs, 20.0, Metric::Latency);
        assert!((border_ns - 60.0).abs() < 1e-9);
        let left = corrected(&seen, &costs, (border_ns, 20.0), &accounting, false);
        assert!((left.list[3].windows[0].values[0].unwrap() - 4.0).abs() < 1e-9);
        let accounting = StepAccounting::plain(Metric::Bandwidth, 2);
        let rate = 4e5 / 4_040.0 * 1e9;
        let (seen, costs) = visits(&[2.0 * rate, rate, rate], 4e5, 60.0, 0.0);
        let left = corrected(&seen, &costs, (60.0, 20.0), &accounting, false);
        let values = &left.list[0].windows[0].values;
        assert!((values[0].unwrap() / 2e11 - 1.0).abs() < 1e-9 && (values[2].unwrap() / 1e11 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn stalls_count_if_most_visits_have_them() {
        for (metric, slower) in [(Metric::Latency, 125.0), (Metric::Bandwidth, 80.0)] {
            let accounting = StepAccounting::plain(metric, 1);
            let (seen, costs) = visits(&[100.0], 10.0, 20.0, 0.2);
            for (is_stalled, expected) in [(false, 100.0), (true, slower)] {
                let with = corrected(&seen, &costs, (20.0, 20.0), &accounting, is_stalled);
                assert!((with.list[0].windows[0].values[0].unwrap() - expected).abs() < 1e-9);
            }
        }
        let few = Disturbance { shots: 10, stalled_shots: 5, ..Disturbance::default() };
        assert!(!is_stalled(&few) && is_stalled(&Disturbance { stalled_shots: 6, ..few }));
    }

    #[test]
    fn a_border_that_scatters_stays_near_a_stamp_and_one_that_is_unknown_is_a_stamp() {
        let one = |border_ns: Option<f64>| Costs { border_ns, block_work: 1.0, stalled: 0.0 };
        let scattered: Vec<Costs> = (0..9).map(|at| one(Some(f64::from(at - 4) * 400.0 + 500.0))).collect();
        let of = |costs: &[Costs], metric: Metric| border_ns(costs, 20.0, metric);
        // Known to 600 ns: hardly, and those of chases differ by little.
        let [stream, chase] = [Metric::Bandwidth, Metric::Latency].map(|metric| of(&scattered, metric));
        assert!(stream > 20.0 && stream < 60.0 && chase > 20.0 && chase < 22.0, "{stream} {chase}");
        assert_eq!(of(&[one(None); 9], Metric::Latency), 20.0);
        assert_eq!(of(&scattered[..2], Metric::Bandwidth), 20.0);
    }
}
