//! Groups of cpus that share a place, and the memory nodes that they can reach.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tiermark_engine::nearest_memory_node;
use tiermark_model::{CoreKind, CpuId, IdSet, Machine, NodeId, Refusal, Span};

use crate::bandwidth::ThreadCount;
use crate::memory_kinds::{MemoryKind, kinds};

/// The unit that the cpus of one row share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The NUMA node.
    #[default]
    Node,
    /// The physical package.
    Socket,
    /// The last-level cache.
    Llc,
}

/// The threads of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MatrixThreads {
    pub(super) cpus: Vec<CpuId>,
    /// The label of their number: `one`, `cores`, `cpus`, or a number.
    pub(super) span: Span,
}

/// The cpus of one row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CpuGroup {
    /// As a selector of cpus names it (`node:0`, `socket:1`, `llc:3`), or `all`.
    pub(super) name: String,
    pub(super) cpus: IdSet,
    /// The nodes its cpus belong to.
    own: IdSet,
    /// The nodes its cpus take memory from by default.
    pub(super) homes: IdSet,
}

impl CpuGroup {
    /// The threads of a cell, or why there are not so many.
    ///
    /// # Errors
    /// A [`Refusal`] for more threads than the group has cpus.
    pub(super) fn threads(&self, count: ThreadCount, machine: &Machine) -> Result<MatrixThreads, Refusal> {
        let span = match count {
            ThreadCount::One | ThreadCount::Exactly(1) => Span::One,
            ThreadCount::Cores => Span::Cores,
            ThreadCount::Cpus => Span::Cpus,
            ThreadCount::Exactly(n) => Span::Threads(n.into()),
        };
        let cpus = count.cpus(machine, &self.cpus, &format!(" on {}", self.name))?;
        Ok(MatrixThreads { cpus, span })
    }

    pub(super) fn new(name: String, cpus: IdSet, machine: &Machine) -> Self {
        let own = cpus.iter().filter_map(|cpu| machine.node_of(cpu)).collect();
        let homes = cpus.iter().filter_map(|cpu| nearest_memory_node(cpu, machine)).collect();
        Self { name, cpus, own, homes }
    }

    /// SLIT distance to a node, from the nearest of its own, where the kernel says.
    pub(super) fn distance(&self, node: NodeId, machine: &Machine) -> Option<u32> {
        let from = self.own.iter().filter_map(|own| machine.node(own));
        from.filter_map(|own| own.distances.get(&node).copied()).min()
    }

    /// One node of each kind of memory that is not its own. The number of kinds does not grow with the machine.
    pub(super) fn far_kinds(&self, targets: &IdSet, machine: &Machine) -> Vec<NodeId> {
        let kinds = kinds(machine, &targets.difference(&self.homes), |node| self.distance(node, machine));
        let mut nodes: Vec<NodeId> = kinds.iter().filter_map(IdSet::first).collect();
        nodes.sort_unstable();
        nodes
    }
}

/// The first of the groups that are alike: as many cpus and cores of the same kinds, homes of the same kinds, and the
/// same kinds of far memory.
pub(super) fn of_each_kind(groups: Vec<CpuGroup>, targets: &IdSet, machine: &Machine) -> Vec<CpuGroup> {
    let mut known = BTreeSet::new();
    let kind = |group: &CpuGroup| {
        let far = group.far_kinds(targets, machine);
        let kinds = |nodes: &mut dyn Iterator<Item = NodeId>| {
            let memory_kind = |id| Some(MemoryKind::of(machine.node(id)?, group.distance(id, machine)));
            let mut kinds: Vec<MemoryKind> = nodes.filter_map(memory_kind).collect();
            kinds.sort_unstable();
            kinds
        };
        let cores: BTreeSet<Option<CoreKind>> =
            group.cpus.iter().filter_map(|id| Some(machine.cpu(id)?.kind)).collect();
        let homes = kinds(&mut group.homes.iter());
        let far = kinds(&mut far.iter().copied());
        (group.cpus.len(), machine.one_per_core(&group.cpus).len(), cores, homes, far)
    };
    groups.into_iter().filter(|group| known.insert(kind(group))).collect()
}

