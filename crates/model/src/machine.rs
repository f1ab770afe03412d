//! The description of a machine, as data: cpus, caches, nodes, DIMMs and the system's settings.
//!
//! `None` means "the system does not say", never zero.

mod contradiction;
mod modules;
mod system;
mod topology;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::idset::{CpuId, IdSet, NodeId};
use crate::refusal::Refusal;
pub use contradiction::{Contradiction, DisputedFact, View};
pub use modules::{SlowestModules, slot_name};
pub use system::{
    Cgroup, ClockLimit, CompressedPages, CpuQuota, HugeLimit, Idle, IdleState, LimitFiles, Mitigation, Swap, System,
    UnlistedSwap,
};
pub use topology::{CoreLimits, LlcGroup};

/// A machine as discovered from `/sys`, `/proc`, cgroups and SMBIOS, live or from a captured tree.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// The processor model and its identity.
    pub cpu_model: CpuModel,
    /// Published limits of its cores; `None` for a core whose limits are not known, for cores of several kinds, and
    /// where a hypervisor hides the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_limits: Option<CoreLimits>,
    /// Every online logical cpu, in rising id order.
    pub cpus: Vec<Cpu>,
    /// Cpus that exist but are offline.
    pub offline_cpus: IdSet,
    /// The cpus this process runs on unless it chooses others: affinity ∩ cgroup cpuset ∩ online.
    pub allowed_cpus: IdSet,
    /// Cpus that this process may choose beside these: of its cpuset, outside of the affinity that it inherited
    /// (`isolcpus=`, taskset, `CPUAffinity=`).
    #[serde(default, skip_serializing_if = "IdSet::is_empty")]
    pub beyond_affinity: IdSet,
    /// The nodes this process may take memory from.
    pub allowed_nodes: IdSet,
    /// Every cache instance with the cpus that share it; ordered by level, kind, first cpu.
    pub caches: Vec<Cache>,
    /// NUMA nodes in rising id order; one synthetic node 0 where the kernel has no NUMA.
    pub nodes: Vec<Node>,
    /// Base page size in bytes.
    pub page_bytes: u64,
    /// Memory modules in the processors' channels, empty where SMBIOS cannot be read.
    pub dimms: Vec<Dimm>,
    /// Slots of these channels that `dimms` does not list: some firmware lists filled slots only, and states the number
    /// of all slots (SMBIOS type 16).
    #[serde(default, skip_serializing_if = "crate::disturbance::is_zero")]
    pub unlisted_slots: u64,
    /// Sockets that hold a processor by SMBIOS, those whose cpus are all offline too; 0 where it does not say.
    #[serde(default, skip_serializing_if = "crate::disturbance::is_zero")]
    pub filled_sockets: u64,
    /// Memory modules on CXL cards, which no channel of a processor has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cxl_modules: Vec<Dimm>,
    /// The theoretical peak of the memory channels, where it can be computed.
    pub theoretical_peak: Option<TheoreticalPeak>,
    /// What the links between two sockets carry at most in one direction, where the processors' family is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theoretical_link: Option<TheoreticalPeak>,
    /// Kernel, tuning and virtualisation state.
    pub system: System,
    /// Parts that could not be read, with reason and cure.
    pub unseen: Vec<Refusal>,
    /// Facts of which two views exclude each other, and which view is used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<Contradiction>,
}

/// Processor identity, from `/proc/cpuinfo` and CPUID where they say.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuModel {
    /// Instruction set architecture as in `uname -m` (`x86_64`, `aarch64`, …).
    pub arch: Option<String>,
    /// Vendor string (`AuthenticAMD`) or the Arm implementer's name.
    pub vendor: Option<String>,
    /// Marketing name.
    pub name: Option<String>,
    /// Family number.
    pub family: Option<u32>,
    /// Model number (x86) or part number (Arm).
    pub model: Option<u32>,
    /// Stepping (x86) or variant/revision (Arm: variant × 16 + revision).
    pub stepping: Option<u32>,
    /// Microcode revision as the kernel prints it; of several, each with its cpus.
    pub microcode: Option<String>,
    /// Each revision with its cpus, where there are several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub microcodes: BTreeMap<String, IdSet>,
    /// Feature flags in the kernel's spelling.
    pub flags: Vec<String>,
}

/// The kind of a core on a hybrid machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CoreKind {
    /// Large, fast cores (Intel P, Arm big).
    Performance,
    /// Small cores (Intel E, Arm LITTLE).
    Efficiency,
    /// The smallest of three kinds.
    LowPower,
}

/// One online logical cpu.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// The kernel's id.
    pub id: CpuId,
    /// Machine-wide core number, counted from 0 in order of (socket, die, core id): SMT siblings share it.
    pub core: u32,
    /// Rank among the siblings of its core: 0 for the first.
    pub smt_rank: u32,
    /// Physical package id as the kernel says.
    pub socket: u32,
    /// Die id within the package, where the kernel says.
    pub die: Option<u32>,
    /// Cluster id within the package, where the kernel says.
    pub cluster: Option<u32>,
    /// The node the cpu belongs to; `None` on kernels without NUMA.
    pub node: Option<NodeId>,
    /// Index of its last-level-cache group (see [`Machine::llc_groups`]).
    pub llc: Option<u32>,
    /// The kind of core on hybrids; `None` where all are alike.
    pub kind: Option<CoreKind>,
    /// The name of its core, where the machine has cores of several names; `None` where all are alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_name: Option<String>,
}

