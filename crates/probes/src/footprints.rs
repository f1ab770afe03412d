//! How much memory a step takes: footprints beyond caches, within what is free.

use std::collections::BTreeMap;

use tiermark_engine::admit::room_in;
use tiermark_engine::nearest_memory_node;
use tiermark_model::messages::plan as says;
use tiermark_model::{Bytes, Cure, IdSet, KIB, MIB, Machine, NodeId, Refusal, Request, Scope, Tier, count_of, total};

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

/// Share of a run's time that the first touch of its memory may take before less memory is taken.
const FILLING_SHARE: f64 = 0.25;
/// Seconds of a survey by effort, where no time is named.
const RUN_SECONDS: [f64; 3] = [10.0, 40.0, 120.0];

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
    request: &Request,
) -> Result<(u64, String), Refusal> {
    dram_bytes_over(Tier::Dram, machine, cpus, &shares(machine, cpus, node), request)
}

/// As [`dram_bytes`], for this tier, with pages on these nodes.
pub(crate) fn dram_bytes_over(
    tier: Tier,
    machine: &Machine,
    cpus: &IdSet,
    on: &Shares,
    request: &Request,
) -> Result<(u64, String), Refusal> {
    let caches = machine.reachable_cache_bytes(cpus);
    let (floor, why) = match machine.all_cache_bytes(cpus) {
        Some(_) => (DRAM_FLOOR, ""),
        None => (DRAM_BLIND, " (the size of the last-level cache is not known)"),
    };
    let wanted = DRAM_FACTOR.saturating_mul(caches).max(floor);
    let least = machine.least_dram_bytes(cpus);
    let (wanted, halved) = halved(wanted, least.max(floor), machine, on, request);
    let rule = format!("{DRAM_FACTOR} x {} of caches in reach, at least {}{why}{halved}", Bytes(caches), Bytes(floor));
    let cap = memory_cap_over(machine, on, &request.scope);
    let (bytes, rule) = footprint(&tier.to_string(), cpus, (wanted, &rule), &cap, least)?;
    let side = side_cache_bytes(machine, on);
    if bytes.saturating_mul(cpus.len() as u64) >= side.saturating_mul(2) {
        return Ok((bytes, rule));
    }
    Ok((bytes, format!("{rule}; the {} of memory-side cache answer for half of it or more", Bytes(side))))
}

/// Half of the bytes wanted, or a quarter and so on, where the first touch of all would take too much of the run, but at
/// least `least`. And what was done, in words.
fn halved(wanted: u64, least: u64, machine: &Machine, on: &Shares, request: &Request) -> (u64, String) {
    /// Chains and streams have parts of their own.
    const PARTS: u64 = 2;
    let Some(rate) = machine.system.first_touch else { return (wanted, String::new()) };
    let run = request.scope.max_seconds.unwrap_or_else(|| request.effort.choose(RUN_SECONDS));
    let filling = rate * filling_cpus(machine, on, &request.scope);
    let seconds = |bytes: u64| PARTS.saturating_mul(bytes) as f64 / filling;
    let mut bytes = wanted;
    while seconds(bytes) > FILLING_SHARE * run && bytes / 2 >= least {
        bytes /= 2;
    }
    let (all, took) = (Bytes(PARTS.saturating_mul(wanted)), seconds(wanted));
    let words = format!(", halved because filling {all} takes about {took:.1} s of {run:.0}");
    (bytes, if bytes < wanted { words } else { String::new() })
}

/// Cpus that fill memory of these nodes together, as far as a limit of cpu time lets them.
fn filling_cpus(machine: &Machine, on: &Shares, scope: &Scope) -> f64 {
    /// More threads are not known to get memory from a host in less time.
    const MOST: f64 = 16.0;
    let cpus = scope.cpus.as_ref().unwrap_or(&machine.allowed_cpus);
    let near = cpus.iter().filter(|cpu| nearest_memory_node(*cpu, machine).is_none_or(|node| on.contains_key(&node)));
    let near = match near.count() {
        0 => cpus.len(),
        near => near,
    };
    let quota = machine.system.cgroup.as_ref().and_then(|group| group.cpu_quota).unwrap_or(MOST);
    (near.max(1) as f64).min(quota).min(MOST)
}

