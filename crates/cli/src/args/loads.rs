//! Arguments of the commands that load the memory: `loaded-latency` and `scale`.

use clap::Args;
use tiermark_probes::Mix;

use super::RunArgs;
use crate::parse;

pub(super) const LOADED_EXAMPLES: &str = "\
One core is timed, all others of its node (then those of the system) inject traffic with pauses; each pause is a point of the
curve.
Mixes, by useful bytes: read, 3:1, 2:1, triad, 1:1, 1:1.nt, write, write.nt, triad.nt (nt: non-temporal stores), any READS:WRITES up to 8, or the percentage read.
Examples:
  tiermark loaded-latency --quick
  tiermark loaded-latency --mix read,2:1,write --target-ns 150
  tiermark loaded-latency --mem-node 2 --csv curve.csv   (memory of another node, with or without cpus)
  tiermark show curve.csv   (a curve in the layout of the Mess benchmark)";

pub(super) const SCALE_EXAMPLES: &str = "\
Threads are added one by one: the node's own cores, then their siblings; then the cores of another socket.
Examples:
  tiermark scale
  tiermark scale --op read,write.nt --mem-node 0";

/// Arguments of `loaded-latency`.
#[derive(Debug, Args)]
pub(crate) struct LoadedArgs {
    /// Mixes of reads and writes, READS:WRITES, a curve each
    ///
    /// Default: read,2:1,1:1,write,write.nt; with --quick read.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::mix)]
    pub(crate) mix: Vec<Mix>,
    /// Find the bandwidth at which an access takes so long
    #[arg(long, value_name = "NS", value_parser = parse::nanoseconds)]
    pub(crate) target_ns: Option<f64>,
    /// Write the curves as CSV; - is standard output
    ///
    /// The layout is that of the Mess benchmark.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<String>,
    /// One curve, of reads
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Every mix, more points, more repetitions
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Arguments of `scale`.
#[derive(Debug, Args)]
pub(crate) struct ScaleArgs {
    /// Operations: read, write.nt, copy, triad … [default: read]
    ///
    /// Each is done by its plain kernel.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::operation)]
    pub(crate) op: Vec<String>,
    /// Fewer counts of threads, few repetitions
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// More counts of threads, many repetitions
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}
