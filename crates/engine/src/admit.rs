//! Whether a machine can carry a setup at all: the checks that need no system call. Pure, so that simulated and real
//! machines refuse alike.

use tiermark_model::{Bytes, CpuId, IdSet, Machine, NodeId, PageKind, Refusal, RegionSetup, Setup};

/// Checks cpus, nodes, huge page pools and memory of a setup against a machine.
///
/// # Errors
/// A [`Refusal`] for the first thing that cannot be had, with its cure.
pub fn admit(setup: &Setup, machine: &Machine) -> Result<(), Refusal> {
    for thread in &setup.threads {
        admit_cpu(thread.cpu, machine)?;
        if thread.region >= setup.regions.len() {
            return Err(Refusal::new(
                format!("region {}", thread.region),
                "the setup has no such region",
                "correct the plan",
            ));
        }
    }
    for (index, region) in setup.regions.iter().enumerate() {
        if region.bytes.0 == 0 {
            return Err(Refusal::new(
                "a region of 0 bytes",
                "there is nothing to measure",
                "ask for a size of at least 4K",
            ));
        }
        for node in region_nodes(setup, index, machine).iter() {
            admit_node(node, machine)?;
        }
        admit_pool(setup, index, machine)?;
    }
    admit_memory(setup, machine)
}

/// The nodes a region's pages belong on: those it names, else the node of the first thread that works on it.
pub fn region_nodes(setup: &Setup, region: usize, machine: &Machine) -> IdSet {
    if let Some(named) = setup.regions.get(region).map(|r| &r.nodes).filter(|n| !n.is_empty()) {
        return named.clone();
    }
    let thread = setup.threads.iter().find(|t| t.region == region);
    thread.and_then(|t| nearest_memory_node(t.cpu, machine)).into_iter().collect()
}

/// The node a cpu's own memory comes from: its node, or, where that has no memory, the nearest that has.
pub fn nearest_memory_node(cpu: CpuId, machine: &Machine) -> Option<NodeId> {
    let own = machine.node_of(cpu)?;
    let has_memory = |n: &tiermark_model::Node| n.memory_bytes != Some(0) && machine.allowed_nodes.contains(n.id);
    if machine.node(own).is_some_and(has_memory) {
        return Some(own);
    }
    let distances = &machine.node(own)?.distances;
    machine
        .nodes
        .iter()
        .filter(|n| has_memory(n))
        .min_by_key(|n| distances.get(&n.id).copied().unwrap_or(u32::MAX))
        .map(|n| n.id)
}

fn admit_cpu(cpu: CpuId, machine: &Machine) -> Result<(), Refusal> {
    if machine.allowed_cpus.contains(cpu) {
        return Ok(());
    }
    let why = if machine.cpu(cpu).is_none() {
        "this machine has no such cpu online"
    } else {
        "it is outside this process's affinity or cpuset"
    };
    Err(Refusal::new(format!("cpu {cpu}"), why, format!("choose among the allowed cpus {}", machine.allowed_cpus)))
}

fn admit_node(id: NodeId, machine: &Machine) -> Result<(), Refusal> {
    let with_memory: IdSet = machine
        .nodes
        .iter()
        .filter(|n| n.memory_bytes != Some(0) && machine.allowed_nodes.contains(n.id))
        .map(|n| n.id)
        .collect();
    let why = match machine.node(id) {
        None => "this machine has no such node",
        Some(node) if node.memory_bytes == Some(0) => "the node has no memory",
        Some(_) if !machine.allowed_nodes.contains(id) => "the cpuset does not allow memory of this node",
        Some(_) => return Ok(()),
    };
    Err(Refusal::new(format!("memory of node {id}"), why, format!("choose among the nodes with memory: {with_memory}")))
}

fn admit_pool(setup: &Setup, index: usize, machine: &Machine) -> Result<(), Refusal> {
    let region = &setup.regions[index];
    let PageKind::Huge(page_bytes) = region.page else { return Ok(()) };
    let nodes = region_nodes(setup, index, machine);
    let sharing = setup.regions.iter().filter(|r| r.page == region.page).map(|r| pages(r, page_bytes)).sum::<u64>();
    let free: u64 = machine
        .nodes
        .iter()
        .filter(|n| nodes.contains(n.id))
        .flat_map(|n| &n.huge_pages)
        .filter(|pool| pool.page_bytes == page_bytes)
        .map(|pool| pool.free)
        .sum();
    if free >= sharing {
        return Ok(());
    }
    let (what, node) = (format!("{} pages of {}", sharing, Bytes(page_bytes)), nodes.first().unwrap_or(0));
    let path = format!("/sys/devices/system/node/node{node}/hugepages/hugepages-{}kB/nr_hugepages", page_bytes >> 10);
    let cure = format!("reserve them as root: echo {sharing} > {path}; or use --page thp");
    Err(Refusal::new(what, format!("{free} are free on node {nodes}"), cure))
}

