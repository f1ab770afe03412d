//! Reads documents from JSON. The code that serde generates for a large type is large. If other crates called serde
//! themselves, each would have a copy of this code.

use serde::Deserialize;

use crate::capacity::Capacity;
use crate::health::RunHealth;
use crate::load::LoadRun;
use crate::machine::Machine;
use crate::observation::{Finding, Observation};
use crate::plan::{Plan, Request};
use crate::run::{Experiment, Run};
use crate::run_labels::RunLabels;
use crate::tool::Tool;

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
from_json!(Capacity, LoadRun, Machine, Run);

/// What results a run has, without how they were planned and measured: a third of a document need not be kept.
#[derive(Deserialize)]
pub struct RunResults {
    id: String,
    title: String,
    tool: Tool,
    started: String,
    complete: bool,
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
    observations: Vec<Observation>,
    findings: Vec<Finding>,
}

from_json!(RunResults);

impl From<RunResults> for Run {
    /// A run whose plans have no steps.
    fn from(results: RunResults) -> Self {
        let RunResults { id, title, tool, started, complete, labels, simulated, machine, health, experiments } =
            results;
        let experiment = |of: ExperimentResults| Experiment {
            observations: of.observations,
            findings: of.findings,
            ..Experiment::new(of.request, of.method, Plan::default())
        };
        let experiments = experiments.into_iter().map(experiment).collect();
        Self { id, title, tool, started, complete, labels, simulated, machine, health, experiments, ..Self::default() }
    }
}
