//! The tiers of a machine as a ladder: which footprint measures which level, for one thread and for many.

use tiermark_engine::nearest_memory_node;
use tiermark_model::messages::plan as says;
use tiermark_model::messages::rules;
use tiermark_model::{Bytes, CpuId, IdSet, KIB, MIB, Machine, NodeId, Note, Refusal, Scope, count_of, total};

use crate::found::{Found, FoundTier};

/// A DRAM buffer is this many times all caches in reach: the caches then serve under a quarter of the accesses of a
/// random walk, and in steady state far less of a longer stream.
const DRAM_FACTOR: u64 = 4;
/// The smallest DRAM buffer: machines and guests that hide their caches have some all the same.
const DRAM_FLOOR: u64 = 64 * MIB;
/// DRAM buffer where no cache is declared at all: larger than any cache sold for fewer than ten thousand dollars.
const DRAM_BLIND: u64 = 512 * MIB;
/// A footprint fits its level with this divisor: half of a private cache, so that stack and page tables do not push it
/// out; a quarter of a shared one, because guests and cache allocation often own only part of it.
const PRIVATE_PART: u64 = 2;
const SHARED_PART: u64 = 4;
/// Without declared caches: what every general-purpose core since 2008 holds in its first level.
const L1_BLIND: u64 = 16 * KIB;

/// One rung of the ladder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tier {
    /// `L1`, `L2`, `L3`, `DRAM`, `DRAM node 1`, …
    pub(crate) name: String,
    /// Footprint of each thread.
    pub(crate) bytes: u64,
    /// Footprint of each thread that streams: translation costs a stream little, so that it need not stay within the reach of a TLB.
    pub(crate) stream_bytes: u64,
    /// Node the memory is on; `None` for the threads' own nodes.
    pub(crate) node: Option<NodeId>,
    /// The cpus that measure it: all of the ladder's, or, for far memory, those of the home node, or it would not be far for all.
    pub(crate) cpus: IdSet,
}

/// The ladder for a set of cpus, one thread each, with the rules that made it and the rungs that cannot be had.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Ladder {
    pub(crate) tiers: Vec<Tier>,
    pub(crate) rules: Vec<Note>,
    pub(crate) refused: Vec<Refusal>,
}

/// Builds the ladder for these cpus from the declared caches.
pub(crate) fn ladder(machine: &Machine, cpus: &IdSet, scope: &Scope) -> Ladder {
    ladder_of(machine, cpus, scope, &Found::default())
}

/// Builds the ladder for these cpus: rungs lie where a curve has found the tiers, and where nothing was found in a part of what is declared.
pub(crate) fn ladder_of(machine: &Machine, cpus: &IdSet, scope: &Scope, found: &Found) -> Ladder {
    let mut ladder = Ladder::default();
    let Some(first) = cpus.first() else { return ladder };
    cache_rungs(machine, cpus, first, found, &mut ladder);
    memory_rungs(machine, cpus, first, scope, &mut ladder);
    ladder
}

fn cache_rungs(machine: &Machine, cpus: &IdSet, first: CpuId, found: &Found, ladder: &mut Ladder) {
    let mut levels: Vec<_> = machine.data_caches().filter(|c| c.cpus.contains(first)).collect();
    levels.sort_by_key(|c| c.level);
    let mut inner = 0;
    for cache in levels {
        let Some(bytes) = cache.bytes else { continue };
        let tier = found.tiers.iter().find(|tier| tier.level == cache.level);
        // The measured size counts, not the declared one.
        let bytes = tier.and_then(|tier| tier.size.resolved()).unwrap_or(bytes);
        let cache_bytes = bytes;
        let name = format!("L{}", cache.level);
        let users = cache.cpus.intersection(cpus).len().max(1) as u64;
        let part = if cache.cpus.len() > 1 && cache.level > 1 { SHARED_PART } else { PRIVATE_PART };
        // Twice the level above, or it would answer; as much of its own level as that leaves room for.
        let wanted = (bytes / part / users).max(2 * inner);
        let wanted = match tier {
            // Of a cache that others use as well each thread gets its part.
            Some(tier) if users > 1 => wanted.min(tier.rung.max(2 * inner)),
            Some(tier) => tier.rung,
            None => wanted,
        };
        if tier.is_none_or(|_| users > 1) && wanted * users > bytes * 3 / 4 + inner * users {
            let (cache, above) = (Bytes(bytes), Bytes(inner));
            ladder.refused.push(says::cache_too_small_for_threads(&name, users, cache, above));
        } else {
            let bytes = wanted / KIB * KIB;
            let own = users == 1 && cache.level < 3;
            let stream_bytes = tier.filter(|_| own).map_or(bytes, |tier| streamed(tier, cache_bytes, bytes));
            ladder.tiers.push(Tier { name, bytes, stream_bytes, node: None, cpus: cpus.clone() });
        }
        inner = bytes / users;
    }
    if ladder.tiers.is_empty() && ladder.refused.is_empty() {
        for tier in &found.tiers {
            let name = format!("L{}", tier.level);
            let bytes = tier.rung / KIB * KIB;
            ladder.tiers.push(Tier { name, bytes, stream_bytes: bytes, node: None, cpus: cpus.clone() });
        }
    }
    if ladder.tiers.is_empty() && ladder.refused.is_empty() {
        ladder.rules.push(rules::no_cache_declared(Bytes(L1_BLIND)));
        let (bytes, cpus) = (L1_BLIND, cpus.clone());
        ladder.tiers.push(Tier { name: "L1".into(), bytes, stream_bytes: bytes, node: None, cpus });
    }
}

