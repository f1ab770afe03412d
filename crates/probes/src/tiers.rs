//! The tiers of a machine as a ladder: which footprint measures which level, for one thread and for many.

use tiermark_model::messages::plan as says;
use tiermark_model::messages::rules;
use tiermark_model::{Bytes, CpuId, IdSet, KIB, Machine, NodeId, Note, Refusal, Request, Tier};

use crate::footprints::{behind_cache_bytes, dram_bytes_over, shares, side_cache_bytes};
use crate::found::{Found, FoundTier, half_of, is_declared};
use crate::memory_kinds::{far_nodes, far_unmeasured, local_cpus, memory_of, own_memory};

/// A footprint fits its level with this divisor: half of a private cache, so that stack and page tables do not push it
/// out; a quarter of a shared one, because guests and cache allocation often own only part of it.
const PRIVATE_PART: u64 = 2;
const SHARED_PART: u64 = 4;
/// Without declared caches: what every general-purpose core since 2008 holds in its first level.
const L1_BLIND: u64 = 16 * KIB;

/// One rung of the ladder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rung {
    pub(crate) tier: Tier,
    /// Footprint of each thread.
    pub(crate) bytes: u64,
    /// Footprint of each thread that streams: translation costs a stream little, so that it need not stay within the
    /// reach of a TLB.
    pub(crate) stream_bytes: u64,
    /// Node the memory is on; `None` for the threads' own nodes.
    pub(crate) node: Option<NodeId>,
    /// The cpus that measure it: all of the ladder's, or, for far memory, those of the home node, or it would not be
    /// far for all.
    pub(crate) cpus: IdSet,
}

/// The ladder for a set of cpus, one thread each, with the rules that made it and the rungs that cannot be had.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Ladder {
    pub(crate) rungs: Vec<Rung>,
    pub(crate) rules: Vec<Note>,
    pub(crate) refused: Vec<Refusal>,
}

/// Builds the ladder for these cpus from the declared caches.
#[cfg(test)]
pub(crate) fn ladder(machine: &Machine, cpus: &IdSet, request: &Request) -> Ladder {
    ladder_of(machine, cpus, request, &Found::default())
}

/// Builds the ladder for these cpus: rungs lie where a curve has found the tiers, and where nothing was found in a part
/// of what is declared.
pub(crate) fn ladder_of(machine: &Machine, cpus: &IdSet, request: &Request, found: &Found) -> Ladder {
    let mut ladder = Ladder::default();
    let Some(first) = cpus.first() else { return ladder };
    cache_rungs(machine, cpus, first, found, &mut ladder);
    memory_rungs(machine, cpus, request, &mut ladder);
    ladder
}

fn cache_rungs(machine: &Machine, cpus: &IdSet, first: CpuId, found: &Found, ladder: &mut Ladder) {
    let mut levels: Vec<_> = machine.data_caches().filter(|c| c.cpus.contains(first)).collect();
    levels.sort_by_key(|c| c.level);
    let mut inner = 0;
    for cache in levels {
        let Some(bytes) = cache.bytes else { continue };
        let tier = found.tiers.iter().find(|tier| tier.level == cache.level);
        // The measured size counts, not the declared one, unless the two are as near as a size is resolved: then each
        // run measures with the same footprint.
        let found = tier.and_then(|tier| tier.size.resolved()).filter(|found| !is_declared(*found, bytes));
        let bytes = found.unwrap_or(bytes);
        let cache_bytes = bytes;
        let level = Tier::Cache(cache.level);
        let users = cache.cpus.intersection(cpus).len().max(1) as u64;
        let part = if cache.cpus.len() > 1 && cache.level > 1 { SHARED_PART } else { PRIVATE_PART };
        // Twice the level above, or it would answer; as much of its own level as that leaves room for.
        let wanted =
            if users > 1 { even((bytes / part / users).max(2 * inner)) } else { (bytes / part).max(2 * inner) };
        let wanted = match tier {
            // Of a cache that others use as well each thread gets its part.
            Some(tier) if users > 1 => wanted.min(tier.rung.max(even(2 * inner))),
            Some(tier) if cache.level == 1 => first_level(tier, cache_bytes),
            Some(tier) => tier.rung,
            None => wanted,
        };
        if tier.is_none_or(|_| users > 1) && wanted * users > bytes * 3 / 4 + inner * users {
            let (cache, above) = (Bytes(bytes), Bytes(inner));
            ladder.refused.push(says::cache_too_small_for_threads(&level.to_string(), users, cache, above));
        } else {
            let bytes = wanted / KIB * KIB;
            let own = users == 1 && cache.level < 3;
            let stream_bytes = tier.filter(|_| own).map_or(bytes, |tier| streamed(tier, cache_bytes, bytes));
            ladder.rungs.push(Rung { tier: level, bytes, stream_bytes, node: None, cpus: cpus.clone() });
        }
        inner = bytes / users;
    }
    if ladder.rungs.is_empty() && ladder.refused.is_empty() {
        for tier in &found.tiers {
            let level = Tier::Cache(tier.level);
            let bytes = tier.rung / KIB * KIB;
            ladder.rungs.push(Rung { tier: level, bytes, stream_bytes: bytes, node: None, cpus: cpus.clone() });
        }
    }
    if ladder.rungs.is_empty() && ladder.refused.is_empty() {
        ladder.rules.push(rules::no_cache_declared(Bytes(L1_BLIND)));
        let (bytes, cpus) = (L1_BLIND, cpus.clone());
        ladder.rungs.push(Rung { tier: Tier::Cache(1), bytes, stream_bytes: bytes, node: None, cpus });
    }
}

