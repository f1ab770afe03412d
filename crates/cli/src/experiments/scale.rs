//! `tiermark scale`.

use clap::Args;
use tiermark_model::{CpuId, Machine};
use tiermark_probes::scale::{self, ScaleParams};

use super::command::{CeilingArgs, Experiment, Params, ProbeCommand, params};
use crate::args::PlaceArgs;
use crate::parse;

pub(super) const ROW: ProbeCommand = ProbeCommand {
    examples: EXAMPLES,
    quick: "Fewer counts of threads, few repetitions",
    full: "More counts of threads, many repetitions",
    ..ProbeCommand::of::<ScaleArgs>(&scale::PROBE)
};

const EXAMPLES: &str = "\
Threads are added one by one: the node's own cores, then their siblings; then the cores of another socket.
Examples:
  tiermark scale
  tiermark scale --op read,write.nt --mem-node 0
  tiermark scale --op read.line8 --touch-cpu 3 --peak 8.53GB/s --link-rate 9.6GB/s";

/// Arguments of `scale`.
#[derive(Debug, Args)]
struct ScaleArgs {
    /// Operations: read, write.nt, copy, triad … [default: read]
    ///
    /// Each operation runs with its plain kernel (`tiermark list kernels`).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::operation)]
    op: Vec<String>,
    /// Touch all memory first from this cpu, instead of binding it to a node
    ///
    /// The kernel takes the pages from the node of this cpu, as it does for a program whose threads run there.
    #[arg(long, value_name = "CPU", value_parser = parse::whole::<CpuId>, conflicts_with = "mem_node")]
    touch_cpu: Option<CpuId>,
    #[command(flatten)]
    ceilings: CeilingArgs,
}

impl Experiment for ScaleArgs {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        let CeilingArgs { peak, link_rate } = self.ceilings;
        params(ScaleParams { ops: self.op.clone(), touch_cpu: self.touch_cpu, peak, link_rate })
    }
}
