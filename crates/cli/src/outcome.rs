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
    let refused =
        run.experiments.iter().any(|e| e.plan.refused.iter().any(|r| !is_known_otherwise(r, |tier| is_found(e, tier))));
    refused || run.observations().any(is_missing)
}

/// Whether the experiment has a number of a tier.
fn is_found(experiment: &Experiment, tier: &str) -> bool {
    experiment.findings.iter().any(|f| f.value.is_some() && f.labels.is(Labels::TIER, tier))
}

/// Whether a refused row of the ladder is a cache that the same experiment has a number of, as `found` tells. Large servers often share a cache
/// too small for all threads at once (`L3 with 64 threads`); one thread's figure answers for the tier, and no flag could add more.
/// Memory is never forgiven: what all threads get of it is a question of its own.
pub(crate) fn is_known_otherwise(refusal: &Refusal, found: impl Fn(&str) -> bool) -> bool {
    let Some((tier, _)) = refusal.what.split_once(" with ") else { return false };
    let is_cache = tier.strip_prefix('L').is_some_and(|level| level.parse::<u8>().is_ok());
    is_cache && found(tier)
}

/// Whether a step that a number rests on has no value. Points of a curve only draw its shape: where time ran out before
/// the last of them, the curve is less dense, and that is all.
fn is_missing(observation: &Observation) -> bool {
    let is_point = ["curve", "load"].iter().any(|purpose| observation.labels.is(Labels::PURPOSE, purpose));
    observation.value.is_none() && !is_point
}

/// Whether any finding missed its precision: what a longer run would cure.
pub(crate) fn imprecise(run: &Run) -> bool {
    run.findings().any(|f| f.verdict.reasons.iter().any(|r| r.code == ReasonCode::Imprecise))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Effort, Finding, Plan, Request, Scope, Unit, Verdict};

    fn experiment(tier: &str, value: Option<f64>, refused: &str) -> Experiment {
        let finding = Finding {
            metric: "bandwidth".into(),
            labels: Labels::new().text(Labels::TIER, tier),
            value,
            unit: Unit::BytesPerSecond,
            interval: None,
            samples: 3,
            verdict: Verdict::trusted(),
            evidence: Vec::new(),
            note: None,
        };
        let request = Request {
            probe: "bandwidth".into(),
            scope: Scope::default(),
            effort: Effort::Standard,
            precision: None,
            seed: 1,
            params: serde_json::Value::Null,
            part: None,
        };
        let plan = Plan { refused: vec![Refusal::new(refused, "why", "cure")], ..Plan::default() };
        Experiment { request, method: 1, plan, observations: Vec::new(), drift: None, findings: vec![finding] }
    }

    fn forgiven(tier: &str, value: Option<f64>, refused: &str) -> bool {
        let experiment = experiment(tier, value, refused);
        is_known_otherwise(&experiment.plan.refused[0], |tier| is_found(&experiment, tier))
    }

    #[test]
    fn only_a_cache_with_a_number_is_known_otherwise() {
        assert!(forgiven("L3", Some(1e9), "L3 with 16 threads"));
        assert!(!forgiven("L3", None, "L3 with 16 threads"), "no number");
        assert!(!forgiven("L2", Some(1e9), "L3 with 16 threads"), "another tier");
        assert!(!forgiven("L3", Some(1e9), "L3 of 8 MiB"), "another reason");
        assert!(!forgiven("DRAM", Some(1e9), "DRAM with 16 threads"), "what all cores get of memory is missing");
        assert!(!forgiven("DRAM", Some(1e9), "far node 2 with 16 threads"), "a whole tier is missing");
        assert!(!forgiven("Last", Some(1e9), "Last with 16 threads"));
    }
}