/// The footprint of a stream in a cache of one core: the largest power of two up to half of it, where that lies on its plateau.
fn streamed(tier: &FoundTier, cache_bytes: u64, rung: u64) -> u64 {
    let half = 1 << (cache_bytes / PRIVATE_PART).max(1).ilog2();
    let fits = tier.plateau.is_some_and(|(from, to)| (from..=to).contains(&half));
    if fits { half } else { rung }
}

fn memory_rungs(machine: &Machine, cpus: &IdSet, first: CpuId, scope: &Scope, ladder: &mut Ladder) {
    let own = nearest_memory_node(first, machine);
    let targets = match scope.mem_node {
        Some(node) => vec![(if Some(node) == own { "DRAM".to_owned() } else { far_name(machine, node) }, Some(node))],
        None => {
            let far = far_nodes(machine, own).into_iter().map(|node| (far_name(machine, node), Some(node)));
            std::iter::once(("DRAM".to_owned(), None)).chain(far).collect()
        }
    };
    let home =
        machine.node_of(first).and_then(|id| machine.node(id)).map_or(cpus.clone(), |n| cpus.intersection(&n.cpus));
    for (name, node) in targets {
        let far = node.is_some() && node != own && scope.mem_node.is_none() && !home.is_empty();
        let crew = if far { &home } else { cpus };
        match memory_bytes(&name, machine, crew, node, scope) {
            Ok((bytes, rule)) => {
                ladder.rules.push(rules::memory_size(&name, &rule));
                ladder.tiers.push(Tier { name, bytes, stream_bytes: bytes, node, cpus: crew.clone() });
            }
            Err(refusal) => ladder.refused.push(refusal),
        }
    }
}

/// One node of each kind of far memory: one a distance, cpu-less ones apart. The number of kinds does not grow with the machine.
pub(crate) fn far_nodes(machine: &Machine, own: Option<NodeId>) -> Vec<NodeId> {
    let Some(home) = own.and_then(|id| machine.node(id)) else { return Vec::new() };
    let mut kinds = std::collections::BTreeMap::new();
    for node in &machine.nodes {
        let usable =
            node.id != home.id && node.memory_bytes.is_some_and(|b| b > 0) && machine.allowed_nodes.contains(node.id);
        if usable {
            let distance = home.distances.get(&node.id).copied().unwrap_or(0);
            kinds.entry((node.cpus.is_empty(), distance)).or_insert(node.id);
        }
    }
    kinds.into_values().collect()
}

fn far_name(machine: &Machine, node: NodeId) -> String {
    let memory_only = machine.node(node).is_some_and(|n| n.cpus.is_empty());
    if memory_only { format!("far node {node}") } else { format!("DRAM node {node}") }
}

/// Footprint of each thread that makes DRAM answer, and the rule with its inputs.
///
/// # Errors
/// A [`Refusal`] when the memory allowed is not even twice the caches in reach.
pub(crate) fn dram_bytes(
    machine: &Machine,
    cpus: &IdSet,
    node: Option<NodeId>,
    scope: &Scope,
) -> Result<(u64, String), Refusal> {
    memory_bytes("DRAM", machine, cpus, node, scope)
}

