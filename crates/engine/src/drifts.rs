//! Changes of the machine while it was measured, from steps that are revisited all the time. Pure.

use tiermark_model::{Drift, Metric, Observation, Step, Visit};
use tiermark_stats::{PILE_NEAR, Side, VisitValue, change_point, pile};

use crate::estimate::value_of;
use crate::states::Conditions;

/// A change this likely by chance is not reported, over all steps that are tested.
const CHANCE: f64 = 0.001;
/// Changes up to this are what a trusted number may be off.
const LEAST: f64 = 0.03;
/// Visits on both sides of a change.
const FEWEST: usize = 8;

/// The changes that one step of each tier shows: a latency where there is one, since it keeps others out least.
///
/// Within a state, the values of the visits are a series in time; its most likely change (Pettitt 1979) counts where
/// visits pile up at a level before and after it, and these levels differ: a change of other values is the hour, and not
/// the machine.
pub(crate) fn drifts(steps: &[(&Step, &Observation)], groups: &Conditions) -> Vec<Drift> {
    let mut canaries: Vec<(Option<&str>, &Step, &Observation)> = Vec::new();
    for (step, seen) in steps.iter().filter(|(_, seen)| seen.edge.is_some()) {
        let tier = step.labels.tier_name();
        if tier.is_none() && step.labels.is_point() {
            continue;
        }
        match canaries.iter_mut().find(|(known, ..)| *known == tier) {
            Some(known) if known.1.metric != Metric::Latency && step.metric == Metric::Latency => {
                *known = (tier, step, seen);
            }
            Some(_) => {}
            None => canaries.push((tier, step, seen)),
        }
    }
    let limit = CHANCE / canaries.len().max(1) as f64;
    canaries.iter().filter_map(|(_, step, seen)| change(step, seen, groups, limit)).collect()
}

fn change(step: &Step, seen: &Observation, groups: &Conditions, limit: f64) -> Option<Drift> {
    let side = if step.metric == Metric::Latency { Side::Low } else { Side::High };
    let of_state = |visit: &&Visit| seen.state.is_none_or(|state| groups.is_in(visit, state));
    let value = |visit: &Visit| Some(VisitValue { at: visit.at, value: value_of(visit, 0, false)? });
    let (at_clock, _) = groups.at_clock(step.labels.is_of_core(), step.metric, &seen.visits);
    let visits: Vec<VisitValue> = at_clock.list.iter().filter(of_state).filter_map(value).collect();
    let series: Vec<f64> = visits.iter().map(|visit| visit.value).collect();
    let found = change_point(&series).filter(|found| found.p_value < limit)?;
    let (before, after) = visits.split_at(found.index);
    if before.len().min(after.len()) < FEWEST {
        return None;
    }
    let (one, other) = (pile(before, side, PILE_NEAR)?, pile(after, side, PILE_NEAR)?);
    let change = other.value / one.value - 1.0;
    let real = one.piled && other.piled && change.abs() > LEAST;
    real.then(|| Drift {
        step: step.id.clone(),
        at_seconds: after.first().map(|visit| visit.at),
        change,
        p_value: Some(found.p_value),
    })
}
