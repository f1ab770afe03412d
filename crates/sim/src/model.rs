//! How fast the simulated tiers are. Round figures of servers of the 2020s: shapes, not claims.

use std::collections::BTreeMap;
use std::str::FromStr;

use tiermark_model::{
    ChainLayout, CpuId, KernelInfo, Layout, Machine, NodeId, PageKind, Pattern, RegionSetup, Setup, StoreKind,
    ThreadSetup,
};

use super::SimOptions;
use super::caches;
use super::traffic::{Carried, Demand, Roads, node_shares};

/// Latency of cache levels 1, 2, 3 and beyond, ns (4, 14 and 50 cycles at 3 GHz).
const CACHE_NS: [f64; 4] = [1.333, 4.667, 16.667, 30.0];
/// Bytes per ns one core streams from cache levels 1, 2, 3 and beyond.
const CACHE_RATE: [f64; 4] = [384.0, 192.0, 60.0, 40.0];
/// Idle latency of local DRAM, ns, scaled by SLIT distance for other nodes (10 is local).
const DRAM_NS: f64 = 95.0;
/// Latency of memory behind a memory-side cache, as a multiple of the cache's.
const BEHIND_CACHE: f64 = 3.0;
/// Misses one core keeps in flight: more chains than this do not help.
const IN_FLIGHT: f64 = 12.0;
/// Lines one core keeps in flight when it streams, prefetchers included: 20 GB/s from memory 95 ns away.
const STREAM_IN_FLIGHT: f64 = 30.0;
/// Reach of the second-level TLB with 4 KiB pages (2,048 entries), and the cost of a walk, ns.
const TLB_REACH: f64 = 8.0 * 1024.0 * 1024.0;
const WALK_NS: f64 = 12.0;
/// Part of a miss on short strides that a hardware prefetcher hides.
const PREFETCH_GAIN: f64 = 8.0;
/// Useful bytes of an access of a chase.
pub(super) const WORD: f64 = 8.0;
/// Bytes of a line.
const LINE: u64 = 64;
/// Rate of an SMT sibling pair's member against a core alone.
const SMT_SHARE: f64 = 0.55;

/// Speeds of one setup on one machine.
pub(super) struct SpeedModel {
    threads: Vec<ThreadModel>,
    roads: Roads,
    /// Bytes that come together from memory.
    pair_bytes: u64,
    stores: Option<StoreRates>,
}

/// Rates of kernels that store, of one core to memory of its own node, bytes per second of useful data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoreRates {
    /// Writes through the cache.
    pub write: f64,
    /// Writes around the cache, non-temporal or by blocks.
    pub write_around: f64,
    /// Kernels that read as well, through the cache.
    pub copy: f64,
    /// Kernels that read as well, around the cache.
    pub copy_around: f64,
}

impl Default for StoreRates {
    /// As recorded on a guest where kernels differ by 2.6.
    fn default() -> Self {
        Self { write: 9.6e9, write_around: 25.3e9, copy: 14e9, copy_around: 20e9 }
    }
}

impl FromStr for StoreRates {
    type Err = String;

    /// GB/s, in the order of the fields: `9.6:25.3:14:20`.
    fn from_str(text: &str) -> Result<Self, String> {
        let rate = |text: &str| text.parse().ok().filter(|gbs: &f64| *gbs > 0.0 && gbs.is_finite());
        let rates: Option<Vec<f64>> = text.split(':').map(|text| rate(text).map(|gbs| gbs * 1e9)).collect();
        match rates.as_deref() {
            Some(&[write, write_around, copy, copy_around]) => Ok(Self { write, write_around, copy, copy_around }),
            _ => Err(format!("'{text}': write four rates in GB/s, as in 9.6:25.3:14:20")),
        }
    }
}

impl StoreRates {
    /// The rate as a factor on that of a stream that only reads; `None` for one that does not store.
    fn factor(&self, kernel: &KernelInfo) -> Option<f64> {
        let around = matches!(kernel.store_kind, StoreKind::NonTemporal | StoreKind::Block);
        let rate = match (kernel.read_per_line > 0, around) {
            _ if kernel.store_kind == StoreKind::None => return None,
            (false, false) => self.write,
            (false, true) => self.write_around,
            (true, false) => self.copy,
            (true, true) => self.copy_around,
        };
        Some(rate / 1e9 / (STREAM_IN_FLIGHT * LINE as f64 / DRAM_NS))
    }
}

/// Latency and rates of one thread.
struct ThreadModel {
    /// Share of its footprint that each cache level serves, from level 1.
    shares: Vec<f64>,
    /// Latency of its memory, ns.
    memory_ns: f64,
    /// Rate at which its core can stream from that memory, bytes per ns.
    memory_rate: f64,
    /// Mean cost of address translation of a random access, ns.
    walk_ns: f64,
}