fn pages(region: &RegionSetup, page_bytes: u64) -> u64 {
    region.bytes.0.div_ceil(page_bytes)
}

fn admit_memory(setup: &Setup, machine: &Machine) -> Result<(), Refusal> {
    let cure = "ask for less with --size or --max-mem, or free memory";
    for node in &machine.nodes {
        let wanted: u64 = (0..setup.regions.len())
            .filter(|i| !matches!(setup.regions[*i].page, PageKind::Huge(_)))
            .filter(|i| region_nodes(setup, *i, machine).first() == Some(node.id))
            .map(|i| setup.regions[i].bytes.0)
            .sum();
        // Clean page cache counts as free where the kernel says how much is available; a node only says what is free.
        let single = machine.nodes.len() == 1;
        let free = if single { machine.system.available_bytes.or(node.free_bytes) } else { node.free_bytes };
        if let Some(free) = free.filter(|free| wanted > *free) {
            return Err(Refusal::new(
                format!("{} on node {}", Bytes(wanted), node.id),
                format!("{} are free there", Bytes(free)),
                cure,
            ));
        }
    }
    let total = setup.total_bytes().0;
    if let Some(cgroup) = &machine.system.cgroup
        && let Some(limit) = cgroup.memory_limit
    {
        let left = limit.saturating_sub(cgroup.memory_used.unwrap_or(0));
        if total > left {
            let why = format!("the cgroup {} has {} of its limit of {} left", cgroup.path, Bytes(left), Bytes(limit));
            return Err(Refusal::new(format!("{}", Bytes(total)), why, cure));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
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

    fn setup(cpu: u32, bytes: u64, nodes: &str, page: PageKind) -> Setup {
        Setup {
            regions: vec![RegionSetup {
                bytes: Bytes(bytes),
                policy: MemPolicy::Bind,
                nodes: nodes.parse().unwrap(),
                page,
                layout: Layout::Data,
            }],
            threads: vec![ThreadSetup { cpu, role: Role::Chase { chains: 1 }, region: 0 }],
            seed: 1,
        }
    }

    #[test]
    fn admits_what_fits() {
        assert_eq!(admit(&setup(0, GIB, "", PageKind::Thp), &machine()), Ok(()));
        assert_eq!(admit(&setup(2, GIB, "4", PageKind::Base), &machine()), Ok(()));
        // Node 1 has no memory: its cpus use the nearest node that has.
        assert_eq!(nearest_memory_node(2, &machine()), Some(0));
    }

    #[test]
    fn refuses_with_what_why_and_cure() {
        for (setup, why) in [
            (setup(3, GIB, "", PageKind::Thp), "affinity"),
            (setup(9, GIB, "", PageKind::Thp), "no such cpu"),
            (setup(0, GIB, "2", PageKind::Thp), "no such node"),
            (setup(0, GIB, "1", PageKind::Thp), "no memory"),
            (setup(0, 5 * GIB, "", PageKind::Thp), "free there"),
            (setup(0, 0, "", PageKind::Thp), "nothing"),
            (setup(0, GIB, "", PageKind::Huge(1 << 30)), "0 are free"),
        ] {
            let refusal = admit(&setup, &machine()).unwrap_err();
            assert!(refusal.to_string().contains(why), "{refusal}");
            assert!(!refusal.cure.is_empty());
        }
    }

    #[test]
    fn respects_the_cgroup() {
        let mut machine = machine();
        machine.system.cgroup = Some(Cgroup {
            version: 2,
            path: "/a".into(),
            memory_limit: Some(GIB),
            memory_used: Some(GIB / 2),
            cpu_quota: None,
        });
        let refusal = admit(&setup(0, GIB, "", PageKind::Thp), &machine).unwrap_err();
        assert!(refusal.why.contains("512 MiB"), "{refusal}");
    }
}
