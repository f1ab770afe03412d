//! Arguments of the commands that measure the ladder: survey, latency, bandwidth.

use clap::Args;
use tiermark_model::{Bytes, ChainLayout, Effort};
use tiermark_probes::Mix;
use tiermark_probes::bandwidth::{DataKind, ThreadCount};

use super::{RunArgs, effort};
use crate::parse;

pub(super) const LATENCY_EXAMPLES: &str = "\
Without --sizes: the ladder of this machine's tiers and a dense curve. With --sizes: exactly that table.
Examples:
  tiermark latency
  tiermark latency --sizes 2K,8K,32K,128K,512K,2M,8M,32M,128M --layout stride:8,stride:64,random
  tiermark latency --sizes 2K,32K,2M,128M --layout stride:64,random --cpu-node 0 --mem-node 1   (remote memory)
  tiermark latency --sizes 256M --pages base,thp,2M,1G --chains 1,2,4,8
Strided layouts are helped by prefetchers and say so; the honest latency is that of the random layout.";

pub(super) const BANDWIDTH_EXAMPLES: &str = "\
Without --sizes: the ladder, a dense curve and the scaling with threads. With --sizes: exactly that table.
Examples:
  tiermark bandwidth
  tiermark bandwidth --threads one --sizes 4K,8K,16K,32K,64K,128K,256K,512K,1M,2M,4M,8M,16M,32M,64M,128M
  tiermark bandwidth --op read,write,copy,write.nt,read/avx2 --sizes 256M --threads one,cores
  tiermark bandwidth --op triad --sizes 512M --threads 1,2,4,cores
  tiermark bandwidth --mix 3:1,2:1,1:1 --threads cores
A job (read, write, copy, triad) takes the fastest kernel that does it and names it; `tiermark list kernels` shows all.";

/// Arguments of `survey`.
#[derive(Debug, Args)]
pub(crate) struct SurveyArgs {
    /// The points of the ladder only, in at most 15 seconds
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Dense curves and more repetitions, some minutes
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

impl SurveyArgs {
    /// How far to go.
    pub(crate) fn effort(&self) -> Effort {
        effort(self.quick, self.full)
    }
}

/// Arguments of `latency`.
#[derive(Debug, Args)]
pub(crate) struct LatencyArgs {
    /// Footprints, as in 32K,2M,256M
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::size)]
    pub(crate) sizes: Vec<Bytes>,
    /// Chain layouts, such as stride:64 [default: random]
    ///
    /// random, page-random, stride:BYTES, long, long:2-8.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::layout)]
    pub(crate) layout: Vec<ChainLayout>,
    /// Independent chains followed at once, 1 to 32 [default: 1]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=32))]
    pub(crate) chains: Vec<u8>,
    /// Few repetitions
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Many repetitions, dense curves
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Arguments of `bandwidth`.
#[derive(Debug, Args)]
pub(crate) struct BandwidthArgs {
    /// Footprints of each thread, as in 32K,2M,256M
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::size)]
    pub(crate) sizes: Vec<Bytes>,
    /// Operations, such as triad,write.nt [default: read,write,copy]
    ///
    /// Jobs (read, write, copy, triad), operations (write.nt) or kernels (read/avx2); `tiermark list kernels` shows all.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::operation)]
    pub(crate) op: Vec<String>,
    /// Mixes of reads and writes, READS:WRITES, as in 2:1,1:1
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::mix)]
    pub(crate) mix: Vec<Mix>,
    /// Threads: one, cores, cpus or numbers [default: one,cores]
    ///
    /// cores is one thread on each physical core, cpus one on each hardware thread.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::threads)]
    pub(crate) threads: Vec<ThreadCount>,
    /// What memory holds: random or zeros [default: random]
    ///
    /// Stores write the same. Some memory systems treat zeros apart.
    #[arg(long, value_name = "KIND", value_parser = parse::data)]
    pub(crate) data: Option<DataKind>,
    /// Few repetitions
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// Many repetitions, dense curves
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}
