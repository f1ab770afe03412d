//! `tiermark loaded-latency`.

use clap::Args;
use tiermark_model::Machine;
use tiermark_probes::Mix;
use tiermark_probes::loaded::{Loaded, LoadedParams};

use super::{Experiment, Params, Row, params};
use crate::args::PlaceArgs;
use crate::exports::{Layout, MESS};
use crate::parse;

pub(super) const ROW: Row = Row {
    examples: EXAMPLES,
    quick: "One curve, of reads",
    full: "Every mix, more points, more repetitions",
    ..Row::of::<LoadedArgs>(&Loaded)
};

const EXAMPLES: &str = "\
One core is timed, all others of its node (then those of the system) inject traffic with pauses; each pause is a point of the
curve.
Mixes, by useful bytes: read, 3:1, 2:1, triad, 1:1, 1:1.nt, write, write.nt, triad.nt (nt: non-temporal stores), any READS:WRITES up to 8, or the percentage read.
Examples:
  tiermark loaded-latency --quick
  tiermark loaded-latency --mix read,2:1,write --target-ns 150
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
    /// Write the curves as CSV; - is standard output
    ///
    /// The layout is that of the Mess benchmark.
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,
}

impl Experiment for LoadedArgs {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        params(LoadedParams { mixes: self.mix.clone(), target_ns: self.target_ns })
    }

    fn exports(&self) -> Vec<(&'static Layout, Option<&str>)> {
        vec![(&MESS, self.csv.as_deref())]
    }
}
