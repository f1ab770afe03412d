//! What follows from the observations of an experiment, and from its windows when they are estimated again.

use tiermark_model::{Drift, Experiment, Grade, KernelId, Machine, Observation, Plan, State, Step};

use crate::accounting::StepAccounting;
use crate::cell::{reading, with_estimate, withheld};
use crate::clock::RunClock;
use crate::drifts::drifts;
use crate::estimate::Reading;
use crate::interruptions;
use crate::probe::{Record, Study};
use crate::states::{Conditions, states};

/// An experiment with the states, changes, conditions and findings that follow from its observations: at the end of a
/// run, and again wherever observations change afterwards.
pub fn conclude(study: &dyn Study, experiment: Experiment) -> Experiment {
    let (states, drift, clock) = what_happened(&experiment.plan, &experiment.observations);
    let mut findings = study.derive(&experiment.observations);
    // A run without findings stays one: the conditions alone answer no request.
    if !findings.is_empty() {
        findings.extend(clock.map(RunClock::finding));
        findings.extend(interruptions::findings(&experiment.interruptions));
    }
    Experiment { states, drift, findings, ..experiment }
}

/// Makes every estimate of an experiment again from its windows, holds the numbers against a record and derives the
/// findings again. Observations without times, as the first version of the document has them, stay as they are.
pub fn reanalyse(study: &dyn Study, experiment: &Experiment, machine: &Machine, record: &dyn Record) -> Experiment {
    let groups =
        Conditions::of(with_steps(&experiment.plan, &experiment.observations).map(|(step, seen)| (step, &seen.visits)));
    let observations = experiment.observations.iter().map(|seen| {
        let step = experiment.plan.steps.iter().find(|step| step.id == seen.step);
        let timed = step.filter(|_| seen.visits.list.iter().any(|visit| visit.at > 0.0));
        timed.map_or_else(|| seen.clone(), |step| estimated_again(step, seen, &groups, machine))
    });
    let mut again = Experiment { observations: observations.collect(), ..experiment.clone() };
    record.hold(&mut again);
    conclude(study, again)
}

/// An observation, estimated again from its windows. Its verdict keeps the reasons that do not come from the estimate.
fn estimated_again(step: &Step, seen: &Observation, groups: &Conditions, machine: &Machine) -> Observation {
    let accounting = StepAccounting::of(step, machine);
    let kernel = seen.labels.kernel().map(|id| KernelId(id.into()));
    let reading = reading(step, &accounting, &seen.disturbance, kernel.as_ref(), groups, machine);
    let reading = Reading { passes: seen.passes, ..reading };
    let estimate = reading.estimate(&accounting.counted(&seen.visits));
    let mut verdict = seen.verdict.clone();
    verdict.reasons.retain(|reason| !reason.is_of_estimate());
    if verdict.grade <= Grade::Bound {
        // Other reasons keep it a bound.
        verdict.grade = if verdict.reasons.is_empty() { Grade::Trusted } else { Grade::Bound };
        estimate.doubts.iter().for_each(|(grade, reason)| verdict.add(*grade, reason.clone()));
    }
    let mut again = Observation { verdict, ..with_estimate(seen.clone(), &estimate, &accounting) };
    let times = again.value.zip(seen.value).map(|(again, before)| again / before);
    again.rivals.iter_mut().for_each(|rival| rival.rescale(times));
    withheld(again)
}

/// Observations, each with its step.
fn with_steps<'a>(
    plan: &'a Plan,
    observations: &'a [Observation],
) -> impl Iterator<Item = (&'a Step, &'a Observation)> + Clone {
    let step = |seen: &Observation| plan.steps.iter().find(|step| step.id == seen.step);
    observations.iter().filter_map(move |seen| Some((step(seen)?, seen)))
}

fn what_happened(plan: &Plan, observations: &[Observation]) -> (Vec<State>, Vec<Drift>, Option<RunClock>) {
    let pairs: Vec<(&Step, &Observation)> = with_steps(plan, observations).collect();
    let groups = Conditions::of(pairs.iter().map(|(step, seen)| (*step, &seen.visits)));
    (states(&pairs, &groups), drifts(&pairs, &groups), groups.clock)
}
