//! Which node a box belongs to, where a socket has several nodes (SNC, NPS) and the kernel does not say.

use std::collections::BTreeMap;

use tiermark_model::{BoxKind, BoxPlace, Machine, Node, NodeId, Traffic};

use crate::select::only_node;
use crate::sums::is_on_package;

/// A box belongs to a node if its share of that node's stream is so many times its share of every other stream. A
/// stream of one node leaves its other boxes with the background: 1 % and less of its bytes. Interleaving spreads every
/// stream over all boxes, with a factor of 1.
const CLEAR: f64 = 4.0;
/// Share of a stream below which a box did not move: a socket has some 16 channels at most, each with 6 % of a stream.
const MOVED: f64 = 0.005;

/// The nodes of boxes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BoxNodes {
    /// Boxes that one node's stream moves.
    pub nodes: BTreeMap<BoxPlace, NodeId>,
    /// Boxes that the streams of several nodes move, or that of another node than the source says.
    pub unclear: Vec<BoxPlace>,
}

/// Derives the nodes of boxes from streams, each to the memory of one node. The traffic is without that of the idle
/// machine. Boxes that no stream moves are in neither list.
pub fn nodes_of(streams: &[(NodeId, Traffic)]) -> BoxNodes {
    let mut shares: BTreeMap<&BoxPlace, BTreeMap<NodeId, f64>> = BTreeMap::new();
    for (node, traffic) in streams {
        let whole: f64 = traffic.boxes.iter().map(|own| own.total).sum();
        for own in traffic.boxes.iter().filter(|_| whole > 0.0) {
            *shares.entry(&own.place).or_default().entry(*node).or_default() += own.total / whole;
        }
    }
    let mut found = BoxNodes::default();
    for (place, by_node) in shares {
        let mut ranked: Vec<(NodeId, f64)> = by_node.into_iter().collect();
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
        let Some(&(node, share)) = ranked.first().filter(|(_, share)| *share >= MOVED) else { continue };
        let next = ranked.get(1).map_or(0.0, |(_, share)| *share);
        if share >= CLEAR * next && place.node.is_none_or(|known| known == node) {
            found.nodes.insert(place.clone(), node);
        } else {
            found.unclear.push(place.clone());
        }
    }
    found
}

impl BoxNodes {
    /// Names the nodes of boxes in a traffic.
    pub fn name(&self, traffic: &mut Traffic) {
        for own in &mut traffic.boxes {
            if let Some(node) = self.nodes.get(&own.place) {
                own.place.node = Some(*node);
            }
        }
    }
}

/// Names the nodes of boxes whose source knows their sockets only, where a socket has one node. Memory on the package
/// may be a node of its own.
pub fn name_nodes(traffic: &mut Traffic, machine: &Machine) {
    let has_memory_nodes = machine.nodes.iter().any(Node::is_memory_only);
    for place in traffic.boxes.iter_mut().map(|own| &mut own.place) {
        let is_of_socket = matches!(place.kind, BoxKind::Channel | BoxKind::Memory);
        if place.node.is_none() && is_of_socket && !(has_memory_nodes && is_on_package(&place.unit)) {
            place.node = place.socket.and_then(|socket| only_node(machine, socket));
        }
    }
}

#[cfg(test)]
mod tests {
    use tiermark_model::BoxTraffic;

    use super::*;

    fn place(unit: u32) -> BoxPlace {
        BoxPlace { socket: Some(0), node: None, kind: BoxKind::Channel, unit: format!("uncore_imc_{unit}") }
    }

    /// Bytes of each channel.
    fn traffic(totals: &[f64]) -> Traffic {
        let own = |(unit, total): (u32, &f64)| BoxTraffic {
            place: place(unit),
            read: None,
            write: None,
            total: *total,
            local: None,
            transfers: None,
        };
        Traffic { seconds: 1.0, boxes: (0..).zip(totals).map(own).collect(), ..Traffic::default() }
    }

    #[test]
    fn a_box_belongs_to_the_node_whose_stream_moves_it() {
        // Two nodes of two channels; the fifth has no modules. The streams differ in size.
        let found = nodes_of(&[(4, traffic(&[5e9, 5e9, 2e7, 3e7, 0.0])), (7, traffic(&[1e7, 0.0, 9e9, 1e10, 0.0]))]);
        let nodes: Vec<NodeId> = (0..4).map(|unit| found.nodes[&place(unit)]).collect();
        assert_eq!((nodes, found.nodes.len(), found.unclear.len()), (vec![4, 4, 7, 7], 4, 0));
        let mut seen = traffic(&[1.0, 1.0, 1.0, 1.0, 1.0]);
        found.name(&mut seen);
        assert_eq!(seen.nodes()[&7].total, Some(2.0));
        assert_eq!(seen.boxes[4].place.node, None);
    }

    #[test]
    fn boxes_of_several_nodes_stay_without_a_node() {
        // Interleaved over all channels, whatever the node.
        let spread = nodes_of(&[(0, traffic(&[5e9, 5e9])), (1, traffic(&[5e9, 5e9]))]);
        assert_eq!((spread.nodes.len(), spread.unclear.len()), (0, 2));
        // One channel has traffic of another program.
        let busy = nodes_of(&[(0, traffic(&[5e9, 2e9])), (1, traffic(&[0.0, 6e9]))]);
        assert_eq!((busy.nodes.get(&place(0)), &busy.unclear[..]), (Some(&0), &[place(1)][..]));
    }

    #[test]
    fn a_node_that_differs_from_that_of_the_source_is_no_node() {
        let mut one = traffic(&[5e9, 5e9]);
        one.boxes[0].place.node = Some(3);
        let found = nodes_of(&[(0, one)]);
        assert_eq!((found.nodes.len(), found.unclear.len(), found.unclear[0].node), (1, 1, Some(3)));
        assert_eq!(nodes_of(&[(0, traffic(&[0.0, 0.0]))]), BoxNodes::default());
        assert_eq!(nodes_of(&[]), BoxNodes::default());
    }
}
