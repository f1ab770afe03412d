//! NUMA nodes: cpus, memory, distances, firmware's performance figures, tiers and huge page pools.

use std::collections::BTreeMap;

use tiermark_model::messages::machine as messages;
use tiermark_model::{
    Bytes, CacheIndexing, Cpu, Dimm, DisputedFact, HmatAccess, HugePool, IdSet, Node, NodeId, SideCache, System,
    WritePolicy,
};

use crate::dmi;
use crate::reader::{Reader, Says};

const NODE_DIR: &str = "sys/devices/system/node";
const TIER_DIR: &str = "sys/devices/virtual/memory_tiering";
/// The kernel never has more nodes than this (`MAX_NUMNODES` of the largest configuration).
const MAX_NODES: u32 = 1024;
/// Classes of access to a node that are read: two are known.
const MOST_CLASSES: usize = 16;

/// Reads the NUMA nodes, and sets the node of each cpu. Without NUMA, one node 0 stands for the whole machine.
pub(crate) fn read(reader: &Reader<'_>, cpus: &mut [Cpu]) -> Vec<Node> {
    let online: IdSet = cpus.iter().map(|cpu| cpu.id).collect();
    let ids = node_ids(reader);
    if ids.is_empty() {
        return vec![whole_machine(reader, online)];
    }
    let nodes = ids.iter().map(|id| node(reader, &ids, &online, id)).collect();
    let mut nodes = join_emulated(reader, nodes);
    keep_apart(reader, &mut nodes);
    unclaimed(reader, &mut nodes, &online);
    for node in &nodes {
        for cpu in cpus.iter_mut().filter(|cpu| node.cpus.contains(cpu.id)) {
            cpu.node = Some(node.id);
        }
    }
    dispute_distances(reader, &nodes);
    tiers(reader, &mut nodes);
    global_pools(reader, &mut nodes);
    nodes
}

fn node_ids(reader: &Reader<'_>) -> IdSet {
    let dirs: IdSet = reader.numbered(NODE_DIR, "node").into_iter().filter(|id| *id < MAX_NODES).collect();
    let online = reader.id_list(&format!("{NODE_DIR}/online")).unwrap_or_default().intersection(&dirs);
    if online.is_empty() { dirs } else { online }
}

fn whole_machine(reader: &Reader<'_>, cpus: IdSet) -> Node {
    let meminfo = reader.lines("proc/meminfo");
    let bytes = |name: &str| meminfo.as_deref().and_then(|text| reader.kilobytes("proc/meminfo", text, name));
    Node {
        id: 0,
        cpus,
        memory_bytes: bytes("MemTotal"),
        free_bytes: free(&bytes),
        huge_pages: pools(reader, "sys/kernel/mm/hugepages"),
        ..Node::default()
    }
}

fn node(reader: &Reader<'_>, ids: &IdSet, online: &IdSet, id: NodeId) -> Node {
    let dir = format!("{NODE_DIR}/node{id}");
    let at = |name: &str| format!("{dir}/{name}");
    let meminfo = reader.lines(&at("meminfo"));
    let bytes = |name: &str| meminfo.as_deref().and_then(|text| reader.kilobytes(&at("meminfo"), text, name));
    let (list, mask) = (reader.id_list(&at("cpulist")), reader.id_mask(&at("cpumap")));
    let here = |cpus: &IdSet| reader.among(cpus, online);
    if let Some((list, mask)) = list.as_ref().map(here).zip(mask.as_ref().map(here)).filter(|(list, mask)| list != mask)
    {
        reader.contradict(DisputedFact::NodeCpus { node: id }, ("cpulist", &list), ("cpumap", &mask));
    }
    let stated = list.or(mask).unwrap_or_default();
    let cpus = here(&stated);
    Node {
        id,
        // The list has online cpus only; links to the node's cpus stay when these go offline.
        hides_cpus: cpus.is_empty() && (!stated.is_empty() || !reader.numbered(&dir, "cpu").is_empty()),
        cpus,
        emulated: IdSet::new(),
        memory_bytes: bytes("MemTotal"),
        free_bytes: free(&bytes),
        distances: distances(reader, &at("distance"), ids),
        hmat: reader
            .numbered(&dir, "access")
            .into_iter()
            .take(MOST_CLASSES)
            .filter_map(|class| hmat(reader, &dir, class))
            .collect(),
        memory_tier: None,
        huge_pages: pools(reader, &at("hugepages")),
        side_caches: side_caches(reader, &at("memory_side_cache")),
    }
}

