//! `tiermark loaded-latency`.

use clap::Args;
use tiermark_model::{Machine, Run};
use tiermark_probes::loaded::{self, LoadedParams};

use super::command::{Experiment, Params, ProbeCommand, params};
use crate::args::PlaceArgs;
use crate::layouts::{Layout, MESS};

pub(super) const ROW: ProbeCommand = ProbeCommand {
    examples: EXAMPLES,
    quick: "One curve, of reads",
    full: "Every mix, more points, more repetitions",
    ..ProbeCommand::with::<LoadedArgs>(&loaded::PROBE)
};

const EXAMPLES: &str = "\
One core is timed, all others of its node (then those of the system) inject traffic with pauses; each pause is a point of the
curve.
Mixes, by useful bytes: read, 3:1, 2:1, triad, 1:1, 1:1.nt, write, write.nt, triad.nt (nt: non-temporal stores), any READS:WRITES up to 8, or the percentage read.
With .random (read.random, 2:1.random) the injectors visit their lines in random order.
Examples:
  tiermark loaded-latency --quick
  tiermark loaded-latency --mix read,2:1,write --target-ns 150
  tiermark loaded-latency --mix read,read.random --delays 0,200,1000,5000
  tiermark loaded-latency --cpus 8-15 --chaser-cpu 0
  tiermark loaded-latency --delays 0,500 --traffic 'cpus=1-3 mix=2:1' --traffic 'cpus=4-7 mix=read.random node=1'
  tiermark loaded-latency --neighbour
  tiermark loaded-latency --mem-node 2 --csv curve.csv   (memory of another node, with or without cpus)
  tiermark show curve.csv   (a curve in the layout of the Mess benchmark)";

/// Arguments of `loaded-latency`.
#[derive(Debug, Args)]
struct LoadedArgs {
    #[command(flatten)]
    params: LoadedParams,
    /// Write the curves as CSV; - is standard output
    ///
    /// The layout is that of the Mess benchmark.
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,
}

impl Experiment for LoadedArgs {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        params(LoadedParams { traffic: self.params.groups.concat(), ..self.params.clone() })
    }

    fn exports(&self) -> Vec<(&'static Layout<Run>, Option<&str>)> {
        if self.params.neighbour { Vec::new() } else { vec![(&MESS, self.csv.as_deref())] }
    }
}
