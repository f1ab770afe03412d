//! What of a setup cannot be had here, before anything is allocated.

use tiermark_kernels::StreamSpec;
use tiermark_model::{
    Bytes, CpuId, IdSet, KernelId, Layout, Machine, MemPolicy, Node, PageKind, Pattern, Refusal, RegionSetup, Role,
    Setup,
};

use crate::region::Order;
use crate::room::Need;

/// One stream of one line is the least there is.
const LEAST_BYTES: u64 = 64;

/// Resolves every region of a setup, or says what is wrong with it.
///
/// # Errors
/// A [`Refusal`] for the first thing that cannot be had.
pub(crate) fn setup<'a>(setup: &'a Setup, machine: &Machine) -> Result<Vec<Order<'a>>, Refusal> {
    if setup.threads.is_empty() {
        return Err(Refusal::new("a setup", "it has no threads", "give at least one cpu"));
    }
    for thread in &setup.threads {
        allowed(thread.cpu, machine)?;
        let region = setup.regions.get(thread.region).ok_or_else(|| {
            Refusal::new(
                "a setup",
                format!("cpu {} works on region {}, which is not there", thread.cpu, thread.region),
                "",
            )
        })?;
        suits(&thread.role, region)?;
    }
    setup.regions.iter().enumerate().map(|(index, region)| resolve(setup, index, region, machine)).collect()
}

/// The memory that the regions need.
pub(crate) fn needs(orders: &[Order<'_>], machine: &Machine) -> Vec<Need> {
    let mut needs: Vec<Need> = orders
        .iter()
        .map(|order| Need {
            bytes: order.mapped(machine) as u64,
            nodes: order.target.clone(),
            even: order.setup.policy == MemPolicy::Interleave,
            page: order.setup.page,
        })
        .collect();
    // The index of a chain or a line order: 4 bytes a line, twice while it is built, of the largest region; and a copy
    // of the order for each region where there are several nodes.
    let indexed = |order: &&Order<'_>| !matches!(order.setup.layout, Layout::Data | Layout::Zeros);
    let built = orders.iter().filter(indexed).map(|o| o.setup.bytes.0 / 8).max().unwrap_or(0);
    let permuted = orders.iter().filter(|o| o.setup.layout == Layout::Permuted && machine.nodes.len() > 1);
    let bytes = built + permuted.map(|o| o.setup.bytes.0 / 16).sum::<u64>();
    needs.push(Need { bytes, nodes: IdSet::new(), even: false, page: PageKind::Base });
    needs
}

/// The kernel of that name, if this machine can run it.
pub(crate) fn kernel(id: &KernelId) -> Result<&'static StreamSpec, Refusal> {
    let spec = tiermark_kernels::stream(&id.0).ok_or_else(|| {
        Refusal::new(format!("kernel {id}"), "there is no kernel of that name", "see: tiermark list kernels")
    })?;
    if (spec.available)() {
        return Ok(spec);
    }
    let why = format!("this cpu or system cannot run it (it needs {:?})", spec.info.isa);
    Err(Refusal::new(format!("kernel {id}"), why, "see which can run here: tiermark list kernels"))
}

fn allowed(cpu: CpuId, machine: &Machine) -> Result<(), Refusal> {
    let what = format!("a thread on cpu {cpu}");
    if machine.cpu(cpu).is_none() {
        let why = if machine.offline_cpus.contains(cpu) { "the cpu is offline" } else { "there is no such cpu" };
        return Err(Refusal::new(what, why, format!("choose from the cpus online: {}", machine.online())));
    }
    if machine.allowed_cpus.contains(cpu) {
        return Ok(());
    }
    let cure = format!(
        "choose from {}, or widen the affinity (taskset) or the cpuset of the control group",
        machine.allowed_cpus
    );
    Err(Refusal::new(what, "this process may not run there", cure))
}

/// Whether what a thread does fits what its region holds.
fn suits(role: &Role, region: &RegionSetup) -> Result<(), Refusal> {
    match role {
        Role::Chase { chains } => {
            if !matches!(region.layout, Layout::Chain(_)) {
                return Err(Refusal::new("a chase", format!("its region holds {}, no chain", region.layout), ""));
            }
            if tiermark_kernels::chase(*chains).is_none() {
                return Err(Refusal::new(format!("{chains} chains"), "a chase follows 1 to 32", "use 1 to 32 chains"));
            }
        }
        Role::Stream { kernel: first, rivals } => {
            for id in std::iter::once(first).chain(rivals) {
                let spec = kernel(id)?;
                if matches!(region.layout, Layout::Chain(_)) {
                    let why = "its region holds a chain, which streams would destroy";
                    return Err(Refusal::new(format!("kernel {id}"), why, ""));
                }
                if spec.info.op.pattern() == Pattern::Random && region.layout != Layout::Permuted {
                    return Err(Refusal::new(format!("kernel {id}"), "its region has no permutation of lines", ""));
                }
            }
        }
    }
    Ok(())
}

