//! `survey`: the whole picture, and what the machine's state does to it.

use std::collections::BTreeMap;

use tiermark_engine::{About, Lab, Probe, Subject};
use tiermark_model::messages::system as says;
use tiermark_model::{
    Bytes, Effort, Finding, IdSet, Machine, Observation, Plan, Purpose, Refusal, Request, Scope, Step, Warning,
};

use crate::bandwidth::Bandwidth;
use crate::latency::Latency;
use crate::residency::{self, Residency};
use crate::steps::once;

/// A probe that is part of a survey, with its parameters; `None` if this machine has nothing for it to measure.
struct SurveyPart {
    probe: &'static dyn Probe,
    asks: fn(&Request, &Machine) -> Option<serde_json::Value>,
}

/// Their steps are measured together, so that every number sees the whole run.
static PARTS: [SurveyPart; 3] = [
    SurveyPart { probe: &Latency, asks: |_, _| Some(serde_json::Value::Null) },
    SurveyPart { probe: &Bandwidth, asks: |_, _| Some(serde_json::Value::Null) },
    SurveyPart { probe: &Residency, asks: residency::of_a_survey },
];

/// The parts that are of use here, each with its request.
fn parts(request: &Request, lab: Lab<'_>) -> Vec<(&'static dyn Probe, Request)> {
    let asked = |part: &SurveyPart| {
        let params = (part.asks)(request, lab.machine)?;
        Some((part.probe, Request { probe: part.probe.about().id.into(), params, ..request.clone() }))
    };
    PARTS.iter().filter_map(asked).collect()
}

/// The probe of `tiermark survey`; `docs/methods/survey.md` describes the method.
pub struct Survey;

static ABOUT: About = About {
    id: "survey",
    method: 3,
    subject: Subject::Memory,
    summary: "Measure every tier: size, latency and bandwidth, in a minute",
    page: include_str!("../../../docs/methods/survey.md"),
    shapes: &[Purpose::Scaling, Purpose::Buffer, Purpose::Residency, Purpose::Flushed],
};

impl Probe for Survey {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn plan(&self, request: &Request, lab: Lab<'_>) -> Result<Plan, Refusal> {
        let mut whole = Plan::default();
        let mut refused = None;
        for (part, asked) in parts(request, lab) {
            match part.plan(&asked, lab) {
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
        whole.max_seconds = request.scope.max_seconds.unwrap_or(whole.max_seconds);
        match refused {
            Some(refusal) if whole.steps.is_empty() => Err(refusal),
            _ => Ok(whole),
        }
    }

    fn refine(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Step> {
        let mut steps: Vec<Step> =
            parts(request, lab).iter().flat_map(|(part, asked)| part.refine(asked, lab, observations)).collect();
        once(&mut steps);
        steps
    }

    fn derive(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Finding> {
        let own = |part: &dyn Probe| -> Vec<Observation> {
            let mine = |o: &&Observation| o.step.starts_with(part.about().id);
            observations.iter().filter(mine).cloned().collect()
        };
        parts(request, lab).iter().flat_map(|(part, asked)| part.derive(asked, lab, &own(*part))).collect()
    }
}

/// The request of a survey.
pub fn request(effort: Effort, scope: Scope, precision: Option<f64>, seed: u64) -> Request {
    Request { probe: ABOUT.id.into(), scope, effort, precision, seed, params: serde_json::Value::Null, part: None }
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
    // The share of cpus that may be busy before a quiet machine is no longer assumed.
    const BUSY: f64 = 0.1;
    let cpus = machine.allowed_cpus.len();
    let is_busy = |load: &f64| *load > BUSY * cpus as f64;
    warnings.extend(system.load1.filter(is_busy).map(|load| says::load_average(load, cpus)));
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
