//! The cpus and cores of each node, counted once: a document may hold a hundred thousand figures.

use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::{IdSet, Machine, NodeId};

/// Cpus and cores by node.
pub(crate) struct Cores {
    cpus: Vec<(NodeId, IdSet)>,
    cores: BTreeMap<Option<NodeId>, u64>,
}

impl Cores {
    pub(crate) fn of(machine: &Machine) -> Self {
        let mut cpus: BTreeMap<NodeId, Vec<u32>> = BTreeMap::new();
        let mut cores: BTreeMap<Option<NodeId>, BTreeSet<u32>> = BTreeMap::new();
        for cpu in &machine.cpus {
            cores.entry(cpu.node).or_default().insert(cpu.core);
            cpu.node.into_iter().for_each(|node| cpus.entry(node).or_default().push(cpu.id));
        }
        Self {
            cpus: cpus.into_iter().map(|(node, cpus)| (node, cpus.into_iter().collect())).collect(),
            cores: cores.into_iter().map(|(node, cores)| (node, cores.len() as u64)).collect(),
        }
    }

    /// The nodes of some cpus.
    pub(crate) fn nodes(&self, cpus: &IdSet) -> IdSet {
        self.cpus.iter().filter(|(_, own)| !own.intersection(cpus).is_empty()).map(|(node, _)| *node).collect()
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