/// Caches in front of the memory: one directory for each level, nearest to the initiators first.
fn side_caches(reader: &Reader<'_>, dir: &str) -> Vec<SideCache> {
    let cache = |level: u32| {
        let at = |name: &str| format!("{dir}/index{level}/{name}");
        SideCache {
            level,
            bytes: reader.number(&at("size")).filter(|bytes| *bytes != 0),
            line_bytes: reader.number(&at("line_size")).filter(|bytes| *bytes != 0),
            indexing: reader.number::<u32>(&at("indexing")).map(|code| match code {
                0 => CacheIndexing::Direct,
                1 => CacheIndexing::Indexed,
                _ => CacheIndexing::Other,
            }),
            write_policy: reader.number::<u32>(&at("write_policy")).map(|code| match code {
                0 => WritePolicy::Back,
                1 => WritePolicy::Through,
                _ => WritePolicy::Other,
            }),
        }
    };
    reader.numbered(dir, "index").into_iter().map(cache).collect()
}

/// What can be had without swapping: free pages, and file cache that is clean. A long-running server's free memory is
/// full of cache that the kernel gives up at once.
fn free(bytes: &impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let of = |name| bytes(name).unwrap_or_default();
    let cache = of("Active(file)").saturating_add(of("Inactive(file)")).saturating_sub(of("Dirty"));
    let most = bytes("MemTotal").unwrap_or(u64::MAX);
    bytes("MemFree").map(|free| free.saturating_add(cache).min(most))
}

/// The kernel prints one distance for each online node, in order of id; a row may be short after hot removal.
fn distances(reader: &Reader<'_>, path: &str, ids: &IdSet) -> BTreeMap<NodeId, u32> {
    let Some(text) = reader.word(path) else { return BTreeMap::new() };
    let row: Option<Vec<u32>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
    match row {
        Some(row) => ids.iter().zip(row).collect(),
        None => {
            reader.malformed(path, &text, "is not a row of distances");
            BTreeMap::new()
        }
    }
}

/// Names the first distance that no two nodes can have: another than 10 of a node to itself, 10 or less or no way (255) between two, or
/// another in the other direction.
fn dispute_distances(reader: &Reader<'_>, nodes: &[Node]) {
    const NO_WAY: u32 = 255;
    let wrong = |from: &Node, to: NodeId, distance: u32| {
        let back = nodes.iter().find(|node| node.id == to)?.distances.get(&from.id)?;
        let (by, says) = match distance {
            _ if to == from.id => ("the kernel's definition", LOCAL.to_string()),
            NO_WAY => ("the kernel, which reaches both,", "less than 255".to_owned()),
            0..=LOCAL => ("the kernel's definition", "more than 10".to_owned()),
            _ => ("the row of the other node", back.to_string()),
        };
        (distance.to_string() != says).then_some((by, says))
    };
    let all = nodes.iter().flat_map(|from| from.distances.iter().map(move |(to, distance)| (from, *to, *distance)));
    let found = { all }.find_map(|(from, to, distance)| Some((from.id, to, distance, wrong(from, to, distance)?)));
    if let Some((from, to, distance, (by, says))) = found {
        reader.contradict(DisputedFact::Distance { from, to }, ("its row", &distance), (by, &says));
    }
}

