//! The median of a figure over its visits, with its interval.

use std::collections::BTreeMap;

use tiermark_model::{Machine, StateKind, Visit, Visits, Window};
use tiermark_stats::{APART_SECONDS, BEYOND, VISITS, max, median, min, moments, quantile_ranks};

use super::Figure;
use crate::accounting::StepAccounting;
use crate::cell::reading;
use crate::clock::Basis;
use crate::states::Conditions;

/// Visits closer together than this see one moment and count as one, as for a level.
const IN_A_ROW_SECONDS: f64 = 0.05;

/// A median over visits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Middle {
    pub(super) median: f64,
    /// Its 95 % interval. `None` below six visits or if these span less than two seconds, which those of a trusted
    /// median never do. Of five visits, even the lowest and the highest leave out the median in 6 % of the cases, and a
    /// neighbour may stay for seconds: such a median is not known well enough to contradict another.
    pub(super) interval: Option<(f64, f64)>,
}

impl Middle {
    /// The median of visits: each with its time and its value, in order of time.
    pub(super) fn of(visits: &[(f64, f64)]) -> Option<Self> {
        let (visited, by_moment) = (apart(visits, IN_A_ROW_SECONDS), apart(visits, APART_SECONDS));
        let own = interval_of_median(&visited);
        let span = visits.last()?.0 - visits.first()?.0;
        // Where moments are too few for an interval, all of them count.
        let ends = min(&by_moment).zip(max(&by_moment)).filter(|_| span >= (VISITS - 1) as f64 * APART_SECONDS);
        let of_moments = interval_of_median(&by_moment).or(ends);
        let both = own.zip(of_moments);
        let interval = both.map(|((low, high), (first, last))| (low.min(first), high.max(last)));
        Some(Self { median: median(&visited)?, interval })
    }

    /// Whether both intervals are known and have nothing in common.
    pub(super) fn is_apart(&self, other: &Self) -> bool {
        let pair = self.interval.zip(other.interval);
        pair.is_some_and(|((low, high), (other_low, other_high))| low > other_high || other_low > high)
    }
}

/// How the compared figures depend on the core's clock. One basis serves all of them, so that all values are given at
/// the same clock. It is the median of the slopes that the figures show one by one, because clock and value may differ
/// between figures for other reasons. The tier comes from the first figure that has one: a point of a curve has no
/// tier.
pub(super) fn basis(figures: &[Figure<'_>]) -> Basis {
    let is_of_core = figures.iter().any(|figure| figure.step.labels.is_of_core());
    let slope = |figure: &Figure<'_>| Basis::of(is_of_core, figure.step.metric, &figure.seen.visits).slope();
    let slopes: Vec<f64> = figures.iter().map(slope).collect();
    median(&slopes).map_or(Basis::Time, Basis::Slope)
}

/// The median of a figure, with the state of the cpus that it was measured in: the state of the figure's value, or the
/// most common one. The median is given at the clock of the run; `None` if no visit has a value at that clock.
pub(super) fn middle(
    figure: &Figure<'_>,
    basis: Basis,
    conditions: &Conditions,
    machine: &Machine,
) -> Option<(Middle, Option<StateKind>)> {
    let (step, seen) = (figure.step, figure.seen);
    let accounting = StepAccounting::of(step, machine);
    let reading = reading(step, &accounting, &seen.disturbance, None, conditions, machine);
    let pairs = seen.visits.list.iter().map(|visit| visit.before.len()).max().unwrap_or_default();
    let states: Vec<Option<StateKind>> = seen.visits.list.iter().map(|visit| reading.state(visit, pairs)).collect();
    let state = seen.state.or_else(|| commonest(&states));
    let visits = seen.visits.list.iter().zip(&states);
    let chosen = visits.filter(|(_, its)| state.is_none() || **its == state).map(|(visit, _)| visit.clone()).collect();
    let visits = Visits { list: chosen, ..seen.visits };
    // Given at its own clock, a figure that was measured while the clock was low would differ by the clock alone.
    let visits = match conditions.clock {
        Some(clock) => basis.at_clock(step.metric, &visits, clock.p90),
        None => visits,
    };
    Some((Middle::of(&middles(&visits.list))?, state))
}

/// The state that most visits are in.
fn commonest(states: &[Option<StateKind>]) -> Option<StateKind> {
    let mut counts: BTreeMap<StateKind, usize> = BTreeMap::new();
    states.iter().flatten().for_each(|state| *counts.entry(*state).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(state, _)| state)
}

/// The middle of the clean windows of each visit, with its time.
fn middles(visits: &[Visit]) -> Vec<(f64, f64)> {
    let clean =
        |visit: &Visit| visit.windows.iter().filter(|w| w.clean).filter_map(Window::value).collect::<Vec<f64>>();
    visits.iter().filter_map(|visit| Some((visit.at, median(&clean(visit))?))).collect()
}

/// The middle of what lies within so many seconds, each span from the first visit after the one before.
fn apart(visits: &[(f64, f64)], seconds: f64) -> Vec<f64> {
    let all = moments(visits.iter().map(|(at, _)| *at), seconds).into_iter();
    let middle = |of: &[(f64, f64)]| median(&of.iter().map(|(_, value)| *value).collect::<Vec<f64>>());
    all.filter_map(|of| middle(&visits[of])).collect()
}

/// The distribution-free 95 % interval of a median; `None` below six values.
fn interval_of_median(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let ranks = quantile_ranks(sorted.len() as u64, 0.5, BEYOND)?;
    let at = |rank: u64| sorted.get(usize::try_from(rank).ok()?.checked_sub(1)?).copied();
    at(ranks.low?).zip(at(ranks.high?))
}