/// Whether a node has memory and no cpus: CXL, HBM beside DRAM, persistent memory.
pub(super) fn memory_only(node: NodeId, machine: &Machine) -> bool {
    machine.node(node).is_some_and(tiermark_model::Node::is_memory_only)
}

/// The given cpus in groups, in order of their ids; cpus whose group the system does not report are omitted.
pub(super) fn groups(machine: &Machine, cpus: &IdSet, from: Origin) -> Vec<CpuGroup> {
    let mut members: BTreeMap<u32, IdSet> = BTreeMap::new();
    for cpu in cpus.iter().filter_map(|id| machine.cpu(id)) {
        let place = match from {
            Origin::Node => machine.node_of(cpu.id),
            Origin::Socket => Some(cpu.socket),
            Origin::Llc => cpu.llc,
        };
        if let Some(place) = place {
            members.entry(place).or_default().insert(cpu.id);
        }
    }
    let word = match from {
        Origin::Node => "node",
        Origin::Socket => "socket",
        Origin::Llc => "llc",
    };
    members.into_iter().map(|(id, cpus)| CpuGroup::new(format!("{word}:{id}"), cpus, machine)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_machine::synth::{MemoryNode, Synth};

    fn machine() -> Machine {
        let far = MemoryNode { bytes: 8 << 30, distance: 28, tier: 5, ..MemoryNode::default() };
        let synth = Synth {
            sockets: 2,
            nodes_per_socket: 2,
            cores_per_node: 4,
            cores_per_llc: 2,
            node_stride: 2,
            memory_nodes: vec![far.clone(), far],
            ..Synth::default()
        };
        synth.machine().unwrap()
    }

    #[test]
    fn groups_follow_what_the_cpus_share() {
        let machine = machine();
        let names =
            |from| groups(&machine, &machine.allowed_cpus, from).into_iter().map(|g| g.name).collect::<Vec<_>>();
        assert_eq!(names(Origin::Node), ["node:0", "node:2", "node:4", "node:6"]);
        assert_eq!(names(Origin::Socket), ["socket:0", "socket:1"]);
        assert_eq!(names(Origin::Llc).len(), 8);
        // Only cpus in scope, and only groups that have some.
        let few = groups(&machine, &"0-1".parse().unwrap(), Origin::Llc);
        assert_eq!((few.len(), few[0].cpus.to_string().as_str()), (1, "0-1"));
    }

    #[test]
    fn far_memory_is_one_node_a_kind() {
        let machine = machine();
        let targets = machine.memory_nodes();
        assert_eq!(targets.to_string(), "0,2,4,6,8,10");
        let first = &groups(&machine, &machine.allowed_cpus, Origin::Node)[0];
        // The other node of the socket, one of the other socket, one without cpus.
        assert_eq!(first.far_kinds(&targets, &machine), [2, 4, 8]);
        assert_eq!(first.distance(2, &machine), Some(12));
        let socket = &groups(&machine, &machine.allowed_cpus, Origin::Socket)[1];
        assert_eq!((socket.homes.to_string().as_str(), socket.distance(4, &machine)), ("4,6", Some(10)));
    }

    #[test]
    fn rows_of_one_kind_have_the_same_cores_and_memory() {
        let names = |machine: &Machine, from| {
            let groups = groups(machine, &machine.allowed_cpus, from);
            let kept = of_each_kind(groups, &machine.memory_nodes(), machine);
            kept.into_iter().map(|group| group.name).collect::<Vec<_>>()
        };
        let mut machine = machine();
        assert_eq!(names(&machine, Origin::Llc), ["llc:0"]);
        // The cpus of one last-level cache are smaller, and a node has memory of another tier.
        for cpu in machine.cpus.iter_mut().filter(|cpu| cpu.llc == Some(1)) {
            cpu.kind = Some(CoreKind::Efficiency);
        }
        assert_eq!(names(&machine, Origin::Llc), ["llc:0", "llc:1"]);
        assert_eq!(names(&machine, Origin::Node).len(), 2, "node:0 alone has small cores");
        machine.nodes[1].memory_tier = Some(9);
        assert!(names(&machine, Origin::Node).contains(&"node:2".to_owned()));
    }
}
