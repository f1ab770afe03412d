//! `tiermark latency`.

use clap::Args;
use tiermark_model::{Bytes, ChainLayout, Machine};
use tiermark_probes::latency::{self, LatencyParams};

use super::command::{Experiment, Params, ProbeCommand, params};
use crate::args::PlaceArgs;
use crate::parse;

pub(super) const ROW: ProbeCommand = ProbeCommand {
    examples: EXAMPLES,
    full: "Many repetitions, dense curves",
    ..ProbeCommand::of::<LatencyArgs>(&latency::PROBE)
};

const EXAMPLES: &str = "\
Without --sizes: the ladder of this machine's tiers and a dense curve. With --sizes: exactly that table.
Examples:
  tiermark latency
  tiermark latency --sizes 2K,8K,32K,128K,512K,2M,8M,32M,128M --layout stride:8,stride:64,random
  tiermark latency --sizes 2K,32K,2M,128M --layout stride:64,random --cpu-node 0 --mem-node 1   (remote memory)
  tiermark latency --sizes 256M --pages base,thp,2M,1G --chains 1,2,4,8
Strided layouts are helped by prefetchers and say so; the honest latency is that of the random layout.";

/// Arguments of `latency`.
#[derive(Debug, Args)]
struct LatencyArgs {
    /// Footprints, as in 32K,2M,256M
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::size)]
    sizes: Vec<Bytes>,
    /// Chain layouts, such as stride:64 [default: random]
    ///
    /// random, page-random, groups, stride:BYTES, long, long:2-8.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::layout)]
    layout: Vec<ChainLayout>,
    /// Independent chains followed at once, 1 to 32 [default: 1]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::within::<u8>(1..=32))]
    chains: Vec<u8>,
}

impl Experiment for LatencyArgs {
    fn params(&self, place: &PlaceArgs, _machine: &Machine) -> Params {
        params(LatencyParams {
            sizes: self.sizes.clone(),
            layouts: self.layout.clone(),
            pages: place.compared_pages(),
            chains: self.chains.clone(),
        })
    }
}