impl SpeedModel {
    /// `luck` decides where pages lie in memory.
    pub(super) fn new(machine: &Machine, setup: &Setup, options: &SimOptions, luck: u64) -> Self {
        let core = &options.core;
        let caches = caches_by_cpu(machine, setup);
        let mut on_core: BTreeMap<u32, usize> = BTreeMap::new();
        for cpu in setup.threads.iter().filter_map(|thread| machine.cpu(thread.cpu)) {
            *on_core.entry(cpu.core).or_default() += 1;
        }
        let thread_model = |thread: &ThreadSetup| {
            let region = setup.regions.get(thread.region);
            let size = region.map_or(1.0, |r| r.bytes.0.max(1) as f64);
            let siblings = machine.cpu(thread.cpu).and_then(|c| on_core.get(&c.core)).copied().unwrap_or(1);
            let places = node_shares(setup, thread.region, machine);
            let all = setup.total_bytes().0.max(1) as f64;
            let memory_ns =
                places.iter().map(|(node, share)| share * memory_ns(machine, thread.cpu, *node, share * all)).sum();
            let memory_ns = if places.is_empty() { DRAM_NS } else { memory_ns };
            let own_core = if siblings > 1 { SMT_SHARE } else { 1.0 };
            let by_sets = region.and_then(|r| caches::shares(machine, thread.cpu, r, luck));
            let by_size = || level_shares(caches.get(&thread.cpu).map_or(&[], Vec::as_slice), region);
            let by_pages = region.and_then(|r| core.translation_ns(machine, r));
            ThreadModel {
                shares: by_sets.unwrap_or_else(by_size),
                memory_ns,
                memory_rate: own_core * STREAM_IN_FLIGHT * LINE as f64 / memory_ns,
                walk_ns: by_pages.unwrap_or_else(|| walk_ns(machine, setup, thread.region, size)),
            }
        };
        Self {
            threads: setup.threads.iter().map(thread_model).collect(),
            roads: Roads::new(machine, setup, &options.ceilings),
            pair_bytes: core.pair_bytes,
            stores: options.stores,
        }
    }

    /// Shares memories and links among the threads.
    pub(super) fn carry(&self, demands: &[Demand]) -> Carried {
        self.roads.carry(demands)
    }

    /// The memories and links that its threads use.
    pub(super) fn roads(&self) -> &Roads {
        &self.roads
    }

    /// The demand of a chase by thread `index` on memory: a line for each access that no cache serves, eight useful
    /// bytes of it.
    pub(super) fn chase_demand(&self, index: usize, layout: ChainLayout, chains: u8) -> Demand {
        let missing = self.threads[index].missing();
        Demand { rate: WORD / self.access_ns(index, layout, chains, 0.0), traffic: (missing * LINE as f64 / WORD, 0.0) }
    }

    /// The demand of a stream by thread `index` on memory.
    pub(super) fn stream_demand(&self, index: usize, kernel: &KernelInfo) -> Demand {
        let missing = 1.0 - self.threads[index].kept(kernel.pattern).iter().sum::<f64>();
        let (read, written) = kernel.traffic();
        Demand { rate: self.bytes_per_ns(index, kernel), traffic: (missing * read, missing * written) }
    }

    /// ns per access of a chase by thread `index`, whose memory makes it wait so much longer than when idle.
    pub(super) fn access_ns(&self, index: usize, layout: ChainLayout, chains: u8, wait: f64) -> f64 {
        let thread = &self.threads[index];
        let cached: f64 = thread.shares.iter().enumerate().map(|(level, share)| share * CACHE_NS[level.min(3)]).sum();
        let ns = cached + thread.missing() * thread.memory_ns * (1.0 + wait);
        let prefetched = CACHE_NS[0] + (ns - CACHE_NS[0]) / PREFETCH_GAIN;
        let ns = match layout {
            ChainLayout::Random | ChainLayout::Long(_) | ChainLayout::Scatter(_) => ns + thread.walk_ns,
            // The second word of a pair comes with the first or has to be fetched as well.
            ChainLayout::Pair(apart) if apart < LINE => f64::midpoint(ns + thread.walk_ns, CACHE_NS[0]),
            // A line that came with its neighbour from behind the second level waits in the second.
            ChainLayout::Pair(apart) if apart < self.pair_bytes => {
                let near: f64 = thread.shares.iter().take(2).sum();
                let second = thread.shares.first().map_or(0.0, |share| share * CACHE_NS[0])
                    + thread.shares.get(1).map_or(0.0, |share| share * CACHE_NS[1])
                    + (1.0 - near) * CACHE_NS[1];
                f64::midpoint(ns + thread.walk_ns, second)
            }
            // Accesses to one page share a walk: two of a pair, all 64 lines of a page.
            ChainLayout::Pair(_) => ns + thread.walk_ns / 2.0,
            ChainLayout::PageRandom => ns + thread.walk_ns / 64.0,
            ChainLayout::Stride(bytes) if bytes < 64 => {
                let lines = bytes as f64 / 64.0;
                CACHE_NS[0] * (1.0 - lines) + lines * prefetched
            }
            ChainLayout::Stride(bytes) if bytes <= 2048 => prefetched,
            // A group is outgrown by caches, but its translations are at hand.
            ChainLayout::Stride(_) | ChainLayout::Groups => ns,
        };
        ns / f64::from(chains).clamp(1.0, IN_FLIGHT)
    }

