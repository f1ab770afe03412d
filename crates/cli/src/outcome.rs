//! From a run to an exit code.

use tiermark_model::{Exit, Experiment, Grade, Labels, Observation, ReasonCode, Refusal, Run};

/// How strictly a run is judged.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Demands {
    /// Numbers that are not trusted or not precise are a failure.
    pub(crate) strict: bool,
    /// Refused steps are none.
    pub(crate) allow_partial: bool,
}

/// The exit code of a finished run.
pub(crate) fn exit(run: &Run, stopped_by: Option<Exit>, demands: Demands) -> Exit {
    if let Some(exit) = stopped_by {
        return exit;
    }
    if !run.observations().any(|o| o.value.is_some()) {
        return Exit::Refused;
    }
    if !demands.allow_partial && is_partial(run) {
        return Exit::Partial;
    }
    let doubted = run.worst_grade().is_some_and(|grade| grade != Grade::Trusted);
    if demands.strict && doubted { Exit::Noisy } else { Exit::Done }
}

/// Whether something that was asked for is missing.
fn is_partial(run: &Run) -> bool {
    let refused = run.experiments.iter().any(|e| e.plan.refused.iter().any(|r| !is_known_otherwise(r, e)));
    refused || run.observations().any(is_missing)
}

/// Whether a refused row of the ladder is a tier that the same experiment has a number of. Large servers often share a cache
/// too small for all threads at once (`L3 with 64 threads`); one thread's figure answers for the tier, and no flag could add more.
fn is_known_otherwise(refusal: &Refusal, experiment: &Experiment) -> bool {
    let tier = refusal.what.split(' ').next().unwrap_or_default();
    experiment.findings.iter().any(|f| f.value.is_some() && f.labels.is(Labels::TIER, tier))
}

/// Whether a step that a number rests on has no value. Points of a curve only draw its shape: where time ran out before
/// the last of them, the curve is less dense, and that is all.
fn is_missing(observation: &Observation) -> bool {
    observation.value.is_none() && !observation.labels.is(Labels::PURPOSE, "curve")
}

/// Whether any finding missed its precision: what a longer run would cure.
pub(crate) fn imprecise(run: &Run) -> bool {
    run.findings().any(|f| f.verdict.reasons.iter().any(|r| r.code == ReasonCode::Imprecise))
}
