//! `survey`: the whole picture, and what the machine's state does to it.

use std::collections::BTreeMap;

use tiermark_engine::{Lab, Probe, Study, Subject};
use tiermark_model::messages::system as says;
use tiermark_model::{
    Bytes, Effort, Finding, IdSet, Machine, Observation, Plan, Purpose, Refusal, Request, Scope, Step, Warning,
};

use crate::steps::once;
use crate::{bandwidth, latency, residency};

/// A probe that is part of a survey, with its parameters; `None` if this machine has nothing for it to measure.
struct SurveyPart {
    probe: &'static Probe,
    asks: fn(&Request, &Machine) -> Option<serde_json::Value>,
}

/// Their steps are measured together, so that every number sees the whole run.
static PARTS: [SurveyPart; 3] = [
    SurveyPart { probe: &latency::PROBE, asks: |_, _| Some(serde_json::Value::Null) },
    SurveyPart { probe: &bandwidth::PROBE, asks: |_, _| Some(serde_json::Value::Null) },
    SurveyPart { probe: &residency::PROBE, asks: residency::of_a_survey },
];

/// The probe of `tiermark survey`; `docs/methods/survey.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "survey",
    method: 3,
    subject: Subject::Memory,
    summary: "Measure every tier: size, latency and bandwidth, in 40 seconds",
    page: include_str!("../../../docs/methods/survey.md"),
    aids: &[Purpose::Curve],
    study: |request, lab| {
        let parts = PARTS.iter().filter_map(|part| OpenedPart::new(part, request, lab)).collect();
        Ok(Box::new(SurveyStudy { parts, max_seconds: request.scope.max_seconds }))
    },
};

/// The study of a part, or why it is refused.
struct OpenedPart {
    /// Of the probe.
    id: &'static str,
    study: Result<Box<dyn Study>, Refusal>,
}

impl OpenedPart {
    /// `None` if this machine has nothing for it to measure.
    fn new(part: &SurveyPart, request: &Request, lab: &Lab) -> Option<Self> {
        let (params, id) = ((part.asks)(request, &lab.machine)?, part.probe.id);
        let request = Request { probe: id.into(), params, ..request.clone() };
        Some(Self { id, study: part.probe.open(&request, lab) })
    }
}

struct SurveyStudy {
    /// Those that are of use here.
    parts: Vec<OpenedPart>,
    /// The user's limit.
    max_seconds: Option<f64>,
}

impl SurveyStudy {
    fn opened(&self) -> impl Iterator<Item = (&str, &dyn Study)> {
        self.parts.iter().filter_map(|part| Some((part.id, part.study.as_deref().ok()?)))
    }
}

impl Study for SurveyStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut whole = Plan::default();
        let mut refused = None;
        for part in &self.parts {
            match part.study.as_ref().map_err(Clone::clone).and_then(|study| study.plan()) {
                Ok(plan) => {
                    whole.steps.extend(plan.steps);
                    let new = plan.rules.into_iter().filter(|rule| !whole.rules.contains(rule)).collect::<Vec<_>>();
                    whole.rules.extend(new);
                    whole.refused.extend(plan.refused);
                    whole.max_seconds += plan.max_seconds;
                    whole.later_seconds += plan.later_seconds;
                    whole.later.extend(plan.later);
                }
                Err(refusal) => {
                    refused = Some(refusal.clone());
                    whole.refused.push(refusal);
                }
            }
        }
        once(&mut whole.steps);
        whole.max_seconds = self.max_seconds.unwrap_or(whole.max_seconds);
        match refused {
            Some(refusal) if whole.steps.is_empty() => Err(refusal),
            _ => Ok(whole),
        }
    }

    fn refine(&self, observations: &[Observation]) -> Vec<Step> {
        let mut steps: Vec<Step> = self.opened().flat_map(|(_, part)| part.refine(observations)).collect();
        once(&mut steps);
        steps
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let of_part = |(id, part): (&str, &dyn Study)| {
            let own: Vec<Observation> = observations.iter().filter(|seen| seen.step.starts_with(id)).cloned().collect();
            part.derive(&own)
        };
        self.opened().flat_map(of_part).collect()
    }
}

/// The request of a survey.
pub fn request(effort: Effort, scope: Scope, precision: Option<f64>, seed: u64) -> Request {
    Request { probe: PROBE.id.into(), scope, effort, precision, seed, params: serde_json::Value::Null, part: None }
}

/// What affects every number of this machine and is not among the problems of `doctor`, each with its cure. The program
/// changes nothing of it.
pub fn warnings(machine: &Machine) -> Vec<Warning> {
    let system = &machine.system;
    let mut warnings = side_caches(machine);
    if machine.all_cache_bytes(&machine.allowed_cpus).is_none() {
        warnings.push(says::last_cache_unknown());
    }
    if system.ksm == Some(1) {
        warnings.push(says::ksm());
    }
    if system.damon_running == Some(true) {
        warnings.push(says::damon());
    }
    if system.thp_mode() == Some("never") {
        warnings.push(says::thp_never(&system.thp_file()));
    }
    warnings
}

/// The caches in front of memory, by their size.
fn side_caches(machine: &Machine) -> Vec<Warning> {
    let mut by_size: BTreeMap<u64, IdSet> = BTreeMap::new();
    for node in machine.nodes.iter().filter(|node| !node.side_caches.is_empty()) {
        by_size.entry(node.side_cache_bytes()).or_default().insert(node.id);
    }
    by_size.into_iter().map(|(bytes, nodes)| says::memory_side_cache(&nodes, Bytes(bytes))).collect()
}

#[cfg(test)]
mod tests {
    use tiermark_machine::synth::Synth;

    use super::*;

    #[test]
    fn a_last_cache_of_unknown_size_is_said() {
        let warned = |level: u8| {
            let mut machine = Synth::default().machine().unwrap();
            machine.caches.retain(|cache| cache.level <= level);
            warnings(&machine).iter().any(|warning| warning.code == says::codes::last_cache_unknown)
        };
        assert_eq!([warned(2), warned(3)], [true, false]);
    }

    #[test]
    fn a_load_average_is_no_sign_of_other_work() {
        // It still shows the run before, a minute after its end.
        let mut machine = Synth::default().machine().unwrap();
        machine.system.load1 = None;
        let usual = warnings(&machine);
        machine.system.load1 = Some(64.0);
        assert_eq!(warnings(&machine), usual);
    }
}