    /// ns per access of a random chase by thread `index` of which no cache holds anything.
    pub(super) fn missed_ns(&self, index: usize) -> f64 {
        self.threads[index].memory_ns + self.threads[index].walk_ns
    }

    /// ns per access of a chase by thread `index` of which the last-level cache has kept this share of what it held.
    pub(super) fn revisit_ns(&self, index: usize, layout: ChainLayout, kept: f64) -> f64 {
        let thread = &self.threads[index];
        let evicted = thread.shares.iter().skip(2).map(|share| share * (1.0 - kept));
        let lost: f64 =
            evicted.enumerate().map(|(i, share)| share * (thread.memory_ns - CACHE_NS[(i + 2).min(3)])).sum();
        self.access_ns(index, layout, 1, 0.0) + lost
    }

    /// How many times longer an access of a chase by thread `index` takes of which the last-level cache holds nothing.
    pub(super) fn unheld_chase(&self, index: usize, layout: ChainLayout) -> f64 {
        self.revisit_ns(index, layout, 0.0) / self.access_ns(index, layout, 1, 0.0)
    }

    /// The same of a stream.
    pub(super) fn unheld_stream(&self, index: usize, kernel: &KernelInfo) -> f64 {
        let kept = self.threads[index].kept(kernel.pattern);
        self.bytes_per_ns(index, kernel) / self.bytes_per_ns_of(index, kernel, &kept[..kept.len().min(2)])
    }

    /// Useful bytes per ns of a stream by thread `index`, without other traffic on its memory.
    fn bytes_per_ns(&self, index: usize, kernel: &KernelInfo) -> f64 {
        self.bytes_per_ns_of(index, kernel, &self.threads[index].kept(kernel.pattern))
    }

    /// The same where the caches have kept these shares of it.
    fn bytes_per_ns_of(&self, index: usize, kernel: &KernelInfo, kept: &[f64]) -> f64 {
        let thread = &self.threads[index];
        let missing = 1.0 - kept.iter().sum::<f64>();
        let planted = self.stores.and_then(|rates| rates.factor(kernel));
        let memory = thread.memory_rate * planted.unwrap_or_else(|| store_factor(kernel));
        let random = if kernel.pattern == Pattern::Random { 0.4 } else { 1.0 };
        let plain = if kernel.plain { 1.0 } else { 1.05 };
        let cached: f64 = kept.iter().enumerate().map(|(level, share)| share / CACHE_RATE[level.min(3)]).sum();
        let useful = f64::from(kernel.read_per_line + kernel.write_per_line) / 64.0 / f64::from(kernel.streams.max(1));
        random * plain * useful.min(1.0) / (cached + missing / memory)
    }

    /// The demand of a load by thread `index` on memory: 2 KiB of each stream of each kernel in turn, and a pause after
    /// each.
    pub(super) fn load_demand(&self, index: usize, kernels: &[&KernelInfo], pause_ns: f64) -> Demand {
        let useful = |kernel: &KernelInfo| 2048.0 * f64::from(kernel.read_per_line + kernel.write_per_line) / 64.0;
        let (mut bytes, mut time, mut read, mut written) = (0.0, 0.0, 0.0, 0.0);
        for kernel in kernels {
            let demand = self.stream_demand(index, kernel);
            bytes += useful(kernel);
            time += useful(kernel) / demand.rate + pause_ns;
            read += useful(kernel) * demand.traffic.0;
            written += useful(kernel) * demand.traffic.1;
        }
        Demand { rate: bytes / time, traffic: (read / bytes, written / bytes) }
    }
}

impl ThreadModel {
    /// Share of a stream's lines that each cache level still holds when the stream comes round again. One that is twice
    /// as long as a level has pushed all of its own lines out by then.
    fn kept(&self, pattern: Pattern) -> Vec<f64> {
        if pattern == Pattern::Random {
            return self.shares.clone();
        }
        let (mut held, mut before) = (0.0, 0.0);
        let mut kept = Vec::with_capacity(self.shares.len());
        for share in &self.shares {
            held += share;
            let here = (2.0f64 * held - 1.0).max(0.0);
            kept.push(here - before);
            before = here;
        }
        kept
    }

