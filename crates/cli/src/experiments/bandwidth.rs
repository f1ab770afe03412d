//! `tiermark bandwidth`.

use clap::Args;
use tiermark_model::{Bytes, Machine};
use tiermark_probes::Mix;
use tiermark_probes::bandwidth::{self, BandwidthParams, DataKind, ThreadCount};

use super::command::{Experiment, Params, ProbeCommand, params};
use crate::args::PlaceArgs;
use crate::parse::{self, Groups};

pub(super) const ROW: ProbeCommand = ProbeCommand {
    examples: EXAMPLES,
    full: "Many repetitions, dense curves",
    ..ProbeCommand::of::<BandwidthArgs>(&bandwidth::PROBE)
};

const EXAMPLES: &str = "\
Without --sizes: the ladder, a dense curve and the scaling with threads. With --sizes: exactly that table.
Examples:
  tiermark bandwidth
  tiermark bandwidth --threads one --sizes 4K,8K,16K,32K,64K,128K,256K,512K,1M,2M,4M,8M,16M,32M,64M,128M
  tiermark bandwidth --op read,write,copy,write.nt,read/avx2 --sizes 256M --threads one,cores
  tiermark bandwidth --op triad --sizes 512M --threads 1,2,4,cores
  tiermark bandwidth --op copy,scale,add,triad --threads cores --array-elements 80000000 --format stream
  tiermark bandwidth --mix 3:1,2:1,1:1 --threads cores
  tiermark bandwidth --traffic 'cpus=0-3 mix=read' --traffic 'cpus=4-5 mix=write.nt size=64M node=1'
A job (read, write, copy, scale, add, triad) takes the fastest kernel that does it and names it; `tiermark list kernels` shows all.";

/// Arguments of `bandwidth`.
#[derive(Debug, Args)]
struct BandwidthArgs {
    /// Footprints of each thread, as in 32K,2M,256M
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::size)]
    sizes: Vec<Bytes>,
    /// Elements of 8 bytes in each array, all threads together, as STREAM counts them
    ///
    /// The footprint of a thread is N x 8 x the arrays of the operation (copy and scale 2, add and triad 3), divided by
    /// the threads.
    #[arg(long, value_name = "N", value_parser = parse::within::<u64>(1..=u64::MAX), conflicts_with_all = ["sizes", "mix"],
          hide_short_help = true)]
    array_elements: Option<u64>,
    /// Operations, such as triad,write.nt [default: read,write,copy]
    ///
    /// Jobs (read, write, copy, scale, add, triad), operations (write.nt) or kernels (read/avx2); `tiermark list
    /// kernels` shows all.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::operation)]
    op: Vec<String>,
    /// Mixes of reads and writes, READS:WRITES, as in 2:1,1:1
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::mix)]
    mix: Vec<Mix>,
    /// Threads: one, cores, cpus or numbers [default: one,cores]
    ///
    /// cores is one thread on each physical core, cpus one on each hardware thread.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::threads)]
    threads: Vec<ThreadCount>,
    /// A group of threads, 'cpus=0-3 mix=2:1', or a file with a group a line
    ///
    /// KEY=VALUE: cpus; mix (read); size of each thread; node of its memory; delay in ns. Repeat it for more groups.
    /// They run at the same time, and nothing else is measured.
    #[arg(long, value_name = "GROUP|FILE", value_parser = parse::traffic, conflicts_with_all = ["sizes", "array_elements", "op", "mix", "threads", "data"],
          hide_short_help = true)]
    traffic: Vec<Groups>,
    /// Contents of the memory: random or zeros [default: random]
    ///
    /// Stores write the same data. Some memory systems store zeros faster.
    #[arg(long, value_name = "KIND", value_parser = parse::data)]
    data: Option<DataKind>,
}

impl Experiment for BandwidthArgs {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        params(BandwidthParams {
            sizes: self.sizes.clone(),
            array_elements: self.array_elements,
            ops: self.op.iter().cloned().chain(self.mix.iter().map(ToString::to_string)).collect(),
            threads: self.threads.clone(),
            data: self.data,
            traffic: self.traffic.iter().flat_map(|groups| groups.0.clone()).collect(),
        })
    }
}
