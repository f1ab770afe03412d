//! Samples of a system's memory over time, as `watch` takes them: what Linux reports without counters of the hardware.
//!
//! A value that the kernel does not report is `None`, never 0. So is a rate of the first sample, of a counter that went
//! down, and of a node or device that was not there before.

mod active;
mod figures;
mod life;
mod traffic;

use serde::{Deserialize, Serialize};

use crate::counters::CounterSourceId;
use crate::traffic::Traffic;

pub use active::{WatchActive, WatchBest, WatchCell, WatchPing, WatchShared};
pub use figures::{WatchFigure, WatchKind};
pub use life::{WatchLife, WatchLifeFigure};

/// Schema of a line of `watch --json` ([`WatchSample`]).
pub const WATCH_SCHEMA: &str = "tiermark/watch/1";
/// Schema of the first line of a recording ([`WatchHead`]); the other lines are samples.
pub const WATCH_RECORDING_SCHEMA: &str = "tiermark/watch-recording/1";

/// The first line of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchHead {
    /// [`WATCH_RECORDING_SCHEMA`].
    pub schema: String,
    /// When the recording began, RFC 3339 in UTC.
    pub started: String,
    /// Seconds between two samples.
    pub interval_seconds: f64,
}

/// What the system reported at one moment, and rates since the sample before.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchSample {
    /// When the sample was taken, RFC 3339 in UTC with milliseconds.
    pub time: String,
    /// Seconds since the sample before, which its rates are over; `None` in the first.
    pub seconds: Option<f64>,
    /// Name of the simulated machine whose numbers these are; absent on a real one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<String>,
    /// Stalls of the system's tasks.
    pub psi: WatchPressure,
    /// The control group of tiermark; `None` without control groups of version 2.
    pub group: Option<WatchGroup>,
    /// Use of the cpus.
    pub cpu: Option<WatchCpu>,
    /// Memory of all nodes.
    pub memory: Option<WatchMemory>,
    /// Rates of the kernel's counters.
    pub vm: WatchRates,
    /// NUMA nodes.
    pub nodes: Vec<WatchNode>,
    /// Swap areas in use.
    pub swaps: Vec<WatchSwap>,
    /// zram devices that were set up.
    pub zram: Vec<WatchPool>,
    /// The pool of zswap; `None` before Linux 5.19, which does not report it without root.
    pub zswap: Option<WatchPool>,
    /// The traffic of memory and links since the sample before; `None` without counters. That of the first sample has 0
    /// seconds and 0 bytes: it shows what is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// Where `traffic` comes from; `None` without counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counters: Option<CounterSourceId>,
    /// What this machine gives now, as short measurements see it (`--active`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<WatchActive>,
    /// The groups that use most; empty where none is read (`--groups 0`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<WatchGroupUse>,
    /// The programs that use most: those with most time of the cpus first, then those with most memory; empty where
    /// none is read (`--groups 0`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<WatchProgram>,
    /// What watching costs.
    pub own: WatchCost,
}

/// Stalls for want of memory, cpus and devices (PSI); `None` where the kernel does not count them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchPressure {
    /// For want of memory: reclaim, swap, thrashing page cache.
    pub memory: Option<WatchStalls>,
    /// For want of a cpu.
    pub cpu: Option<WatchStalls>,
    /// For want of a device.
    pub io: Option<WatchStalls>,
}

/// Stalls of some tasks and of all tasks.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchStalls {
    /// At least one task waited.
    pub some: WatchStall,
    /// All tasks that were not idle waited; `None` where the kernel does not report it (cpu, before Linux 5.13).
    pub full: Option<WatchStall>,
}

/// Shares of time in which tasks waited, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchStall {
    /// Since the sample before.
    pub now: Option<f64>,
    /// The kernel's mean over 10 s.
    pub avg10: f64,
    /// The kernel's mean over 60 s.
    pub avg60: Option<f64>,
    /// The kernel's mean over 300 s.
    pub avg300: Option<f64>,
}