/// As [`dram_bytes`], for the tier of this name.
fn memory_bytes(
    name: &str,
    machine: &Machine,
    cpus: &IdSet,
    node: Option<NodeId>,
    scope: &Scope,
) -> Result<(u64, String), Refusal> {
    let caches = machine.reachable_cache_bytes(cpus);
    let (wanted, rule) = if caches == 0 {
        (DRAM_BLIND, format!("{} (no cache is declared)", Bytes(DRAM_BLIND)))
    } else {
        let wanted = (DRAM_FACTOR * caches).max(DRAM_FLOOR);
        (wanted, format!("{DRAM_FACTOR} x {} of caches in reach, at least {}", Bytes(caches), Bytes(DRAM_FLOOR)))
    };
    let (cap, why) = memory_cap(machine, cpus, node, scope);
    let total = wanted.min(cap);
    if total < 2 * caches.max(4 * MIB) {
        return Err(says::memory_within_caches(name, cpus.len() as u64, Bytes(cap), &why, Bytes(caches)));
    }
    let threads = cpus.len().max(1) as u64;
    // Whole huge pages, so that --pages thp can be had for all of it; rounded up where that is allowed.
    let pages =
        if cap < wanted { (total / threads / (2 * MIB)).max(1) } else { total.div_ceil(threads).div_ceil(2 * MIB) };
    let each = pages * 2 * MIB;
    let capped = if cap < wanted { format!(", capped to {} ({why})", Bytes(cap)) } else { String::new() };
    Ok((each, format!("{} for {} = {rule}{capped}", Bytes(each * threads), count_of(threads, "thread"))))
}

/// The most memory a step may take, and what limits it.
pub(crate) fn memory_cap(machine: &Machine, cpus: &IdSet, node: Option<NodeId>, scope: &Scope) -> (u64, String) {
    let mut caps: Vec<(u64, String)> = Vec::new();
    // Half of the free memory, unless the user sets a limit: then all but a tenth, which the system needs.
    let (part, words) = if scope.max_mem.is_some() { (0.9, "nine tenths") } else { (0.5, "half") };
    let mut cap = |bytes: u64, of: String| caps.push(((bytes as f64 * part) as u64, format!("{words} of {of}")));
    let nodes: IdSet = match node {
        Some(node) => [node].into_iter().collect(),
        None => cpus.iter().filter_map(|cpu| nearest_memory_node(cpu, machine)).collect(),
    };
    let free: Option<Vec<u64>> = machine.nodes.iter().filter(|n| nodes.contains(n.id)).map(|n| n.free_bytes).collect();
    if let Some(free) = free.map(total) {
        cap(free, format!("the {} free on node {nodes}", Bytes(free)));
    }
    if let Some(available) = machine.system.available_bytes {
        cap(available, format!("the {} available", Bytes(available)));
    }
    if let Some(cgroup) = &machine.system.cgroup
        && let Some(limit) = cgroup.memory_limit
    {
        let left = limit.saturating_sub(cgroup.memory_used.unwrap_or(0));
        cap(left, format!("the free part of the cgroup's limit, {}", Bytes(left)));
    }
    if let Some(max) = scope.max_mem {
        caps.push((max.0, "--max-mem".into()));
    }
    caps.into_iter().min_by_key(|(bytes, _)| *bytes).unwrap_or((u64::MAX, "no limit".into()))
}

