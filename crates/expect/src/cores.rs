//! The cpus and cores of each node, counted once: a document may hold a hundred thousand figures.

use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::{IdSet, Machine, NodeId};

/// Cpus and cores by node.
pub(crate) struct Cores {
    nodes: BTreeMap<u32, NodeId>,
    cores: BTreeMap<Option<NodeId>, u64>,
}

impl Cores {
    pub(crate) fn of(machine: &Machine) -> Self {
        let mut nodes: BTreeMap<u32, NodeId> = BTreeMap::new();
        let mut cores: BTreeMap<Option<NodeId>, BTreeSet<u32>> = BTreeMap::new();
        for cpu in &machine.cpus {
            cores.entry(cpu.node).or_default().insert(cpu.core);
            nodes.extend(cpu.node.map(|node| (cpu.id, node)));
        }
        Self { nodes, cores: cores.into_iter().map(|(node, cores)| (node, cores.len() as u64)).collect() }
    }

    /// The nodes of some cpus.
    pub(crate) fn nodes(&self, cpus: &IdSet) -> IdSet {
        // A list of a document may have more cpus than any machine.
        let known = cpus.iter().take(self.nodes.len().saturating_mul(2).max(1));
        known.filter_map(|cpu| self.nodes.get(&cpu)).copied().collect()
    }

    /// Cores of some nodes; of the whole machine without nodes.
    pub(crate) fn count(&self, nodes: Option<&IdSet>) -> u64 {
        let is_in = |node: &Option<NodeId>| match (nodes, node) {
            (Some(nodes), Some(node)) => nodes.contains(*node),
            _ => true,
        };
        self.cores.iter().filter(|(node, _)| is_in(node)).map(|(_, cores)| cores).sum()
    }
}
