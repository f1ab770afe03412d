//! Which cache serves a chain whose nodes lie a fixed distance apart, by sets and ways, and what translating its
//! addresses costs. Replacement is strictly least recently used, so that knees are where the geometry puts them.

use tiermark_model::{CacheKind, ChainLayout, CpuId, Layout, MIB, Machine, PageKind, RegionSetup};

/// Bytes of a line.
const LINE: u64 = 64;
/// Chains of more nodes than this are taken as spread evenly: their sets are all alike.
const MOST_NODES: u64 = 1 << 18;
/// Strides from here on are resolved by sets; prefetchers make shorter ones another question.
const LONG_STRIDE: u64 = 4096;
/// Cost of missing the first dTLB level and hitting the second, ns (7 cycles at 3 GHz).
const SECOND_TLB_NS: f64 = 2.333;
/// Cost of a walk behind the second, ns.
const WALK_NS: f64 = 12.0;

/// The real caches of a simulated machine's cores, which may differ from the declaration.
#[derive(Debug, Clone, PartialEq)]
pub struct SimCore {
    /// Data caches that differ from those declared (a hypervisor that hides, a cache allocation that limits).
    pub caches: Vec<SimCache>,
    /// Bytes that come together from memory: 64 is a line, 128 a pair of them.
    pub pair_bytes: u64,
    /// Entries of the two dTLB levels for base pages, 2 MiB pages and larger ones.
    pub tlb: [[u64; 2]; 3],
}

/// A cache as it really is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimCache {
    /// Level: 1, 2 or 3.
    pub level: u8,
    /// Bytes of it that this machine's programs get.
    pub bytes: u64,
    /// Ways: lines of a set.
    pub ways: u32,
}

impl Default for SimCore {
    fn default() -> Self {
        Self { caches: Vec::new(), pair_bytes: LINE, tlb: [[64, 2048], [32, 1024], [4, 16]] }
    }
}

impl SimCore {
    /// The machine as it really is.
    pub(super) fn truth(&self, declared: &Machine) -> Machine {
        let mut machine = declared.clone();
        for cache in machine.caches.iter_mut().filter(|c| c.kind != CacheKind::Instruction) {
            if let Some(real) = self.caches.iter().find(|c| c.level == cache.level) {
                (cache.bytes, cache.ways, cache.sets) = (Some(real.bytes), Some(real.ways), None);
            }
        }
        machine
    }

    /// Cost of address translation for each access of a chain that is resolved by pages, ns; `None` for others.
    pub(super) fn translation_ns(&self, machine: &Machine, region: &RegionSetup) -> Option<f64> {
        let Layout::Chain(ChainLayout::Scatter(pitch)) = region.layout else { return None };
        let page = page_bytes(machine, region.page);
        let nodes = region.bytes.0 / pitch.max(1);
        let pages = nodes.min(region.bytes.0.div_ceil(page));
        let [first, second] = self.tlb[match page {
            _ if page < MIB => 0,
            _ if page < 512 * MIB => 1,
            _ => 2,
        }];
        let cost = |entries: u64, ns: f64| if pages > entries { ns } else { 0.0 };
        Some(cost(first, SECOND_TLB_NS) + cost(second, WALK_NS))
    }
}

/// The share of a chain's accesses that each cache level of a cpu serves, from level 1; `None` for chains that are not
/// resolved by sets. Pages lie where `luck` puts them: only the bits of an address within its page are the chain's own.
pub(super) fn shares(machine: &Machine, cpu: CpuId, region: &RegionSetup, luck: u64) -> Option<Vec<f64>> {
    let Layout::Chain(layout) = region.layout else { return None };
    let apart = match layout {
        ChainLayout::Stride(bytes) if bytes < LONG_STRIDE => return None,
        ChainLayout::Stride(_) | ChainLayout::Scatter(_) => None,
        ChainLayout::Pair(apart) => Some(apart),
        ChainLayout::Random | ChainLayout::PageRandom | ChainLayout::Groups | ChainLayout::Long(_) => return None,
    };
    let pitch = layout.pitch();
    let nodes = region.bytes.0 / pitch.max(1);
    if nodes == 0 || nodes > MOST_NODES {
        return None;
    }
    let page = page_bytes(machine, region.page);
    let physical = |offset: u64| (frame(offset / page, luck) * page + offset % page) / LINE;
    let offsets = (0..nodes).flat_map(|i| std::iter::once(i * pitch).chain(apart.map(|apart| i * pitch + apart)));
    let mut lines: Vec<u64> = offsets.map(physical).collect();
    lines.dedup();
    let mut caches: Vec<(u8, u64, u64)> = machine
        .data_caches()
        .filter(|c| c.cpus.contains(cpu))
        .filter_map(|c| {
            let bytes = c.bytes?;
            Some((c.level, bytes, c.ways.map_or_else(|| likely_ways(bytes), u64::from)))
        })
        .collect();
    caches.sort_by_key(|(level, ..)| *level);
    let total = lines.len() as f64;
    let mut left = lines.clone();
    let share = |(_, bytes, ways): (u8, u64, u64)| {
        let sets = (bytes / LINE / ways.max(1)).max(1);
        let mut held = std::collections::HashMap::new();
        for line in &lines {
            *held.entry(line % sets).or_insert(0u64) += 1;
        }
        let before = left.len();
        left.retain(|line| held.get(&(line % sets)).is_some_and(|lines| *lines > ways));
        (before - left.len()) as f64 / total
    };
    Some(caches.into_iter().map(share).collect())
}