/// One access class, where firmware gives figures for it. Latency is in ns, bandwidth in MB/s; 0 means unknown.
fn hmat(reader: &Reader<'_>, node_dir: &str, class: u32) -> Option<HmatAccess> {
    let dir = format!("{node_dir}/access{class}/initiators");
    let figure = |name: &str| reader.number::<u64>(&format!("{dir}/{name}")).filter(|n| *n != 0).map(|n| n as f64);
    let access = HmatAccess {
        class,
        initiators: reader.numbered(&dir, "node").into_iter().collect(),
        read_latency_ns: figure("read_latency"),
        write_latency_ns: figure("write_latency"),
        read_bandwidth: figure("read_bandwidth").map(|mb| mb * 1e6),
        write_bandwidth: figure("write_bandwidth").map(|mb| mb * 1e6),
    };
    let empty = HmatAccess { class, ..HmatAccess::default() };
    (access != empty).then_some(access)
}

/// The distance of a node to itself (LOCAL_DISTANCE).
const LOCAL: u32 = 10;

/// Joins nodes that are parts of one memory (`numa=fake`): they are as near to each other as to themselves, and list the same cpus, which
/// the kernel gives to one node otherwise. Where the command line asks for such nodes, the distance alone shows them.
fn join_emulated(reader: &Reader<'_>, nodes: Vec<Node>) -> Vec<Node> {
    let command_line = reader.lines("proc/cmdline").unwrap_or_default();
    let is_fake = command_line.split_whitespace().any(|word| word.starts_with("numa=fake"));
    let mut joined: Vec<Node> = Vec::new();
    for node in nodes {
        let is_part = |whole: &&mut Node| {
            let has_same_cpus = whole.cpus == node.cpus && !node.cpus.is_empty();
            (is_fake || has_same_cpus) && whole.distances.get(&node.id) == Some(&LOCAL)
        };
        match joined.iter_mut().find(is_part) {
            Some(whole) => join(reader, whole, node),
            None => joined.push(node),
        }
    }
    let ids: IdSet = joined.iter().map(|node| node.id).collect();
    joined.iter_mut().for_each(|node| node.distances.retain(|id, _| ids.contains(*id)));
    joined
}

fn join(reader: &Reader<'_>, whole: &mut Node, part: Node) {
    if whole.cpus != part.cpus {
        let (fact, cpus) = (DisputedFact::NodeCpus { node: part.id }, whole.cpus.union(&part.cpus));
        let parts = "all parts of its memory";
        let other = if part.cpus == cpus { &whole.cpus } else { &part.cpus };
        reader.contradict(fact, (parts, &cpus), ("the cpulist of one part", other));
        whole.cpus = cpus;
    }
    let sum = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
    whole.emulated = whole.kernel_ids().union(&IdSet::from_iter([part.id]));
    whole.memory_bytes = sum(whole.memory_bytes, part.memory_bytes);
    whole.free_bytes = sum(whole.free_bytes, part.free_bytes);
    for pool in part.huge_pages {
        match whole.huge_pages.iter_mut().find(|own| own.page_bytes == pool.page_bytes) {
            Some(own) => (own.total, own.free) = (own.total + pool.total, own.free + pool.free),
            None => whole.huge_pages.push(pool),
        }
    }
}

/// Where nodes claim the same cpus, firmware is wrong; the first claim holds, so that every cpu has one node.
fn keep_apart(reader: &Reader<'_>, nodes: &mut [Node]) {
    let mut claimed = IdSet::new();
    for node in nodes {
        let rest = node.cpus.difference(&claimed);
        if rest != node.cpus {
            let fact = DisputedFact::NodeCpus { node: node.id };
            reader.contradict(fact, ("the nodes before", &rest), ("its cpulist", &node.cpus));
            (node.cpus, node.hides_cpus) = (rest, true);
        }
        claimed = claimed.union(&node.cpus);
    }
}

/// Cpus that no node lists: a node without cpus may be theirs.
fn unclaimed(reader: &Reader<'_>, nodes: &mut [Node], online: &IdSet) {
    let claimed = IdSet::union_of(nodes.iter().map(|node| &node.cpus));
    if claimed != *online {
        reader.contradict(DisputedFact::CpusOfNodes, ("the nodes' cpulist", &claimed), ("the cpus online", online));
        nodes.iter_mut().filter(|node| node.cpus.is_empty()).for_each(|node| node.hides_cpus = true);
    }
}

