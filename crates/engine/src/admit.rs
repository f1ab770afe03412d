//! Whether a machine can carry a setup at all: the checks that need no system call. Pure, so that simulated and real
//! machines refuse alike; a real one uses the free memory of the moment.

mod availability;

use tiermark_model::messages::setup as says;
use tiermark_model::{
    Bytes, CpuId, IdSet, Layout, Machine, MemPolicy, Node, NodeId, Refusal, RegionSetup, Setup, ThreadSetup,
};

pub use availability::{Fresh, Pool, room_in};

/// More than any processor can map (57-bit addresses).
const MOST_BYTES: u64 = 1 << 56;

/// Checks cpus, nodes, huge page pools and memory of a setup against a machine and its free memory.
///
/// # Errors
/// A [`Refusal`] for the first thing that cannot be had, with its cure.
pub fn admit(setup: &Setup, machine: &Machine, fresh: &Fresh) -> Result<(), Refusal> {
    admit_places(setup, machine)?;
    availability::admit(setup, machine, fresh)
}

/// Checks the cpus and nodes of a setup, and that its parts fit together, whatever memory is free.
///
/// # Errors
/// A [`Refusal`] for the first thing that cannot be had, with its cure.
pub fn admit_places(setup: &Setup, machine: &Machine) -> Result<(), Refusal> {
    if setup.threads.is_empty() {
        return Err(says::setup_without_threads());
    }
    for thread in &setup.threads {
        admit_cpu(thread.cpu, machine)?;
        if thread.region >= setup.regions.len() {
            let what = format!("region {} for cpu {}", thread.region, thread.cpu);
            return Err(says::setup_inconsistent(&what, "the setup has no such region"));
        }
        admit_reading(thread, setup)?;
    }
    for (index, region) in setup.regions.iter().enumerate() {
        admit_bytes(region)?;
        if let MemPolicy::TouchedBy(cpu) = region.policy {
            admit_cpu(cpu, machine)?;
        }
        admit_policy(region, region_nodes(setup, index, machine).len())?;
        for node in region_nodes(setup, index, machine).iter() {
            admit_node(node, machine)?;
        }
    }
    Ok(())
}

/// What a thread reads before each visit must be memory of its own process that holds plain data.
fn admit_reading(thread: &ThreadSetup, setup: &Setup) -> Result<(), Refusal> {
    let Some(region) = thread.reads_first else { return Ok(()) };
    let why = match setup.regions.get(region) {
        None => "the setup has no such region",
        Some(_) if thread.process => "the thread runs in a process of its own",
        Some(_) if setup.threads.iter().any(|other| other.region == region) => "a thread works on it",
        Some(read) if read.layout != Layout::Data => "it holds no plain data",
        Some(_) => return Ok(()),
    };
    Err(says::setup_inconsistent(&format!("region {region}, which cpu {} reads first", thread.cpu), why))
}

/// The nodes a region's pages belong on: those it names, else the node of the first thread that works on it; none of
/// memory that is a file's.
pub fn region_nodes(setup: &Setup, region: usize, machine: &Machine) -> IdSet {
    if setup.regions.get(region).is_some_and(|region| matches!(region.policy, MemPolicy::File(_))) {
        return IdSet::new();
    }
    if let Some(named) = setup.regions.get(region).map(|r| &r.nodes).filter(|n| !n.is_empty()) {
        return named.clone();
    }
    let thread = setup.threads.iter().find(|thread| thread.uses(region));
    thread.and_then(|t| nearest_memory_node(t.cpu, machine)).into_iter().collect()
}

/// The node a cpu's own memory comes from: its node, or, where that has no memory, may not be used or is offline, the
/// nearest that can.
pub fn nearest_memory_node(cpu: CpuId, machine: &Machine) -> Option<NodeId> {
    let usable = machine.memory_nodes();
    let own = machine.node_of(cpu).and_then(|id| machine.node(id));
    if let Some(own) = own.filter(|node| usable.contains(node.id)) {
        return Some(own.id);
    }
    let distance = |n: &Node| own.and_then(|own| own.distances.get(&n.id)).copied().unwrap_or(u32::MAX);
    machine.nodes.iter().filter(|node| usable.contains(node.id)).min_by_key(|n| distance(n)).map(|n| n.id)
}