/// The cpu for one-thread steps: a core's first thread, not cpu 0 where there is a choice, since interrupts and kernel
/// work land there by default.
pub(crate) fn quiet_cpu(machine: &Machine, cpus: &IdSet) -> Option<CpuId> {
    let order = machine.cores_first(cpus);
    let cores = machine.one_per_core(cpus);
    order.iter().copied().filter(|c| cores.contains(*c)).find(|c| *c != 0).or_else(|| order.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Cache, CacheKind, Cpu, Node};

    fn machine(cores: u32, l2: u64, l3: u64) -> Machine {
        let all: IdSet = (0..cores).collect();
        let mut caches = Vec::new();
        for cpu in 0..cores {
            for (level, bytes) in [(1, 48 * KIB), (2, l2)] {
                let cache = Cache {
                    level,
                    kind: CacheKind::Unified,
                    bytes: Some(bytes),
                    line_bytes: Some(64),
                    ways: None,
                    sets: None,
                    cpus: [cpu].into_iter().collect(),
                };
                caches.push(cache);
            }
        }
        caches.push(Cache {
            level: 3,
            kind: CacheKind::Unified,
            bytes: Some(l3),
            line_bytes: Some(64),
            ways: None,
            sets: None,
            cpus: all.clone(),
        });
        Machine {
            cpus: (0..cores).map(|id| Cpu { id, core: id, node: Some(0), ..Cpu::default() }).collect(),
            allowed_cpus: all.clone(),
            allowed_nodes: "0-3".parse().unwrap(),
            caches,
            nodes: vec![Node {
                id: 0,
                cpus: all,
                memory_bytes: Some(64 << 30),
                free_bytes: Some(32 << 30),
                ..Node::default()
            }],
            ..Machine::default()
        }
    }

    fn names(ladder: &Ladder) -> Vec<(String, u64)> {
        ladder.tiers.iter().map(|t| (t.name.clone(), t.bytes)).collect()
    }

    #[test]
    fn one_thread_gets_every_rung() {
        let ladder = ladder(&machine(2, MIB, 32 * MIB), &"1".parse().unwrap(), &Scope::default());
        let expected = [("L1", 24 * KIB), ("L2", 512 * KIB), ("L3", 8 * MIB), ("DRAM", 132 * MIB)];
        assert_eq!(names(&ladder), expected.map(|(n, b)| (n.to_owned(), b)).to_vec());
        assert!(ladder.rules[0].text.contains("4 x 33 MiB"), "{:?}", ladder.rules);
    }

    #[test]
    fn a_shared_cache_smaller_than_the_private_ones_is_refused_for_all_threads() {
        let ladder = ladder(&machine(16, 2 * MIB, 30 * MIB), &"0-15".parse().unwrap(), &Scope::default());
        assert_eq!(ladder.tiers.iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["L1", "L2", "DRAM"]);
        assert!(ladder.refused[0].why.contains("16 threads share 30 MiB"), "{:?}", ladder.refused);
    }

    #[test]
    fn memory_is_capped_and_refused_when_too_little() {
        let scope = Scope { max_mem: Some(Bytes(100 * MIB)), ..Scope::default() };
        let (bytes, rule) = dram_bytes(&machine(2, MIB, 32 * MIB), &"0".parse().unwrap(), None, &scope).unwrap();
        assert_eq!(bytes, 100 * MIB);
        assert!(rule.contains("--max-mem"), "{rule}");
        // It is one more limit, not a way around the others.
        let mut small = machine(2, MIB, 32 * MIB);
        small.system.cgroup = Some(tiermark_model::Cgroup { memory_limit: Some(100 * MIB), ..Default::default() });
        let plenty = Scope { max_mem: Some(Bytes(1 << 40)), ..Scope::default() };
        let (bytes, rule) = dram_bytes(&small, &"0".parse().unwrap(), None, &plenty).unwrap();
        assert_eq!(bytes, 90 * MIB);
        assert!(rule.contains("cgroup"), "{rule}");
        let scope = Scope { max_mem: Some(Bytes(40 * MIB)), ..Scope::default() };
        let refusal = dram_bytes(&machine(2, MIB, 32 * MIB), &"0".parse().unwrap(), None, &scope).unwrap_err();
        assert!(refusal.why.contains("40 MiB"), "{refusal}");
    }

    #[test]
    fn far_memory_is_one_rung_a_kind() {
        let mut machine = machine(2, MIB, 32 * MIB);
        machine.nodes[0].distances = [(0, 10), (1, 20), (2, 20), (3, 40)].into();
        for id in 1..=3 {
            let cpus = if id == 3 { IdSet::new() } else { [id * 100].into_iter().collect() };
            machine.nodes.push(Node {
                id,
                cpus,
                memory_bytes: Some(8 << 30),
                free_bytes: Some(8 << 30),
                ..Node::default()
            });
        }
        let rungs = ladder(&machine, &"1".parse().unwrap(), &Scope::default());
        let far: Vec<_> = rungs.tiers.iter().filter(|t| t.node.is_some()).map(|t| t.name.as_str()).collect();
        assert_eq!(far, ["DRAM node 1", "far node 3"]);
        // With cpus of several nodes, only those of the home node measure far memory.
        machine.cpus.push(Cpu { id: 100, core: 9, node: Some(1), ..Cpu::default() });
        let both = ladder(&machine, &"0-1,100".parse().unwrap(), &Scope::default());
        assert!(both.tiers.iter().filter(|t| t.node.is_some()).all(|t| t.cpus == "0-1".parse().unwrap()));
        assert_eq!(both.tiers.iter().find(|t| t.name == "DRAM").unwrap().cpus, "0-1,100".parse().unwrap());
    }

    #[test]
    fn undeclared_caches_leave_l1_and_dram() {
        let mut machine = machine(1, MIB, 8 * MIB);
        machine.caches.clear();
        let ladder = ladder(&machine, &"0".parse().unwrap(), &Scope::default());
        assert_eq!(names(&ladder), [("L1".to_owned(), 16 * KIB), ("DRAM".to_owned(), 512 * MIB)]);
    }
}