/// The nearest of 1, 1.25, 1.5 and 1.75 times a power of two, as sizes of caches are. Two runs that find a cache's size
/// some percent apart then measure with the same footprint.
fn even(bytes: u64) -> u64 {
    let quarter = (1u64 << bytes.max(4).ilog2()) / 4;
    (bytes + quarter / 2) / quarter * quarter
}

/// The footprint of the first level: the largest power of two up to half of it if its plateau reaches that far, whether
/// or not the curve resolves the size: two surveys of an unchanged 48 KiB measured over 16 and 24 KiB, so that nothing
/// of L1 could be compared.
fn first_level(tier: &FoundTier, cache_bytes: u64) -> u64 {
    let half = 1 << (cache_bytes / PRIVATE_PART).max(1).ilog2();
    if tier.plateau.is_some_and(|(from, to)| from <= half && half <= to) { half } else { tier.rung }
}

/// The footprint of a stream in a cache of one core: half of it, beyond the reach of a TLB too, else that of the chain.
/// Reads of L2 of a Zen 5 get 47 bytes a cycle in 256 KiB and 62 in 512.
fn streamed(tier: &FoundTier, cache_bytes: u64, rung: u64) -> u64 {
    tier.plateau.and_then(|(from, _)| half_of(cache_bytes, from, tier.size)).unwrap_or(rung)
}

/// Memory: that of the cpus' own nodes, behind its cache where it has one, and one node of each kind of the others.
fn memory_rungs(machine: &Machine, cpus: &IdSet, request: &Request, ladder: &mut Ladder) {
    if let Some(node) = request.scope.mem_node {
        let Some(first) = cpus.first() else { return };
        return memory_rung(memory_of(machine, first, node), machine, cpus, Some(node), request, ladder);
    }
    let near = local_cpus(machine, cpus);
    let Some(first) = near.first() else { return };
    if near != *cpus {
        ladder.rules.push(rules::without_own_memory(&cpus.difference(&near), &near));
    }
    let (tier, node) = own_memory(machine, first);
    ladder.rules.extend(node.map(|node| rules::memory_is_remote(first, node)));
    memory_rung(tier, machine, &near, node, request, ladder);
    let own = machine.node_of(first).and_then(|id| machine.node(id));
    let home = own.map(|own| near.intersection(&own.cpus)).filter(|home| !home.is_empty()).unwrap_or(near);
    for node in far_nodes(machine, first) {
        memory_rung(memory_of(machine, first, node), machine, &home, Some(node), request, ladder);
    }
    ladder.rules.extend(far_unmeasured(machine, first));
}

