//! The sides of a matrix: cpus that may be in rows, and nodes that are columns.

use tiermark_engine::Lab;
use tiermark_engine::admit::admit_node;
use tiermark_model::messages::plan as says;
use tiermark_model::{IdSet, Refusal, Request};

use super::MatrixParams;

/// The cpus that may be in a row.
pub(super) fn rows(
    cpus: IdSet,
    params: &MatrixParams,
    lab: &Lab,
    refused: &mut Vec<Refusal>,
) -> Result<IdSet, Refusal> {
    let Some(nodes) = &params.cpu_nodes else { return Ok(cpus) };
    let mut chosen = IdSet::new();
    for node in nodes.iter() {
        let here: IdSet = cpus.iter().filter(|cpu| lab.machine.node_of(*cpu) == Some(node)).collect();
        if here.is_empty() {
            let why = match lab.machine.node(node) {
                None => "this machine has no such node",
                Some(node) if node.is_memory_only() => {
                    "the node has no cpus; --mem-node measures its memory from other nodes"
                }
                Some(_) => "no cpu of the node is in scope",
            };
            let with: IdSet = cpus.iter().filter_map(|cpu| lab.machine.node_of(cpu)).collect();
            refused.push(says::no_cpus_on_node(node, why, &with));
        }
        chosen = chosen.union(&here);
    }
    match refused.first() {
        Some(first) if chosen.is_empty() => Err(first.clone()),
        _ => Ok(chosen),
    }
}

/// The nodes that are columns.
pub(super) fn columns(
    request: &Request,
    params: &MatrixParams,
    lab: &Lab,
    refused: &mut Vec<Refusal>,
) -> Result<IdSet, Refusal> {
    let asked = params.targets.clone().or_else(|| request.scope.mem_node.map(|node| [node].into_iter().collect()));
    let Some(asked) = asked else {
        let small = lab.machine.nodes.iter().filter(|node| lab.machine.is_too_small(node));
        refused.extend(small.filter_map(|node| admit_node(node.id, &lab.machine).err()));
        return Ok(lab.machine.memory_nodes());
    };
    let mut targets = IdSet::new();
    for node in asked.iter() {
        match admit_node(node, &lab.machine) {
            Ok(()) => targets.insert(node),
            Err(refusal) => refused.push(refusal),
        }
    }
    match refused.last() {
        Some(last) if targets.is_empty() => Err(last.clone()),
        _ => Ok(targets),
    }
}
