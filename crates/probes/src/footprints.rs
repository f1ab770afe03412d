//! How much memory a step takes: footprints beyond caches, within what is free.

use std::collections::BTreeMap;

use tiermark_engine::nearest_memory_node;
use tiermark_model::messages::plan as says;
use tiermark_model::{Bytes, IdSet, KIB, MIB, Machine, NodeId, Refusal, Scope, count_of, total};

/// A DRAM buffer is this many times all caches in reach: the caches then serve under a quarter of the accesses of a
/// random walk, and in steady state far less of a longer stream.
const DRAM_FACTOR: u64 = 4;
/// The smallest DRAM buffer: machines and guests that hide their caches have some all the same.
const DRAM_FLOOR: u64 = 64 * MIB;
/// The smallest DRAM buffer where the size of the last-level cache is not known: larger than any cache sold for fewer
/// than ten thousand dollars.
const DRAM_BLIND: u64 = 512 * MIB;
/// Bytes that a thread fills and permutes in a second, on huge pages (measured: 1.2 to 2.4 GB/s).
const FILLED_IN_A_SECOND: f64 = 1.5e9;
/// Seconds that filling the memory behind a memory-side cache may take where no time is named: a survey takes about a
/// minute.
const MOST_FILLING: f64 = 30.0;

/// Bytes of a huge page of x86-64, and of aarch64 with base pages of 4 KiB.
const HUGE: u64 = 2 * MIB;

/// Where the pages of all threads of a step go together: how many of each round go to each node.
pub(crate) type Shares = BTreeMap<NodeId, u64>;

/// All pages on one node, or those of each thread on the node that its memory comes from.
pub(crate) fn shares(machine: &Machine, cpus: &IdSet, node: Option<NodeId>) -> Shares {
    if let Some(node) = node {
        return Shares::from([(node, 1)]);
    }
    let mut shares = Shares::new();
    for node in cpus.iter().filter_map(|cpu| nearest_memory_node(cpu, machine)) {
        *shares.entry(node).or_default() += 1;
    }
    shares
}

/// Bytes of the memory-side caches in front of these nodes.
pub(crate) fn side_cache_bytes(machine: &Machine, on: &Shares) -> u64 {
    total(on.keys().filter_map(|id| machine.node(*id)).map(tiermark_model::Node::side_cache_bytes))
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
    dram_bytes_over("DRAM", machine, cpus, &shares(machine, cpus, node), scope)
}

/// As [`dram_bytes`], for the tier of this name, with pages on these nodes.
pub(crate) fn dram_bytes_over(
    name: &str,
    machine: &Machine,
    cpus: &IdSet,
    on: &Shares,
    scope: &Scope,
) -> Result<(u64, String), Refusal> {
    let caches = machine.reachable_cache_bytes(cpus);
    let (floor, why) = match machine.all_cache_bytes(cpus) {
        Some(_) => (DRAM_FLOOR, ""),
        None => (DRAM_BLIND, " (the size of the last-level cache is not known)"),
    };
    let wanted = DRAM_FACTOR.saturating_mul(caches).max(floor);
    let rule = format!("{DRAM_FACTOR} x {} of caches in reach, at least {}{why}", Bytes(caches), Bytes(floor));
    let cap = memory_cap_over(machine, on, scope);
    let (bytes, rule) = footprint(name, cpus, (wanted, &rule), cap, machine.least_dram_bytes(cpus))?;
    let side = side_cache_bytes(machine, on);
    if bytes.saturating_mul(cpus.len() as u64) >= side.saturating_mul(2) {
        return Ok((bytes, rule));
    }
    Ok((bytes, format!("{rule}; the {} of memory-side cache answer for half of it or more", Bytes(side))))
}

/// As [`dram_bytes_over`], beyond the memory-side caches of the nodes.
pub(crate) fn behind_cache_bytes(
    name: &str,
    machine: &Machine,
    cpus: &IdSet,
    on: &Shares,
    scope: &Scope,
) -> Result<(u64, String), Refusal> {
    let (caches, side) = (machine.reachable_cache_bytes(cpus), side_cache_bytes(machine, on));
    let all = caches.saturating_add(side);
    let rule = format!("{DRAM_FACTOR} x {} of caches, {} of them memory-side", Bytes(all), Bytes(side));
    // Several allocations are made, and each thread fills its own.
    let seconds = scope.max_seconds.map_or(MOST_FILLING, |most| most / 4.0);
    let filled = (seconds * FILLED_IN_A_SECOND) as u64;
    let time = (filled.saturating_mul(cpus.len() as u64), format!("what is filled in {seconds:.0} s, --max-time"));
    let cap = memory_cap_over(machine, on, scope).min(time);
    footprint(name, cpus, (DRAM_FACTOR.saturating_mul(all), &rule), cap, all.saturating_mul(2))
}

