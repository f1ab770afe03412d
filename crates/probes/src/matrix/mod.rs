//! `matrix`: idle latency and bandwidth from every group of cpus to every memory node, and what policies make of
//! several.

mod findings;
mod groups;
mod memory;
mod ops;
mod policies;
mod sides;
mod study;
mod uneven;
mod weights;

use serde::{Deserialize, Serialize};
use tiermark_engine::{Probe, Study, Subject};
use tiermark_model::messages::rules;
use tiermark_model::{Bytes, Effort, Finding, IdSet, Machine, Observation, Plan, Refusal, Step};

use crate::bandwidth::ThreadCount;
pub use groups::Origin;
use groups::{CpuGroup, MatrixThreads};
pub use memory::{Buffer, Workers};
pub use ops::{LATENCY, is_own};
use study::MatrixStudy;
pub use weights::Weights;

/// How the memory of a bandwidth is spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// All on one node: the matrix itself.
    Bind,
    /// Page by page over several nodes.
    Interleave,
    /// Dealt out over several nodes by weight.
    Weighted,
    /// Some threads on local memory, the others on remote memory.
    Mixed,
}

/// Parameters of the matrix probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MatrixParams {
    /// The unit that the cpus of a row share.
    pub from: Origin,
    /// Only cpus of these nodes; none means all.
    pub cpu_nodes: Option<IdSet>,
    /// Only memory of these nodes; none means all that may be used.
    pub targets: Option<IdSet>,
    /// `latency`, jobs, operations, kernels, or mixes (`2:1`); none means what the effort allows.
    pub ops: Vec<String>,
    /// Policies; none means those the effort allows.
    pub policies: Vec<Policy>,
    /// Sets of nodes to interleave over; none means all.
    pub interleave: Vec<IdSet>,
    /// Weights to deal pages out by; none means a sweep.
    pub weights: Vec<Weights>,
    /// Percent of the threads on remote memory; none means half.
    pub mixed: Vec<u8>,
    /// Threads of a bandwidth cell; none means one a core of the group.
    pub threads: Vec<ThreadCount>,
    /// Footprint of each thread; none means what makes memory answer.
    pub size: Option<Bytes>,
    /// Footprint of each thread where there is room for it, on reserved huge pages where enough are free.
    pub worker_memory: Option<Bytes>,
    /// Whose the memory of a bandwidth is.
    pub buffer: Buffer,
    /// What the workers of a bandwidth are.
    pub workers: Workers,
    /// Useful bytes after which a bandwidth ends; none for as long as its precision takes.
    pub total: Option<Bytes>,
    /// The theoretical peak of each node's memory, bytes per second; none means what the memory modules tell.
    pub peak: Option<f64>,
    /// What the link between two sockets carries in one direction, bytes per second; none means what the processors
    /// tell.
    pub link_rate: Option<f64>,
    /// One row of each kind, against its own memory and one node of each kind of the others.
    pub sample: bool,
}

impl MatrixParams {
    /// Whether all threads of a cell work on one buffer.
    fn is_shared(&self) -> bool {
        self.buffer == Buffer::Shared
    }

    /// The threads of a group, one crew for each requested number.
    fn crews(&self, group: &CpuGroup, machine: &Machine) -> Vec<Result<MatrixThreads, Refusal>> {
        let counts = if self.threads.is_empty() { &[ThreadCount::Cores] } else { self.threads.as_slice() };
        counts.iter().map(|count| group.threads(*count, machine)).collect()
    }
}

/// The probe of `tiermark matrix`; `docs/methods/matrix.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "matrix",
    method: 4,
    subject: Subject::Memory,
    summary: "Latency and bandwidth from each node's cpus to each memory",
    page: include_str!("../../../../docs/methods/matrix.md"),
    aids: &[],
    study: |request, lab| Ok(Box::new(MatrixStudy::new(request, lab)?)),
};

impl Study for MatrixStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        self.cells(&mut plan);
        self.policies(&mut plan);
        // A row of one thread has nobody to be apart from.
        let apart = plan.steps.iter().any(|step| step.setup.threads.iter().any(|thread| thread.process));
        plan.rules.extend(apart.then(rules::workers_are_processes));
        let seconds = allowed_seconds(self.task.effort(), &plan.steps);
        self.task.limit(&mut plan, seconds);
        self.task.with_steps(plan, "name fewer limits, or operations: --op", &["--op"])
    }

    fn refine(&self, observations: &[Observation]) -> Vec<Step> {
        self.better_weights(observations)
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let observations = findings::of_memory(observations, self.task.machine());
        let mut found = findings::cells(&observations);
        found.extend(findings::parts(&observations));
        found.extend(findings::used(&observations, &self.task.lab.bench));
        found.extend(findings::shares(&observations, &self.groups, self.stated(), &self.task.lab));
        found.extend(findings::far(&observations, &self.groups, &self.targets, self.task.machine()));
        found.extend(uneven::uneven(&observations, &self.groups, self.task.machine()));
        found.extend(findings::mixed(&observations, &self.groups));
        found.extend(findings::best_weights(&observations));
        found
    }
}

/// Seconds an effort allows: cells multiply with nodes, so that a fixed time would leave large machines without half of
/// them.
fn allowed_seconds(effort: Effort, steps: &[Step]) -> f64 {
    const SLACK: f64 = 1.5;
    let least = effort.choose([10.0, 40.0, 300.0]);
    let moving: f64 = steps.iter().map(memory::total_seconds).sum();
    (SLACK * steps.iter().map(Step::expected_seconds).sum::<f64>()).max(least) + moving
}
