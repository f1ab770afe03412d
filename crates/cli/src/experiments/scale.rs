//! `tiermark scale`.

use clap::Args;
use tiermark_model::Machine;
use tiermark_probes::scale::{Scale, ScaleParams};

use super::{Experiment, Params, Row, params};
use crate::args::PlaceArgs;
use crate::parse;

pub(super) const ROW: Row = Row {
    examples: EXAMPLES,
    quick: "Fewer counts of threads, few repetitions",
    full: "More counts of threads, many repetitions",
    ..Row::of::<ScaleArgs>(&Scale)
};

const EXAMPLES: &str = "\
Threads are added one by one: the node's own cores, then their siblings; then the cores of another socket.
Examples:
  tiermark scale
  tiermark scale --op read,write.nt --mem-node 0";

/// Arguments of `scale`.
#[derive(Debug, Args)]
struct ScaleArgs {
    /// Operations: read, write.nt, copy, triad … [default: read]
    ///
    /// Each is done by its plain kernel.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::operation)]
    op: Vec<String>,
}

impl Experiment for ScaleArgs {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        params(ScaleParams { ops: self.op.clone() })
    }
}
