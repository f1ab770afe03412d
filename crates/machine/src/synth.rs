//! Machines built from parameters: for tests, for the simulator, and to plan for machines of any size.

mod spec;

use std::collections::BTreeMap;
use std::ops::Range;

use tiermark_model::{IdSet, KIB, MIB, Machine};

use crate::discover::LiveFacts;
use crate::discover::discover;
use crate::error::DiscoverError;
use crate::root::Root;

/// Parameters of a machine. Cpus are numbered as Linux does on servers: the first threads of all cores, node by node,
/// then the second threads.
#[derive(Debug, Clone, PartialEq)]
pub struct Synth {
    /// Packages.
    pub sockets: u32,
    /// NUMA nodes with cpus in each package.
    pub nodes_per_socket: u32,
    /// Cores in each node.
    pub cores_per_node: u32,
    /// Threads a core.
    pub smt: u32,
    /// Cores that share one last-level cache.
    pub cores_per_llc: u32,
    /// Bytes of each core's L1 data cache (the instruction cache is as large).
    pub l1_bytes: u64,
    /// Bytes of each core's L2.
    pub l2_bytes: u64,
    /// Bytes of each last-level cache.
    pub l3_bytes: u64,
    /// Bytes of memory in each node with cpus; 0 makes the nodes memory-less.
    pub node_bytes: u64,
    /// Ids of nodes are multiples of this; 1 is dense.
    pub node_stride: u32,
    /// Nodes without cpus, numbered behind the others.
    pub memory_nodes: Vec<MemoryNode>,
    /// Cpus that are switched off.
    pub offline: IdSet,
    /// Cores from this one on are efficiency cores; `None` where all are alike.
    pub first_efficiency_core: Option<u32>,
    /// Bytes of the cache in front of the memory of each node with cpus; 0 where there is none.
    pub side_cache_bytes: u64,
    /// Name of the processor.
    pub model: String,
}

/// A node without cpus: CXL memory, HBM in flat mode, persistent memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MemoryNode {
    /// Bytes of memory.
    pub bytes: u64,
    /// SLIT distance from every node with cpus.
    pub distance: u32,
    /// The kernel's memory tier.
    pub tier: u32,
    /// HMAT read latency in ns; 0 where firmware does not say.
    pub latency_ns: u32,
    /// HMAT read bandwidth in MB/s; 0 where firmware does not say.
    pub bandwidth_mbs: u32,
}

/// The kernel's tier of ordinary DRAM.
const DRAM_TIER: u32 = 4;

impl Default for Synth {
    /// One socket, one node, 4 cores of 2 threads, 16 MiB of last-level cache and 8 GiB of memory.
    fn default() -> Self {
        Self {
            sockets: 1,
            nodes_per_socket: 1,
            cores_per_node: 4,
            smt: 2,
            cores_per_llc: 4,
            l1_bytes: 32 * KIB,
            l2_bytes: MIB,
            l3_bytes: 16 * MIB,
            node_bytes: 8 << 30,
            node_stride: 1,
            memory_nodes: Vec::new(),
            offline: IdSet::new(),
            first_efficiency_core: None,
            side_cache_bytes: 0,
            model: "Synthetic processor".to_owned(),
        }
    }
}

impl Synth {
    /// A large server: 8 sockets of 128 cores with 2 threads, 2,048 cpus in all.
    pub fn largest() -> Self {
        Self {
            sockets: 8,
            cores_per_node: 128,
            cores_per_llc: 128,
            l1_bytes: 48 * KIB,
            l2_bytes: 2 * MIB,
            l3_bytes: 504 * MIB,
            node_bytes: 2 << 40,
            ..Self::default()
        }
    }

    /// The root of this machine, in memory.
    pub fn root(&self) -> Root {
        Root::from_files("synthetic machine", self.files())
    }

    /// This machine, discovered from its root.
    ///
    /// # Errors
    /// [`DiscoverError`] where the parameters leave no cpu online.
    pub fn machine(&self) -> Result<Machine, DiscoverError> {
        discover(&self.root(), &LiveFacts::default())
    }

