//! `tiermark matrix`.

use tiermark_model::Machine;
use tiermark_probes::matrix::{self, MatrixParams, Policy, Weights};

use super::command::{Experiment, Params, ProbeCommand, with_mixes};
use crate::args::PlaceArgs;
use crate::parse::NodeChoice;

pub(super) const ROW: ProbeCommand = ProbeCommand {
    examples: EXAMPLES,
    quick: "Latency and read, few repetitions",
    full: "More operations, a sweep of weights, many repetitions",
    ..ProbeCommand::with::<MatrixParams>(&matrix::PROBE)
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

impl Experiment for MatrixParams {
    /// One request for each footprint.
    fn params(&self, place: &PlaceArgs, _machine: &Machine) -> Params {
        let sizes = if self.sizes.is_empty() { vec![None] } else { self.sizes.iter().copied().map(Some).collect() };
        sizes.into_iter().map(|size| serde_json::to_value(Self { size, ..joined(self, place) })).collect()
    }

    /// Nodes are rows and columns of the matrix.
    fn scope(&self, place: &PlaceArgs) -> PlaceArgs {
        let far = place.mem_node.clone().filter(|choice| *choice == NodeChoice::Far);
        PlaceArgs { cpu_node: None, mem_node: far, ..place.clone() }
    }

    /// A policy spreads memory over nodes, which one alone does not have.
    fn nodes_needed(&self) -> usize {
        if self.policies.iter().any(|policy| *policy != Policy::Bind) { 2 } else { 1 }
    }
}

/// The parameters of one request, without its size.
fn joined(options: &MatrixParams, place: &PlaceArgs) -> MatrixParams {
    let mut params = MatrixParams {
        cpu_nodes: place.cpu_node.clone(),
        targets: match &place.mem_node {
            Some(NodeChoice::These(nodes)) => Some(nodes.clone()),
            Some(NodeChoice::Far | NodeChoice::Each) | None => None,
        },
        ops: with_mixes(&options.ops, &options.mix),
        ..options.clone()
    };
    // A policy that is named by its option alone joins the matrix, and does not replace it.
    let of_options = [
        (Policy::Interleave, options.interleave.is_empty()),
        (Policy::Weighted, options.weights.is_empty()),
        (Policy::Mixed, options.mixed.is_empty()),
    ];
    for (policy, _) in of_options.into_iter().filter(|(_, is_absent)| !is_absent) {
        let missing = if params.policies.is_empty() { vec![Policy::Bind, policy] } else { vec![policy] };
        params.policies.extend(missing.into_iter().filter(|p| !options.policies.contains(p)));
    }
    params.interleave.retain(|nodes| !nodes.is_empty());
    params.weights.retain(|weights| *weights != Weights::default());
    params
}
