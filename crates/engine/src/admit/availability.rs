//! Whether there is room for a setup: on the machine, below the control group's limit, on each node, in huge page
//! pools.

use std::collections::BTreeMap;

use tiermark_model::messages::setup as says;
use tiermark_model::{
    Bytes, Cure, GIB, HugeLimit, KIB, Layout, MIB, Machine, MemPolicy, NodeId, PageKind, Refusal, Setup,
};

/// The options with which a setup takes less memory.
const LESS: [&str; 2] = ["--sizes", "--max-mem"];

/// Kept free on each node and in the group, for the kernel's own reserves and this process's other memory (stacks,
/// stamps, room for skewed streams): a fiftieth of the free memory, at least 64 MiB. An allocation beyond it would wake
/// the out-of-memory killer.
fn margin(free: u64) -> u64 {
    (free / 50).max(64 * MIB)
}

/// Bytes of this much free memory that a setup can take.
pub fn room_in(free: u64) -> u64 {
    free.saturating_sub(margin(free))
}

/// Free memory, as far as the system reports it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fresh {
    /// Bytes of the machine available without swapping (`MemAvailable`).
    pub available: Option<u64>,
    /// The same of each node.
    pub nodes: BTreeMap<NodeId, u64>,
    /// The control group with the least room below its memory limit: free bytes, and the file that sets the limit.
    pub group: Option<(u64, String)>,
    /// Bytes that this process may still map below the limit on its address space; `None` without a limit.
    pub address_space: Option<u64>,
    /// Huge page pools by bytes a page; a size that is missing does not exist here.
    pub pools: BTreeMap<u64, Pool>,
    /// Limits of control groups on these pages.
    pub huge_limits: Vec<HugeLimit>,
}

/// Free pages of one size that are not promised to other programs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pool {
    /// On the machine.
    pub free: u64,
    /// On each node, where the kernel counts them by node: free ones, promised or not. The kernel promises pages of the
    /// machine, not of a node.
    pub nodes: BTreeMap<NodeId, u64>,
    /// Pages that the machine's pool has, free or not (`nr_hugepages`).
    pub total: u64,
    /// The same of each node.
    pub node_totals: BTreeMap<NodeId, u64>,
    /// Pages that the kernel makes on demand beside these, of the memory of any node.
    pub on_demand: u64,
}

impl Fresh {
    /// Free memory when the machine was discovered.
    pub fn discovered(machine: &Machine) -> Self {
        let mut pools: BTreeMap<u64, Pool> = BTreeMap::new();
        for node in &machine.nodes {
            for found in &node.huge_pages {
                let pool = pools.entry(found.page_bytes).or_default();
                pool.free += found.available();
                pool.total += found.total;
                pool.nodes.insert(node.id, found.free);
                pool.node_totals.insert(node.id, found.total);
                pool.on_demand = found.on_demand;
            }
        }
        let group =
            machine.system.cgroup.as_ref().and_then(|group| Some((group.memory_left()?, group.files.memory.clone()?)));
        Self {
            available: machine.system.available_bytes,
            nodes: machine.nodes.iter().filter_map(|node| Some((node.id, node.free_bytes?))).collect(),
            group,
            address_space: None,
            pools,
            huge_limits: machine.system.cgroup.as_ref().map_or_else(Vec::new, |group| group.huge_limits.clone()),
        }
    }
}

/// Memory of a region.
struct Need {
    /// Bytes, whole pages.
    bytes: u64,
    /// The nodes they come from, with what each gives of a round through all; empty where any of several may give it
    /// all.
    shares: Vec<(NodeId, u32)>,
    /// Of which pages.
    page: PageKind,
}

/// Whether all regions of a setup fit at once, with the memory that is needed to build them.
pub(super) fn admit(setup: &Setup, machine: &Machine, fresh: &Fresh) -> Result<(), Refusal> {
    let needs: Vec<Need> = (0..setup.regions.len()).map(|index| need(setup, index, machine)).collect();
    let (huge, ordinary): (Vec<&Need>, Vec<&Need>) = needs.iter().partition(|n| matches!(n.page, PageKind::Huge(_)));
    let made_on_demand = admit_pools(&huge, fresh)?;
    let sum = |needs: &[&Need]| needs.iter().fold(0u64, |sum, need| sum.saturating_add(need.bytes));
    let ordinary_bytes = sum(&ordinary).saturating_add(index_bytes(setup, machine));
    if let Some(left) = fresh.address_space {
        // What stays free is the program's own: where its allocator gets nothing, the program aborts.
        let cure = "raise the limit (`ulimit -v unlimited`, `LimitAS=` of a service), or use less: --sizes, --max-mem";
        let wanted = ordinary_bytes.saturating_add(sum(&huge));
        fits(wanted, left, "this process", "below the limit on its address space", &Cure::new(cure, &LESS))?;
    }
    admit_memory(ordinary_bytes.saturating_add(made_on_demand), &ordinary, machine, fresh)
}