/// Ways where the system does not say: the fewest from 8 on that leave sets a power of two, as hardware has them, else
/// 16.
fn likely_ways(bytes: u64) -> u64 {
    (8..=24).find(|ways| bytes.is_multiple_of(ways * LINE) && (bytes / LINE / ways).is_power_of_two()).unwrap_or(16)
}

/// Where a page lies, in pages: a number of its own for each (SplitMix64; Steele, Lea & Flood, OOPSLA 2014).
fn frame(page: u64, luck: u64) -> u64 {
    let mut z = luck.wrapping_add((page + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    // Memory ends somewhere: 16 Mi pages.
    (z ^ (z >> 31)) % (1 << 24)
}

/// Bytes of the pages that a region gets.
fn page_bytes(machine: &Machine, page: PageKind) -> u64 {
    let base = if machine.page_bytes > 0 { machine.page_bytes } else { 4096 };
    match page {
        PageKind::Thp if machine.system.has_thp() => machine.system.thp_bytes.unwrap_or(2 * MIB),
        PageKind::Base | PageKind::Thp => base,
        PageKind::Huge(bytes) => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Cache, KIB, testing};

    fn machine() -> Machine {
        let cache = |level, bytes, ways| Cache { kind: CacheKind::Data, ways, ..testing::cache(level, bytes, [0]) };
        let mut machine =
            Machine { caches: vec![cache(1, 48 * KIB, None), cache(2, 1280 * KIB, Some(20))], ..Machine::default() };
        machine.system.thp = Some("madvise".into());
        machine
    }

    fn region(layout: ChainLayout, nodes: u64, pitch: u64, page: PageKind) -> RegionSetup {
        let layout = Layout::Chain(layout);
        testing::region(nodes * pitch, page, layout)
    }

    fn scattered(nodes: u64, pitch: u64, page: PageKind) -> Vec<f64> {
        shares(&machine(), 0, &region(ChainLayout::Scatter(pitch), nodes, pitch, page), 7).unwrap()
    }

    #[test]
    fn as_many_nodes_fit_a_set_as_there_are_ways() {
        // 48 KiB: 12 ways of 4 KiB. 1.25 MiB: 20 of 64 KiB.
        assert_eq!(scattered(12, 4096, PageKind::Thp), [1.0, 0.0]);
        assert_eq!(scattered(13, 4096, PageKind::Thp), [0.0, 1.0]);
        assert_eq!(scattered(20, 65536, PageKind::Thp), [0.0, 1.0]);
        assert_eq!(scattered(21, 65536, PageKind::Thp), [0.0, 0.0]);
        // On base pages the second level's sets are drawn by lot, and 21 lines do not meet.
        assert_eq!(scattered(21, 65536, PageKind::Base), [0.0, 1.0]);
        assert_eq!(scattered(768, 64, PageKind::Base), [1.0, 0.0]);
        // One line more than fits spoils its own set only: 63 sets of 12 lines still hit.
        assert_eq!(scattered(769, 64, PageKind::Base)[0], 63.0 * 12.0 / 769.0);
    }

    #[test]
    fn only_chains_with_a_fixed_distance_are_resolved() {
        for layout in [
            ChainLayout::Random,
            ChainLayout::PageRandom,
            ChainLayout::Groups,
            ChainLayout::Stride(64),
            ChainLayout::Long(2),
        ] {
            assert_eq!(shares(&machine(), 0, &region(layout, 64, 64, PageKind::Thp), 7), None);
        }
        assert!(shares(&machine(), 0, &region(ChainLayout::Pair(64), 64, 512, PageKind::Thp), 7).is_some());
    }

    #[test]
    fn translation_costs_what_the_pages_exceed() {
        let core = SimCore::default();
        let cost = |nodes, page, pitch| {
            core.translation_ns(&machine(), &region(ChainLayout::Scatter(pitch), nodes, pitch, page)).unwrap()
        };
        // 64 nodes at 4 KiB and a line each reach into 65 pages, and lie in 64 of them.
        assert_eq!(cost(64, PageKind::Base, 4160), 0.0);
        assert_eq!(cost(65, PageKind::Base, 4160), SECOND_TLB_NS);
        assert_eq!(cost(2100, PageKind::Base, 4160), SECOND_TLB_NS + WALK_NS);
        assert_eq!(cost(33, PageKind::Thp, (2 << 20) + 64), SECOND_TLB_NS);
        assert_eq!(cost(4096, PageKind::Thp, 64), 0.0);
    }

    #[test]
    fn what_is_declared_need_not_be_true() {
        let core = SimCore { caches: vec![SimCache { level: 2, bytes: 512 * KIB, ways: 8 }], ..SimCore::default() };
        let truth = core.truth(&machine());
        assert_eq!((truth.caches[1].bytes, truth.caches[1].ways), (Some(512 * KIB), Some(8)));
        assert_eq!(truth.caches[0], machine().caches[0]);
    }
}