/// The most arrays any kernel walks at once in a region.
fn streams(setup: &Setup, index: usize) -> usize {
    let walked = |role: &Role| match role {
        Role::Chase { .. } => 1,
        Role::Stream { kernel: first, rivals } => std::iter::once(first)
            .chain(rivals)
            .filter_map(|id| tiermark_kernels::stream(&id.0))
            .map(|spec| usize::from(spec.info.op.streams()))
            .max()
            .unwrap_or(1),
    };
    setup.threads.iter().filter(|t| t.region == index).map(|t| walked(&t.role)).max().unwrap_or(1)
}

fn resolve<'a>(
    setup: &'a Setup,
    index: usize,
    region: &'a RegionSetup,
    machine: &Machine,
) -> Result<Order<'a>, Refusal> {
    let worker = setup.threads.iter().find(|t| t.region == index);
    let worker = worker.ok_or_else(|| Refusal::new("a setup", format!("no thread works on region {index}"), ""))?;
    let streams = streams(setup, index);
    let least = LEAST_BYTES * streams as u64;
    if region.bytes.0 < least {
        let why = format!("{streams} streams need a line of 64 bytes each");
        return Err(Refusal::new(
            format!("a region of {}", region.bytes),
            why,
            format!("ask for {} or more", Bytes(least)),
        ));
    }
    // Above what any kernel can map (57-bit addresses); also keeps every sum below from overflowing.
    if region.bytes.0 > 1 << 56 {
        return Err(Refusal::new(format!("a region of {}", region.bytes), "no machine maps as much", "ask for less"));
    }
    let (target, note) = if region.nodes.is_empty() { home(worker.cpu, machine) } else { (region.nodes.clone(), None) };
    target.iter().try_for_each(|node| node_usable(node, machine))?;
    Ok(Order { setup: region, target, streams, note })
}

/// The node a cpu takes memory from when nothing else is asked: its own, or the nearest where its own has none.
fn home(cpu: CpuId, machine: &Machine) -> (IdSet, Option<String>) {
    let Some(node) = machine.node_of(cpu).and_then(|id| machine.node(id)) else { return (IdSet::new(), None) };
    if node.memory_bytes != Some(0) {
        return (IdSet::from_iter([node.id]), None);
    }
    let with_memory = machine.nodes.iter().filter(|other| other.memory_bytes != Some(0));
    let distance = |other: &&Node| node.distances.get(&other.id).copied().unwrap_or(u32::MAX);
    let Some(nearest) = with_memory.min_by_key(distance) else { return (IdSet::from_iter([node.id]), None) };
    let note = format!("node {} of cpu {cpu} has no memory: it comes from node {}, the nearest", node.id, nearest.id);
    (IdSet::from_iter([nearest.id]), Some(note))
}

fn node_usable(node: u32, machine: &Machine) -> Result<(), Refusal> {
    let what = format!("memory on node {node}");
    let with_memory: IdSet = machine.nodes.iter().filter(|n| n.memory_bytes != Some(0)).map(|n| n.id).collect();
    match machine.node(node) {
        None => Err(Refusal::new(
            what,
            "there is no such node",
            format!("choose from the nodes with memory: {with_memory}"),
        )),
        Some(found) if found.memory_bytes == Some(0) => Err(Refusal::new(
            what,
            "the node has cpus and no memory",
            format!("choose from the nodes with memory: {with_memory}"),
        )),
        // A tree that does not say which nodes are allowed leaves the set empty; the kernel will have the last word.
        Some(_) if !machine.allowed_nodes.is_empty() && !machine.allowed_nodes.contains(node) => Err(Refusal::new(
            what,
            "this process may not take memory there",
            format!("choose from {}, or widen cpuset.mems of the control group", machine.allowed_nodes),
        )),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Cpu;

    fn node(id: u32, memory: u64, distances: &[(u32, u32)]) -> Node {
        Node { id, memory_bytes: Some(memory), distances: distances.iter().copied().collect(), ..Node::default() }
    }

    #[test]
    fn a_cpu_without_local_memory_gets_the_nearest() {
        let cpu = |id, node| Cpu { id, node: Some(node), ..Cpu::default() };
        let nodes = vec![node(0, 1 << 30, &[]), node(2, 0, &[(0, 32), (2, 10), (5, 12)]), node(5, 1 << 30, &[])];
        let machine = Machine { cpus: vec![cpu(0, 0), cpu(1, 2)], nodes, ..Machine::default() };
        assert_eq!(home(0, &machine), (IdSet::from_iter([0]), None));
        let (target, note) = home(1, &machine);
        assert_eq!(target, IdSet::from_iter([5]));
        assert!(note.is_some_and(|note| note.contains("node 2 of cpu 1 has no memory")));
    }
}
