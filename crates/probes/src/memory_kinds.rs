//! Which memory cpus reach: that of their own node, and of one node of each kind of the others.

use std::collections::BTreeMap;

use tiermark_engine::nearest_memory_node;
use tiermark_model::messages::rules;
use tiermark_model::{CpuId, IdSet, Machine, Node, NodeId, Note, Tier};

/// Whether a cpu gets memory of the node that it belongs to.
pub(crate) fn is_local(machine: &Machine, cpu: CpuId) -> bool {
    machine.node_of(cpu) == nearest_memory_node(cpu, machine)
}

/// Those of some cpus that get memory of the node that they belong to; all where none does.
pub(crate) fn local_cpus(machine: &Machine, cpus: &IdSet) -> IdSet {
    let local: IdSet = cpus.iter().filter(|cpu| is_local(machine, *cpu)).collect();
    if local.is_empty() { cpus.clone() } else { local }
}

/// The cpu for one-thread steps: one with memory of its own node, of the fastest kind of core, and the first thread of
/// its core; not cpu 0 where there is a choice, since interrupts and kernel work land there by default.
pub(crate) fn quiet_cpu(machine: &Machine, cpus: &IdSet) -> Option<CpuId> {
    let firsts = machine.one_per_core(cpus);
    let order = machine.cores_first(cpus).into_iter().filter(|cpu| firsts.contains(*cpu));
    order.min_by_key(|cpu| (!is_local(machine, *cpu), machine.cpu(*cpu).and_then(|c| c.kind), *cpu == 0))
}

/// The tier of a node's memory, seen from a cpu.
pub(crate) fn memory_of(machine: &Machine, cpu: CpuId, node: NodeId) -> Tier {
    match machine.node(node) {
        _ if machine.node_of(cpu) == Some(node) => Tier::Dram,
        Some(bare) if bare.is_memory_only() => machine.faster_memory(bare).unwrap_or(Tier::Far(node)),
        _ => Tier::OtherNode(node),
    }
}

/// The tier of the memory that a cpu gets by default, and the node where that is not the cpu's own.
pub(crate) fn own_memory(machine: &Machine, cpu: CpuId) -> (Tier, Option<NodeId>) {
    match nearest_memory_node(cpu, machine).filter(|_| !is_local(machine, cpu)) {
        Some(node) => (memory_of(machine, cpu, node), Some(node)),
        None => (Tier::Dram, None),
    }
}

/// All that firmware and kernel say of a node's memory, seen from a cpu: nodes of which they say the same are of one
/// kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MemoryKind {
    without_cpus: bool,
    distance: Option<u32>,
    tier: Option<u32>,
    /// Of the best initiators: latencies and bandwidths, for reads and writes, as bits.
    hmat: Option<[Option<u64>; 4]>,
    side_cache_bytes: u64,
}

impl MemoryKind {
    /// The kind of a node's memory at this distance.
    pub(crate) fn of(node: &Node, distance: Option<u32>) -> Self {
        let best = node.hmat.iter().min_by_key(|access| access.class);
        Self {
            without_cpus: node.is_memory_only(),
            distance,
            tier: node.memory_tier,
            hmat: best.map(|best| {
                [best.read_latency_ns, best.write_latency_ns, best.read_bandwidth, best.write_bandwidth]
                    .map(|figure| figure.map(f64::to_bits))
            }),
            side_cache_bytes: node.side_cache_bytes(),
        }
    }
}

/// The given nodes by kind, nearest kinds first, those without cpus last.
pub(crate) fn kinds(machine: &Machine, nodes: &IdSet, distance: impl Fn(NodeId) -> Option<u32>) -> Vec<IdSet> {
    let mut kinds: BTreeMap<MemoryKind, IdSet> = BTreeMap::new();
    for node in nodes.iter().filter_map(|id| machine.node(id)) {
        kinds.entry(MemoryKind::of(node, distance(node.id))).or_default().insert(node.id);
    }
    kinds.into_values().collect()
}