/// Settles the memory of the machine where its views differ: a container's `/proc/meminfo` shows the container's limit, and the node of
/// a guest may not count memory that was added while it ran. Memory can be hidden, but not invented: the larger sum holds, unless the
/// memory modules are for the smaller one.
pub(crate) fn settle_memory(reader: &Reader<'_>, nodes: &[Node], dimms: &[Dimm], system: &mut System) {
    let is_real = system.hypervisor.is_none() && nodes.iter().all(|node| !node.is_memory_only());
    let modules = Modules::of(dimms).filter(|_| is_real);
    let sum = |of: fn(&Node) -> Option<u64>| nodes.iter().map(of).sum::<Option<u64>>();
    if let Some((by_node, total)) = sum(|node| node.memory_bytes).zip(system.memory_bytes)
        // Rounding and memory that belongs to no node stay far below a tenth.
        && by_node.abs_diff(total) > total / 10
    {
        const MEMINFO: &str = "/proc/meminfo";
        let (by_nodes, by_machine) = (Bytes(by_node), Bytes(total));
        let (node, whole): (Says<'_>, Says<'_>) = (("the nodes' meminfo", &by_nodes), (MEMINFO, &by_machine));
        let backs = |bytes: u64| modules.as_ref().is_some_and(|modules| modules.back(bytes));
        let nodes_hold = by_node > total && (backs(by_node) || !backs(total)) || backs(by_node) && !backs(total);
        let (used, set_aside) = if nodes_hold { (node, whole) } else { (whole, node) };
        reader.contradict(DisputedFact::Memory, used, set_aside);
        if nodes_hold {
            system.memory_bytes = Some(by_node);
            system.available_bytes = sum(|node| node.free_bytes);
        }
    }
    if let Some((total, available)) = system.memory_bytes.zip(system.available_bytes).filter(|(all, some)| some > all) {
        let (total_is, available_is) = (Bytes(total), Bytes(available));
        reader.contradict(DisputedFact::AvailableMemory, ("MemTotal", &total_is), ("MemAvailable", &available_is));
        system.available_bytes = Some(total);
    }
    if let Some((modules, total)) = modules.zip(system.memory_bytes).filter(|(modules, total)| !modules.back(*total)) {
        let said = Bytes(modules.dram);
        reader.contradict(DisputedFact::Modules, ("the kernel", &Bytes(total)), ("SMBIOS", &said));
    }
}

/// Bytes of the machine's memory modules.
struct Modules {
    dram: u64,
    /// With those that are not DRAM: in a processor's memory mode they are the memory, and DRAM is their cache.
    all: u64,
    /// The smallest module of DRAM, where there are several.
    smallest: Option<u64>,
}

/// Share of the modules that the kernel keeps for its own descriptions of pages, with room to spare: 1.6 % at 4 KiB.
const OWN_SHARE: u64 = 50;

impl Modules {
    fn of(dimms: &[Dimm]) -> Option<Self> {
        let populated: Vec<u64> = dimms.iter().filter(|dimm| dimm.populated).filter_map(|dimm| dimm.bytes).collect();
        let smallest = populated.iter().min().copied().filter(|_| populated.len() > 1);
        Some(Self { dram: dmi::bytes_of_dram(dimms)?, all: dmi::bytes_of_all(dimms)?, smallest })
    }

    /// Whether so much is missing that it is a module: firmware maps a faulty one out, and `mem=` leaves memory unused. What
    /// firmware and graphics keep is less than most of a module.
    fn lack_one(&self, total: u64) -> bool {
        let missing = self.dram.saturating_sub(total).saturating_sub(self.dram / OWN_SHARE);
        self.all == self.dram && self.smallest.is_some_and(|bytes| missing >= bytes / 4 * 3)
    }

    /// Whether a total that the kernel manages can be of these modules: it is no more than they hold, and firmware and the kernel itself
    /// keep less than a third.
    fn back(&self, total: u64) -> bool {
        total <= self.all && self.dram / 3 * 2 <= total && !self.lack_one(total)
    }
}