/// Contents of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// Data only.
    Data,
    /// Instructions only.
    Instruction,
    /// Both.
    Unified,
}

/// One cache instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// Level from 1, as the kernel numbers it.
    pub level: u8,
    /// Its contents.
    pub kind: CacheKind,
    /// Capacity in bytes, where declared and not 0.
    pub bytes: Option<u64>,
    /// Line size in bytes.
    pub line_bytes: Option<u32>,
    /// Ways of associativity.
    pub ways: Option<u32>,
    /// Number of sets.
    pub sets: Option<u32>,
    /// The online cpus that share this instance.
    pub cpus: IdSet,
}

/// One NUMA node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Node {
    /// The kernel's id.
    pub id: NodeId,
    /// Its online cpus; empty for memory-only nodes (CXL, HBM, persistent memory), see [`Node::is_memory_only`].
    pub cpus: IdSet,
    /// Whether it has, or may have, cpus that the system does not show here: it is no memory without cpus then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hides_cpus: bool,
    /// The kernel's ids of the emulated nodes (`numa=fake`) that this memory is split into; empty for a node that is
    /// not split.
    #[serde(default, skip_serializing_if = "IdSet::is_empty")]
    pub emulated: IdSet,
    /// Bytes of memory; `Some(0)` for memory-less nodes, `None` where the tree does not say.
    pub memory_bytes: Option<u64>,
    /// Memory available without swapping at discovery, bytes: free pages and clean file cache.
    pub free_bytes: Option<u64>,
    /// Memory in blocks that are offline, bytes, which `memory_bytes` does not count; `None` where the kernel lists no
    /// blocks or more than are read, where it does not link blocks to nodes, or where the state of a block of this node
    /// cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offline_bytes: Option<u64>,
    /// Distance to each node, by node id, from the SLIT; empty where the kernel does not say.
    pub distances: BTreeMap<NodeId, u32>,
    /// Firmware's performance figures for access from initiators (HMAT, through sysfs).
    pub hmat: Vec<HmatAccess>,
    /// The kernel's memory tier number, where it has tiers.
    pub memory_tier: Option<u32>,
    /// Huge page pools, by page size.
    pub huge_pages: Vec<HugePool>,
    /// Caches in front of the node's memory, nearest to the cpus first; empty where firmware names none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub side_caches: Vec<SideCache>,
}

impl Node {
    /// Whether its memory has no cpus of its own, as CXL, HBM and persistent memory.
    pub fn is_memory_only(&self) -> bool {
        self.cpus.is_empty() && !self.hides_cpus
    }

    /// Bytes of memory that the machine has there: in use, and in blocks that are offline. `None` where the tree does not
    /// say.
    pub fn installed_bytes(&self) -> Option<u64> {
        Some(self.memory_bytes?.saturating_add(self.offline_bytes.unwrap_or_default()))
    }

    /// The ids by which the kernel knows it: its own, or those of its emulated parts.
    pub fn kernel_ids(&self) -> IdSet {
        if self.emulated.is_empty() { IdSet::from_iter([self.id]) } else { self.emulated.clone() }
    }

    /// Bytes of all caches in front of its memory. At most a PiB, so that it can be multiplied.
    pub fn side_cache_bytes(&self) -> u64 {
        crate::units::total(self.side_caches.iter().filter_map(|cache| cache.bytes)).min(topology::MOST_CACHE_BYTES)
    }
}

/// A cache in front of a node's memory and behind those of the cpus (HMAT, `memory_side_cache` in sysfs), as HBM or
/// DRAM before slower memory: what is in it answers at its speed, and nothing but the working set says which of the two
/// does.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideCache {
    /// 1 is the nearest to the memory's initiators.
    pub level: u32,
    /// Capacity in bytes, where declared and not 0.
    pub bytes: Option<u64>,
    /// Line size in bytes, where declared and not 0.
    pub line_bytes: Option<u32>,
    /// Where a line may lie.
    pub indexing: Option<CacheIndexing>,
    /// When writes reach the memory.
    pub write_policy: Option<WritePolicy>,
}

/// Where a line of a memory-side cache may lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CacheIndexing {
    /// In one place.
    Direct,
    /// In several places, by a complex index.
    Indexed,
    /// Firmware says neither.
    Other,
}

/// When writes to a memory-side cache reach the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WritePolicy {
    /// When the line is replaced.
    Back,
    /// At once.
    Through,
    /// Firmware says neither.
    Other,
}

