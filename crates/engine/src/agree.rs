//! One quantity has one value: figures of a run that mean the same are held against each other, and those that differ
//! lose their trust: those of a core's own caches are bounds, others are shared. Pure.

mod idle;
mod meaning;
mod moments;

use std::collections::BTreeMap;

use tiermark_model::{Experiment, Grade, Machine, Observation, Reason, ReasonCode, StateKind, Step, Unit};

use crate::states::Conditions;
use moments::{Middle, middle};

/// Medians that differ by no more agree: allocations of the same step differ by up to 1 %, moments with other
/// neighbours by some percent more.
const TOLERANCE: f64 = 0.05;

/// A figure of a run, with where it stands.
#[derive(Debug, Clone, Copy)]
struct Figure<'a> {
    experiment: usize,
    index: usize,
    step: &'a Step,
    seen: &'a Observation,
}

impl Figure<'_> {
    /// Whether its median says what the hardware and its neighbours gave in steady state.
    fn counts(&self) -> bool {
        let verdict = &self.seen.verdict;
        self.seen.value.is_some() && verdict.grade <= Grade::Bound && !verdict.has(ReasonCode::NotSettled)
    }

    /// How a reason of another figure names it.
    fn name(&self, to: &Self) -> String {
        // Experiments of a plan may have steps of the same id.
        if self.step.id == to.step.id {
            return format!("{} of experiment {}", self.step.id, self.experiment + 1);
        }
        self.step.id.clone()
    }
}

/// A figure with its median.
struct Measured<'a> {
    figure: Figure<'a>,
    middle: Middle,
}

impl Measured<'_> {
    /// Whether the medians contradict each other: they are more than the tolerance apart, and so are their intervals.
    /// Two trusted levels that agree are one value, whatever other work took from the visits of either.
    fn contradicts(&self, other: &Self) -> bool {
        ratio(self.middle.median, other.middle.median) > 1.0 + TOLERANCE
            && self.middle.is_apart(&other.middle)
            && !self.has_level_of(other)
    }

    fn has_level_of(&self, other: &Self) -> bool {
        let (a, b) = (self.figure.seen, other.figure.seen);
        let is_level = |seen: &Observation| seen.edge.is_some() && seen.verdict.grade == Grade::Trusted;
        let per_cycle = a.per_cycle.zip(b.per_cycle).map(|(a, b)| (a.value, b.value));
        let levels = per_cycle.or(a.value.zip(b.value)).filter(|_| is_level(a) && is_level(b));
        levels.is_some_and(|(a, b)| ratio(a, b) <= 1.0 + TOLERANCE)
    }
}

/// The larger of two over the smaller.
fn ratio(a: f64, b: f64) -> f64 {
    a.max(b) / a.min(b)
}

/// Reasons for which figures lose their trust, by experiment and observation.
type Doubts = BTreeMap<usize, Vec<(usize, Reason)>>;

/// Holds the figures of a run against each other: the observations of each experiment, by its index, that has a trusted
/// figure which another one of the run contradicts. Such a figure is a bound or shared there. Findings have to be derived again
/// from these observations.
#[must_use]
pub fn disagreements(experiments: &[Experiment], machine: &Machine) -> BTreeMap<usize, Vec<Observation>> {
    let all = figures(experiments);
    let conditions = Conditions::of(all.iter().map(|figure| (figure.step, &figure.seen.visits)));
    let mut doubts = Doubts::new();
    let counted: Vec<Figure<'_>> = all.into_iter().filter(Figure::counts).collect();
    for group in meaning::groups(&counted, machine) {
        same_value(&group, &conditions, machine, &mut doubts);
    }
    idle::not_above_loaded(&counted, &conditions, machine, &mut doubts);
    let with_doubts = |(at, doubts): (usize, Vec<(usize, Reason)>)| {
        let mut observations = experiments[at].observations.clone();
        doubts.into_iter().for_each(|(index, reason)| {
            let seen = &mut observations[index];
            seen.verdict.untrusted(seen.kind, reason);
        });
        (at, observations)
    };
    doubts.into_iter().map(with_doubts).collect()
}

/// All observations of a run that have a step.
fn figures(experiments: &[Experiment]) -> Vec<Figure<'_>> {
    let mut all = Vec::new();
    for (experiment, of) in experiments.iter().enumerate() {
        let steps: BTreeMap<&str, &Step> = of.plan.steps.iter().map(|step| (step.id.as_str(), step)).collect();
        for (index, seen) in of.observations.iter().enumerate() {
            let step = steps.get(seen.step.as_str());
            all.extend(step.map(|step| Figure { experiment, index, step, seen }));
        }
    }
    all
}

/// Notes a reason for a figure that is trusted otherwise.
fn doubt(figure: &Figure<'_>, reason: Reason, doubts: &mut Doubts) {
    if figure.seen.verdict.grade == Grade::Trusted {
        doubts.entry(figure.experiment).or_default().push((figure.index, reason));
    }
}

/// Finds whether figures that mean the same have one value: if any two contradict each other, none of them is the
/// hardware's for sure.
fn same_value<'a>(group: &[Figure<'a>], conditions: &Conditions, machine: &Machine, doubts: &mut Doubts) {
    let basis = moments::basis(group);
    let with_middle = |figure: &Figure<'a>| Some((*figure, middle(figure, basis, conditions, machine)?));
    let mut by_state: Vec<(Option<StateKind>, Vec<Measured<'a>>)> = Vec::new();
    for (figure, (middle, state)) in group.iter().filter_map(with_middle) {
        let measured = Measured { figure, middle };
        match by_state.iter_mut().find(|(known, _)| *known == state) {
            Some((_, all)) => all.push(measured),
            None => by_state.push((state, vec![measured])),
        }
    }
    for (_, all) in &by_state {
        one_value(all, doubts);
    }
}

fn one_value(all: &[Measured<'_>], doubts: &mut Doubts) {
    let is_contradicted = |one: &&Measured<'_>| all.iter().any(|other| one.contradicts(other));
    let contradicted: Vec<&Measured<'_>> = all.iter().filter(is_contradicted).collect();
    let medians = || contradicted.iter().map(|one| one.middle.median);
    let apart = ratio(medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max)) - 1.0;
    for one in all {
        let here = one.middle.median;
        let far = |other: &&&Measured<'_>| ratio(here, other.middle.median);
        let Some(other) = contradicted.iter().max_by(|a, b| far(a).total_cmp(&far(b))) else { return };
        let with = other.figure.name(&one.figure);
        let is_time = one.figure.seen.unit == Unit::Ns;
        let reason = Reason::Disagrees { with, here, there: other.middle.median, is_time, apart };
        doubt(&one.figure, reason, doubts);
    }
}

#[cfg(test)]
mod tests;