fn tiers(reader: &Reader<'_>, nodes: &mut [Node]) {
    for tier in reader.numbered(TIER_DIR, "memory_tier") {
        let members = reader.id_list(&format!("{TIER_DIR}/memory_tier{tier}/nodelist")).unwrap_or_default();
        for node in nodes.iter_mut().filter(|node| members.contains(node.id)) {
            node.memory_tier = Some(tier);
        }
    }
}

/// Pools of all sizes in a directory of `hugepages-NkB`.
fn pools(reader: &Reader<'_>, dir: &str) -> Vec<HugePool> {
    let sizes = reader.page_sizes(dir).into_iter();
    sizes
        .filter_map(|(page_bytes, name)| {
            let count = |file: &str| reader.count_of(&format!("{dir}/{name}/{file}"), page_bytes);
            Some(HugePool {
                page_bytes,
                total: count("nr_hugepages")?,
                free: count("free_hugepages").unwrap_or_default(),
            })
        })
        .collect()
}

/// Where no node lists its pools, the machine's totals go to the first node, and with several nodes this is said.
fn global_pools(reader: &Reader<'_>, nodes: &mut [Node]) {
    if nodes.iter().any(|node| !node.huge_pages.is_empty()) {
        return;
    }
    let totals = pools(reader, "sys/kernel/mm/hugepages");
    if nodes.len() > 1 && totals.iter().any(|pool| pool.total > 0) {
        reader.refuse(messages::node_huge_pages_unknown());
    }
    if let Some(first) = nodes.first_mut() {
        first.huge_pages = totals;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_back_a_total_that_they_can_hold() {
        let dimm = |gib: u64, kind: &str| Dimm {
            populated: true,
            bytes: Some(gib << 30),
            kind: Some(kind.to_owned()),
            ..Dimm::default()
        };
        let back = |dimms: &[Dimm], gib: u64| Modules::of(dimms).is_some_and(|modules| modules.back(gib << 30));
        let ddr = vec![dimm(32, "DDR4"); 8];
        assert!(back(&ddr, 251) && !back(&ddr, 858) && !back(&ddr, 125), "256 GiB");
        assert!(!back(&ddr, 220), "a module of 32 GiB is mapped out");
        // Firmware, graphics and a crash kernel keep less than a module.
        assert!(back(&vec![dimm(8, "DDR4"); 2], 12) && back(&[dimm(16, "DDR5")], 11) && back(&ddr, 230));
        let memory_mode = [vec![dimm(32, "DDR4"); 6], vec![dimm(128, "Logical non-volatile device"); 4]].concat();
        assert!(back(&memory_mode, 504), "the non-volatile modules are the memory, DRAM is their cache");
    }

    #[test]
    fn modules_decide_between_two_totals() {
        let settled = |nodes: u64, meminfo: u64, modules: u64| {
            let root = crate::Root::from_files("test", Vec::<(String, String)>::new());
            let node = Node { memory_bytes: Some(nodes << 30), cpus: (0..4).collect(), ..Node::default() };
            let dimm =
                Dimm { populated: true, bytes: Some(modules << 30), kind: Some("DDR5".into()), ..Dimm::default() };
            let mut system = System { memory_bytes: Some(meminfo << 30), ..System::default() };
            let reader = Reader::new(&root);
            settle_memory(&reader, &[node], &[dimm], &mut system);
            let misleads = reader.contradictions().iter().any(|found| found.fact.misleads());
            (system.memory_bytes.map(|bytes| bytes >> 30), misleads)
        };
        assert_eq!(settled(220, 858, 224), (Some(220), false), "two of three agree");
        assert_eq!(settled(220, 251, 256), (Some(251), false));
        assert_eq!(settled(251, 4, 256), (Some(251), false), "a container's limit");
        assert_eq!(settled(220, 858, 0), (Some(858), false), "nothing else decides");
        assert_eq!(settled(120, 120, 256), (Some(120), true), "half of the modules' memory is missing");
    }
}