/// A control group.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchGroup {
    /// Its path below the mount point; `/` is the root group.
    pub path: String,
    /// Stalls of its tasks.
    pub psi: WatchPressure,
}

/// What kind of group it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WatchGroupKind {
    /// A control group of version 2.
    #[default]
    Control,
    /// A group of resctrl, whose traffic the processor counts.
    Resctrl,
}

/// What a group of tasks uses.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchGroupUse {
    /// Path of a control group below the mount point; `resctrl:` and the name of a group of resctrl.
    pub path: String,
    /// What kind of group it is.
    pub kind: WatchGroupKind,
    /// Memory that is charged to a control group.
    pub memory_bytes: Option<u64>,
    /// Percent of the time since the sample before in which a task of the control group waited for memory.
    pub stalled: Option<f64>,
    /// Bytes a second that the cpus of a group of resctrl read and wrote in memory.
    pub traffic_bytes: Option<f64>,
    /// Those of them that were of the cpus' own node.
    pub local_bytes: Option<f64>,
}

/// What a process uses.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchProgram {
    /// Its number.
    pub pid: u32,
    /// Its name, as the kernel keeps it: at most 15 bytes.
    pub name: String,
    /// Cpus that it kept busy since the look before, on average; `None` at the first look.
    pub cpus: Option<f64>,
    /// Its memory; pages that it shares with others are counted in full.
    pub resident_bytes: u64,
}

/// Use of all cpus together, as shares of the time since the sample before.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchCpu {
    /// Cpus that are online.
    pub online: u64,
    /// Not idle, stolen time included.
    pub busy: Option<f64>,
    /// Given by the hypervisor to others.
    pub steal: Option<f64>,
}

/// Memory of the system in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchMemory {
    /// Usable memory.
    pub total_bytes: Option<u64>,
    /// Memory that holds nothing.
    pub free_bytes: Option<u64>,
    /// The kernel's estimate of what programs can get without swapping.
    pub available_bytes: Option<u64>,
    /// Written pages of files that are not on disk yet.
    pub dirty_bytes: Option<u64>,
    /// All swap areas together.
    pub swap_total_bytes: Option<u64>,
    /// Free part of the swap areas.
    pub swap_free_bytes: Option<u64>,
}

/// A NUMA node: sizes in bytes, and allocations in pages a second.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchNode {
    /// Its number.
    pub node: u32,
    /// Usable memory.
    pub total_bytes: Option<u64>,
    /// Memory that holds nothing.
    pub free_bytes: Option<u64>,
    /// Pages of files.
    pub file_bytes: Option<u64>,
    /// Pages of programs.
    pub anon_bytes: Option<u64>,
    /// Pages allocated here as intended.
    pub hits: Option<f64>,
    /// Pages allocated here although another node was preferred.
    pub misses: Option<f64>,
    /// Pages meant for here that another node had to give.
    pub foreign: Option<f64>,
    /// Pages allocated here by tasks on this node's cpus.
    pub local: Option<f64>,
    /// Pages allocated here by tasks on other nodes' cpus.
    pub other: Option<f64>,
    /// Pages promoted to here from a slower tier.
    pub promoted: Option<f64>,
    /// Pages demoted from here to a slower tier.
    pub demoted: Option<f64>,
    /// Pages read again soon after they were reclaimed here.
    pub refaults: Option<f64>,
}

/// A swap area.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchSwap {
    /// Its file or device.
    pub path: String,
    /// Its size.
    pub total_bytes: u64,
    /// Used part.
    pub used_bytes: u64,
}

/// Memory that holds compressed pages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchPool {
    /// Name of the device (`zram0`), or `zswap`.
    pub device: String,
    /// Bytes of the pages before compression.
    pub stored_bytes: u64,
    /// Memory that the pool takes.
    pub pool_bytes: u64,
}

/// Cost of watching.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchCost {
    /// Cpu time of reading this sample, in seconds.
    pub read_seconds: Option<f64>,
    /// Cpu time of the whole program since the sample before (reading, output, screen), as a share of one cpu.
    pub cpu_share: Option<f64>,
}

