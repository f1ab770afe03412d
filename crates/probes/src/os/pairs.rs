//! The pairs of nodes that memory is moved between.

use std::collections::BTreeMap;

use tiermark_engine::nearest_memory_node;
use tiermark_model::messages::rules::pairs_of_nodes;
use tiermark_model::{CpuId, Machine, NodeId, Note};

/// Every node to every other.
pub(super) fn all(machine: &Machine) -> Vec<(NodeId, NodeId)> {
    let nodes = machine.memory_nodes();
    let pairs = nodes.iter().flat_map(|from| nodes.iter().map(move |to| (from, to)));
    pairs.filter(|(from, to)| from != to).collect()
}

/// What kind of place a node is, seen from another: how far, with cpus or without (memory alone is of another kind:
/// CXL, HBM, persistent), and the kernel's tier of its memory.
type Kind = (Option<u32>, bool, Option<u32>);

/// From the node of the cpu to one of every kind that there is, the nearest first, and back: what all pairs would show
/// again and again where there are many nodes.
pub(super) fn by_kind(machine: &Machine, cpu: CpuId) -> Vec<(NodeId, NodeId)> {
    let nodes = machine.memory_nodes();
    let own = nearest_memory_node(cpu, machine).filter(|own| nodes.contains(*own)).or(nodes.first());
    let Some(own) = own else { return Vec::new() };
    let distances = machine.node(own).map(|node| &node.distances);
    let mut kinds: BTreeMap<Kind, NodeId> = BTreeMap::new();
    for other in nodes.iter().filter(|other| *other != own) {
        let node = machine.node(other);
        let far = distances.and_then(|known| known.get(&other).copied());
        let (bare, tier) =
            (node.is_some_and(tiermark_model::Node::is_memory_only), node.and_then(|node| node.memory_tier));
        kinds.entry((far, bare, tier)).or_insert(other);
    }
    kinds.into_values().flat_map(|other| [(own, other), (other, own)]).collect()
}

/// The rule that omits pairs; `None` if all are measured.
pub(super) fn left_out(machine: &Machine, cpu: CpuId) -> Option<Note> {
    let (few, all) = (by_kind(machine, cpu), all(machine).len());
    let (own, _) = few.first().filter(|_| few.len() < all)?;
    Some(pairs_of_nodes(few.len(), all, *own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Cpu, IdSet, Node};

    fn machine(nodes: Vec<Node>, allowed: &str) -> Machine {
        let cpus = (0..8).map(|id| Cpu { id, core: id, node: Some(id), ..Cpu::default() }).collect();
        Machine { nodes, cpus, allowed_nodes: allowed.parse().unwrap(), ..Machine::default() }
    }

    /// Two sockets of four nodes each: 10 to itself, 12 within the socket, 32 to the other, 40 to and from its last.
    fn eight_nodes() -> Machine {
        let distance = |from: u32, to: u32| match (from / 4 == to / 4, to.max(from)) {
            _ if from == to => 10,
            (true, _) => 12,
            (false, 7) => 40,
            (false, _) => 32,
        };
        let node = |id| Node {
            id,
            cpus: [id].into_iter().collect(),
            memory_bytes: Some(1 << 30),
            distances: (0..8).map(|to| (to, distance(id, to))).collect(),
            ..Node::default()
        };
        machine((0..8).map(node).collect(), "0-7")
    }

    #[test]
    fn memory_moves_between_the_nodes_that_may_be_used() {
        let node = |id, bytes| Node { id, memory_bytes: Some(bytes), ..Node::default() };
        let machine = machine(vec![node(0, 1), node(1, 1), node(2, 0), node(3, 1)], "0-2");
        assert_eq!(all(&machine), [(0, 1), (1, 0)]);
        assert_eq!(by_kind(&machine, 0), [(0, 1), (1, 0)]);
        assert_eq!(left_out(&machine, 0), None);
    }

    #[test]
    fn of_many_nodes_one_of_each_distance_is_taken() {
        let machine = eight_nodes();
        assert_eq!(all(&machine).len(), 56);
        assert_eq!(by_kind(&machine, 0), [(0, 1), (1, 0), (0, 4), (4, 0), (0, 7), (7, 0)]);
        // From the node of the cpu, wherever that is: node 5 has one distance less.
        assert_eq!(by_kind(&machine, 5), [(5, 4), (4, 5), (5, 0), (0, 5)]);
        assert_eq!(left_out(&machine, 0), Some(pairs_of_nodes(6, 56, 0)));
    }

    #[test]
    fn places_of_another_kind_are_not_one_because_they_are_as_far() {
        // A memory of its own (CXL, persistent) as far as the other socket, and one of another tier.
        let mut machine = eight_nodes();
        machine.nodes[5].cpus = IdSet::new();
        machine.nodes[6].memory_tier = Some(4);
        let pairs = by_kind(&machine, 0);
        assert_eq!(pairs, [(0, 1), (1, 0), (0, 4), (4, 0), (0, 6), (6, 0), (0, 5), (5, 0), (0, 7), (7, 0)]);
        assert_eq!(left_out(&machine, 0).unwrap().data["pairs"], 10);
    }

    #[test]
    fn nodes_that_do_not_say_how_far_they_are_count_as_one_distance() {
        let mut machine = eight_nodes();
        machine.nodes.iter_mut().for_each(|node| node.distances.clear());
        assert_eq!(by_kind(&machine, 0), [(0, 1), (1, 0)]);
        machine.nodes.clear();
        assert_eq!(by_kind(&machine, 0), []);
    }
}
