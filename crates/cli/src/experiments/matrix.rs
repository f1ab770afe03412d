//! `tiermark matrix`.

use clap::Args;
use tiermark_model::{Bytes, IdSet, Machine};
use tiermark_probes::Mix;
use tiermark_probes::bandwidth::ThreadCount;
use tiermark_probes::matrix::{self, Buffer, MatrixParams, Origin, Policy, Weights, Workers};

use super::command::{CeilingArgs, Experiment, Params, ProbeCommand};
use crate::args::PlaceArgs;
use crate::parse::{self, NodeChoice, OrUsual};

pub(super) const ROW: ProbeCommand = ProbeCommand {
    examples: EXAMPLES,
    quick: "Latency and read, few repetitions",
    full: "More operations, a sweep of weights, many repetitions",
    ..ProbeCommand::of::<MatrixArgs>(&matrix::PROBE)
};

const EXAMPLES: &str = "\
Without options: idle latency and bandwidths from the cpus of every node to the memory of every node, and what interleaving and
mixed placement make of them. Nodes without cpus (CXL, HBM, persistent memory) are columns as any other.
Examples:
  tiermark matrix
  tiermark matrix --quick --op latency,read
  tiermark matrix --from socket --op latency,read,write,read.random --mix 2:1
  tiermark matrix --cpu-node 0 --mem-node 0,2 --weighted-interleave sweep --op read    (local DRAM and CXL together)
  tiermark matrix --weighted-interleave 0:3,1:1 --interleave 0,1 --policy bind
  tiermark matrix --policy bind,mixed --mixed 50 --op write.cached,write.random8,read,read.random8 --threads cpus
Beside the operations of `tiermark bandwidth`: latency, and write.cached and copy.cached, which use ordinary stores only.
Mixes: READS:WRITES (3:1, 2:1), 1:1.nt with non-temporal stores.";

/// Arguments of `matrix`.
#[derive(Debug, Args)]
struct MatrixArgs {
    /// What the cpus of a row share: node, socket or llc (last-level cache)
    #[arg(long, value_name = "WHAT", default_value = "node", value_parser = parse::origin)]
    from: Origin,
    /// latency, jobs (read, copy …), operations, kernels [default: by --quick, --full]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::matrix_operation)]
    op: Vec<String>,
    /// Mixes of reads and writes, READS:WRITES, as in 2:1,1:1
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::mix)]
    mix: Vec<Mix>,
    /// Placements: bind, interleave, weighted, mixed
    ///
    /// Default: bind, interleave and mixed; with --quick bind.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::policy)]
    policy: Vec<Policy>,
    /// Interleave pages over these nodes, or all (repeatable)
    #[arg(long, value_name = "NODES", value_parser = parse::nodes_or_all)]
    interleave: Vec<OrUsual<IdSet>>,
    /// Interleave pages over nodes by weight, as in 0:3,1:1, or sweep (repeatable)
    #[arg(long, value_name = "WEIGHTS", value_parser = parse::weights_or_sweep)]
    weighted_interleave: Vec<OrUsual<Weights>>,
    /// Percent of the threads with remote memory, as in 25,50
    #[arg(
        hide_short_help = true, long, value_name = "PERCENTS", value_delimiter = ',',
        value_parser = parse::within::<u8>(1..=99),
    )]
    mixed: Vec<u8>,
    /// Threads of a bandwidth: one, cores, cpus or numbers [default: cores]
    ///
    /// cores is one thread on each physical core of the row, cpus one on each hardware thread.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::threads)]
    threads: Vec<ThreadCount>,
    /// Footprints of each thread [default: four times the caches in reach]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::size)]
    sizes: Vec<Bytes>,
    /// Memory of each thread where there is room, on reserved huge pages where enough are free
    ///
    /// Otherwise on transparent huge pages; if there is no room at all, the usual footprint. The plan says which.
    #[arg(hide_short_help = true, long, value_name = "SIZE", conflicts_with = "sizes", value_parser = parse::size)]
    worker_memory: Option<Bytes>,
    /// Memory of the threads of a bandwidth: own or shared [default: own]
    ///
    /// shared is one buffer that all threads read, each from another place on.
    #[arg(hide_short_help = true, long, value_name = "WHOSE", value_parser = parse::buffer)]
    buffer: Option<Buffer>,
    /// What works in a bandwidth: threads or processes [default: threads]
    ///
    /// Each process has one thread and its own memory; they start together by shared memory.
    #[arg(hide_short_help = true, long, value_name = "WHAT", value_parser = parse::workers)]
    workers: Option<Workers>,
    /// End each bandwidth when so many bytes are moved, as in 100G
    ///
    /// After the fewest visits at the earliest. Useful bytes count, of all threads together.
    #[arg(hide_short_help = true, long, value_name = "SIZE", value_parser = parse::size)]
    total: Option<Bytes>,
    /// One row of each kind, against one node of each kind of memory
    ///
    /// For machines with many nodes: rows with the same number of cpus and the same distances are of one kind.
    #[arg(hide_short_help = true, long)]
    sample: bool,
    #[command(flatten)]
    ceilings: CeilingArgs,
}

