//! What of a setup fits together: roles with what their regions hold, kernels with this machine.

use tiermark_engine::region_nodes;
use tiermark_kernels::StreamSpec;
use tiermark_model::{Bytes, CpuId, IdSet, KernelId, Layout, Machine, Pattern, Refusal, RegionSetup, Role, Setup};

use crate::region::Order;
use crate::share;

/// One stream of one line is the least there is.
const LEAST_BYTES: u64 = 64;
/// The cure of what no option can ask for.
const PLAN: &str = "correct the plan";

/// Resolves every region of a setup that was admitted, or says what is wrong with it.
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
    (0..setup.regions.len()).map(|index| resolve(setup, index, machine)).collect()
}

/// All streams begin with the same kernel: the rig switches them together.
fn one_first_kernel(setup: &Setup) -> Result<(), Refusal> {
    let mut firsts = setup.threads.iter().filter_map(|thread| match &thread.role {
        Role::Stream { kernel, .. } => Some(kernel),
        _ => None,
    });
    let first = firsts.next();
    match firsts.find(|kernel| Some(*kernel) != first) {
        Some(other) => {
            let why = format!("its streams begin with different kernels, one of them {other}");
            Err(Refusal::new("a setup", why, "use one kernel for all streams"))
        }
        None => Ok(()),
    }
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

/// Whether what a thread does fits what its region holds.
fn suits(role: &Role, region: &RegionSetup) -> Result<(), Refusal> {
    match role {
        Role::Chase { chains } => {
            if !matches!(region.layout, Layout::Chain(_)) {
                return Err(Refusal::new("a chase", format!("its region holds {}, no chain", region.layout), PLAN));
            }
            if tiermark_kernels::chase(*chains).is_none() {
                return Err(Refusal::new(format!("{chains} chains"), "a chase follows 1 to 32", "use 1 to 32 chains"));
            }
        }
        Role::Revisit { accesses, .. } => {
            if !matches!(region.layout, Layout::Chain(_)) {
                return Err(Refusal::new("a chase", format!("its region holds {}, no chain", region.layout), PLAN));
            }
            if *accesses == 0 {
                return Err(Refusal::new("a chase", "it has no accesses", PLAN));
            }
        }
        Role::Stream { .. } | Role::Load { .. } => {
            if role.kernels().next().is_none() {
                return Err(Refusal::new("a load", "it names no kernel", PLAN));
            }
            for id in role.kernels() {
                let spec = kernel(id)?;
                if matches!(region.layout, Layout::Chain(_) | Layout::Shared) {
                    let why = "its region holds a chain or shared lines, which streams would destroy";
                    return Err(Refusal::new(format!("kernel {id}"), why, PLAN));
                }
                let random = spec.info.op.pattern() == Pattern::Random;
                if random && (region.layout != Layout::Permuted || matches!(role, Role::Load { .. })) {
                    let why = "its region has no permutation of lines";
                    return Err(Refusal::new(format!("kernel {id}"), why, PLAN));
                }
            }
        }
        // Whatever its region holds is only held.
        Role::Os(_) => {}
        _ => {
            let what = "threads on shared lines";
            if region.layout != Layout::Shared {
                return Err(Refusal::new(what, format!("their region holds {}", region.layout), PLAN));
            }
            if region.bytes.0 < share::LEAST_BYTES {
                let why = format!("their region is smaller than {}", Bytes(share::LEAST_BYTES));
                return Err(Refusal::new(what, why, PLAN));
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
    let worker = setup.threads.iter().find(|t| t.region == index);
    let worker = worker.ok_or_else(|| Refusal::new("a setup", format!("no thread works on region {index}"), PLAN))?;
    let streams = streams(setup, index);
    let least = LEAST_BYTES * streams as u64;
    if region.bytes.0 < least {
        let why = format!("{streams} streams need a line of 64 bytes each");
        let cure = format!("ask for {} or more: --sizes", Bytes(least));
        return Err(Refusal::new(format!("a region of {}", region.bytes), why, cure));
    }
    let target = region_nodes(setup, index, machine);
    let note = if region.nodes.is_empty() { away(worker.cpu, &target, machine) } else { None };
    Ok(Order { setup: region, target, streams, note })
}

/// What to say where a cpu's memory comes from another node than its own although nobody asked for that.
fn away(cpu: CpuId, target: &IdSet, machine: &Machine) -> Option<String> {
    let own = machine.node_of(cpu).filter(|own| !target.is_empty() && !target.contains(*own))?;
    let bare = machine.node(own).is_some_and(|node| node.memory_bytes == Some(0));
    let why = if bare { "has no memory" } else { "may not be used (cpuset.mems)" };
    Some(format!("node {own} of cpu {cpu} {why}: memory comes from node {target}, the nearest"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Cpu, MemPolicy, Node, PageKind, ThreadSetup};

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

    /// Where memory comes from, and what is said of it.
    fn target(setup: &Setup, machine: &Machine) -> (IdSet, Option<String>) {
        let orders = super::setup(setup, machine).unwrap();
        (orders[0].target.clone(), orders[0].note.clone())
    }

    #[test]
    fn a_cpu_without_local_memory_gets_the_nearest() {
        assert_eq!(target(&chase(0, ""), &machine()), (IdSet::from_iter([0]), None));
        let (nodes, note) = target(&chase(1, ""), &machine());
        assert_eq!(nodes, IdSet::from_iter([5]));
        assert!(note.is_some_and(|note| note.contains("node 2 of cpu 1 has no memory")));
        // Asked for, it needs no word.
        assert_eq!(target(&chase(1, "0"), &machine()), (IdSet::from_iter([0]), None));
    }

    #[test]
    fn a_cpu_whose_node_the_cpuset_leaves_out_gets_the_nearest_that_it_has() {
        let machine = Machine { allowed_nodes: IdSet::from_iter([5]), ..machine() };
        let (nodes, note) = target(&chase(0, ""), &machine);
        assert_eq!(nodes, IdSet::from_iter([5]));
        assert!(note.is_some_and(|note| note.contains("node 0 of cpu 0 may not be used")));
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
            streams(&["read/portable"], chase(0, "")),
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
