//! `tiermark loaded-latency`.

use clap::Args;
use tiermark_model::{CpuId, Machine, Run};
use tiermark_probes::Mix;
use tiermark_probes::loaded::{self, LoadedParams};

use super::command::{Experiment, Params, ProbeCommand, params};
use crate::args::PlaceArgs;
use crate::layouts::{Layout, MESS};
use crate::parse::{self, Groups};

pub(super) const ROW: ProbeCommand = ProbeCommand {
    examples: EXAMPLES,
    quick: "One curve, of reads",
    full: "Every mix, more points, more repetitions",
    ..ProbeCommand::of::<LoadedArgs>(&loaded::PROBE)
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
    /// Mixes of reads and writes, READS:WRITES, a curve each
    ///
    /// Default: read,2:1,1:1,write,write.nt; with --quick read.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::mix)]
    mix: Vec<Mix>,
    /// Find the bandwidth up to which latency stays below NS
    #[arg(long, value_name = "NS", value_parser = parse::nanoseconds)]
    target_ns: Option<f64>,
    /// Pauses of the injectors in ns, a point each, as in 0,200,1000
    ///
    /// After each piece of 2 KiB; 0 is without a pause. Default: pauses that the program places where the curve bends.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::delay)]
    delays: Vec<u32>,
    /// A group of threads, 'cpus=0-3 mix=2:1', or a file with a group a line
    ///
    /// KEY=VALUE: cpus; mix (read); size of each thread; node of its memory; delay in ns. Repeat it for more groups.
    /// They run at the same time, as injectors.
    #[arg(long, value_name = "GROUP|FILE", value_parser = parse::traffic, conflicts_with_all = ["mix"],
          hide_short_help = true)]
    traffic: Vec<Groups>,
    /// The cpu whose accesses are timed; it need not be among --cpus
    ///
    /// Default: the first thread of a core of the node, not cpu 0 where there is a choice.
    #[arg(long, value_name = "CPU")]
    chaser_cpu: Option<CpuId>,
    /// Time accesses to each tier beside one busy neighbour, instead of curves
    ///
    /// The neighbour reads or writes memory, in order or at random.
    #[arg(long, conflicts_with_all = ["mix", "target_ns", "delays", "traffic", "chaser_cpu", "csv"])]
    neighbour: bool,
    /// Write the curves as CSV; - is standard output
    ///
    /// The layout is that of the Mess benchmark.
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,
}

impl Experiment for LoadedArgs {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        params(LoadedParams {
            mixes: self.mix.clone(),
            target_ns: self.target_ns,
            delays: self.delays.clone(),
            chaser_cpu: self.chaser_cpu,
            traffic: self.traffic.iter().flat_map(|groups| groups.0.clone()).collect(),
            neighbour: self.neighbour,
        })
    }

    fn exports(&self) -> Vec<(&'static Layout<Run>, Option<&str>)> {
        if self.neighbour { Vec::new() } else { vec![(&MESS, self.csv.as_deref())] }
    }
}
