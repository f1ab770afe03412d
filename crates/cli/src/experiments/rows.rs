//! The commands whose options are the parameters of their probe: examples, and the lines of `--quick` and `--full`.

use tiermark_model::Machine;
use tiermark_probes::bandwidth::{self, BandwidthParams};
use tiermark_probes::c2c::{self, C2cParams};
use tiermark_probes::geometry;
use tiermark_probes::granularity::{self, GranularityParams};
use tiermark_probes::latency::{self, LatencyParams};
use tiermark_probes::mlp::{self, MlpParams};
use tiermark_probes::residency::{self, ResidencyParams};
use tiermark_probes::scale::{self, ScaleParams};
use tiermark_probes::scan::{self, ScanParams};
use tiermark_probes::soak::{self, SoakParams};
use tiermark_probes::tlb::{self, TlbParams};

use super::command::{Experiment, Params, ProbeCommand, params, with_mixes};
use crate::args::PlaceArgs;

pub(super) const LATENCY: ProbeCommand = ProbeCommand {
    examples: "\
Without --sizes: the ladder of this machine's tiers and a dense curve. With --sizes: exactly that table.
Examples:
  tiermark latency
  tiermark latency --sizes 2K,8K,32K,128K,512K,2M,8M,32M,128M --layout stride:8,stride:64,random
  tiermark latency --sizes 2K,32K,2M,128M --layout stride:64,random --cpu-node 0 --mem-node 1   (remote memory)
  tiermark latency --sizes 256M --pages base,thp,2M,1G --chains 1,2,4,8
Strided layouts are helped by prefetchers and say so; the honest latency is that of the random layout.",
    full: "Many repetitions, dense curves",
    ..ProbeCommand::of::<LatencyParams>(&latency::PROBE)
};

pub(super) const BANDWIDTH: ProbeCommand = ProbeCommand {
    examples: "\
Without --sizes: the ladder, a dense curve and the scaling with threads. With --sizes: exactly that table.
Examples:
  tiermark bandwidth
  tiermark bandwidth --threads one --sizes 4K,8K,16K,32K,64K,128K,256K,512K,1M,2M,4M,8M,16M,32M,64M,128M
  tiermark bandwidth --op read,write,copy,write.nt,read/avx2 --sizes 256M --threads one,cores
  tiermark bandwidth --op triad --sizes 512M --threads 1,2,4,cores
  tiermark bandwidth --op copy,scale,add,triad --threads cores --array-elements 80000000 --format stream
  tiermark bandwidth --mix 3:1,2:1,1:1 --threads cores
  tiermark bandwidth --traffic 'cpus=0-3 mix=read' --traffic 'cpus=4-5 mix=write.nt size=64M node=1'
A job (read, write, copy, scale, add, triad) takes the fastest kernel that does it and names it; `tiermark list kernels` shows all.",
    full: "Many repetitions, dense curves",
    ..ProbeCommand::with::<BandwidthParams>(&bandwidth::PROBE)
};

pub(super) const SCALE: ProbeCommand = ProbeCommand {
    examples: "\
Threads are added one by one: the node's own cores, then their siblings; then the cores of another socket.
Examples:
  tiermark scale
  tiermark scale --op read,write.nt --mem-node 0
  tiermark scale --op read.line8 --touch-cpu 3 --peak 8.53GB/s --link-rate 9.6GB/s",
    quick: "Fewer counts of threads, few repetitions",
    full: "More counts of threads, many repetitions",
    ..ProbeCommand::of::<ScaleParams>(&scale::PROBE)
};

pub(super) const C2C: ProbeCommand = ProbeCommand {
    examples: "\
Without options: all pairs, or a sample of each relation where there is no time for all, then transfers, homes and contention.
Examples:
  tiermark c2c
  tiermark c2c --cpus 0-15 --op cas,flag,one-way
  tiermark c2c --sample 100 --max-time 2m       (100 pairs of each relation)
  tiermark c2c --sample all --format pairs > pairs.csv
  tiermark c2c --cpus node:0,node:1 --mem-node 1
Numbers of cas and flag are round trips; tools that print one-way figures divide them by two.",
    ..ProbeCommand::of::<C2cParams>(&c2c::PROBE)
};

pub(super) const GEOMETRY: ProbeCommand = ProbeCommand {
    examples: "\
Examples:
  tiermark geometry
  tiermark geometry --pages 2M       (reserved huge pages: ways of L2 too)
  tiermark geometry --cpus 0,1,64    (who of these shares what with the chaser)
A tilde stands before sizes that are bounded, not exact; --verbose shows the bounds and every step.",
    ..ProbeCommand::of::<()>(&geometry::PROBE)
};

pub(super) const TLB: ProbeCommand = ProbeCommand {
    examples: "\
Examples:
  tiermark tlb
  tiermark tlb --pages base,thp,2M,1G --full --max-mem 32G
Entries of large pages need much memory: where it ends first, they are at least (≥) those tried.",
    ..ProbeCommand::of::<TlbParams>(&tlb::PROBE)
};

pub(super) const MLP: ProbeCommand = ProbeCommand::of::<MlpParams>(&mlp::PROBE);

pub(super) const GRANULARITY: ProbeCommand = ProbeCommand::of::<GranularityParams>(&granularity::PROBE);

pub(super) const RESIDENCY: ProbeCommand = ProbeCommand {
    examples: "\
Examples:
  tiermark residency
  tiermark residency --sizes 3M,7M,15M --full
  tiermark residency --cpus 8             (the cache of another group of cores)
Without --sizes, the ranges are 1/8, 1/4 and 1/2 of the last-level cache. Each range must be larger than twice the private caches of
the core.",
    ..ProbeCommand::of::<ResidencyParams>(&residency::PROBE)
};

pub(super) const SCAN: ProbeCommand = ProbeCommand {
    examples: "\
Takes nine tenths of the free memory, so that most of it is seen; --max-mem takes less. As root, the report has the physical addresses.
Examples:
  tiermark scan
  tiermark scan --max-mem 16G --quick
  tiermark scan --mem-node 1 --chunk 256M",
    ..ProbeCommand::of::<ScanParams>(&scan::PROBE)
};

impl Experiment for BandwidthParams {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        params(Self { ops: with_mixes(&self.ops, &self.mix), traffic: self.groups.concat(), ..self.clone() })
    }
}

pub(super) const SOAK: ProbeCommand = ProbeCommand {
    examples: "\
Takes nine tenths of the free memory and all cpus; exit code 3 if a word was wrong or a page lost.
Examples:
  tiermark soak --quick
  tiermark soak --level long --json=soak.json
  tiermark soak --time 20m --nodes 1 --max-mem 90%",
    quick: "A minute, as --level quick",
    full: "Eight hours, as --level long",
    ..ProbeCommand::of::<SoakParams>(&soak::PROBE)
};
