//! Whether the parts of a setup fit together: roles with the contents of their regions, kernels with this machine.

use tiermark_engine::region_nodes;
use tiermark_kernels::StreamSpec;
use tiermark_model::messages::setup as says;
use tiermark_model::{
    Bytes, CpuId, IdSet, KernelId, Layout, Machine, MemPolicy, Note, Pattern, Refusal, RegionSetup, Role, Setup,
    ThreadSetup,
};

use crate::region::{FILE_PIECE, Order};
use crate::share;

/// One stream of one line is the least there is.
const LEAST_BYTES: u64 = 64;

/// Resolves every region of an admitted setup, or returns the mistake.
///
/// # Errors
/// A [`Refusal`] for the first thing that does not fit.
pub(crate) fn setup<'a>(setup: &'a Setup, machine: &Machine) -> Result<Vec<Order<'a>>, Refusal> {
    for thread in &setup.threads {
        if let Some(region) = setup.regions.get(thread.region) {
            suits(&thread.role, region)?;
        }
    }
    one_first_kernel(setup)?;
    share::complete(setup)?;
    let orders = (0..setup.regions.len()).map(|index| resolve(setup, index, machine));
    let mut orders: Vec<Order<'_>> = orders.collect::<Result<_, _>>()?;
    // One after the other in their file, where it is one.
    let mut offset = 0;
    for order in &mut orders {
        order.offset = offset;
        offset += order.mapped(machine).next_multiple_of(FILE_PIECE) as u64;
    }
    Ok(orders)
}

/// All streams begin with the same kernel: the rig switches them together.
fn one_first_kernel(setup: &Setup) -> Result<(), Refusal> {
    let mut firsts = setup.threads.iter().filter_map(|thread| match &thread.role {
        Role::Stream { kernel, .. } => Some(kernel),
        _ => None,
    });
    let first = firsts.next();
    match firsts.find(|kernel| Some(*kernel) != first) {
        Some(other) => Err(says::streams_differ(&other.0)),
        None => Ok(()),
    }
}

/// The kernel of that name, if this machine can run it.
pub(crate) fn kernel(id: &KernelId) -> Result<&'static StreamSpec, Refusal> {
    let spec = tiermark_kernels::stream(&id.0).ok_or_else(|| says::kernel_unknown(&id.0))?;
    if (spec.available)() {
        return Ok(spec);
    }
    Err(says::kernel_unusable(&id.0, Some(spec.info.isa)))
}

/// Whether what a thread does fits what its region holds.
fn suits(role: &Role, region: &RegionSetup) -> Result<(), Refusal> {
    match role {
        Role::Chase { chains } => {
            if !matches!(region.layout, Layout::Chain(_)) {
                return Err(says::setup_inconsistent(
                    "a chase",
                    &format!("its region holds {}, no chain", region.layout),
                ));
            }
            if tiermark_kernels::chase(*chains).is_none() {
                return Err(says::chains_out_of_range(*chains));
            }
        }
        Role::Revisit { accesses, .. } => {
            if !matches!(region.layout, Layout::Chain(_)) {
                return Err(says::setup_inconsistent(
                    "a chase",
                    &format!("its region holds {}, no chain", region.layout),
                ));
            }
            if *accesses == 0 {
                return Err(says::setup_inconsistent("a chase", "it has no accesses"));
            }
        }
        Role::Stream { .. } | Role::Load { .. } => {
            if role.kernels().next().is_none() {
                return Err(says::setup_inconsistent("a load", "it names no kernel"));
            }
            for id in role.kernels() {
                let spec = kernel(id)?;
                let writes = spec.info.op.write_per_line() > 0;
                let is_read_only = matches!(region.layout, Layout::Chain(_)) && !writes;
                if matches!(region.layout, Layout::Chain(_) | Layout::Shared) && !is_read_only {
                    let why = "its region holds a chain or shared lines, which streams would destroy";
                    return Err(says::setup_inconsistent(&format!("kernel {id}"), why));
                }
                let random = spec.info.op.pattern() == Pattern::Random;
                if random && region.layout != Layout::Permuted {
                    let why = "its region has no permutation of lines";
                    return Err(says::setup_inconsistent(&format!("kernel {id}"), why));
                }
            }
        }
        // Whatever its region holds is only held, or written over.
        Role::Os(_) | Role::Soak(_) => {}
        _ => {
            let what = "threads on shared lines";
            if region.layout != Layout::Shared {
                return Err(says::setup_inconsistent(what, &format!("their region holds {}", region.layout)));
            }
            if region.bytes.0 < share::LEAST_BYTES {
                let why = format!("their region is smaller than {}", Bytes(share::LEAST_BYTES));
                return Err(says::setup_inconsistent(what, &why));
            }
        }
    }
    Ok(())
}

/// The most arrays any kernel walks at once in a region.
fn streams(setup: &Setup, index: usize) -> usize {
    let walked = |role: &Role| {
        let specs = role.kernels().filter_map(|id| tiermark_kernels::stream(&id.0));
        specs.map(|spec| usize::from(spec.info.op.streams())).max().unwrap_or(1)
    };
    setup.threads.iter().filter(|t| t.region == index).map(|t| walked(&t.role)).max().unwrap_or(1)
}

