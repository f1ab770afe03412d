//! From observations to findings: what both probes do alike.

use tiermark_model::messages::memory;
use tiermark_model::{Finding, Grade, Interval, Labels, Note, Observation, Purpose, Quantity, Unit, Verdict};

/// The finding an observation stands for by itself.
pub(crate) fn finding(observation: &Observation, notes: impl IntoIterator<Item = Note>) -> Finding {
    let metric = observation.metric.into();
    Finding {
        interval: observation.interval,
        per_cycle: observation.per_cycle,
        kind: Some(observation.kind),
        typical: observation.typical,
        best: observation.best,
        samples: observation.visits.len() as u64,
        verdict: observation.verdict.clone(),
        evidence: vec![observation.step.clone()],
        notes: notes.into_iter().chain(observation.rival_open.as_ref().map(memory::kernels_not_compared)).collect(),
        ..Finding::new(metric, observation.labels.clone(), observation.value, observation.unit)
    }
}

/// The finding of this name that an observation stands for by itself.
pub(crate) fn measured(observation: &Observation, quantity: Quantity) -> Finding {
    Finding { quantity, ..finding(observation, None) }
}

/// A number derived from one observation: same evidence, same verdict.
pub(crate) fn derived(
    observation: &Observation,
    quantity: Quantity,
    labels: Labels,
    value: f64,
    unit: Unit,
) -> Finding {
    let value = (observation.verdict.grade != Grade::Invalid).then_some(value);
    Finding {
        samples: observation.visits.len() as u64,
        verdict: observation.verdict.clone(),
        evidence: vec![observation.step.clone()],
        ..Finding::new(quantity, labels, value, unit)
    }
}

/// The verdict of a number that describes a load or a state: differing visits are its content, no reason for doubt. The
/// interval shows how much they differ.
pub(crate) fn description(verdict: &Verdict) -> Verdict {
    let mut verdict = verdict.clone();
    if verdict.grade <= Grade::Bound {
        verdict.reasons.retain(|reason| !reason.is_of_estimate());
        verdict.grade = Grade::Trusted;
    }
    verdict
}

/// The widest interval of a quotient that the intervals of two numbers of one run allow, without an assumption about
/// their dependence.
pub(crate) fn quotient(of: &Observation, to: &Observation) -> Option<Interval> {
    let (of, to) = (of.within_run()?, to.within_run()?);
    (to.low > 0.0).then(|| Interval { low: of.low / to.high, high: of.high / to.low, level: of.level.min(to.level) })
}

/// The same of their product.
pub(crate) fn product(one: &Observation, other: &Observation) -> Option<Interval> {
    let (one, other) = (one.within_run()?, other.within_run()?);
    Some(Interval { low: one.low * other.low, high: one.high * other.high, level: one.level.min(other.level) })
}

/// A finding that was computed from others, with how far their intervals allow it to lie. The finding is `shift` away
/// from what they are of.
pub(crate) fn with_range(found: Finding, range: Option<Interval>, shift: f64) -> Finding {
    let shifted = |range: Interval| Interval { low: range.low + shift, high: range.high + shift, ..range };
    Finding { interval: range.map(shifted).filter(|_| found.value.is_some()), ..found }
}

/// Observations with this purpose, in order.
pub(crate) fn with_purpose(observations: &[Observation], purpose: Purpose) -> impl Iterator<Item = &Observation> {
    observations.iter().filter(move |o| o.labels.is_for(purpose))
}

/// A curve's points, sorted by size: (footprint, value), numbers only.
pub(crate) fn points<'a>(observations: impl Iterator<Item = &'a Observation>) -> Vec<(u64, f64)> {
    let mut points: Vec<(u64, f64)> = observations.filter_map(|o| Some((o.labels.bytes()?, o.value?))).collect();
    points.sort_by_key(|(size, _)| *size);
    points
}

/// Says when the tool's own stamps were a visible part of a block and were taken out.
pub(crate) fn overhead_note(observation: &Observation) -> Option<Note> {
    /// Up to this share nothing needs saying.
    const NEGLIGIBLE: f64 = 0.005;
    observation.overhead_share.filter(|s| *s > NEGLIGIBLE).map(|share| memory::stamps_taken_out(share.into()))
}