    /// Share of the accesses that no cache serves.
    fn missing(&self) -> f64 {
        1.0 - self.shares.iter().sum::<f64>()
    }
}

/// Bytes of the lines of a region that its work touches: of `groups` one line in each two.
fn touched(region: &RegionSetup) -> f64 {
    let bytes = region.bytes.0.max(1) as f64;
    match region.layout {
        Layout::Chain(ChainLayout::Groups) => bytes * LINE as f64 / ChainLayout::GROUP_PITCH as f64,
        _ => bytes,
    }
}

/// Share of each data cache level that each cpu uses: threads that share a cache divide it in proportion to their
/// footprints.
fn caches_by_cpu(machine: &Machine, setup: &Setup) -> BTreeMap<CpuId, Vec<f64>> {
    let mut footprints: BTreeMap<CpuId, f64> = BTreeMap::new();
    for thread in &setup.threads {
        let bytes = setup.regions.get(thread.region).map_or(1.0, touched);
        *footprints.entry(thread.cpu).or_default() += bytes;
    }
    let mut caches: Vec<_> = machine.data_caches().collect();
    caches.sort_by_key(|c| c.level);
    let mut by_cpu: BTreeMap<CpuId, Vec<f64>> = BTreeMap::new();
    for cache in caches {
        let sharing = || footprints.iter().filter(|(cpu, _)| cache.cpus.contains(**cpu));
        let wanted: f64 = sharing().map(|(_, bytes)| bytes).sum();
        let capacity = cache.bytes.unwrap_or(0) as f64;
        for (cpu, bytes) in sharing() {
            // If all footprints fit, each thread has its own; otherwise each has its part.
            by_cpu.entry(*cpu).or_default().push(if wanted <= capacity { *bytes } else { capacity * bytes / wanted });
        }
    }
    by_cpu
}

/// Levels that one core has for itself.
const PRIVATE: usize = 2;

/// Parts of the footprint that fit in each level and not in the level above.
fn level_shares(caches: &[f64], region: Option<&RegionSetup>) -> Vec<f64> {
    let size = region.map_or(1.0, touched);
    let is_grouped = region.is_some_and(|region| region.layout == Layout::Chain(ChainLayout::Groups));
    // A chain of groups comes back to a line after all others only: of more than caches hold, nothing is there still.
    if is_grouped && caches.iter().all(|bytes| *bytes < size) {
        return vec![0.0; caches.len()];
    }
    // A chain comes to its lines in the same order each time: of twice what a private cache holds, all of its lines were
    // replaced by then. What cores share keeps part of more than it holds.
    let is_chain = region.is_some_and(|region| matches!(region.layout, Layout::Chain(_)));
    let mut held = 0.0;
    caches
        .iter()
        .enumerate()
        .map(|(level, bytes)| {
            let fits = (bytes / size).min(1.0);
            let fits = if is_chain && level < PRIVATE { (2.0 * fits - 1.0).max(0.0) } else { fits };
            let fits = fits.max(held);
            let share = fits - held;
            held = fits;
            share
        })
        .collect()
}

fn distance(machine: &Machine, cpu: CpuId, target: NodeId) -> f64 {
    let own = machine.node_of(cpu).and_then(|id| machine.node(id));
    f64::from(own.and_then(|n| n.distances.get(&target)).copied().unwrap_or(10))
}

/// Latency of so many bytes of a node's memory: firmware's figure where it has one, SLIT distance elsewhere; more where
/// they exceed its memory-side cache.
fn memory_ns(machine: &Machine, cpu: CpuId, target: NodeId, bytes: f64) -> f64 {
    let node = machine.node(target);
    let stated = node.and_then(|n| n.hmat.iter().find_map(|h| h.read_latency_ns));
    let near = stated.unwrap_or(DRAM_NS * distance(machine, cpu, target) / 10.0);
    let cached = match node.map_or(0, tiermark_model::Node::side_cache_bytes) {
        0 => 1.0,
        cache => (cache as f64 / bytes).min(1.0),
    };
    near * (cached + BEHIND_CACHE * (1.0 - cached))
}

fn walk_ns(machine: &Machine, setup: &Setup, region: usize, size: f64) -> f64 {
    let thp_off = !machine.system.has_thp();
    let base =
        setup.regions.get(region).is_some_and(|r| r.page == PageKind::Base || (r.page == PageKind::Thp && thp_off));
    if base && size > TLB_REACH { WALK_NS * (1.0 - TLB_REACH / size) } else { 0.0 }
}

/// Traffic of stores: cached ones read the line first, string instructions less so.
fn store_factor(kernel: &KernelInfo) -> f64 {
    match kernel.store_kind {
        StoreKind::None => 1.0,
        StoreKind::Cached => 0.6,
        StoreKind::NonTemporal => 0.85,
        StoreKind::Block => 0.9,
    }
}