/// Whether a thread of this process may be pinned to a cpu.
///
/// # Errors
/// A [`Refusal`] for a cpu that is not there, offline, or outside the affinity or the cpuset.
pub fn admit_cpu(cpu: CpuId, machine: &Machine) -> Result<(), Refusal> {
    let choosable = machine.choosable_cpus();
    if choosable.contains(cpu) {
        return Ok(());
    }
    let why = match machine.cpu(cpu) {
        None if machine.offline_cpus.contains(cpu) => "it is offline",
        None => "this machine has no such cpu",
        Some(_) => "this process may not run there: it is outside its affinity (taskset) or its control group's cpuset",
    };
    Err(says::cpu_unusable(cpu, why, &choosable))
}

fn admit_bytes(region: &RegionSetup) -> Result<(), Refusal> {
    match region.bytes.0 {
        0 => Err(says::region_empty(region.bytes)),
        bytes if bytes > MOST_BYTES => Err(says::region_too_large(region.bytes, Bytes(MOST_BYTES))),
        _ => Ok(()),
    }
}

/// Weights must name every node once, and leave something to deal out.
fn admit_policy(region: &RegionSetup, nodes: usize) -> Result<(), Refusal> {
    let MemPolicy::Weighted(weights) = &region.policy else { return Ok(()) };
    let round: u64 = weights.iter().map(|w| u64::from(*w)).sum();
    let why = match weights.len() {
        n if n != nodes => format!("{n} weights for {nodes} nodes"),
        // The kernel's own weights are bytes.
        _ if weights.iter().any(|w| *w > 255) => "a weight is above 255".to_owned(),
        _ if round == 0 => "all weights are zero".to_owned(),
        _ => return Ok(()),
    };
    Err(says::weights_unusable(&region.nodes, &why))
}

