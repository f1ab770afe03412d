//! What the kernel counts at one moment.

use std::collections::BTreeMap;

use tiermark_machine::files::{Counters, counters, kilobytes};
use tiermark_machine::{CpuTimes, Stalls, Zram, Zswap, swap_areas, zswap};
use tiermark_model::{NodeId, Swap, WatchProgram};

use crate::groups::GroupReading;

/// Swap areas at most: the kernel has 32 (`MAX_SWAPFILES`) or fewer.
const MOST_SWAPS: usize = 32;

/// The counters at one moment. What the system does not report is absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// Moment of the reading, in seconds since any moment of the same boot.
    pub at: f64,
    /// Stalls for want of memory, cpus and devices.
    pub psi: Pressures,
    /// The control group of this process, with its stalls.
    pub group: Option<(String, Pressures)>,
    /// Time of the cpus.
    pub cpu: Option<CpuTimes>,
    /// Memory of the system.
    pub memory: Option<MemoryReading>,
    /// Counters of `/proc/vmstat`.
    pub vm: Counters,
    /// NUMA nodes.
    pub nodes: BTreeMap<NodeId, NodeReading>,
    /// Swap areas in use.
    pub swaps: Vec<Swap>,
    /// zram devices that were set up, by name.
    pub zram: BTreeMap<String, Zram>,
    /// The pool of zswap.
    pub zswap: Option<Zswap>,
    /// Groups that use most, by name.
    pub groups: BTreeMap<String, GroupReading>,
    /// Groups that a sample shows at most.
    pub most_groups: usize,
    /// Programs that use most.
    pub programs: Vec<WatchProgram>,
    /// Cpu time that this program has used so far, in seconds.
    pub own_seconds: Option<f64>,
    /// Cpu time that this reading took, in seconds.
    pub read_seconds: Option<f64>,
}

/// Stalls by resource.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pressures {
    /// For want of memory.
    pub memory: Option<Stalls>,
    /// For want of a cpu.
    pub cpu: Option<Stalls>,
    /// For want of a device.
    pub io: Option<Stalls>,
}

/// `/proc/meminfo`, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryReading {
    /// Usable memory.
    pub total: Option<u64>,
    /// Memory that holds nothing.
    pub free: Option<u64>,
    /// Memory that programs can get without swapping.
    pub available: Option<u64>,
    /// Written pages that are not on disk yet.
    pub dirty: Option<u64>,
    /// All swap areas.
    pub swap_total: Option<u64>,
    /// Their free part.
    pub swap_free: Option<u64>,
}

/// A NUMA node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeReading {
    /// Usable memory, bytes.
    pub total: Option<u64>,
    /// Memory that holds nothing, bytes.
    pub free: Option<u64>,
    /// Pages of files, bytes.
    pub file: Option<u64>,
    /// Pages of programs, bytes.
    pub anon: Option<u64>,
    /// Counters of its `numastat`.
    pub numa: Counters,
    /// Counters of its `vmstat`.
    pub vm: Counters,
}

impl Reading {
    /// Takes in the text of `/proc/meminfo`.
    pub fn meminfo(&mut self, text: &str) {
        let field = |name: &str| kilobytes(text, name).ok().flatten();
        let read = MemoryReading {
            total: field("MemTotal"),
            free: field("MemFree"),
            available: field("MemAvailable"),
            dirty: field("Dirty"),
            swap_total: field("SwapTotal"),
            swap_free: field("SwapFree"),
        };
        self.memory = (read != MemoryReading::default()).then_some(read);
        self.zswap = zswap(text).ok().flatten();
    }

    /// Takes in the text of `/proc/vmstat`. A text that makes no sense is treated as missing.
    pub fn vmstat(&mut self, text: &str) {
        self.vm = counters(text).unwrap_or_default();
    }

    /// Takes in the text of `/proc/swaps`. A line that makes no sense is skipped.
    pub fn swaps(&mut self, text: &str) {
        self.swaps = swap_areas(text).flatten().take(MOST_SWAPS).collect();
    }
}

impl NodeReading {
    /// Takes in the text of a node's `meminfo`.
    pub fn meminfo(&mut self, text: &str) {
        let field = |name: &str| kilobytes(text, name).ok().flatten();
        (self.total, self.free) = (field("MemTotal"), field("MemFree"));
        (self.file, self.anon) = (field("FilePages"), field("AnonPages"));
    }
}