    /// All files of this machine, by path; change or remove some to make it stranger.
    pub fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut put = |path: String, text: String| drop(files.insert(path, format!("{text}\n")));
        let cpus = self.cores() * self.smt;
        let all: IdSet = (0..cpus).collect();
        let online = all.difference(&self.offline);
        put("sys/devices/system/cpu/online".into(), online.to_string());
        put("sys/devices/system/cpu/present".into(), all.to_string());
        for cpu in self.offline.iter().filter(|cpu| *cpu < cpus) {
            put(format!("sys/devices/system/cpu/cpu{cpu}/online"), "0".into());
        }
        let mut sets = BTreeMap::new();
        for cpu in online.iter() {
            self.cpu(cpu, &mut sets, &mut put);
        }
        self.nodes(&online, &mut put);
        self.kinds(&online, &mut put);
        let flags = "fpu lm sse2 avx2 avx512f";
        let identity = format!("vendor_id\t: GenuineIntel\nmodel name\t: {}\nflags\t\t: {flags}\n", self.model);
        put("proc/cpuinfo".into(), format!("processor\t: {}\n{identity}", online.first().unwrap_or_default()));
        put("proc/meminfo".into(), meminfo("", self.total_bytes()));
        put("proc/sys/kernel/osrelease".into(), "6.12.0-synthetic".into());
        put("proc/sys/kernel/hostname".into(), "synthetic".into());
        put("proc/sys/kernel/arch".into(), "x86_64".into());
        put("sys/kernel/mm/transparent_hugepage/enabled".into(), "always [madvise] never".into());
        put("sys/kernel/mm/transparent_hugepage/hpage_pmd_size".into(), (2 * MIB).to_string());
        put("sys/devices/system/clocksource/clocksource0/current_clocksource".into(), "tsc".into());
        put("sys/devices/system/clocksource/clocksource0/available_clocksource".into(), "tsc hpet".into());
        files
    }

    fn cores(&self) -> u32 {
        self.sockets * self.nodes_per_socket * self.cores_per_node
    }

    fn total_bytes(&self) -> u64 {
        let with_cpus = self.node_bytes * u64::from(self.sockets * self.nodes_per_socket);
        with_cpus + self.memory_nodes.iter().map(|node| node.bytes).sum::<u64>()
    }

    /// The cpus of a range of cores.
    fn threads(&self, cores: Range<u32>) -> IdSet {
        (0..self.smt)
            .flat_map(|thread| cores.clone().map(move |core| (thread, core)))
            .map(|(t, c)| t * self.cores() + c)
            .collect()
    }

    /// The online cpus of a range of cores as a list, made once for each range: all cpus of a socket ask for the same.
    fn online(&self, cores: Range<u32>, sets: &mut BTreeMap<(u32, u32), String>) -> String {
        let list = || self.threads(cores.clone()).difference(&self.offline).to_string();
        sets.entry((cores.start, cores.end)).or_insert_with(list).clone()
    }

    fn cpu(&self, cpu: u32, sets: &mut BTreeMap<(u32, u32), String>, put: &mut impl FnMut(String, String)) {
        let core = cpu % self.cores();
        let per_socket = self.nodes_per_socket * self.cores_per_node;
        let socket = core / per_socket;
        let dir = format!("sys/devices/system/cpu/cpu{cpu}");
        let siblings = self.online(core..core + 1, sets);
        put(format!("{dir}/topology/physical_package_id"), socket.to_string());
        put(format!("{dir}/topology/die_id"), "0".into());
        put(format!("{dir}/topology/core_id"), (core % per_socket).to_string());
        put(format!("{dir}/topology/core_cpus_list"), siblings.clone());
        let package = self.online(socket * per_socket..(socket + 1) * per_socket, sets);
        put(format!("{dir}/topology/package_cpus_list"), package);
        let llc = core / self.cores_per_llc;
        let sharers = llc * self.cores_per_llc..((llc + 1) * self.cores_per_llc).min(self.cores());
        let sharers = self.online(sharers, sets);
        let caches = [
            (1, "Data", self.l1_bytes, &siblings),
            (1, "Instruction", self.l1_bytes, &siblings),
            (2, "Unified", self.l2_bytes, &siblings),
            (3, "Unified", self.l3_bytes, &sharers),
        ];
        for (index, (level, kind, bytes, shared)) in caches.into_iter().filter(|c| c.2 > 0).enumerate() {
            let dir = format!("{dir}/cache/index{index}");
            put(format!("{dir}/level"), level.to_string());
            put(format!("{dir}/type"), kind.into());
            put(format!("{dir}/size"), format!("{}K", bytes / KIB));
            put(format!("{dir}/coherency_line_size"), "64".into());
            put(format!("{dir}/shared_cpu_list"), shared.clone());
        }
    }

    fn nodes(&self, online: &IdSet, put: &mut impl FnMut(String, String)) {
        let with_cpus = self.sockets * self.nodes_per_socket;
        let count = with_cpus + self.memory_nodes.len() as u32;
        let id = |index: u32| index * self.node_stride;
        put("sys/devices/system/node/online".into(), (0..count).map(id).collect::<IdSet>().to_string());
        let extra = |index: u32| index.checked_sub(with_cpus).and_then(|i| self.memory_nodes.get(i as usize));
        let mut tiers: BTreeMap<u32, IdSet> = BTreeMap::new();
        for index in 0..count {
            let dir = format!("sys/devices/system/node/node{}", id(index));
            let cores = if extra(index).is_some() {
                0..0
            } else {
                index * self.cores_per_node..(index + 1) * self.cores_per_node
            };
            put(format!("{dir}/cpulist"), self.threads(cores).intersection(online).to_string());
            let bytes = extra(index).map_or(self.node_bytes, |node| node.bytes);
            put(format!("{dir}/meminfo"), meminfo(&format!("Node {} ", id(index)), bytes));
            if extra(index).is_none() && self.side_cache_bytes > 0 {
                let dir = format!("{dir}/memory_side_cache/index1");
                put(format!("{dir}/size"), self.side_cache_bytes.to_string());
                put(format!("{dir}/line_size"), "64".into());
                put(format!("{dir}/indexing"), "0".into());
                put(format!("{dir}/write_policy"), "0".into());
            }
            let distance = |to: u32| match (to == index, extra(to).or(extra(index))) {
                (true, _) => 10,
                (false, Some(node)) => node.distance,
                (false, None) if to / self.nodes_per_socket == index / self.nodes_per_socket => 12,
                (false, None) => 21,
            };
            let row: Vec<String> = (0..count).map(|to| distance(to).to_string()).collect();
            put(format!("{dir}/distance"), row.join(" "));
            tiers.entry(extra(index).map_or(DRAM_TIER, |node| node.tier)).or_default().insert(id(index));
            if let Some(node) = extra(index) {
                for class in 0..2 {
                    let dir = format!("{dir}/access{class}/initiators");
                    put(format!("{dir}/node{}/uevent", id(0)), String::new());
                    put(format!("{dir}/read_latency"), node.latency_ns.to_string());
                    put(format!("{dir}/read_bandwidth"), node.bandwidth_mbs.to_string());
                }
            }
        }
        if !self.memory_nodes.is_empty() {
            for (tier, nodes) in tiers {
                put(format!("sys/devices/virtual/memory_tiering/memory_tier{tier}/nodelist"), nodes.to_string());
            }
        }
    }

    fn kinds(&self, online: &IdSet, put: &mut impl FnMut(String, String)) {
        if let Some(first) = self.first_efficiency_core {
            let fast = self.threads(0..first).intersection(online);
            let small = self.threads(first..self.cores()).intersection(online);
            put("sys/devices/cpu_core/cpus".into(), fast.to_string());
            put("sys/devices/cpu_atom/cpus".into(), small.to_string());
        }
    }
}

/// Memory lines as the kernel writes them, with seven eighths free.
fn meminfo(prefix: &str, bytes: u64) -> String {
    let kb = bytes / KIB;
    format!("{prefix}MemTotal:       {kb} kB\n{prefix}MemFree:        {} kB", kb / 8 * 7)
}