/// As [`dram_bytes_over`], beyond the memory-side caches of the nodes.
pub(crate) fn behind_cache_bytes(
    tier: Tier,
    machine: &Machine,
    cpus: &IdSet,
    on: &Shares,
    request: &Request,
) -> Result<(u64, String), Refusal> {
    let (caches, side) = (machine.reachable_cache_bytes(cpus), side_cache_bytes(machine, on));
    let all = caches.saturating_add(side);
    let rule = format!("{DRAM_FACTOR} x {} of caches, {} of them memory-side", Bytes(all), Bytes(side));
    // Several allocations are made, and each thread fills its own.
    let seconds = request.scope.max_seconds.map_or(MOST_FILLING, |most| FILLING_SHARE * most);
    let rate = machine.system.first_touch.map_or(FILLED_IN_A_SECOND, |rate| rate.min(FILLED_IN_A_SECOND));
    let filled = (seconds * rate) as u64;
    let time = format!("what is filled in {seconds:.0} s, --max-time");
    let filled = filled.saturating_mul(cpus.len() as u64);
    let cap = memory_cap_over(machine, on, &request.scope).or_less(filled, time, says::allow_more_time());
    footprint(&tier.to_string(), cpus, (DRAM_FACTOR.saturating_mul(all), &rule), &cap, all.saturating_mul(2))
}