/// One kind of memory: two rungs where a cache is in front of it.
fn memory_rung(
    tier: Tier,
    machine: &Machine,
    cpus: &IdSet,
    node: Option<NodeId>,
    request: &Request,
    ladder: &mut Ladder,
) {
    let on = shares(machine, cpus, node);
    let side = side_cache_bytes(machine, &on);
    let usual = dram_bytes_over(tier, machine, cpus, &on, request);
    let mut rungs = Vec::new();
    if side == 0 {
        rungs.push((tier, usual));
    } else {
        if usual.as_ref().is_ok_and(|(bytes, _)| bytes * cpus.len() as u64 <= side / 2) {
            rungs.push((Tier::SideCache(node), usual));
        }
        rungs.push((tier, behind_cache_bytes(tier, machine, cpus, &on, request)));
    }
    for (tier, footprint) in rungs {
        match footprint {
            Ok((bytes, rule)) => {
                ladder.rules.push(rules::memory_size(&tier.to_string(), &rule));
                ladder.rungs.push(Rung { tier, bytes, stream_bytes: bytes, node, cpus: cpus.clone() });
            }
            Err(refusal) => ladder.refused.push(refusal),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use tiermark_model::messages::rules;
    use tiermark_model::{Cache, Cpu, MIB, Node, WhyNot, testing};

    #[test]
    fn the_first_level_has_one_footprint_whether_or_not_its_size_is_resolved() {
        let of = |from: u64, to: u64, rung: u64| {
            let size = crate::found::Size::NotResolved { low: to, high: u64::MAX, why: WhyNot::Coarse };
            let tier = FoundTier { level: 1, plateau: Some((from * KIB, to * KIB)), ns: 1.0, size, rung: rung * KIB };
            first_level(&tier, 48 * KIB) / KIB
        };
        assert_eq!([of(4, 44, 24), of(4, 22, 16), of(4, 16, 12)], [16; 3]);
        assert_eq!(of(4, 12, 8), 8, "the curve shows a smaller cache");
    }

    pub(crate) fn machine(cores: u32, l2: u64, l3: u64) -> Machine {
        let all: IdSet = (0..cores).collect();
        let mut caches = Vec::new();
        for cpu in 0..cores {
            for (level, bytes) in [(1, 48 * KIB), (2, l2)] {
                let cache = testing::cache(level, bytes, [cpu]);
                caches.push(cache);
            }
        }
        caches.push(testing::cache(3, l3, all.iter()));
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
        ladder.rungs.iter().map(|t| (t.tier.to_string(), t.bytes)).collect()
    }

    #[test]
    fn caches_found_some_percent_apart_give_one_footprint() {
        for nice in [5 * MIB / 4, 3 * MIB / 2, 7 * MIB / 4, 2 * MIB, 5 * MIB / 2] {
            for share in [0.95, 0.999, 1.0, 1.009, 1.05] {
                assert_eq!(even((nice as f64 * share) as u64), nice, "{share} of {nice}");
            }
        }
        assert_eq!([even(1), even(5), even(u64::from(u32::MAX))], [1, 5, 1 << 32]);
    }

    #[test]
    fn one_thread_gets_every_rung() {
        let ladder = ladder(&machine(2, MIB, 32 * MIB), &"1".parse().unwrap(), &testing::request("survey"));
        let expected = [("L1", 24 * KIB), ("L2", 512 * KIB), ("L3", 8 * MIB), ("DRAM", 132 * MIB)];
        assert_eq!(names(&ladder), expected.map(|(n, b)| (n.to_owned(), b)).to_vec());
        assert_eq!(ladder.rules[0].code, rules::codes::memory_size, "{:?}", ladder.rules);
    }

    #[test]
    fn a_shared_cache_smaller_than_the_private_ones_is_refused_for_all_threads() {
        let ladder = ladder(&machine(16, 2 * MIB, 30 * MIB), &"0-15".parse().unwrap(), &testing::request("survey"));
        assert_eq!(ladder.rungs.iter().map(|t| t.tier.to_string()).collect::<Vec<_>>(), ["L1", "L2", "DRAM"]);
        let refusal = &ladder.refused[0];
        assert_eq!((&refusal.data["threads"], &refusal.data["cache"]), (&16.into(), &(30 * MIB).into()), "{refusal}");
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
        let rungs = ladder(&machine, &"1".parse().unwrap(), &testing::request("survey"));
        let far: Vec<_> = rungs.rungs.iter().filter(|t| t.node.is_some()).map(|t| t.tier.to_string()).collect();
        assert_eq!(far, ["DRAM node 1", "far node 3"]);
        // With cpus of several nodes, only those of the home node measure far memory.
        machine.cpus.push(Cpu { id: 100, core: 9, node: Some(1), ..Cpu::default() });
        let both = ladder(&machine, &"0-1,100".parse().unwrap(), &testing::request("survey"));
        assert!(both.rungs.iter().filter(|t| t.node.is_some()).all(|t| t.cpus == "0-1".parse().unwrap()));
        assert_eq!(both.rungs.iter().find(|t| t.tier == Tier::Dram).unwrap().cpus, "0-1,100".parse().unwrap());
    }

    /// Else the footprint of DRAM is in the cache that nobody knows.
    #[test]
    fn a_last_cache_of_unknown_size_makes_dram_large() {
        let dram = |change: fn(&mut Vec<Cache>)| {
            let mut machine = machine(1, MIB, 8 * MIB);
            change(&mut machine.caches);
            let ladder = ladder(&machine, &"0".parse().unwrap(), &testing::request("survey"));
            names(&ladder).into_iter().find(|(name, _)| name == "DRAM").unwrap().1
        };
        assert_eq!(dram(|_| {}), 64 * MIB);
        assert_eq!(dram(|caches| caches.iter_mut().filter(|c| c.level == 3).for_each(|c| c.bytes = None)), 512 * MIB);
        assert_eq!(dram(|caches| caches.retain(|cache| cache.level < 3)), 512 * MIB);
    }

    #[test]
    fn undeclared_caches_leave_l1_and_dram() {
        let mut machine = machine(1, MIB, 8 * MIB);
        machine.caches.clear();
        let ladder = ladder(&machine, &"0".parse().unwrap(), &testing::request("survey"));
        assert_eq!(names(&ladder), [("L1".to_owned(), 16 * KIB), ("DRAM".to_owned(), 512 * MIB)]);
    }
}