/// The nodes whose memory is far for a cpu, by kind: the first of each is measured. Their number does not grow with the
/// machine.
fn far_kinds(machine: &Machine, cpu: CpuId) -> Vec<IdSet> {
    let Some(near) = nearest_memory_node(cpu, machine) else { return Vec::new() };
    let from = machine.node(machine.node_of(cpu).unwrap_or(near));
    let others = machine.memory_nodes().difference(&IdSet::from_iter([near]));
    kinds(machine, &others, |node| from.and_then(|from| from.distances.get(&node).copied()))
}

/// One node of each kind of memory that is far for a cpu.
pub(crate) fn far_nodes(machine: &Machine, cpu: CpuId) -> Vec<NodeId> {
    far_kinds(machine, cpu).iter().filter_map(IdSet::first).collect()
}

/// The nodes whose memory is far for a cpu and not among [`far_nodes`], and why.
pub(crate) fn far_unmeasured(machine: &Machine, cpu: CpuId) -> Vec<Note> {
    let stands_for = |kind: &IdSet| {
        let node = kind.first()?;
        let others = kind.difference(&[node].into_iter().collect());
        (!others.is_empty()).then(|| rules::far_stands_for(node, &others))
    };
    let mut notes: Vec<Note> = far_kinds(machine, cpu).iter().filter_map(stands_for).collect();
    let usable = machine.memory_nodes();
    let unusable = machine.nodes.iter().filter(|n| n.memory_bytes != Some(0) && !usable.contains(n.id));
    let (small, forbidden): (Vec<&Node>, Vec<&Node>) = unusable.partition(|node| machine.is_too_small(node));
    for (nodes, note) in [(small, rules::far_too_small as fn(&IdSet) -> Note), (forbidden, rules::far_not_allowed)] {
        let nodes: IdSet = nodes.iter().map(|node| node.id).collect();
        notes.extend((!nodes.is_empty()).then(|| note(&nodes)));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_machine::synth::{MemoryNode, Synth};
    use tiermark_model::CoreKind;
    use tiermark_model::messages::rules::codes;

    /// Two nodes of four cores, and memory without cpus.
    fn machine(memory_nodes: Vec<MemoryNode>) -> Machine {
        Synth { sockets: 2, smt: 1, memory_nodes, ..Synth::default() }.machine().unwrap()
    }

    #[test]
    fn one_thread_runs_where_memory_is_its_own() {
        let mut machine = machine(Vec::new());
        let all = machine.online();
        assert_eq!(quiet_cpu(&machine, &all), Some(1));
        machine.allowed_nodes = "1".parse().unwrap();
        assert_eq!(quiet_cpu(&machine, &all), Some(4));
        assert_eq!(local_cpus(&machine, &all).to_string(), "4-7");
        // Where no cpu has such memory, all are alike, and the name says where it is.
        let remote = "0-3".parse().unwrap();
        assert_eq!((quiet_cpu(&machine, &remote), local_cpus(&machine, &remote)), (Some(1), remote));
        assert_eq!(own_memory(&machine, 1), (Tier::OtherNode(1), Some(1)));
        assert_eq!(own_memory(&machine, 4), (Tier::Dram, None));
    }

    /// Firmware reserved 4 MiB of the first node's memory as all that there is of it.
    #[test]
    fn a_node_too_small_for_a_footprint_limits_no_other() {
        let mut machine = machine(Vec::new());
        let all = machine.online();
        (machine.nodes[0].memory_bytes, machine.nodes[0].free_bytes) = (Some(4 << 20), Some(3 << 20));
        assert_eq!((quiet_cpu(&machine, &all), local_cpus(&machine, &all).to_string()), (Some(4), "4-7".to_owned()));
        assert_eq!(far_nodes(&machine, 4), [0; 0]);
        let unmeasured = far_unmeasured(&machine, 4);
        assert_eq!(unmeasured.iter().map(|note| &note.code).collect::<Vec<_>>(), [&codes::far_too_small]);
        let request = tiermark_model::testing::request("survey");
        let ladder = crate::tiers::ladder(&machine, &all, &request);
        let memory = ladder.rungs.iter().find(|rung| rung.tier.is_memory()).unwrap();
        let alone = crate::footprints::dram_bytes(&machine, &"4-7".parse().unwrap(), Some(1), &request).unwrap().0;
        assert_eq!((memory.cpus.to_string(), memory.bytes), ("4-7".to_owned(), alone));
        assert!(ladder.rules.iter().any(|rule| rule.code == codes::without_own_memory), "{:?}", ladder.rules);
        // Where all are so small, they are what there is.
        machine.nodes[1].memory_bytes = Some(4 << 20);
        assert_eq!(local_cpus(&machine, &all), all);
    }

    #[test]
    fn one_thread_runs_on_a_fast_core() {
        let mut machine = machine(Vec::new());
        for cpu in &mut machine.cpus {
            cpu.kind = Some(if cpu.id < 6 { CoreKind::Efficiency } else { CoreKind::Performance });
        }
        assert_eq!(quiet_cpu(&machine, &machine.online()), Some(6));
        assert_eq!(quiet_cpu(&machine, &"0-3".parse().unwrap()), Some(1));
    }

    #[test]
    fn memory_that_is_faster_than_dram_is_not_called_far() {
        let dram = |machine: &mut Machine| {
            let access = tiermark_model::HmatAccess { read_bandwidth: Some(250e9), ..Default::default() };
            machine.nodes[0].hmat = vec![access];
        };
        let fast = MemoryNode { bytes: 8 << 30, distance: 13, tier: 4, latency_ns: 120, bandwidth_mbs: 400_000 };
        let slow = MemoryNode { bandwidth_mbs: 40_000, ..fast.clone() };
        let above = MemoryNode { tier: 3, bandwidth_mbs: 0, ..fast.clone() };
        let mut machine = machine(vec![fast, slow, above]);
        assert_eq!(memory_of(&machine, 0, 2), Tier::Far(2), "nothing is said of DRAM");
        dram(&mut machine);
        let named = |machine: &Machine| [2, 3, 4].map(|node| memory_of(machine, 0, node));
        assert_eq!(named(&machine), [Tier::Faster(2), Tier::Far(3), Tier::Faster(4)]);
        machine.dimms = vec![tiermark_model::Dimm { populated: true, kind: Some("HBM2".into()), ..Default::default() }];
        assert_eq!(named(&machine), [Tier::Hbm(2), Tier::Far(3), Tier::Hbm(4)]);
        assert!(named(&machine).iter().all(|tier| tier.is_without_cpus()));
    }

    #[test]
    fn far_memory_is_of_one_kind_where_all_that_is_said_of_it_is_the_same() {
        let slow = MemoryNode { bytes: 8 << 30, distance: 17, tier: 5, latency_ns: 300, bandwidth_mbs: 8_000 };
        let fast = MemoryNode { latency_ns: 120, bandwidth_mbs: 400_000, ..slow.clone() };
        let mut machine = machine(vec![fast, slow.clone(), slow.clone(), slow]);
        assert_eq!(far_nodes(&machine, 0), [1, 2, 3]);
        let unmeasured = far_unmeasured(&machine, 0);
        assert_eq!(unmeasured.iter().map(|note| &note.code).collect::<Vec<_>>(), [&codes::far_stands_for]);
        assert_eq!((&unmeasured[0].data["node"], &unmeasured[0].data["others"]), (&3.into(), &"4-5".into()));
        // The tier alone tells two apart.
        machine.nodes[4].memory_tier = Some(9);
        assert_eq!(far_nodes(&machine, 0), [1, 2, 3, 4]);
        machine.allowed_nodes = "0-3".parse().unwrap();
        assert_eq!(far_unmeasured(&machine, 0)[0].data["nodes"], "4-5");
    }
}
