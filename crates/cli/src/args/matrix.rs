//! Arguments of `matrix`.

use clap::Args;
use tiermark_model::{Bytes, Effort, IdSet};
use tiermark_probes::Mix;
use tiermark_probes::bandwidth::ThreadCount;
use tiermark_probes::matrix::{MatrixParams, Origin, Policy, Weights};

use super::{NodeChoice, PlaceArgs, RunArgs, effort};
use crate::parse;

/// Told below the options.
pub(super) const EXAMPLES: &str = "\
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

/// A list, or the word that stands for the usual one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OrUsual<T> {
    /// Whatever the probe does by itself.
    Usual,
    /// Exactly this.
    This(T),
}

/// Arguments of `matrix`.
#[derive(Debug, Args)]
pub(crate) struct MatrixArgs {
    /// What the cpus of a row share: node, socket or llc (last-level cache)
    #[arg(long, value_name = "WHAT", default_value = "node", value_parser = parse::origin)]
    pub(crate) from: Origin,
    /// latency, jobs (read, write, copy), operations, kernels [default: by effort]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::matrix_operation)]
    pub(crate) op: Vec<String>,
    /// Mixes of reads and writes, READS:WRITES, as in 2:1,1:1
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::mix)]
    pub(crate) mix: Vec<Mix>,
    /// Placements: bind, interleave, weighted, mixed
    ///
    /// Default: bind, interleave and mixed; with --quick bind.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::policy)]
    pub(crate) policy: Vec<Policy>,
    /// Interleave pages over these nodes, or all (repeatable)
    #[arg(long, value_name = "NODES", value_parser = parse::nodes_or_all)]
    pub(crate) interleave: Vec<OrUsual<IdSet>>,
    /// Weights to deal pages out by, as in 0:3,1:1, or sweep (repeatable)
    #[arg(long, value_name = "WEIGHTS", value_parser = parse::weights_or_sweep)]
    pub(crate) weighted_interleave: Vec<OrUsual<Weights>>,
    /// Percent of the threads with remote memory, as in 25,50
    #[arg(hide_short_help = true, long, value_name = "PERCENTS", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=99))]
    pub(crate) mixed: Vec<u8>,
    /// Threads of a bandwidth: one, cores, cpus or numbers [default: cores]
    ///
    /// cores is one thread on each physical core of the row, cpus one on each hardware thread.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::threads)]
    pub(crate) threads: Vec<ThreadCount>,
    /// Footprints of each thread [default: four times the caches in reach]
    #[arg(long, value_name = "LIST", alias = "size", value_delimiter = ',', value_parser = parse::size)]
    pub(crate) sizes: Vec<Bytes>,
    /// Write the pairs of nodes as CSV beside those of the firmware (HMAT)
    ///
    /// Latencies are in ns, bandwidths in MB/s; - is standard output.
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub(crate) hmat: Option<String>,
    /// Latency and read, few repetitions
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// More operations, a sweep of weights, many repetitions
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

impl MatrixArgs {
    /// How far to go.
    pub(crate) fn effort(&self) -> Effort {
        effort(self.quick, self.full)
    }

    /// Where and how hard to measure, but for the nodes, which are the rows and columns of the matrix.
    pub(crate) fn around(&self) -> PlaceArgs {
        let far = self.run.place.mem_node.clone().filter(|choice| *choice == NodeChoice::Far);
        PlaceArgs { cpu_node: None, mem_node: far, ..self.run.place.clone() }
    }

    /// The probe's parameters, for each footprint.
    pub(crate) fn params(&self) -> Vec<MatrixParams> {
        if self.sizes.is_empty() {
            return vec![self.with_size(None)];
        }
        self.sizes.iter().map(|size| self.with_size(Some(*size))).collect()
    }

    fn with_size(&self, size: Option<Bytes>) -> MatrixParams {
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
            cpu_nodes: self.run.place.cpu_node.clone(),
            targets: match &self.run.place.mem_node {
                Some(NodeChoice::These(nodes)) => Some(nodes.clone()),
                Some(NodeChoice::Far) | None => None,
            },
            ops: self.op.iter().cloned().chain(self.mix.iter().map(ToString::to_string)).collect(),
            policies,
            interleave: listed(&self.interleave),
            weights: listed(&self.weighted_interleave),
            mixed: self.mixed.clone(),
            threads: self.threads.clone(),
            size,
        }
    }
}

/// What was listed; nothing where the usual is to be done.
fn listed<T: Clone>(all: &[OrUsual<T>]) -> Vec<T> {
    let this = |one: &OrUsual<T>| match one {
        OrUsual::Usual => None,
        OrUsual::This(this) => Some(this.clone()),
    };
    all.iter().filter_map(this).collect()
}