/// Defines [`WatchRates`] and where each rate comes from, a row a rate.
macro_rules! rates {
    ($($(#[doc = $doc:literal])+ $field:ident: $of:ident [$($counter:literal),+];)+) => {
        /// Rates of counters of `/proc/vmstat`, a second.
        #[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct WatchRates {
            $($(#[doc = $doc])+ pub $field: Option<f64>,)+
        }

        impl WatchRates {
            /// Every rate, by a function of the counters whose sum it is the rate of. A name that ends in `*` stands
            /// for all counters that begin with it.
            pub fn of(mut rate: impl FnMut(CountedAs, &'static [&'static str]) -> Option<f64>) -> Self {
                Self { $($field: rate(CountedAs::$of, &[$($counter),+]),)+ }
            }

            /// Every rate with its field and what it is of.
            fn all(&self) -> Vec<(&'static str, WatchKind, Option<f64>)> {
                vec![$((stringify!($field), CountedAs::$of.kind(), self.$field)),+]
            }
        }
    };
}

/// What a counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedAs {
    /// Events, or pages that are shown as a number.
    Events,
    /// Pages that are shown as bytes.
    Pages,
}

impl CountedAs {
    fn kind(self) -> WatchKind {
        match self {
            Self::Events => WatchKind::PerSecond,
            Self::Pages => WatchKind::BytesPerSecond,
        }
    }
}

// Names of the counters: `vmstat_text` in mm/vmstat.c of Linux. Earlier kernels count some of them by zone, hence `*`.
rates! {
    /// Page faults, major ones included.
    faults: Events ["pgfault"];
    /// Page faults that waited for a device.
    major_faults: Events ["pgmajfault"];
    /// Bytes read from swap areas, zram included.
    swap_in_bytes: Pages ["pswpin"];
    /// Bytes written to swap areas, zram included.
    swap_out_bytes: Pages ["pswpout"];
    /// Bytes read from zswap.
    zswap_in_bytes: Pages ["zswpin"];
    /// Bytes stored in zswap.
    zswap_out_bytes: Pages ["zswpout"];
    /// Pages that the kernel moved to other places in memory, for whatever reason.
    migrated: Events ["pgmigrate_success"];
    /// Pages that could not be moved.
    migrate_failed: Events ["pgmigrate_fail"];
    /// Faults that NUMA balancing caused to learn who uses a page.
    numa_hint_faults: Events ["numa_hint_faults"];
    /// Pages moved by NUMA balancing.
    numa_migrated: Events ["numa_pages_migrated"];
    /// Pages promoted to a faster tier.
    promoted: Events ["pgpromote_success"];
    /// Pages demoted to a slower tier.
    demoted: Events ["pgdemote_*"];
    /// Pages reclaimed in the background.
    reclaimed_kswapd: Events ["pgsteal_kswapd*"];
    /// Pages reclaimed by tasks that had to wait for memory.
    reclaimed_direct: Events ["pgsteal_direct*"];
    /// Allocations that had to wait for reclaim.
    alloc_stalls: Events ["allocstall*"];
    /// Pages read again soon after they were reclaimed.
    refaults: Events ["workingset_refault*"];
    /// Huge pages given at a fault.
    thp_faults: Events ["thp_fault_alloc"];
    /// Faults that got base pages because no huge page was free.
    thp_fallbacks: Events ["thp_fault_fallback"];
    /// Huge pages made of base pages later.
    thp_collapses: Events ["thp_collapse_alloc"];
    /// Huge pages split into base pages.
    thp_splits: Events ["thp_split_page"];
    /// Allocations that had to wait for compaction.
    compact_stalls: Events ["compact_stall"];
    /// Compactions that gave no huge page.
    compact_fails: Events ["compact_fail"];
    /// Processes that the kernel killed for want of memory.
    oom_kills: Events ["oom_kill"];
}
