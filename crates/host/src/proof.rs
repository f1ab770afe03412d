//! Where pages are and of what size, as the kernel sees it.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tiermark_kernels::rng::Rng;
use tiermark_model::messages::setup as says;
use tiermark_model::{Bytes, NodeId, Note, PageKind, PlacementProof};

use crate::physical;
use crate::region::Region;

/// At least one page in this many is checked.
const SAMPLE_EVERY: usize = 100;
/// Small regions are looked at whole, up to this many pages.
const SAMPLE_LEAST: usize = 64;
/// A look at a page costs about 0.1 µs; this bounds a proof to some ms a region, at 1 % for regions up to 25 GiB of
/// base pages.
const SAMPLE_MOST: usize = 1 << 16;

/// How long a proof of the memory of a run holds: rigs that are made or given back within this time share one look.
const HOLDS: Duration = Duration::from_secs(1);

/// The last proofs of the memory of a run, by the addresses of what was looked at.
#[derive(Debug, Default)]
pub(crate) struct Proofs(Mutex<BTreeMap<Vec<usize>, (Instant, PlacementProof)>>);

impl Proofs {
    /// The proof of all regions: of those that are slices, by the pages of the whole.
    pub(crate) fn of(&self, regions: &[Arc<Region>], one_node: Option<NodeId>, seed: u64) -> PlacementProof {
        let all: BTreeMap<usize, &Arc<Region>> =
            regions.iter().map(|region| (region.proven().mapping.address(), region.proven())).collect();
        let wholes: Vec<Arc<Region>> = all.values().map(|region| Arc::clone(region)).collect();
        let key: Vec<usize> = all.into_keys().collect();
        let mut proofs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_shared = regions.iter().all(|region| !Arc::ptr_eq(region, region.proven()));
        if let Some((_, proof)) = proofs.get(&key).filter(|(at, _)| is_shared && at.elapsed() < HOLDS) {
            return proof.clone();
        }
        let proof = prove(&wholes, one_node, seed, None);
        if is_shared {
            proofs.insert(key, (Instant::now(), proof.clone()));
        }
        proof
    }