impl Experiment for MatrixArgs {
    /// One request for each footprint.
    fn params(&self, place: &PlaceArgs, _machine: &Machine) -> Params {
        let sizes = if self.sizes.is_empty() { vec![None] } else { self.sizes.iter().copied().map(Some).collect() };
        sizes.into_iter().map(|size| serde_json::to_value(self.with_size(size, place))).collect()
    }

    /// Nodes are rows and columns of the matrix.
    fn scope(&self, place: &PlaceArgs) -> PlaceArgs {
        let far = place.mem_node.clone().filter(|choice| *choice == NodeChoice::Far);
        PlaceArgs { cpu_node: None, mem_node: far, ..place.clone() }
    }

    /// A policy spreads memory over nodes, which one alone does not have.
    fn nodes_needed(&self) -> usize {
        if self.policy.iter().any(|policy| *policy != Policy::Bind) { 2 } else { 1 }
    }
}

impl MatrixArgs {
    fn with_size(&self, size: Option<Bytes>, place: &PlaceArgs) -> MatrixParams {
        let mut policies = self.policy.clone();
        // A policy that is named by its option alone joins the matrix, and does not replace it.
        let mut join = |policy: Policy| {
            let besides = if policies.is_empty() { vec![Policy::Bind, policy] } else { vec![policy] };
            policies.extend(besides.into_iter().filter(|p| !self.policy.contains(p)));
        };
        if !self.interleave.is_empty() {
            join(Policy::Interleave);
        }
        if !self.weighted_interleave.is_empty() {
            join(Policy::Weighted);
        }
        if !self.mixed.is_empty() {
            join(Policy::Mixed);
        }
        MatrixParams {
            from: self.from,
            cpu_nodes: place.cpu_node.clone(),
            targets: match &place.mem_node {
                Some(NodeChoice::These(nodes)) => Some(nodes.clone()),
                Some(NodeChoice::Far | NodeChoice::Each) | None => None,
            },
            ops: self.op.iter().cloned().chain(self.mix.iter().map(ToString::to_string)).collect(),
            policies,
            interleave: listed(&self.interleave),
            weights: listed(&self.weighted_interleave),
            mixed: self.mixed.clone(),
            threads: self.threads.clone(),
            size,
            worker_memory: self.worker_memory,
            buffer: self.buffer.unwrap_or_default(),
            workers: self.workers.unwrap_or_default(),
            total: self.total,
            peak: self.ceilings.peak,
            link_rate: self.ceilings.link_rate,
            sample: self.sample,
        }
    }
}

/// The listed names; `None` for the default.
fn listed<T: Clone>(all: &[OrUsual<T>]) -> Vec<T> {
    let this = |one: &OrUsual<T>| match one {
        OrUsual::Usual => None,
        OrUsual::This(this) => Some(this.clone()),
    };
    all.iter().filter_map(this).collect()
}
