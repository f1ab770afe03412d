//! NUMA nodes: memory, pools, distances, firmware's figures.

use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::messages::machine as messages;
use tiermark_model::{Bytes, CacheIndexing, HmatAccess, IdSet, Machine, Node, SideCache, Unit, WritePolicy, count_of};
use tiermark_page::{ABSENT, Page, Table, Text, labelled, number, short_size, text};

use super::topology::short_list;

/// More nodes than this are counted, not listed: a distance matrix of eight still fits 80 columns.
const LISTED: usize = 8;

/// The nodes section.
pub(super) fn nodes(machine: &Machine) -> Page {
    let count = machine.nodes.len();
    // The machine's total, as everywhere else: what nodes count may differ, and then the machine contradicts itself.
    let of_nodes = || machine.nodes.iter().filter_map(|node| node.memory_bytes).reduce(u64::saturating_add);
    let total = machine.system.memory_bytes.or_else(of_nodes);
    let memory = total.map_or_else(String::new, |total| format!(", {}", Bytes(total)));
    let mut title = format!("{}{memory}", count_of(count as u64, "node"));
    if machine.page_bytes > 0 {
        title.push_str(&format!(", pages of {}", Bytes(machine.page_bytes)));
    }
    if machine.allowed_nodes.len() < count {
        title.push_str(&format!("; memory allowed from {}", short_list(&machine.allowed_nodes)));
    }
    let mut out = labelled("nodes", &title);
    for node in machine.nodes.iter().filter(|node| !node.emulated.is_empty()) {
        let text = format!(
            "node {}: one memory, which the kernel splits into the emulated nodes {} (numa=fake)",
            node.id,
            short_list(&node.emulated)
        );
        out += labelled("", &text);
    }
    if count > LISTED {
        out += summary(machine);
    } else if count > 0 {
        out += list(machine);
    }
    out + promised(machine) + offline(machine) + firmware(machine) + side_caches(machine)
}

fn bytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| ABSENT.to_owned(), |b| Bytes(b).to_string())
}

/// What a node without cpus or memory is worth a word.
fn cpus(node: &Node) -> String {
    match (node.cpus.is_empty(), node.hides_cpus) {
        (false, _) => short_list(&node.cpus),
        (true, true) => "not shown".to_owned(),
        (true, false) => "none".to_owned(),
    }
}

fn tier(node: &Node) -> String {
    node.memory_tier.map_or_else(|| ABSENT.to_owned(), |tier| tier.to_string())
}

/// Sizes of the huge page pools that hold pages on any node.
fn pools(machine: &Machine) -> BTreeSet<u64> {
    machine.nodes.iter().flat_map(|n| &n.huge_pages).filter(|p| p.total > 0).map(|p| p.page_bytes).collect()
}

/// Whether the kernel separates nodes of faster from nodes of slower memory: one tier for all says nothing.
fn has_tiers(machine: &Machine) -> bool {
    machine.nodes.iter().map(|n| n.memory_tier).collect::<BTreeSet<_>>().len() > 1
}

/// Meaning of the column of tiers.
fn tiers_key(machine: &Machine) -> Page {
    if !has_tiers(machine) {
        return Page::new();
    }
    labelled("", "tier: the kernel's rank of a node's memory, the lower the faster")
}

/// One row a node, with the distances as a matrix at its right.
fn list(machine: &Machine) -> Page {
    let tiers = has_tiers(machine);
    let pools = pools(machine);
    let matrix = machine.nodes.len() > 1 && machine.nodes.iter().any(|n| !n.distances.is_empty());
    let pool = |node: &Node, size: u64| {
        let pool = node.huge_pages.iter().find(|pool| pool.page_bytes == size);
        pool.map_or_else(String::new, |pool| format!("{}/{}", pool.free, pool.total))
    };
    let distance = |node: &Node, to: u32| node.distances.get(&to).map_or_else(|| ABSENT.to_owned(), u32::to_string);
    let table = Table::of(&machine.nodes).numbers("node", |node| node.id.to_string()).texts("cpus", cpus);
    let table = table.numbers("memory", |node| bytes(machine.memory_of(node)));
    let table = table.numbers("free", |node| bytes(node.free_bytes)).when(tiers, |table| table.numbers("tier", tier));
    let table = table.each(&pools, |table, size| {
        table.numbers(format!("{} pages|free/all", short_size(*size as f64)), |node| pool(node, *size))
    });
    let others = machine.nodes.iter().enumerate().filter(|_| matrix);
    let table = table.each(others, |table, (i, other)| {
        let head = if i == 0 { format!("to|{}", other.id) } else { other.id.to_string() };
        table.numbers(head, |node| distance(node, other.id))
    });
    let table = table.table();
    let mut out = table + tiers_key(machine);
    if pools.is_empty() && machine.nodes.iter().any(|n| !n.huge_pages.is_empty()) {
        let on_demand: BTreeMap<u64, u64> = machine
            .nodes
            .iter()
            .flat_map(|node| &node.huge_pages)
            .filter(|pool| pool.on_demand > 0)
            .map(|pool| (pool.page_bytes, pool.on_demand))
            .collect();
        let more = on_demand.iter().map(|(size, pages)| format!("; up to {pages} of {} on demand", Bytes(*size)));
        out += labelled("", format!("no huge pages are reserved{}", more.collect::<String>()));
    }
    out
}