    /// Forgets all: other memory comes.
    pub(crate) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The proof of one region.
#[derive(Debug, Default)]
struct Seen {
    pages: u64,
    by_node: BTreeMap<NodeId, u64>,
    on_target: Option<u64>,
}

/// Proves the placement of all regions. `one_node` is the only node with memory, where there is just one; `held` says
/// of a process of its own what it holds beside them.
pub(crate) fn prove(
    regions: &[Arc<Region>],
    one_node: Option<NodeId>,
    seed: u64,
    held: Option<&Note>,
) -> PlacementProof {
    let mut rng = Rng::new(seed);
    let mut notes: Vec<Note> = regions.iter().flat_map(|region| region.notes.clone()).collect();
    let mut how = "move_pages";
    let mut all = Seen { on_target: Some(0), ..Seen::default() };
    for region in regions {
        let seen = by_move_pages(region, &mut rng).or_else(|error| {
            how = "numa_maps";
            notes.push(says::move_pages_refused(&error.to_string()));
            by_numa_maps(region).ok_or(error)
        });
        let seen = seen.unwrap_or_else(|_| {
            how = if one_node.is_some() { "the only node" } else { "not seen" };
            by_elimination(region, one_node)
        });
        all.pages += seen.pages;
        for (node, pages) in seen.by_node {
            *all.by_node.entry(node).or_default() += pages;
        }
        all.on_target = all.on_target.zip(seen.on_target).map(|(a, b)| a + b);
    }
    notes.sort_by(|a, b| a.text.cmp(&b.text));
    notes.dedup();
    let page_share = page_share(regions);
    PlacementProof {
        how: says::placement_seen(how, all.pages, regions.len(), page_share.is_some(), held),
        pages: all.pages,
        on_target: all.on_target.filter(|_| all.pages > 0).map(|on| on as f64 / all.pages as f64),
        by_node: all.by_node,
        page_share,
        page: page_words(regions),
        physical: regions.iter().map(|region| physical::range(region)).reduce(physical::union).flatten(),
        notes,
    }
}

/// Reads from the kernel the node of a sample of pages spread over the whole region.
fn by_move_pages(region: &Region, rng: &mut Rng) -> std::io::Result<Seen> {
    let pages = region.used.div_ceil(region.grain);
    let count = (pages / SAMPLE_EVERY).clamp(SAMPLE_LEAST, SAMPLE_MOST).min(pages);
    let step = pages / count;
    // One page at random out of each stretch: an even spacing would see only one node of an interleaved region.
    let offsets: Vec<usize> = (0..count).map(|i| (i * step + rng.below(step)) * region.grain).collect();
    let mut seen = Seen { pages: count as u64, on_target: Some(0), ..Seen::default() };
    // Without a node that they belong on, pages are where they may be.
    let belongs = |node: NodeId| region.target.is_empty() || region.target.contains(node);
    for node in region.mapping.page_nodes(&offsets)? {
        // Negative: the page is not there, so it counts as looked at and as on no node.
        let Ok(node) = NodeId::try_from(node) else { continue };
        *seen.by_node.entry(node).or_default() += 1;
        seen.on_target = seen.on_target.map(|n| n + u64::from(belongs(node)));
    }
    Ok(seen)
}

/// Reads the kernel's per-area page counts.
fn by_numa_maps(region: &Region) -> Option<Seen> {
    let maps = fs::read_to_string("/proc/self/numa_maps").ok()?;
    numa_maps_line(&maps, region.mapping.address() as u64).map(|by_node| {
        let belongs = |node: &NodeId| region.target.is_empty() || region.target.contains(*node);
        let on_target = by_node.iter().filter(|(node, _)| belongs(node)).map(|(_, n)| n).sum();
        Seen { pages: by_node.values().sum(), on_target: Some(on_target), by_node }
    })
}

/// The page counts by node of the area that starts at an address.
fn numa_maps_line(maps: &str, address: u64) -> Option<BTreeMap<NodeId, u64>> {
    let start = format!("{address:08x} ");
    let line = maps.lines().find(|line| line.starts_with(&start))?;
    let node = |word: &str| {
        let (node, pages) = word.strip_prefix('N')?.split_once('=')?;
        Some((node.parse().ok()?, pages.parse().ok()?))
    };
    Some(line.split_whitespace().filter_map(node).collect::<BTreeMap<_, _>>()).filter(|nodes| !nodes.is_empty())
}

/// With one node all pages are on it; with more, nothing is known.
fn by_elimination(region: &Region, one_node: Option<NodeId>) -> Seen {
    let pages = region.used.div_ceil(region.grain) as u64;
    match one_node {
        Some(node) => {
            let on_target = Some(if region.target.is_empty() || region.target.contains(node) { pages } else { 0 });
            Seen { pages, by_node: BTreeMap::from([(node, pages)]), on_target }
        }
        None => Seen::default(),
    }
}

/// The share of all regions' memory that has the requested page size.
fn page_share(regions: &[Arc<Region>]) -> Option<f64> {
    let smaps = fs::read_to_string("/proc/self/smaps").ok()?;
    let areas = areas(&smaps);
    let (mut right, mut total) = (0.0, 0.0);
    for region in regions {
        let area = areas.get(&(region.mapping.address() as u64))?;
        let (of, share) = area.share(region.page)?;
        total += of;
        right += of * share;
    }
    (total > 0.0).then(|| right / total)
}

/// Memory and threads of this process beside the regions, which add to the cost of a fork.
pub(crate) fn beside(regions: &[Arc<Region>]) -> Option<Note> {
    let smaps = fs::read_to_string("/proc/self/smaps").ok()?;
    let threads = fs::read_dir("/proc/self/task").ok()?.count();
    let mut areas = areas(&smaps);
    for region in regions {
        areas.remove(&(region.mapping.address() as u64));
    }
    let sum = |field: fn(&Area) -> f64| Bytes((areas.values().map(field).sum::<f64>() * 1024.0) as u64);
    let (all, own) = (sum(|area| area.rss), sum(|area| area.anonymous));
    Some(says::held_by_own_process(threads, all, own, areas.len()))
}

/// The sizes of one kernel area, in kB as smaps has them.
#[derive(Debug, Default, PartialEq)]
struct Area {
    rss: f64,
    anonymous: f64,
    transparent: f64,
    reserved: f64,
    kernel_page: f64,
}

impl Area {
    /// kB there are, and the share of them in pages of that kind.
    fn share(&self, page: PageKind) -> Option<(f64, f64)> {
        match page {
            PageKind::Huge(bytes) => {
                let right = self.kernel_page * 1024.0 == bytes as f64;
                (self.reserved > 0.0).then_some((self.reserved, if right { 1.0 } else { 0.0 }))
            }
            PageKind::Thp => (self.rss > 0.0).then(|| (self.rss, (self.transparent / self.rss).min(1.0))),
            PageKind::Base => (self.rss > 0.0).then(|| (self.rss, 1.0 - (self.transparent / self.rss).min(1.0))),
        }
    }
}

/// The areas of an smaps text by start address.
fn areas(smaps: &str) -> BTreeMap<u64, Area> {
    let mut areas: BTreeMap<u64, Area> = BTreeMap::new();
    let mut current = None;
    for line in smaps.lines() {
        let Some((name, rest)) = line.split_once(' ') else { continue };
        if let Some((start, _)) = name.split_once('-') {
            current = u64::from_str_radix(start, 16).ok();
            continue;
        }
        let Some(area) = current.map(|start| areas.entry(start).or_default()) else { continue };
        let kib = || rest.trim().strip_suffix(" kB").and_then(|n| n.trim().parse::<f64>().ok()).unwrap_or(0.0);
        match name {
            "Rss:" => area.rss = kib(),
            "Anonymous:" => area.anonymous = kib(),
            "AnonHugePages:" | "ShmemPmdMapped:" | "FilePmdMapped:" => area.transparent += kib(),
            "Private_Hugetlb:" | "Shared_Hugetlb:" => area.reserved += kib(),
            "KernelPageSize:" => area.kernel_page = kib(),
            _ => {}
        }
    }
    areas
}

/// The requested page sizes, in words.
fn page_words(regions: &[Arc<Region>]) -> String {
    let mut kinds: Vec<String> = regions.iter().map(|region| region.page.to_string()).collect();
    kinds.sort();
    kinds.dedup();
    kinds.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
7f0000200000-7f0000600000 rw-p 00000000 00:00 0
Size:               4096 kB
KernelPageSize:        4 kB
Rss:                4096 kB
AnonHugePages:      2048 kB
VmFlags: rd wr
7f0040000000-7f0080000000 rw-p 00000000 00:0f 1   /anon_hugepage (deleted)
KernelPageSize:  1048576 kB
Rss:                   0 kB
Private_Hugetlb: 1048576 kB
";

    #[test]
    fn page_sizes_come_from_the_right_area() {
        let areas = areas(SMAPS);
        assert_eq!(areas[&0x7f00_0020_0000].share(PageKind::Thp), Some((4096.0, 0.5)));
        assert_eq!(areas[&0x7f00_0020_0000].share(PageKind::Base), Some((4096.0, 0.5)));
        let gigantic = &areas[&0x7f00_4000_0000];
        assert_eq!(gigantic.share(PageKind::Huge(1 << 30)), Some((1048576.0, 1.0)));
        assert_eq!(gigantic.share(PageKind::Huge(2 << 20)), Some((1048576.0, 0.0)));
        assert_eq!(gigantic.share(PageKind::Thp), None);
    }

    #[test]
    fn numa_maps_are_counted_by_node() {
        let maps = "7f0000200000 bind:1 anon=512 dirty=512 active=0 N0=12 N1=500 kernelpagesize_kB=4\n";
        assert_eq!(numa_maps_line(maps, 0x7f00_0020_0000), Some(BTreeMap::from([(0, 12), (1, 500)])));
        assert_eq!(numa_maps_line(maps, 0x7f00_0000_0000), None);
        assert_eq!(numa_maps_line("7f0000200000 default\n", 0x7f00_0020_0000), None);
    }
}
