//! NUMA nodes: cpus, memory, distances, firmware's performance figures, tiers and huge page pools.

use std::collections::BTreeMap;

use tiermark_model::messages::machine as messages;
use tiermark_model::{Bytes, CacheIndexing, Cpu, HmatAccess, HugePool, IdSet, Node, NodeId, SideCache, WritePolicy};

use crate::reader::Reader;

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
    let mut nodes: Vec<Node> = ids.iter().map(|id| node(reader, &ids, &online, id)).collect();
    keep_apart(reader, &mut nodes);
    check_sum(reader, &nodes);
    for node in &nodes {
        for cpu in cpus.iter_mut().filter(|cpu| node.cpus.contains(cpu.id)) {
            cpu.node = Some(node.id);
        }
    }
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
    Node {
        id,
        cpus: reader.ids(&at("cpulist"), &at("cpumap"), online).unwrap_or_default(),
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
    bytes("MemFree").map(|free| free.saturating_add(cache))
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

/// Where nodes claim the same cpus, firmware is wrong; the first claim holds, so that every cpu has one node.
fn keep_apart(reader: &Reader<'_>, nodes: &mut [Node]) {
    let mut claimed = IdSet::new();
    let mut wrong = IdSet::new();
    for node in nodes {
        if !node.cpus.intersection(&claimed).is_empty() {
            wrong.insert(node.id);
            node.cpus = node.cpus.difference(&claimed);
        }
        claimed = claimed.union(&node.cpus);
    }
    if !wrong.is_empty() {
        reader.refuse(messages::cpus_of_two_nodes(&wrong));
    }
}

/// Nodes that do not add up to the machine's memory: seen where a hypervisor adds memory to a running guest.
fn check_sum(reader: &Reader<'_>, nodes: &[Node]) {
    let meminfo = reader.lines("proc/meminfo").unwrap_or_default();
    let Some(total) = reader.kilobytes("proc/meminfo", &meminfo, "MemTotal") else { return };
    let Some(sum) = nodes.iter().map(|node| node.memory_bytes).sum::<Option<u64>>() else { return };
    // Rounding and memory that belongs to no node stay far below a tenth.
    if sum.abs_diff(total) > total / 10 {
        reader.refuse(messages::node_memory_differs(Bytes(sum), Bytes(total)));
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
