//! Reads documents from JSON. The code that serde generates for a large type is large. If other crates called serde
//! themselves, each would have a copy of this code.

use std::collections::HashSet;

use serde::Deserialize;

use crate::capacity::Capacity;
use crate::health::RunHealth;
use crate::labels::Labels;
use crate::load::LoadRun;
use crate::machine::Machine;
use crate::observation::{EdgeSeen, Finding, Observation, PerCycle, Rival};
use crate::plan::{Plan, Request};
use crate::run::{Experiment, Run};
use crate::run_labels::RunLabels;
use crate::soak::Soak;
use crate::state::StateKind;
use crate::tool::Tool;
use crate::units::{Metric, Unit};
use crate::visits::RoundTrips;

/// A document that can be read from JSON.
pub trait FromJson: Sized {
    /// Reads the document.
    ///
    /// # Errors
    /// The text is not JSON, or its fields are not those of the type.
    fn from_json(bytes: &[u8]) -> serde_json::Result<Self>;
}

macro_rules! from_json {
    ($($type:ty),+) => { $(impl FromJson for $type {
        fn from_json(bytes: &[u8]) -> serde_json::Result<Self> {
            serde_json::from_slice(bytes)
        }
    })+ };
}
from_json!(Capacity, Machine, Run);

impl FromJson for LoadRun {
    fn from_json(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes).map(Self::judged)
    }
}

/// The part of a run that is compared with other runs. It has no plans and no windows, and only the observations that
/// are the only evidence of a finding, with the fields that comparisons use.
#[derive(Deserialize)]
pub struct RunResults {
    schema: String,
    id: String,
    title: String,
    tool: Tool,
    started: String,
    seconds: f64,
    complete: bool,
    #[serde(default)]
    stopped: bool,
    #[serde(default)]
    labels: RunLabels,
    simulated: Option<String>,
    machine: Machine,
    #[serde(default)]
    health: Option<RunHealth>,
    experiments: Vec<ExperimentResults>,
}

#[derive(Deserialize)]
struct ExperimentResults {
    request: Request,
    method: u32,
    observations: Vec<ObservationResults>,
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct ObservationResults {
    step: String,
    metric: Metric,
    unit: Unit,
    value: Option<f64>,
    #[serde(default)]
    per_cycle: Option<PerCycle>,
    #[serde(default)]
    edge: Option<EdgeSeen>,
    #[serde(default)]
    state: Option<StateKind>,
    #[serde(default)]
    rivals: Vec<Rival>,
    #[serde(default)]
    visits: RoundTrips,
    #[serde(default)]
    soak: Option<Box<Soak>>,
}

from_json!(RunResults);

impl From<RunResults> for Run {
    /// A run whose plans have no steps, and whose visits have no windows. Of steps that no finding has as its only
    /// evidence it has no observation.
    fn from(results: RunResults) -> Self {
        let RunResults {
            schema,
            id,
            title,
            tool,
            started,
            seconds,
            complete,
            stopped,
            labels,
            simulated,
            machine,
            health,
            experiments,
        } = results;
        let observation = |of: ObservationResults| Observation {
            unit: of.unit,
            value: of.value,
            per_cycle: of.per_cycle,
            edge: of.edge,
            state: of.state,
            rivals: of.rivals,
            visits: of.visits.0,
            soak: of.soak,
            ..Observation::new(of.step, Labels::new(), of.metric)
        };
        let experiment = |of: ExperimentResults| {
            // A made document may have more observations than memory holds: each takes twenty times its text.
            let mut wanted: HashSet<&str> = of.findings.iter().filter_map(only_evidence).collect();
            // The last one of a step, as comparisons take it.
            let seen = of.observations.into_iter().rev().filter(|seen| wanted.remove(seen.step.as_str()));
            Experiment {
                observations: seen.map(observation).collect(),
                findings: of.findings,
                ..Experiment::new(of.request, of.method, Plan::default())
            }
        };
        let experiments = experiments.into_iter().map(experiment).collect();
        Self {
            schema,
            id,
            title,
            tool,
            started,
            seconds,
            complete,
            stopped,
            labels,
            simulated,
            machine,
            health,
            experiments,
            ..Self::default()
        }
    }
}

/// The step that a finding is the value of; `None` of what was derived from several.
fn only_evidence(finding: &Finding) -> Option<&str> {
    let [one] = finding.evidence.as_slice() else { return None };
    Some(one)
}