/// Footprint of each thread, from what all threads want together, up to a limit.
///
/// # Errors
/// A [`Refusal`] if the limit is below the least that caches do not answer for.
fn footprint(
    name: &str,
    cpus: &IdSet,
    (wanted, rule): (u64, &str),
    limit: &MemoryCap,
    least: u64,
) -> Result<(u64, String), Refusal> {
    let (cap, why) = (limit.bytes, &limit.why);
    let total = wanted.min(cap);
    if total < least {
        let (threads, caches) = (cpus.len() as u64, Bytes(least / 2));
        return Err(says::memory_within_caches(name, threads, Bytes(cap), why, caches, &limit.cure(least)));
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

/// The most memory a step may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemoryCap {
    /// The most bytes.
    pub(crate) bytes: u64,
    /// What limits them, in words.
    pub(crate) why: String,
    /// Whether it is what the user allows.
    pub(crate) is_users: bool,
    /// The most bytes with any --max-mem.
    reach: u64,
    /// How to have more than `reach`.
    beyond: Cure,
}

impl MemoryCap {
    /// How to have this many bytes, which are more than the cap.
    pub(crate) fn cure(&self, least: u64) -> Cure {
        if least <= self.reach { says::allow_more_memory() } else { self.beyond.clone() }
    }

    /// The smaller of both.
    fn or_less(self, bytes: u64, why: String, cure: Cure) -> Self {
        if bytes < self.bytes {
            Self { bytes, why, is_users: false, reach: self.reach.min(bytes), beyond: cure }
        } else {
            self
        }
    }
}

/// The most memory a step may take.
pub(crate) fn memory_cap(machine: &Machine, cpus: &IdSet, node: Option<NodeId>, scope: &Scope) -> MemoryCap {
    memory_cap_over(machine, &shares(machine, cpus, node), scope)
}

/// The most memory a step with pages on these nodes may take.
pub(crate) fn memory_cap_over(machine: &Machine, on: &Shares, scope: &Scope) -> MemoryCap {
    // Half of the free memory, unless the user sets a limit: then all but a tenth, which the system needs.
    const MOST: f64 = 0.9;
    let (part, words) = if scope.max_mem.is_some() { (MOST, "nine tenths") } else { (0.5, "half") };
    let least = |limits: &[(u64, String, Cure)]| limits.iter().min_by_key(|(bytes, ..)| *bytes).cloned();
    let part_bytes = |part: f64, bytes: u64| (bytes as f64 * part) as u64;
    let free = least(&free_memory(machine, on));
    let (reach, beyond) = match &free {
        Some((bytes, _, cure)) => (part_bytes(MOST, *bytes).min(room_in(*bytes)), cure.clone()),
        None => (u64::MAX, says::free_more_memory()),
    };
    let (bytes, why) = match free {
        Some((bytes, what, _)) => (part_bytes(part, bytes), format!("{words} of {what}")),
        None => (u64::MAX, "no limit".to_owned()),
    };
    match scope.max_mem {
        Some(max) if max.0 < bytes => {
            MemoryCap { bytes: max.0, why: "--max-mem".into(), is_users: true, reach, beyond }
        }
        _ => MemoryCap { bytes, why, is_users: false, reach, beyond },
    }
}

/// Nearly all free memory of these nodes, less what is left to others, and what limits it: memory that is left out is
/// not seen.
pub(crate) fn nearly_all(machine: &Machine, on: &Shares, scope: &Scope) -> (u64, String) {
    /// The memory that stays free: this part of the free memory (one in ten), and at least this many bytes.
    const LEFT: (u64, u64) = (10, 512 * MIB);
    let most = Scope { max_mem: scope.max_mem.or(Some(Bytes(u64::MAX))), ..scope.clone() };
    let cap = memory_cap_over(machine, on, &most);
    let (room, (part, least)) = (cap.bytes, LEFT);
    // What stays free is a tenth of all, which is a ninth of the rest.
    let short = least.saturating_sub(room / (part - 1));
    (if cap.is_users { room } else { room.saturating_sub(short) }, cap.why)
}

/// The free memory of the nodes, of the machine and of the control group: bytes, what has them, and how to have more.
fn free_memory(machine: &Machine, on: &Shares) -> Vec<(u64, String, Cure)> {
    let mut found = Vec::new();
    let round: u64 = on.values().sum();
    // The node that is full first ends it for all.
    let holds = |(id, share): (&NodeId, &u64)| {
        let free = machine.node(*id)?.free_bytes?;
        Some((u128::from(free) * u128::from(round) / u128::from((*share).max(1))).min(u128::from(u64::MAX)) as u64)
    };
    if let Some(free) = on.iter().filter_map(holds).min() {
        let nodes: IdSet = on.keys().copied().collect();
        found.push((free, format!("the {} free on node {nodes}", Bytes(free)), says::free_more_memory()));
    }
    if let Some(available) = machine.system.available_bytes {
        found.push((available, format!("the {} available", Bytes(available)), says::free_more_memory()));
    }
    if let Some((group, left)) = machine.system.cgroup.as_ref().and_then(|group| Some((group, group.memory_left()?))) {
        let what = format!("the free part of the cgroup's limit, {}", Bytes(left));
        // A container's own /proc/meminfo shows the limit, and does not set it.
        let file = group.files.memory.as_deref().filter(|_| group.files.of_container().is_none());
        found.push((left, what, says::raise_group_limit(file)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiers::tests::machine;
    use tiermark_model::{Effort, testing};

    fn asked(scope: &Scope) -> Request {
        Request { scope: scope.clone(), ..testing::request("survey") }
    }

    #[test]
    fn where_the_host_gives_memory_slowly_less_of_it_is_taken() {
        let mut slow = machine(2, MIB, 480 * MIB);
        let bytes = |machine: &Machine, effort: Effort| {
            let request = Request { effort, ..testing::request("survey") };
            dram_bytes(machine, &"0-1".parse().unwrap(), None, &request).unwrap()
        };
        let (usual, rule) = bytes(&slow, Effort::Quick);
        assert!(!rule.contains("first touch"), "{rule}");
        // Both parts of 1.9 GiB take 5 s.
        slow.system.first_touch = Some(0.4e9);
        assert_eq!(bytes(&slow, Effort::Standard).0, usual);
        let (halved, rule) = bytes(&slow, Effort::Quick);
        assert!(rule.contains("halved because filling 3.77 GiB takes about 5.1 s of 10"), "{rule}");
        assert!((halved * 2).abs_diff(usual) <= 2 * HUGE, "{halved} of {usual}");
        // Never less than what caches do not answer for.
        slow.system.first_touch = Some(0.01e9);
        assert_eq!(bytes(&slow, Effort::Quick).0, halved);
        // A cache whose size is not known may be larger than any that is.
        slow.caches.retain(|cache| cache.level < 3);
        assert_eq!(bytes(&slow, Effort::Quick).0 * 2, DRAM_BLIND);
        // A limit of cpu time holds for all threads together.
        let mut limited = machine(2, MIB, 480 * MIB);
        limited.system.first_touch = Some(0.5e9);
        let plenty = bytes(&limited, Effort::Standard).0;
        limited.system.cgroup = Some(tiermark_model::Cgroup { cpu_quota: Some(0.5), ..Default::default() });
        assert!(bytes(&limited, Effort::Standard).0 < plenty);
    }

    #[test]
    fn memory_is_capped_and_refused_when_too_little() {
        let scope = Scope { max_mem: Some(Bytes(100 * MIB)), ..Scope::default() };
        let (bytes, rule) =
            dram_bytes(&machine(2, MIB, 32 * MIB), &"0".parse().unwrap(), None, &asked(&scope)).unwrap();
        assert_eq!(bytes, 100 * MIB);
        assert!(rule.contains("--max-mem"), "{rule}");
        // It is one more limit, not a way around the others.
        let mut small = machine(2, MIB, 32 * MIB);
        small.system.cgroup = Some(tiermark_model::Cgroup { memory_limit: Some(100 * MIB), ..Default::default() });
        let plenty = Scope { max_mem: Some(Bytes(1 << 40)), ..Scope::default() };
        let (bytes, rule) = dram_bytes(&small, &"0".parse().unwrap(), None, &asked(&plenty)).unwrap();
        assert_eq!(bytes, 90 * MIB);
        assert!(rule.contains("cgroup"), "{rule}");
        let scope = Scope { max_mem: Some(Bytes(40 * MIB)), ..Scope::default() };
        let refusal = dram_bytes(&machine(2, MIB, 32 * MIB), &"0".parse().unwrap(), None, &asked(&scope)).unwrap_err();
        assert!(refusal.why.contains("40 MiB"), "{refusal}");
    }

    #[test]
    fn the_cure_names_the_limit_that_binds() {
        let cure = |left: u64, max_mem: Option<u64>| {
            let mut machine = machine(2, MIB, 32 * MIB);
            let files = tiermark_model::LimitFiles { memory: Some("/cg/memory.high".into()), ..Default::default() };
            machine.system.cgroup =
                Some(tiermark_model::Cgroup { memory_limit: Some(left), files, ..Default::default() });
            let scope = Scope { max_mem: max_mem.map(Bytes), ..Scope::default() };
            dram_bytes(&machine, &"0".parse().unwrap(), None, &asked(&scope)).unwrap_err().cure
        };
        // Twice the caches are 66 MiB, and 64 MiB stay free.
        assert!(cure(60 * MIB, None).starts_with("raise /cg/memory.high"), "{}", cure(60 * MIB, None));
        assert!(cure(60 * MIB, Some(1 << 40)).starts_with("raise /cg/memory.high"));
        assert!(cure(128 * MIB, None).starts_with("raise /cg/memory.high"), "nine tenths of it leave too little");
        assert!(cure(131 * MIB, None).contains("--max-mem, or"), "half of it is too little");
        assert!(cure(1 << 30, Some(40 * MIB)).contains("--max-mem, or"));
    }

    #[test]
    fn many_threads_stay_within_the_limit() {
        let cpus: IdSet = (0..400).collect();
        for mib in [100, 512, 700, 900] {
            let scope = Scope { max_mem: Some(Bytes(mib * MIB)), ..Scope::default() };
            let mut machine = machine(400, MIB, 32 * MIB);
            machine.caches.clear();
            let (bytes, _) = dram_bytes(&machine, &cpus, None, &asked(&scope)).unwrap();
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
        let cap =
            |on: &[(NodeId, u64)]| memory_cap_over(&machine, &on.iter().copied().collect(), &Scope::default()).bytes;
        assert_eq!(cap(&[(0, 1)]), 2 << 30);
        // A page on each in turn: both hold as much as the smaller one.
        assert_eq!(cap(&[(0, 1), (1, 1)]), 4 << 30);
        assert_eq!(cap(&[(0, 1), (1, 3)]), 8 << 30);
        // What one node does not report limits no other.
        let mut machine = machine.clone();
        machine.nodes[1].free_bytes = None;
        let both = [(0, 1), (1, 1)].into_iter().collect();
        assert_eq!(memory_cap_over(&machine, &both, &Scope::default()).bytes, 4 << 30);
    }
}