/// HMAT figures for access to a node: class 0 is the best initiators of any kind, class 1 the best cpus.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HmatAccess {
    /// The access class.
    pub class: u32,
    /// Nodes of the initiators these figures hold for.
    pub initiators: IdSet,
    /// Read latency in ns; `None` where firmware says 0 or nothing.
    pub read_latency_ns: Option<f64>,
    /// Write latency in ns.
    pub write_latency_ns: Option<f64>,
    /// Read bandwidth in bytes per second.
    pub read_bandwidth: Option<f64>,
    /// Write bandwidth in bytes per second.
    pub write_bandwidth: Option<f64>,
}

/// A pool of reserved huge pages of one size.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HugePool {
    /// Size of one page, bytes.
    pub page_bytes: u64,
    /// Pages reserved.
    pub total: u64,
    /// Pages free.
    pub free: u64,
    /// Free pages that programs mapped and did not touch yet: nobody else can have them. The kernel counts them for all
    /// nodes together; here they are of the nodes with most free pages.
    #[serde(default, skip_serializing_if = "crate::disturbance::is_zero")]
    pub promised: u64,
    /// Pages that the kernel makes of ordinary memory when a program asks for them (`nr_overcommit_hugepages`, without
    /// those that it made already): of any node as long as its memory lasts, of all nodes together so many.
    #[serde(default, skip_serializing_if = "crate::disturbance::is_zero")]
    pub on_demand: u64,
}

impl HugePool {
    /// Pages that a program can have, of this node's memory.
    pub fn obtainable(&self, node_free: Option<u64>) -> u64 {
        let room = node_free.map_or(u64::MAX, |bytes| bytes / self.page_bytes.max(1));
        self.available().saturating_add(self.on_demand.min(room))
    }

    /// Reserved pages that a program can have.
    pub fn available(&self) -> u64 {
        self.free.saturating_sub(self.promised)
    }

    /// Bytes of these.
    pub fn available_bytes(&self) -> u64 {
        self.available().saturating_mul(self.page_bytes)
    }
}

/// One memory module, or an empty slot, from SMBIOS type 17.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dimm {
    /// Slot as the board names it (`DIMM_A1`).
    pub locator: Option<String>,
    /// Bank as the board names it.
    pub bank: Option<String>,
    /// Capacity in bytes; `None` for an empty slot or an unknown size (see `populated`).
    pub bytes: Option<u64>,
    /// Whether a module sits in the slot.
    pub populated: bool,
    /// Technology (`DDR5`, `DDR4`, `HBM2`, …).
    pub kind: Option<String>,
    /// Form factor (`DIMM`, `SODIMM`, …).
    pub form: Option<String>,
    /// Rated speed in transfers per second.
    pub rated_transfers: Option<f64>,
    /// Configured speed in transfers per second.
    pub configured_transfers: Option<f64>,
    /// Whether firmware states the configured speed as a clock in MHz, half of `configured_transfers`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub states_clock: bool,
    /// Data width in bits, without ECC.
    pub data_width: Option<u32>,
    /// Number of ranks of the module.
    pub ranks: Option<u32>,
    /// Manufacturer, as SMBIOS states it.
    pub manufacturer: Option<String>,
    /// Part number. Serial numbers are never read.
    pub part: Option<String>,
    /// EDAC label of the same slot, where the kernel has one.
    pub edac_label: Option<String>,
    /// The processor whose channels have the slot, as the board names it (`p1`, `cpu 0`); `None` where slot names do
    /// not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
}

/// The theoretical peak of the memory channels, or of the links between two sockets.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TheoreticalPeak {
    /// Bytes per second: of the whole machine, or of a link in one direction.
    pub bytes_per_second: f64,
    /// How it was computed, in one line (`8 channels x 4800 MT/s x 8 bytes (one channel per populated …)`).
    pub how: String,
    /// Whether the true peak may be lower, because the modules of a channel, or the wired links, are not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub upper_bound: bool,
    /// The memory channels that it is computed from; `None` for links, and if slot names do not show the channels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<MemoryChannels>,
}

impl MemoryChannels {
    /// Whether accesses cannot be interleaved evenly over the channels that have modules: their number cannot be the
    /// same in all sockets, or it is odd in each. One channel needs no interleaving, and three are interleaved by the
    /// processors that have six. `false` where the processor's channels are not known.
    pub fn is_uneven(&self, sockets: usize) -> bool {
        let (filled, sockets) = (self.populated as usize, sockets.max(1));
        let of_socket = filled / sockets;
        let is_odd = of_socket > 3 && of_socket % 2 == 1;
        self.most.is_some_and(|most| most != self.populated) && (!filled.is_multiple_of(sockets) || is_odd)
    }
}

/// Memory channels of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryChannels {
    /// Channels that hold a module; that many or fewer if `at_most`.
    pub populated: u32,
    /// Channels that can hold one: that the processors have and the board has slots for. `None` in documents of
    /// versions that did not count the slots.
    pub most: Option<u32>,
    /// Whether slot names do not tell the channels, and `populated` counts modules, which are fewer than channels.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_most: bool,
}