/// Free huge pages that programs mapped and did not touch yet.
fn promised(machine: &Machine) -> Page {
    let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
    for pool in machine.nodes.iter().flat_map(|node| &node.huge_pages).filter(|pool| pool.promised > 0) {
        let pages = sizes.entry(pool.page_bytes).or_default();
        *pages = pages.saturating_add(pool.promised);
    }
    let line = |(size, pages): (&u64, &u64)| {
        labelled("", format!("{pages} of the free {} pages are promised to programs", short_size(*size as f64)))
    };
    sizes.iter().map(line).collect()
}

/// The memory of nodes that are alike, from the smallest to the largest of them.
fn sizes(machine: &Machine, ids: &IdSet) -> String {
    let nodes = machine.nodes.iter().filter(|node| ids.contains(node.id));
    let sizes: BTreeSet<Option<u64>> = nodes.map(|node| node.memory_bytes).collect();
    let [least, most] = [sizes.first(), sizes.last()].map(|size| bytes(size.copied().flatten()));
    if least == most { most } else { format!("{least} to {most}") }
}

/// Nodes that are alike, counted.
fn summary(machine: &Machine) -> Page {
    let mut kinds: Vec<(&Node, IdSet)> = Vec::new();
    for node in &machine.nodes {
        // Nodes differ by a few pages the kernel keeps for itself: alike means the same to a GiB.
        let key = |n: &Node| (n.cpus.len(), n.memory_bytes.map(|b| b >> 30), n.memory_tier);
        match kinds.iter_mut().find(|(known, _)| key(known) == key(node)) {
            Some((_, ids)) => ids.insert(node.id),
            None => kinds.push((node, std::iter::once(node.id).collect())),
        }
    }
    let free = |ids: &IdSet| {
        let mut free = machine.nodes.iter().filter(|n| ids.contains(n.id)).map(|n| n.free_bytes);
        free.try_fold(0u64, |sum, free| Some(sum.saturating_add(free?)))
    };
    let table = Table::of(&kinds).texts("nodes", |(_, ids)| format!("{} ({})", short_list(ids), ids.len()));
    let table = table.numbers("each|cpus", |(node, _)| node.cpus.len().to_string());
    let table = table.numbers("each|memory", |(_, ids)| sizes(machine, ids));
    let table = table.numbers("all|free", |(_, ids)| bytes(free(ids)));
    let table = table.when(has_tiers(machine), |table| table.numbers("tier", |(node, _)| tier(node))).table();
    let mut distances: BTreeMap<u32, usize> = BTreeMap::new();
    for distance in machine.nodes.iter().flat_map(|n| n.distances.values()) {
        *distances.entry(*distance).or_default() += 1;
    }
    let mut out = table + tiers_key(machine);
    if !distances.is_empty() {
        let parts: Vec<String> = distances.iter().take(12).map(|(d, n)| format!("{d} ({n} pairs)")).collect();
        out += labelled("distances", parts.join(", "));
    }
    out
}

/// Memory in blocks that are offline, which the rows of the nodes do not count.
fn offline(machine: &Machine) -> Page {
    let Some(bytes) = machine.offline_bytes().filter(|bytes| *bytes > 0) else { return Page::new() };
    let offline = machine.offline_memory().join(", ");
    let cure = messages::memory_online_cure(bytes);
    labelled("offline", format!("{offline}, in memory blocks that no program can use; {cure}"))
}

/// The firmware's figures of access to each node (HMAT).
fn firmware(machine: &Machine) -> Page {
    let says = |node: &Node| node.hmat.iter().min_by_key(|h| h.class).and_then(figures);
    grouped_by_text("HMAT", machine, says)
}

/// The caches in front of each node's memory.
fn side_caches(machine: &Machine) -> Page {
    let says = |node: &Node| {
        let caches: Vec<String> = node.side_caches.iter().map(side_cache).collect();
        (!caches.is_empty()).then(|| format!("memory-side cache of {}", caches.join("; then of ")).into())
    };
    grouped_by_text("caches", machine, says)
}

fn side_cache(cache: &SideCache) -> String {
    let indexing = cache.indexing.and_then(|indexing| match indexing {
        CacheIndexing::Direct => Some("direct-mapped"),
        CacheIndexing::Indexed => Some("complex index"),
        CacheIndexing::Other => None,
    });
    let policy = cache.write_policy.and_then(|policy| match policy {
        WritePolicy::Back => Some("write-back"),
        WritePolicy::Through => Some("write-through"),
        WritePolicy::Other => None,
    });
    let line = cache.line_bytes.map(|line| format!("lines of {line} bytes"));
    let words = [indexing.map(str::to_owned), policy.map(str::to_owned), line];
    let words = std::iter::once(bytes(cache.bytes)).chain(words.into_iter().flatten());
    words.collect::<Vec<_>>().join(", ")
}