fn need(setup: &Setup, index: usize, machine: &Machine) -> Need {
    let region = &setup.regions[index];
    let page = match region.page {
        PageKind::Base => machine.page_bytes,
        // 2 MiB where the kernel does not say: the size on x86 and on Arm with 4 KiB pages.
        PageKind::Thp => machine.system.thp_bytes.unwrap_or(2 * MIB),
        PageKind::Huge(bytes) => bytes,
    };
    let page = page.max(1);
    if let MemPolicy::File(memory) = &region.policy {
        // A new file takes memory as any, of which pool or node its file system decides; one that is there has its
        // memory already.
        let bytes = if memory.new && !matches!(region.page, PageKind::Huge(_)) { region.bytes.0 } else { 0 };
        return Need { bytes, shares: Vec::new(), page: PageKind::Base };
    }
    let nodes = super::region_nodes(setup, index, machine);
    let shares = nodes.iter().zip(region.policy.shares(nodes.len())).collect();
    Need { bytes: region.bytes.0.div_ceil(page).saturating_mul(page), shares, page: region.page }
}

/// What it takes to build chains and line orders: 4 bytes a line, twice meanwhile, of the largest region; and a copy of
/// the order for each region where there are several nodes.
fn index_bytes(setup: &Setup, machine: &Machine) -> u64 {
    let indexed = setup.regions.iter().filter(|r| !matches!(r.layout, Layout::Data | Layout::Zeros));
    let built = indexed.map(|r| r.bytes.0 / 8).max().unwrap_or_default();
    let permuted = setup.regions.iter().filter(|r| r.layout == Layout::Permuted && machine.nodes.len() > 1);
    permuted.fold(built, |sum, r| sum.saturating_add(r.bytes.0 / 16))
}

fn admit_memory(total: u64, needs: &[&Need], machine: &Machine, fresh: &Fresh) -> Result<(), Refusal> {
    if total == 0 {
        return Ok(());
    }
    if let Some(available) = fresh.available {
        let cure = "free memory on the machine, or use less: --sizes, --max-mem";
        fits(total, available, "the machine", "available (MemAvailable)", &Cure::new(cure, &LESS))?;
    }
    if let Some((left, file)) = &fresh.group {
        let (place, more) = match file.rsplit_once('/') {
            Some(("/proc", _)) => ("the container".to_owned(), format!("give the container more memory ({file})")),
            group => {
                let group = group.map_or(file.as_str(), |(group, _)| group);
                (format!("the control group {group}"), format!("raise {file} (of a container: docker run --memory)"))
            }
        };
        let cure = Cure::new(format!("{more}, or use less: --sizes, --max-mem"), &LESS);
        fits(total, *left, &place, "below its memory limit", &cure)?;
    }
    // Memory available on a machine with one node is available on that node, with caches that only the machine counts.
    if fresh.available.is_some() && machine.nodes.len() == 1 {
        return Ok(());
    }
    for (node, bytes) in by_node(needs, |need| need.bytes) {
        // Without a node's own figure the machine's say it all.
        if let Some(free) = fresh.nodes.get(&node) {
            let cure = "use less (--sizes, --max-mem), or memory of another node (--mem-node)";
            let cure = Cure::new(cure, &["--sizes", "--max-mem", "--mem-node"]);
            fits(bytes, *free, &format!("node {node}"), "free", &cure)?;
        }
    }
    Ok(())
}

/// Bytes that each node must give: the only one of a region, or each node that it is dealt out over.
fn by_node(needs: &[&Need], bytes: impl Fn(&Need) -> u64) -> BTreeMap<NodeId, u64> {
    let mut wanted: BTreeMap<NodeId, u64> = BTreeMap::new();
    for need in needs {
        let round: u64 = need.shares.iter().map(|(_, share)| u64::from(*share)).sum();
        for (node, share) in &need.shares {
            let wanted = wanted.entry(*node).or_default();
            *wanted = wanted.saturating_add(bytes(need).div_ceil(round.max(1)).saturating_mul(u64::from(*share)));
        }
    }
    wanted
}

