//! Where to measure: the options of a command, as the machine understands them.

use tiermark_engine::{admit, nearest_memory_node};
use tiermark_model::messages::setup as says;
use tiermark_model::{FileMemory, IdSet, Machine, Node, NodeId, Numbering, Refusal, Scope, resolve_cpus};

use crate::args::PlaceArgs;
use crate::output::Failure;
use crate::parse::NodeChoice;

/// The scopes of a command: one, or one for each pair of a node whose cpus may be used and a node whose memory may be.
///
/// # Errors
/// As [`scope`].
pub(crate) fn scopes(place: &PlaceArgs, machine: &Machine) -> Result<Vec<Scope>, Failure> {
    let whole = scope(place, machine)?;
    if place.mem_node != Some(NodeChoice::Each) {
        return Ok(vec![whole]);
    }
    let cpus = whole.cpus.clone().unwrap_or_else(|| machine.allowed_cpus.clone());
    let rows = machine.nodes.iter().map(|node| node.cpus.intersection(&cpus)).filter(|cpus| !cpus.is_empty());
    let nodes = || machine.nodes.iter().map(|node| node.id).filter(|id| admit::admit_node(*id, machine).is_ok());
    let with = |cpus: IdSet| {
        let whole = &whole;
        nodes().map(move |node| Scope { cpus: Some(cpus.clone()), mem_node: Some(node), ..whole.clone() })
    };
    let scopes: Vec<Scope> = rows.flat_map(with).collect();
    // Without nodes there is one memory.
    Ok(if scopes.is_empty() { vec![whole] } else { scopes })
}

/// Where to measure, as the machine understands it.
///
/// # Errors
/// A [`Failure`] for cpus or a node that this machine does not have, or for several nodes.
fn scope(place: &PlaceArgs, machine: &Machine) -> Result<Scope, Failure> {
    let cpus = cpus(place, machine)?;
    let mem_node = match &place.mem_node {
        Some(NodeChoice::These(nodes)) if nodes.len() > 1 => {
            let cure = format!("name one, or measure several with `tiermark matrix --mem-node {nodes}`");
            return Err(Failure::usage(format!("--mem-node {nodes}: this command takes memory from one node; {cure}")));
        }
        Some(NodeChoice::These(nodes)) => nodes.first(),
        Some(NodeChoice::Far) => Some(farthest(cpus.as_ref().unwrap_or(&machine.allowed_cpus), machine)?),
        Some(NodeChoice::Each) | None => None,
    };
    let memory = place.memory.clone().map(|memory| FileMemory { read_only: place.read_only, ..memory });
    let of_file = memory.as_ref().map(tiermark_session::file_pages).transpose()?;
    let page = place.pages.first().copied().filter(|_| place.pages.len() == 1).or(of_file);
    let (max_mem, max_seconds, step_seconds) =
        (place.max_mem.map(|most| most.on(machine)), place.max_time, place.seconds);
    Ok(Scope { cpus, mem_node, memory, page, max_mem, max_seconds, step_seconds })
}

/// The cpus to measure on, those of `--cpus` that are on the nodes of `--cpu-node`; `None` without these options.
fn cpus(place: &PlaceArgs, machine: &Machine) -> Result<Option<IdSet>, Refusal> {
    let named = place.cpus.as_deref().map(|text| resolve_cpus(text, place.numbering(), machine)).transpose()?;
    let Some(nodes) = &place.cpu_node else { return Ok(named) };
    let of_nodes: Vec<String> = nodes.iter().map(|node| format!("node:{node}")).collect();
    let of_nodes = resolve_cpus(&of_nodes.join(","), Numbering::Os, machine)?;
    let Some(named) = named else { return Ok(Some(of_nodes)) };
    let both = named.intersection(&of_nodes);
    if both.is_empty() {
        return Err(says::cpus_not_on_nodes(&named, nodes, &of_nodes));
    }
    Ok(Some(both))
}

/// The node with memory that is farthest from the first of some cpus.
fn farthest(cpus: &IdSet, machine: &Machine) -> Result<NodeId, Refusal> {
    let own = cpus.first().and_then(|cpu| nearest_memory_node(cpu, machine));
    let distances = own.and_then(|node| machine.node(node)).map(|node| &node.distances);
    let usable = |n: &&Node| Some(n.id) != own && admit::admit_node(n.id, machine).is_ok();
    let far = machine.nodes.iter().filter(usable);
    let far = far.max_by_key(|n| distances.and_then(|d| d.get(&n.id)).copied().unwrap_or_default());
    far.map(|n| n.id).ok_or_else(says::no_far_node)
}