/// A line for each thing said of nodes, those of which the same is said together.
fn grouped_by_text(label: &str, machine: &Machine, text: impl Fn(&Node) -> Option<Text>) -> Page {
    let mut says: Vec<(Text, IdSet)> = Vec::new();
    for node in &machine.nodes {
        let Some(text) = text(node) else { continue };
        match says.iter_mut().find(|(known, _)| *known == text) {
            Some((_, ids)) => ids.insert(node.id),
            None => says.push((text, std::iter::once(node.id).collect())),
        }
    }
    let line = |(i, (text, ids)): (usize, &(Text, IdSet))| {
        labelled(if i == 0 { label } else { "" }, text![format!("node {}: ", short_list(ids)), text])
    };
    says.iter().enumerate().map(line).collect()
}

fn figures(access: &HmatAccess) -> Option<Text> {
    let pair = |read: Option<f64>, write: Option<f64>, unit: Unit| {
        let one = |value: f64, way: &str| text![number(value, unit).with_unit(), way];
        match (read, write) {
            (Some(r), Some(w)) if Text::from(number(r, unit)).plain() == Text::from(number(w, unit)).plain() => {
                Some(one(r, ""))
            }
            (Some(r), Some(w)) => Some(text![one(r, " read"), ", ", one(w, " write")]),
            (Some(r), None) => Some(one(r, " read")),
            (None, Some(w)) => Some(one(w, " write")),
            (None, None) => None,
        }
    };
    let parts = [
        pair(access.read_latency_ns, access.write_latency_ns, Unit::Ns),
        pair(access.read_bandwidth, access.write_bandwidth, Unit::BytesPerSecond),
    ];
    let text = Text::joined(parts.into_iter().flatten(), ", ");
    (!text.is_empty()).then(|| text + format!(", from the initiators of node {}", short_list(&access.initiators)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::HugePool;
    use tiermark_page::{Style, terminal};

    fn shown(page: &Page) -> String {
        let style = Style { width: 120, ..Style::default() };
        terminal(page, &style).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn memory_that_cannot_be_used_is_named() {
        let pool = HugePool { page_bytes: 2 << 20, total: 9, free: 8, promised: 5, on_demand: 0 };
        let node = |id, offline_bytes| Node { id, offline_bytes, huge_pages: vec![pool.clone()], ..Node::default() };
        let machine = Machine { nodes: vec![node(0, Some(0)), node(1, Some(4 << 30))], ..Machine::default() };
        assert_eq!(
            shown(&offline(&machine)),
            "offline 4 GiB of node 1, in memory blocks that no program can use; look at the blocks with `lsmem`, then \
             bring them online: sudo chmem -e 4096M, unless they were taken offline because of memory errors"
        );
        assert_eq!(shown(&promised(&machine)), "10 of the free 2M pages are promised to programs");
        assert_eq!(shown(&offline(&Machine::default())), "");
        for count in [2, LISTED as u32 + 1] {
            let machine = Machine { nodes: (0..count).map(|id| node(id, None)).collect(), ..Machine::default() };
            let said = format!("{} of the free 2M pages are promised to programs", 5 * count);
            let text = shown(&nodes(&machine));
            assert!(text.contains(&said), "{count} nodes, listed or counted: {text}");
        }
    }

    #[test]
    fn nodes_that_are_counted_show_the_sizes_of_all() {
        let node = |id: u32| Node { id, memory_bytes: Some((64 << 30) + (u64::from(id) << 28)), ..Node::default() };
        let machine = Machine { nodes: (0..3).map(node).collect(), ..Machine::default() };
        let text = shown(&summary(&machine));
        assert!(text.contains("64 GiB to 64.5 GiB"), "{text}");
    }

    #[test]
    fn nodes_behind_the_same_caches_share_a_line() {
        let cache = SideCache {
            level: 1,
            bytes: Some(96 << 30),
            line_bytes: Some(64),
            indexing: Some(CacheIndexing::Direct),
            write_policy: Some(WritePolicy::Back),
        };
        let node = |id| Node { id, side_caches: vec![cache.clone()], ..Node::default() };
        let bare = Node { id: 2, ..Node::default() };
        let machine = Machine { nodes: vec![node(0), node(1), bare], ..Machine::default() };
        let style = Style { width: 120, ..Style::default() };
        let said = terminal(&side_caches(&machine), &style);
        assert_eq!(
            said.split_whitespace().collect::<Vec<_>>().join(" "),
            "caches node 0-1: memory-side cache of 96 GiB, direct-mapped, write-back, lines of 64 bytes"
        );
    }
}