/// Refuses regions that do not fit into the free memory.
fn fits(wanted: u64, free: u64, place: &str, of: &str, cure: &Cure) -> Result<(), Refusal> {
    if wanted <= room_in(free) {
        return Ok(());
    }
    Err(says::free_memory_short(Bytes(wanted), place, of, Bytes(free), Bytes(margin(free)), cure))
}

/// Bytes of ordinary memory that become huge pages on demand.
fn admit_pools(needs: &[&Need], fresh: &Fresh) -> Result<u64, Refusal> {
    let mut on_demand = 0u64;
    let mut sizes: BTreeMap<u64, Vec<&Need>> = BTreeMap::new();
    for need in needs {
        if let PageKind::Huge(page) = need.page {
            sizes.entry(page).or_default().push(need);
        }
    }
    for (page, needs) in sizes {
        let total = needs.iter().fold(0u64, |sum, need| sum.saturating_add(need.bytes / page));
        if let Some(limit) = fresh.huge_limits.iter().find(|limit| limit.page_bytes == page) {
            let left = limit.left() / page;
            if total > left {
                return Err(says::huge_pages_limited(total, Bytes(page), left, &limit.file));
            }
        }
        let Some(pool) = fresh.pools.get(&page) else { return Err(says::huge_pages_no_pool(total, Bytes(page))) };
        for (node, pages) in by_node(&needs, |need| need.bytes / page) {
            pool_fits(page, pages, pool, Some(node).filter(|node| pool.nodes.contains_key(node)))?;
        }
        pool_fits(page, total, pool, None)?;
        on_demand = on_demand.saturating_add(total.saturating_sub(pool.free).saturating_mul(page));
    }
    Ok(on_demand)
}