/// Whether memory of a node may be had at all.
///
/// # Errors
/// A [`Refusal`] when the machine has no such node, or it has no memory, or the cpuset does not allow it, or it is too
/// small.
pub fn admit_node(id: NodeId, machine: &Machine) -> Result<(), Refusal> {
    let usable = machine.memory_nodes();
    let why = match machine.node(id) {
        Some(_) if usable.contains(id) => return Ok(()),
        None => "this machine has no such node",
        Some(node) if node.memory_bytes == Some(0) => "the node has no memory",
        Some(node) if machine.is_too_small(node) => "the node has less than 128 MiB, and 64 MiB of a node stay free",
        Some(_) => "the cpuset (cpuset.mems) does not allow memory of this node",
    };
    Err(says::node_unusable(id, why, &usable))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::messages::setup::codes;
    use tiermark_model::*;

    fn machine() -> Machine {
        let cpus = (0..4).map(|id| Cpu { id, core: id, node: Some(id / 2), ..Cpu::default() }).collect();
        let node = |id: u32, gib: u64| Node {
            id,
            memory_bytes: Some(gib * GIB),
            free_bytes: Some(gib * GIB / 2),
            distances: [(0, 10), (1, 21), (4, 30)].into(),
            ..Node::default()
        };
        Machine {
            cpus,
            allowed_cpus: "0-2".parse().unwrap(),
            allowed_nodes: "0,1,4".parse().unwrap(),
            nodes: vec![node(0, 8), node(1, 0), node(4, 16)],
            ..Machine::default()
        }
    }

    fn fits(setup: &Setup, machine: &Machine) -> Result<(), Refusal> {
        admit(setup, machine, &Fresh::discovered(machine))
    }

    fn setup(cpu: u32, bytes: u64, nodes: &str, page: PageKind) -> Setup {
        Setup {
            regions: vec![RegionSetup { nodes: nodes.parse().unwrap(), ..testing::region(bytes, page, Layout::Data) }],
            threads: vec![ThreadSetup::new(cpu, Role::Chase { chains: 1 }, 0)],
            seed: 1,
        }
    }

    #[test]
    fn admits_what_fits() {
        assert_eq!(fits(&setup(0, GIB, "", PageKind::Thp), &machine()), Ok(()));
        assert_eq!(fits(&setup(2, GIB, "4", PageKind::Base), &machine()), Ok(()));
        // Node 1 has no memory: its cpus use the nearest node that has.
        assert_eq!(nearest_memory_node(2, &machine()), Some(0));
    }

    #[test]
    fn a_cpuset_without_the_own_node_gives_the_nearest_that_it_has() {
        let mut machine = machine();
        machine.allowed_nodes = "4".parse().unwrap();
        assert_eq!(nearest_memory_node(0, &machine), Some(4));
        let setup = setup(0, GIB, "", PageKind::Thp);
        assert_eq!(region_nodes(&setup, 0, &machine), IdSet::from_iter([4]));
        assert_eq!(fits(&setup, &machine), Ok(()));
        // If the system does not report the allowed nodes, all are allowed.
        machine.allowed_nodes = IdSet::new();
        assert_eq!(nearest_memory_node(0, &machine), Some(0));
    }

    #[test]
    fn a_cpu_whose_node_is_offline_gets_memory_of_another() {
        let mut machine = machine();
        machine.cpus[2].node = None;
        assert_eq!((machine.node_of(2), nearest_memory_node(2, &machine)), (None, Some(0)));
    }

    #[test]
    fn only_plain_memory_that_nobody_works_on_is_read_first() {
        let chase = setup(0, GIB, "", PageKind::Thp);
        let mut with = chase.clone();
        with.regions.push(chase.regions[0].clone());
        with.threads[0].reads_first = Some(1);
        assert_eq!(fits(&with, &machine()), Ok(()));
        assert_eq!(region_nodes(&with, 1, &machine()), IdSet::from_iter([0]));
        let refused = |change: fn(&mut Setup)| {
            let mut setup = with.clone();
            change(&mut setup);
            fits(&setup, &machine()).unwrap_err().code
        };
        assert_eq!(refused(|setup| setup.threads[0].reads_first = Some(2)), codes::setup_inconsistent);
        assert_eq!(refused(|setup| setup.threads[0].reads_first = Some(0)), codes::setup_inconsistent);
        assert_eq!(refused(|setup| setup.threads[0].process = true), codes::setup_inconsistent);
        assert_eq!(refused(|setup| setup.regions[1].layout = Layout::Zeros), codes::setup_inconsistent);
    }

    #[test]
    fn refuses_with_what_why_and_cure() {
        for (setup, code) in [
            (setup(3, GIB, "", PageKind::Thp), codes::cpu_unusable),
            (setup(9, GIB, "", PageKind::Thp), codes::cpu_unusable),
            (setup(0, GIB, "2", PageKind::Thp), codes::node_unusable),
            (setup(0, GIB, "1", PageKind::Thp), codes::node_unusable),
            (setup(0, 5 * GIB, "", PageKind::Thp), codes::free_memory_short),
            (setup(0, u64::MAX, "", PageKind::Thp), codes::region_too_large),
            (setup(0, 0, "", PageKind::Thp), codes::region_empty),
            (setup(0, GIB, "", PageKind::Huge(1 << 30)), codes::huge_pages_no_pool),
        ] {
            let refusal = fits(&setup, &machine()).unwrap_err();
            assert_eq!(refusal.code, code, "{refusal}");
            assert!(!refusal.cure.is_empty());
        }
        let idle = Setup { threads: Vec::new(), ..setup(0, GIB, "", PageKind::Thp) };
        assert_eq!(fits(&idle, &machine()).unwrap_err().code, codes::setup_without_threads);
    }

    #[test]
    fn respects_the_cgroup() {
        let mut machine = machine();
        machine.system.cgroup = Some(Cgroup {
            version: 2,
            path: "/a".into(),
            memory_limit: Some(GIB),
            memory_used: Some(GIB / 2),
            files: LimitFiles { memory: Some("/sys/fs/cgroup/memory.max".into()), ..LimitFiles::default() },
            ..Cgroup::default()
        });
        let refusal = fits(&setup(0, GIB, "", PageKind::Thp), &machine).unwrap_err();
        assert!(refusal.why.contains("512 MiB"), "{refusal}");
    }
}
