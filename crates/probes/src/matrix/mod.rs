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

use clap::Args;
use serde::{Deserialize, Serialize};
use tiermark_engine::{Probe, Study, Subject};
use tiermark_model::messages::rules;
use tiermark_model::{
    Bytes, Effort, Finding, IdSet, Machine, Observation, Plan, Refusal, Step, parse_footprint, parse_within, total,
};

use crate::bandwidth::ThreadCount;
use crate::footprints::memory_cap_over;
use crate::mix::Mix;
use crate::task::Task;
use crate::written::{nodes_or_all, rate, word};
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct MatrixParams {
    /// What the cpus of a row share: node, socket or llc (last-level cache)
    #[arg(long, value_name = "WHAT", default_value = "node", value_parser = word::<Origin>("use node, socket or llc"))]
    pub from: Origin,
    /// Only cpus of these nodes; none means all.
    #[arg(skip)]
    pub cpu_nodes: Option<IdSet>,
    /// Only memory of these nodes; none means all that may be used.
    #[arg(skip)]
    pub targets: Option<IdSet>,
    /// latency, jobs (read, copy …), operations, kernels [default: by --quick, --full]
    // In a request mixes (`2:1`) are among them.
    #[arg(long = "op", value_name = "LIST", value_delimiter = ',')]
    pub ops: Vec<String>,
    /// Mixes of reads and writes, READS:WRITES, as in 2:1,1:1
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(skip)]
    pub mix: Vec<Mix>,
    /// Placements: bind, interleave, weighted, mixed
    ///
    /// Default: bind, interleave and mixed; with --quick bind.
    #[arg(long = "policy", value_name = "LIST", value_delimiter = ',',
          value_parser = word::<Policy>("use bind, interleave, weighted or mixed"))]
    pub policies: Vec<Policy>,
    /// Interleave pages over these nodes, or all (repeatable)
    // `all` is the empty set, which a request does not have.
    #[arg(long, value_name = "NODES", value_parser = nodes_or_all)]
    pub interleave: Vec<IdSet>,
    /// Interleave pages over nodes by weight, as in 0:3,1:1, or sweep (repeatable)
    // `sweep` has no weights, and no request has it.
    #[arg(long = "weighted-interleave", value_name = "WEIGHTS", value_parser = Weights::or_sweep)]
    pub weights: Vec<Weights>,
    /// Percent of the threads with remote memory, as in 25,50
    #[arg(
        hide_short_help = true, long, value_name = "PERCENTS", value_delimiter = ',',
        value_parser = parse_within::<u8>(1..=99),
    )]
    pub mixed: Vec<u8>,
    /// Threads of a bandwidth: one, cores, cpus or numbers [default: cores]
    ///
    /// cores is one thread on each physical core of the row, cpus one on each hardware thread.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub threads: Vec<ThreadCount>,
    /// Footprints of each thread [default: four times the caches in reach]
    // A request for each of them, as its `size`.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_footprint)]
    #[serde(skip)]
    pub sizes: Vec<Bytes>,
    /// Footprint of each thread; none means what makes memory answer.
    #[arg(skip)]
    pub size: Option<Bytes>,
    /// Memory of each thread where there is room, on reserved huge pages where enough are free
    ///
    /// Otherwise on transparent huge pages; without room for that, the largest power of two that fits, at least the
    /// usual footprint. The plan says which.
    #[arg(hide_short_help = true, long, value_name = "SIZE", conflicts_with = "sizes", value_parser = parse_footprint)]
    pub worker_memory: Option<Bytes>,
    /// Memory of the threads of a bandwidth: own or shared [default: own]
    ///
    /// shared is one buffer that all threads read, each from another place on.
    #[arg(hide_short_help = true, long, value_name = "WHOSE", default_value = "own", hide_default_value = true,
          value_parser = word::<Buffer>("use own or shared"))]
    pub buffer: Buffer,
    /// What works in a bandwidth: threads or processes [default: threads]
    ///
    /// Each process has one thread and its own memory; they start together by shared memory.
    #[arg(hide_short_help = true, long, value_name = "WHAT", default_value = "threads", hide_default_value = true,
          value_parser = word::<Workers>("use threads or processes"))]
    pub workers: Workers,
    /// End each bandwidth when so many bytes are moved, as in 100G
    ///
    /// After the fewest visits at the earliest. Useful bytes count, of all threads together.
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = parse_footprint)]
    pub total: Option<Bytes>,
    /// One row of each kind, against one node of each kind of memory
    ///
    /// For machines with many nodes: rows with the same number of cpus and the same distances are of one kind.
    #[arg(hide_short_help = true, long)]
    pub sample: bool,
    /// Theoretical peak of one node's memory, as in 8.53GB/s
    ///
    /// Default: from the memory modules (SMBIOS, readable by root).
    #[arg(hide_short_help = true, long, value_name = "RATE", value_parser = rate)]
    pub peak: Option<f64>,
    /// Rate of the link between two sockets in one direction, as in 9.6GB/s
    ///
    /// Default: the highest rate of the processor's family.
    #[arg(hide_short_help = true, long, value_name = "RATE", value_parser = rate)]
    pub link_rate: Option<f64>,
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
        let room = targets_room(&self.task, &self.targets);
        let seconds = allowed_seconds(self.task.effort(), &plan.steps, room);
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

/// The memory that cells may keep between visits.
fn targets_room(task: &Task, targets: &IdSet) -> u64 {
    let on = targets.iter().map(|node| (node, 1)).collect();
    memory_cap_over(task.machine(), &on, &task.request.scope).bytes
}

/// Seconds an effort allows: cells multiply with nodes, so that a fixed time would leave large machines without half of
/// them. Where there is no room for the own memory of all cells, it is made again for each visit.
fn allowed_seconds(effort: Effort, steps: &[Step], room: u64) -> f64 {
    const SLACK: f64 = 1.5;
    let least = effort.choose([10.0, 40.0, 300.0]);
    let moving: f64 = steps.iter().map(memory::total_seconds).sum();
    let owns = |step: &&Step| !step.setup.is_plain();
    let kept =
        total(steps.iter().filter(owns).map(|step| step.held_bytes().0 * u64::from(step.stop.allocations.max(1))));
    let again = |step: &Step| f64::from(step.stop.min_visits.saturating_sub(1)) * step.prepare_seconds();
    let again: f64 = if kept > room { steps.iter().filter(owns).map(again).sum() } else { 0.0 };
    (SLACK * (steps.iter().map(Step::expected_seconds).sum::<f64>() + again)).max(least) + moving
}