/// Refuses huge pages that are not there: on a node, or on the machine. A node gives no more than the machine has free
/// beside what is promised.
fn pool_fits(page: u64, pages: u64, pool: &Pool, node: Option<NodeId>) -> Result<(), Refusal> {
    let reserved = node.and_then(|node| pool.nodes.get(&node)).map_or(pool.free, |free| pool.free.min(*free));
    let free = reserved.saturating_add(pool.on_demand);
    if pages <= free {
        return Ok(());
    }
    let place = node.map_or_else(|| "the machine".to_owned(), |node| format!("node {node}"));
    // The file holds the size of the whole pool, whose pages others use.
    let missing = pages - free;
    let of_node =
        node.and_then(|node| Some((format!("/sys/devices/system/node/node{node}"), *pool.node_totals.get(&node)?)));
    let (tree, total) = of_node.unwrap_or_else(|| ("/sys/kernel/mm".to_owned(), pool.total));
    let at_boot = pool.total.saturating_add(missing);
    let boot = format!("; where memory is fragmented, reserve at boot: hugepagesz=1G hugepages={at_boot}");
    let late = if page == GIB { boot } else { String::new() };
    let file = format!("{tree}/hugepages/hugepages-{}kB/nr_hugepages", page / KIB);
    let size = total.saturating_add(missing);
    Err(says::huge_pages_short(pages, Bytes(page), free, &place, size, &file, &late))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::messages::setup::codes;
    use tiermark_model::{Cpu, HugePool, MemPolicy, Node, RegionSetup, Role, ThreadSetup, testing};

    fn two_nodes() -> Machine {
        let node = |id| Node { id, ..Node::default() };
        let cpus = (0..2).map(|id| Cpu { id, core: id, node: Some(id), ..Cpu::default() }).collect();
        Machine { cpus, nodes: vec![node(0), node(1)], page_bytes: 4096, ..Machine::default() }
    }

    /// Regions of bytes, nodes and pages.
    fn setup(regions: &[(u64, &str, PageKind)]) -> Setup {
        let region = |&(bytes, nodes, page): &(u64, &str, PageKind)| RegionSetup {
            nodes: nodes.parse().unwrap(),
            ..testing::region(bytes, page, Layout::Data)
        };
        let thread = |region| ThreadSetup::new(0, Role::Chase { chains: 1 }, region);
        Setup {
            regions: regions.iter().map(region).collect(),
            threads: (0..regions.len()).map(thread).collect(),
            seed: 1,
        }
    }

    fn refused(setup: &Setup, fresh: &Fresh) -> Refusal {
        let refusal = admit(setup, &two_nodes(), fresh).unwrap_err();
        assert!(!refusal.cure.is_empty(), "{refusal}");
        refusal
    }

    #[test]
    fn the_machines_memory_is_the_first_limit() {
        let fresh = Fresh { available: Some(4 * GIB), ..Fresh::default() };
        assert_eq!(admit(&setup(&[(3 * GIB, "0", PageKind::Thp)]), &two_nodes(), &fresh), Ok(()));
        let refusal = refused(&setup(&[(4 * GIB, "0", PageKind::Thp)]), &fresh);
        assert_eq!((&refusal.code, &refusal.data["free"]), (&codes::free_memory_short, &(4 * GIB).into()));
        // 3.75 GiB of data fit; with the order in which their lines are visited they do not.
        let mut ordered = setup(&[(3 * GIB + 768 * MIB, "0", PageKind::Thp)]);
        assert_eq!(admit(&ordered, &two_nodes(), &fresh), Ok(()));
        ordered.regions[0].layout = Layout::Permuted;
        refused(&ordered, &fresh);
    }

    #[test]
    fn pages_made_on_demand_are_of_the_free_memory() {
        let fresh = |on_demand: u64| Fresh {
            available: Some(4 * GIB),
            pools: [(2 * MIB, Pool { on_demand, ..Pool::default() })].into(),
            ..Fresh::default()
        };
        let wanted = |bytes| setup(&[(bytes, "0", PageKind::Huge(2 * MIB))]);
        assert_eq!(admit(&wanted(GIB), &two_nodes(), &fresh(512)), Ok(()));
        let code = |bytes, on_demand| refused(&wanted(bytes), &fresh(on_demand)).code;
        assert_eq!(code(GIB, 511), codes::huge_pages_short);
        assert_eq!(code(4 * GIB, 4096), codes::free_memory_short);
    }

    #[test]
    fn a_full_node_is_a_limit_of_its_own() {
        let fresh =
            Fresh { available: Some(40 * GIB), nodes: BTreeMap::from([(0, 30 * GIB), (1, GIB)]), ..Fresh::default() };
        assert_eq!(admit(&setup(&[(2 * GIB, "0", PageKind::Base)]), &two_nodes(), &fresh), Ok(()));
        let refusal = refused(&setup(&[(2 * GIB, "1", PageKind::Base)]), &fresh);
        assert!(refusal.why.starts_with("node 1 has 1 GiB free"), "{refusal}");
        let mut halves = setup(&[(3 * GIB, "0-1", PageKind::Base)]);
        assert_eq!(admit(&halves, &two_nodes(), &fresh), Ok(()));
        halves.regions[0].policy = MemPolicy::Interleave;
        refused(&halves, &fresh);
        // Two threads that share the node each fit alone.
        refused(&setup(&[(600 * MIB, "1", PageKind::Base), (600 * MIB, "1", PageKind::Base)]), &fresh);
    }

    #[test]
    fn a_margin_stays_free() {
        let fresh = Fresh { group: Some((GIB, "/cg/a/memory.limit_in_bytes".into())), ..Fresh::default() };
        assert_eq!(admit(&setup(&[(GIB - 64 * MIB, "0", PageKind::Base)]), &two_nodes(), &fresh), Ok(()));
        let refusal = refused(&setup(&[(GIB - 64 * MIB + 1, "0", PageKind::Base)]), &fresh);
        assert!(
            refusal.text("place").unwrap().ends_with(" /cg/a") && refusal.cure.contains("memory.limit_in_bytes"),
            "{refusal}"
        );
    }

    #[test]
    fn a_limit_on_address_space_leaves_the_program_its_own_memory() {
        let fresh = Fresh { address_space: Some(GIB), ..Fresh::default() };
        assert_eq!(admit(&setup(&[(GIB - 64 * MIB, "0", PageKind::Base)]), &two_nodes(), &fresh), Ok(()));
        let refusal = refused(&setup(&[(GIB - 32 * MIB, "0", PageKind::Base)]), &fresh);
        assert!(refusal.why.contains("64 MiB must stay free") && refusal.cure.contains("ulimit -v"), "{refusal}");
        // Huge pages are mapped too.
        let pools = [(GIB, Pool { free: 5, ..Pool::default() })].into();
        let refusal = refused(&setup(&[(GIB, "0", PageKind::Huge(GIB))]), &Fresh { pools, ..fresh });
        assert!(refusal.why.contains("address space"), "{refusal}");
    }

    #[test]
    fn an_empty_pool_is_refused_with_the_command_that_fills_it() {
        let page = PageKind::Huge(2 * MIB);
        let mut machine = two_nodes();
        for (node, free) in [(0, 2), (1, 4)] {
            machine.nodes[node].huge_pages =
                vec![HugePool { page_bytes: 2 * MIB, total: 9, free, ..HugePool::default() }];
        }
        let fresh = Fresh::discovered(&machine);
        assert_eq!(admit(&setup(&[(4 * MIB, "0", page)]), &two_nodes(), &fresh), Ok(()));
        // A region on each node: each is compared with its own node's pool.
        assert_eq!(admit(&setup(&[(4 * MIB, "0", page), (8 * MIB, "1", page)]), &two_nodes(), &fresh), Ok(()));
        let refusal = refused(&setup(&[(6 * MIB, "0", page)]), &fresh);
        assert_eq!(refusal.why, "2 are free on node 0");
        // The pool has 9 pages, of which 7 are in use.
        let command = "echo 10 > /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";
        assert!(refusal.cure.contains(command), "{refusal}");
        let unknown = refused(&setup(&[(GIB, "0", PageKind::Huge(GIB))]), &fresh);
        assert_eq!(unknown.code, codes::huge_pages_no_pool);
        // Each region fits where only the machine is counted, both together do not.
        let fresh = Fresh { pools: [(2 * MIB, Pool { free: 5, ..Pool::default() })].into(), ..Fresh::default() };
        let both = setup(&[(4 * MIB, "0", page), (8 * MIB, "1", page)]);
        assert_eq!(refused(&both, &fresh).why, "5 are free on the machine");
    }

    #[test]
    fn a_limit_of_the_group_on_huge_pages_is_refused_with_its_file() {
        let file = "/sys/fs/cgroup/hugetlb.2MB.max".to_owned();
        let limit = HugeLimit { page_bytes: 2 * MIB, bytes: 8 * MIB, used_bytes: 4 * MIB, file };
        let pools = [(2 * MIB, Pool { free: 2048, ..Pool::default() })].into();
        let fresh = Fresh { pools, huge_limits: vec![limit], ..Fresh::default() };
        let wanted = |bytes| setup(&[(bytes, "0", PageKind::Huge(2 * MIB))]);
        assert_eq!(admit(&wanted(4 * MIB), &two_nodes(), &fresh), Ok(()));
        let refusal = refused(&wanted(6 * MIB), &fresh);
        assert_eq!(refusal.code, codes::huge_pages_limited);
        assert!(refusal.why.contains("leaves 2 (/sys/fs/cgroup/hugetlb.2MB.max)"), "{refusal}");
    }

    #[test]
    fn pages_promised_to_programs_are_of_no_node() {
        let mut machine = two_nodes();
        // The kernel counts 1,000 promised pages for the machine.
        for (node, promised) in [(0, 512), (1, 488)] {
            let pool = HugePool { page_bytes: 2 * MIB, total: 512, free: 512, promised, ..HugePool::default() };
            machine.nodes[node].huge_pages = vec![pool];
        }
        let fresh = Fresh::discovered(&machine);
        let wanted = |pages: u64| setup(&[(pages * 2 * MIB, "0", PageKind::Huge(2 * MIB))]);
        assert_eq!(admit(&wanted(24), &two_nodes(), &fresh), Ok(()));
        let refusal = refused(&wanted(64), &fresh);
        assert_eq!(refusal.why, "24 are free on node 0");
        let command = "echo 552 > /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";
        assert!(refusal.cure.contains(command), "{refusal}");
        // Both nodes together.
        let page = PageKind::Huge(2 * MIB);
        let both = refused(&setup(&[(40 * MIB, "0", page), (40 * MIB, "1", page)]), &fresh);
        assert_eq!(both.why, "24 are free on the machine");
        assert!(both.cure.contains("echo 1040 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"), "{both}");
    }
}
