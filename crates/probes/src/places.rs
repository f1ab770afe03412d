//! Which cpus reach which memory: threads beside it, across a link, or on nodes without cpus.

use tiermark_engine::nearest_memory_node;
use tiermark_model::{Distance, IdSet, Machine, NodeId, Scope};

use crate::memory_kinds::{far_nodes, is_local, local_cpus, quiet_cpu};

/// Threads and the memory they use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) distance: Distance,
    /// The cpus that may take part.
    pub(crate) cpus: IdSet,
    /// The node; `None` for each thread's own.
    pub(crate) node: Option<NodeId>,
}

impl Placement {
    /// How far a node is from cpus.
    pub(crate) fn distance(machine: &Machine, cpus: &IdSet, node: NodeId) -> Distance {
        let own: IdSet = cpus.iter().filter_map(|cpu| machine.node_of(cpu)).collect();
        match machine.node(node) {
            _ if own.contains(node) => Distance::Local,
            Some(target) if target.is_memory_only() => Distance::Far,
            _ => Distance::Remote,
        }
    }
}

/// The cpus of the node that the quiet one belongs to, of those in scope.
pub(crate) fn home(machine: &Machine, cpus: &IdSet) -> IdSet {
    let node = quiet_cpu(machine, cpus).and_then(|cpu| machine.node_of(cpu)).and_then(|id| machine.node(id));
    node.map(|n| cpus.intersection(&n.cpus)).filter(|own| !own.is_empty()).unwrap_or_else(|| cpus.clone())
}

/// All cpus, each on its own node's memory: if the user named neither cpus nor a node, and other nodes have cpus too.
pub(crate) fn whole_system(machine: &Machine, cpus: &IdSet, scope: &Scope) -> Option<Placement> {
    let cpus = local_cpus(machine, cpus);
    let beyond = scope.cpus.is_none() && scope.mem_node.is_none() && cpus != home(machine, &cpus);
    beyond.then_some(Placement { distance: Distance::System, cpus, node: None })
}

/// The places that a crew is measured at: the named node, or its own memory and one node of each kind of farther
/// memory.
pub(crate) fn places(machine: &Machine, cpus: &IdSet, scope: &Scope) -> Vec<Placement> {
    // Without cpus named it is about one node: its own threads, and what they reach.
    let crew = if scope.cpus.is_some() { cpus.clone() } else { home(machine, cpus) };
    let at = |node: NodeId| Placement {
        distance: Placement::distance(machine, &crew, node),
        cpus: crew.clone(),
        node: Some(node),
    };
    if let Some(node) = scope.mem_node {
        return vec![at(node)];
    }
    let local = Placement { distance: Distance::Local, cpus: crew.clone(), node: None };
    let Some(cpu) = quiet_cpu(machine, &crew) else { return vec![local] };
    let nearest = match nearest_memory_node(cpu, machine) {
        Some(node) if !is_local(machine, cpu) => at(node),
        _ => local,
    };
    let farther = far_nodes(machine, cpu).into_iter().map(at).filter(|place| place.distance != Distance::Local);
    std::iter::once(nearest).chain(farther).collect()
}