fn resolve<'a>(setup: &'a Setup, index: usize, machine: &Machine) -> Result<Order<'a>, Refusal> {
    let region = &setup.regions[index];
    // Memory without cpus is soaked by those of other nodes.
    let is_soak = |thread: &&ThreadSetup| matches!(thread.role, Role::Soak(_));
    let worker = setup.threads.iter().find(|thread| thread.uses(index)).or_else(|| setup.threads.iter().find(is_soak));
    let worker =
        worker.ok_or_else(|| says::setup_inconsistent("a setup", &format!("no thread uses region {index}")))?;
    let streams = streams(setup, index);
    let least = LEAST_BYTES * streams as u64;
    if region.bytes.0 < least {
        return Err(says::region_too_small(region.bytes, streams, Bytes(least)));
    }
    let nodes = region_nodes(setup, index, machine);
    let note = if region.nodes.is_empty() { away(worker.cpu, &nodes, machine) } else { None };
    // Weights are those of nodes, not of the parts that the kernel splits one into.
    let target = if let MemPolicy::Weighted(_) = region.policy { nodes } else { machine.kernel_nodes(&nodes) };
    Ok(Order { setup: region, target, streams, note, offset: 0 })
}

/// A note where a cpu's memory comes from another node than its own although the user did not request this.
fn away(cpu: CpuId, target: &IdSet, machine: &Machine) -> Option<Note> {
    let own = machine.node_of(cpu).filter(|own| !target.is_empty() && !target.contains(*own))?;
    let bare = machine.node(own).is_some_and(|node| node.memory_bytes == Some(0));
    Some(says::memory_from_nearest(own, cpu, target, bare))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Cpu, Node, PageKind, ThreadSetup};

    fn node(id: u32, memory: u64, distances: &[(u32, u32)]) -> Node {
        Node { id, memory_bytes: Some(memory), distances: distances.iter().copied().collect(), ..Node::default() }
    }

    fn machine() -> Machine {
        let cpu = |id, node| Cpu { id, node: Some(node), ..Cpu::default() };
        let distances = [(0, 32), (2, 10), (5, 12)];
        let nodes = vec![node(0, 1 << 30, &distances), node(2, 0, &distances), node(5, 1 << 30, &[])];
        Machine { cpus: vec![cpu(0, 0), cpu(1, 2)], nodes, ..Machine::default() }
    }

    fn chase(cpu: CpuId, nodes: &str) -> Setup {
        let region = RegionSetup {
            bytes: Bytes(4096),
            policy: MemPolicy::Bind,
            nodes: nodes.parse().unwrap(),
            page: PageKind::Base,
            layout: Layout::Chain(tiermark_model::ChainLayout::Random),
        };
        let threads = vec![ThreadSetup::new(cpu, Role::Chase { chains: 1 }, 0)];
        Setup { regions: vec![region], threads, seed: 1 }
    }

    /// The nodes of the memory, and the note on them.
    fn target(setup: &Setup, machine: &Machine) -> (IdSet, Option<Note>) {
        let orders = super::setup(setup, machine).unwrap();
        (orders[0].target.clone(), orders[0].note.clone())
    }

    #[test]
    fn a_cpu_without_local_memory_gets_the_nearest() {
        assert_eq!(target(&chase(0, ""), &machine()), (IdSet::from_iter([0]), None));
        let (nodes, note) = target(&chase(1, ""), &machine());
        assert_eq!(nodes, IdSet::from_iter([5]));
        assert_eq!(note, Some(says::memory_from_nearest(2, 1, &nodes, true)));
        // A node that the user named needs no note.
        assert_eq!(target(&chase(1, "0"), &machine()), (IdSet::from_iter([0]), None));
    }

    #[test]
    fn a_cpu_whose_node_the_cpuset_leaves_out_gets_the_nearest_that_it_has() {
        let machine = Machine { allowed_nodes: IdSet::from_iter([5]), ..machine() };
        let (nodes, note) = target(&chase(0, ""), &machine);
        assert_eq!(nodes, IdSet::from_iter([5]));
        assert_eq!(note, Some(says::memory_from_nearest(0, 0, &nodes, false)));
    }

    #[test]
    fn every_refusal_has_a_cure() {
        let data = |setup: Setup| {
            let regions = vec![RegionSetup { layout: Layout::Data, ..setup.regions[0].clone() }];
            Setup { regions, ..setup }
        };
        let streams = |kernels: &[&str], setup: Setup| {
            let thread = |kernel: &&str| ThreadSetup {
                role: Role::Stream { kernel: KernelId::from(*kernel), rivals: Vec::new() },
                ..setup.threads[0].clone()
            };
            Setup { threads: kernels.iter().map(thread).collect(), ..setup }
        };
        let cases = [
            data(chase(0, "")),
            streams(&["write/portable"], chase(0, "")),
            streams(&["read/abacus"], data(chase(0, ""))),
            streams(&["read.random/portable"], data(chase(0, ""))),
            streams(&["read/portable", "write/portable"], data(chase(0, ""))),
            Setup { threads: Vec::new(), ..chase(0, "") },
        ];
        for case in cases {
            let refusal = super::setup(&case, &machine()).map(|_| ()).unwrap_err();
            assert!(!refusal.cure.is_empty(), "{refusal}");
        }
    }
}
