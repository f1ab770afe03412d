//! `tiermark c2c`.

use clap::Args;
use tiermark_model::{Machine, PingOp};
use tiermark_probes::c2c::{self, C2cParams, Sample};

use super::command::{Experiment, Params, ProbeCommand, params};
use crate::args::PlaceArgs;
use crate::parse;

pub(super) const ROW: ProbeCommand = ProbeCommand { examples: EXAMPLES, ..ProbeCommand::of::<C2cArgs>(&c2c::PROBE) };

const EXAMPLES: &str = "\
Without options: all pairs, or a sample of each relation where there is no time for all, then transfers, homes and contention.
Examples:
  tiermark c2c
  tiermark c2c --cpus 0-15 --op cas,flag,one-way
  tiermark c2c --sample 100 --max-time 2m       (100 pairs of each relation)
  tiermark c2c --sample all --format pairs > pairs.csv
  tiermark c2c --cpus node:0,node:1 --mem-node 1
Numbers of cas and flag are round trips; tools that print one-way figures divide them by two.";

/// Arguments of `c2c`.
#[derive(Debug, Args)]
struct C2cArgs {
    /// How two cpus pass turns: cas, flag, one-way [default: cas]
    ///
    /// These are measured for all pairs. Without this option, flag and one-way are measured for one pair of each
    /// relation.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::ping)]
    op: Vec<PingOp>,
    /// Pairs of each relation, or all [default: as time allows]
    #[arg(long, value_name = "PAIRS", value_parser = parse::sample)]
    sample: Option<Sample>,
}

impl Experiment for C2cArgs {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        params(C2cParams { ops: self.op.clone(), sample: self.sample })
    }
}
