//! NUMA nodes: cpus, memory, distances, firmware's performance figures, tiers and huge page pools.

use std::collections::BTreeMap;

use tiermark_model::messages::machine as messages;
use tiermark_model::{
    CacheIndexing, Cpu, DisputedFact, HmatAccess, HugePool, IdSet, Node, NodeId, SideCache, WritePolicy,
};

use crate::files::node_free;
use crate::reader::Reader;

pub(crate) const NODE_DIR: &str = "sys/devices/system/node";
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
        let mut nodes = vec![whole_machine(reader, online)];
        of_all_nodes(reader, &mut nodes);
        return nodes;
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
    of_all_nodes(reader, &mut nodes);
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
        free_bytes: node_free(bytes),
        huge_pages: pools(reader, POOLS),
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
        free_bytes: node_free(bytes),
        offline_bytes: None,
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

/// The kernel prints one distance for each online node, in order of id; a row may be short after hot removal.
fn distances(reader: &Reader<'_>, path: &str, ids: &IdSet) -> BTreeMap<NodeId, u32> {
    let row: Option<Vec<u32>> = reader.value(path, "is not a row of distances", |text| {
        text.split_whitespace().map(|word| word.parse().ok()).collect()
    });
    ids.iter().zip(row.unwrap_or_default()).collect()
}

/// Names the first distance that no two nodes can have: another than 10 of a node to itself, 10 or less or no way (255)
/// between two. Firmware may state another one in the other direction (ACPI 6.5, 5.2.17: each pair has two entries).
fn dispute_distances(reader: &Reader<'_>, nodes: &[Node]) {
    const NO_WAY: u32 = 255;
    let wrong = |from: &Node, to: NodeId, distance: u32| match distance {
        LOCAL if to == from.id => None,
        _ if to == from.id => Some(("the kernel's definition", LOCAL.to_string())),
        NO_WAY => Some(("the kernel, which reaches both,", "less than 255".to_owned())),
        0..=LOCAL => Some(("the kernel's definition", "more than 10".to_owned())),
        _ => None,
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

/// Joins nodes that are parts of one memory (`numa=fake`): they are as near to each other as to themselves, and list
/// the same cpus, which the kernel gives to one node otherwise. Where the command line asks for such nodes, the
/// distance alone shows them.
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

/// A processor has memory although its cpus are all offline, or the kernel was told not to know them (`nr_cpus=`): where
/// firmware counts more processors than have an online cpu, a node without cpus may be one's, unless the kernel ranks its
/// memory below that of the nodes with cpus.
pub(crate) fn of_offline_processors(nodes: &mut [Node], cpus: &[Cpu], processors: usize) {
    let online = cpus.iter().map(|cpu| cpu.socket).collect::<IdSet>().len();
    if processors <= online {
        return;
    }
    let own: Vec<Option<u32>> = nodes.iter().filter(|node| !node.cpus.is_empty()).map(|n| n.memory_tier).collect();
    let without = nodes.iter_mut().filter(|node| node.cpus.is_empty() && own.contains(&node.memory_tier));
    without.for_each(|node| node.hides_cpus = true);
}

/// Names the first node and socket that cut across each other: a node is a part of a socket, or has whole ones. The
/// sockets of a guest are made up, and a wrong package of a cpu is named itself.
pub(crate) fn dispute_sockets(reader: &Reader<'_>, nodes: &[Node], cpus: &[Cpu]) {
    let is_package = |fact: &DisputedFact| matches!(fact, DisputedFact::Package { .. });
    if reader.contradictions().iter().any(|found| is_package(&found.fact)) {
        return;
    }
    let mut sockets: BTreeMap<u32, IdSet> = BTreeMap::new();
    cpus.iter().for_each(|cpu| sockets.entry(cpu.socket).or_default().insert(cpu.id));
    let cuts = |node: &IdSet, socket: &IdSet| {
        let both = node.intersection(socket);
        !both.is_empty() && both != *node && both != *socket
    };
    let mut pairs = nodes.iter().flat_map(|node| sockets.iter().map(move |(id, socket)| (node, *id, socket)));
    if let Some((node, socket, cpus)) = pairs.find(|(node, _, socket)| cuts(&node.cpus, socket)) {
        let fact = DisputedFact::NodeAndSocket { node: node.id, socket };
        reader.contradict(fact, ("the node's cpulist", &node.cpus), ("physical_package_id", cpus));
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

/// The pools of the whole machine.
pub(crate) const POOLS: &str = "sys/kernel/mm/hugepages";

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
                ..HugePool::default()
            })
        })
        .collect()
}

/// What the firmware keeps for enclaves, on all nodes.
pub(crate) fn bytes_of_enclaves(reader: &Reader<'_>, nodes: &[Node]) -> u64 {
    let enclave_bytes =
        |node: &Node| reader.number::<u64>(&format!("sys/devices/system/node/node{}/x86/sgx_total_bytes", node.id));
    tiermark_model::total(nodes.iter().filter_map(enclave_bytes))
}

/// Where no node lists its pools, the machine's totals go to the first node, and with several nodes this is said.
fn global_pools(reader: &Reader<'_>, nodes: &mut [Node]) {
    if nodes.iter().any(|node| !node.huge_pages.is_empty()) {
        return;
    }
    let totals = pools(reader, POOLS);
    if nodes.len() > 1 && totals.iter().any(|pool| pool.total > 0) {
        reader.refuse(messages::node_huge_pages_unknown());
    }
    if let Some(first) = nodes.first_mut() {
        first.huge_pages = totals;
    }
}

/// What the kernel counts for the whole machine: pages that it makes on demand, and free pages that are promised to
/// programs, which are taken from the nodes with most.
fn of_all_nodes(reader: &Reader<'_>, nodes: &mut [Node]) {
    for (page_bytes, name) in reader.page_sizes(POOLS) {
        let count = |file: &str| reader.count_of(&format!("{POOLS}/{name}/{file}"), page_bytes).unwrap_or_default();
        let on_demand = count("nr_overcommit_hugepages").saturating_sub(count("surplus_hugepages"));
        let mut promised = count("resv_hugepages");
        let pools = nodes.iter_mut().flat_map(|node| &mut node.huge_pages);
        let mut pools: Vec<&mut HugePool> = pools.filter(|pool| pool.page_bytes == page_bytes).collect();
        pools.sort_by_key(|pool| std::cmp::Reverse(pool.free));
        for pool in pools {
            pool.promised = promised.min(pool.free);
            promised -= pool.promised;
            pool.on_demand = on_demand;
        }
    }
}