/// Footprint of each thread, from what all threads want together, up to a limit.
///
/// # Errors
/// A [`Refusal`] if the limit is below the least that caches do not answer for.
fn footprint(
    name: &str,
    cpus: &IdSet,
    (wanted, rule): (u64, &str),
    (cap, why): (u64, String),
    least: u64,
) -> Result<(u64, String), Refusal> {
    let total = wanted.min(cap);
    if total < least {
        return Err(says::memory_within_caches(name, cpus.len() as u64, Bytes(cap), &why, Bytes(least / 2)));
    }
    let threads = cpus.len().max(1) as u64;
    // Whole huge pages, so that --pages thp can be had for all of it; rounded up where that is allowed. Many threads
    // may have less than a huge page each.
    let up = total.div_ceil(threads).checked_next_multiple_of(HUGE).unwrap_or(u64::MAX);
    let down = |multiple: u64| total / threads / multiple * multiple;
    let each = match down(HUGE) {
        _ if up.saturating_mul(threads) <= cap && cap >= wanted => up,
        0 => down(4 * KIB),
        whole => whole,
    };
    let capped = if cap < wanted { format!(", capped to {} ({why})", Bytes(cap)) } else { String::new() };
    Ok((each, format!("{} for {} = {rule}{capped}", Bytes(each.saturating_mul(threads)), count_of(threads, "thread"))))
}

/// The most memory a step may take, and what limits it.
pub(crate) fn memory_cap(machine: &Machine, cpus: &IdSet, node: Option<NodeId>, scope: &Scope) -> (u64, String) {
    memory_cap_over(machine, &shares(machine, cpus, node), scope)
}

/// The most memory a step with pages on these nodes may take, and what limits it.
pub(crate) fn memory_cap_over(machine: &Machine, on: &Shares, scope: &Scope) -> (u64, String) {
    let mut caps: Vec<(u64, String)> = Vec::new();
    // Half of the free memory, unless the user sets a limit: then all but a tenth, which the system needs.
    let (part, words) = if scope.max_mem.is_some() { (0.9, "nine tenths") } else { (0.5, "half") };
    let mut cap = |bytes: u64, of: String| caps.push(((bytes as f64 * part) as u64, format!("{words} of {of}")));
    let round: u64 = on.values().sum();
    // The node that is full first ends it for all.
    let holds = |(id, share): (&NodeId, &u64)| {
        let free = machine.node(*id)?.free_bytes?;
        Some((u128::from(free) * u128::from(round) / u128::from((*share).max(1))).min(u128::from(u64::MAX)) as u64)
    };
    if let Some(free) = on.iter().filter_map(holds).min() {
        let nodes: IdSet = on.keys().copied().collect();
        cap(free, format!("the {} free on node {nodes}", Bytes(free)));
    }
    if let Some(available) = machine.system.available_bytes {
        cap(available, format!("the {} available", Bytes(available)));
    }
    if let Some(left) = machine.system.cgroup.as_ref().and_then(tiermark_model::Cgroup::memory_left) {
        cap(left, format!("the free part of the cgroup's limit, {}", Bytes(left)));
    }
    if let Some(max) = scope.max_mem {
        caps.push((max.0, "--max-mem".into()));
    }
    caps.into_iter().min_by_key(|(bytes, _)| *bytes).unwrap_or((u64::MAX, "no limit".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiers::tests::machine;

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
    fn many_threads_stay_within_the_limit() {
        let cpus: IdSet = (0..400).collect();
        for mib in [100, 512, 700, 900] {
            let scope = Scope { max_mem: Some(Bytes(mib * MIB)), ..Scope::default() };
            let mut machine = machine(400, MIB, 32 * MIB);
            machine.caches.clear();
            let (bytes, _) = dram_bytes(&machine, &cpus, None, &scope).unwrap();
            assert!(bytes > 0 && bytes * 400 <= mib * MIB, "{bytes} for each of 400 threads, of {mib} MiB");
        }
    }

    #[test]
    fn the_node_that_is_full_first_limits_pages_of_several() {
        let node = |id: NodeId, gib: u64| tiermark_model::Node {
            id,
            free_bytes: Some(gib << 30),
            ..tiermark_model::Node::default()
        };
        let machine = Machine { nodes: vec![node(0, 4), node(1, 16)], ..Machine::default() };
        let cap = |on: &[(NodeId, u64)]| memory_cap_over(&machine, &on.iter().copied().collect(), &Scope::default()).0;
        assert_eq!(cap(&[(0, 1)]), 2 << 30);
        // A page on each in turn: both hold as much as the smaller one.
        assert_eq!(cap(&[(0, 1), (1, 1)]), 4 << 30);
        assert_eq!(cap(&[(0, 1), (1, 3)]), 8 << 30);
        // What one node does not report limits no other.
        let mut machine = machine.clone();
        machine.nodes[1].free_bytes = None;
        let both = [(0, 1), (1, 1)].into_iter().collect();
        assert_eq!(memory_cap_over(&machine, &both, &Scope::default()).0, 4 << 30);
    }
}
