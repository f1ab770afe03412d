//! Putting a machine together from all readers.

use tiermark_model::messages::machine as messages;
use tiermark_model::{CpuModel, DisputedFact, IdSet, Machine, Node, TheoreticalPeak};

use crate::error::DiscoverError;
use crate::identity::Identity;
use crate::reader::{CPU_DIR, Reader};
use crate::root::Root;
use crate::{
    blocks, caches, cgroup, core_limits, cpuinfo, cpus, dmi, identity, kinds, nodes, pages, processors, system, totals,
};

/// Twice as many as a kernel can be built for (NR_CPUS): the description of each holds sets of all of them.
const MOST_CPUS: usize = 2 * 8192;

/// Describes the machine below a root.
///
/// Files that make no sense are treated as absent and named in [`Machine::unseen`].
///
/// # Errors
/// [`DiscoverError::NoCpus`] where nothing names a cpu, [`DiscoverError::NotATree`] where more are named than Linux can
/// have, [`DiscoverError::Repeats`] where there is more to read than any machine has.
pub fn discover(root: &Root, live: &LiveFacts) -> Result<Machine, DiscoverError> {
    let metered = root.metered();
    let machine = read(&metered, live)?;
    // What could not be read for the cost of the rest is missing.
    metered.spend(0).map(|()| machine)
}

fn read(root: &Root, live: &LiveFacts) -> Result<Machine, DiscoverError> {
    let reader = Reader::new(root);
    let mut info = cpuinfo::read(&reader);
    let found = cpus::find(&reader, &info, live.allowed_cpus.as_ref());
    if found.online.is_empty() {
        return Err(DiscoverError::NoCpus { path: root.label().to_owned() });
    }
    if found.online.len() > MOST_CPUS {
        let why = format!("{} cpus are more than Linux can have", found.online.len());
        return Err(DiscoverError::NotATree { path: root.label().to_owned(), why });
    }
    let online = found.online;
    info.keep_if_of(&reader, &online);
    let mut cpus = cpus::topology(&reader, &online, &info);
    let names = info.core_names(&reader, &online);
    cpus.iter_mut().for_each(|cpu| cpu.core_name = names.get(&cpu.id).cloned());
    let caches = caches::read(&reader, &cpus, &info);
    caches::assign_groups(&mut cpus, &caches);
    kinds::assign(&reader, &mut cpus, &caches);
    let mut nodes = nodes::read(&reader, &mut cpus);
    blocks::read(&reader, &mut nodes);
    let board = identity::read(&reader);
    nodes::of_offline_processors(&mut nodes, &cpus, board.sockets);
    let limits = cgroup::read(&reader);

    info.model.arch = live.uname.as_ref().map(|uname| uname.machine.clone()).or_else(|| arch(&reader, &info.model));
    let mut system = system::read(&reader, live, &info.model, &board, &online);
    cpus::dispute_threads(&reader, &cpus, system.smt_control.as_deref());
    if let Some(program) = &system.kernel_program {
        reader.refuse(messages::kernel_is_program(program));
    }
    if let Some(name) = system.hypervisor.as_deref().filter(|_| system.sees_board) {
        reader.refuse(messages::domain_is_a_part(name));
    }
    if system.hypervisor.is_none() {
        name_by_firmware(&mut info.model, &board);
        nodes::dispute_sockets(&reader, &nodes, &cpus);
    }
    let modules = totals::Modules::of(&board.dimms, &board.cxl_modules);
    let offline = nodes.iter().filter_map(|node| node.offline_bytes);
    let uncounted = nodes::bytes_of_enclaves(&reader, &nodes).saturating_add(tiermark_model::total(offline));
    let modules = modules.map(|modules| modules.without(uncounted));
    let own_memory = totals::settle_memory(&reader, &nodes, modules, &mut system)
        .filter(|_| totals::OwnMemory::is_of_container(&reader, &system));

    let status = Status::read(&reader);
    let own = live.allowed_cpus.as_ref().or(status.cpus.as_ref());
    let allowed_cpus = allowed(&reader, DisputedFact::AllowedCpus, &online, own, ids_of(&limits.cpus));
    let own_set = limits.cpus.as_ref().filter(|set| set.is_own).map(|set| &set.ids);
    let beyond_affinity = own.map(|own| choosable(&reader, &online, own, own_set)).unwrap_or_default();
    let beyond_affinity = beyond_affinity.difference(&allowed_cpus);
    let kernel_nodes: IdSet = IdSet::union_of(&nodes.iter().map(Node::kernel_ids).collect::<Vec<_>>());
    let own = live.allowed_nodes.as_ref().or(status.nodes.as_ref());
    let allowed_nodes = allowed(&reader, DisputedFact::AllowedNodes, &kernel_nodes, own, ids_of(&limits.nodes));
    let file_of = |set: Option<cgroup::Cpuset>, all: &IdSet, used: &IdSet| {
        set.filter(|set| used != all && set.ids.intersection(all) == *used).map(|set| set.file)
    };
    if let Some(own) = own_memory.filter(|_| limits.cgroup.is_none()) {
        own.bound(&mut system);
    }
    system.cgroup = limits.cgroup.map(|mut group| {
        if let Some(own) = own_memory {
            own.limit(&mut group);
        }
        if group.memory_unseen_above || group.quota_unseen_above {
            reader.refuse(messages::limits_above_unseen(group.memory_unseen_above, group.quota_unseen_above));
        }
        group.files.cpus = file_of(limits.cpus, &online, &allowed_cpus);
        group.files.nodes = file_of(limits.nodes, &kernel_nodes, &allowed_nodes);
        group
    });
    let is_allowed = |node: &&Node| !node.kernel_ids().intersection(&allowed_nodes).is_empty();
    let allowed_nodes = nodes.iter().filter(is_allowed).map(|node| node.id).collect();
    let page_bytes = live.page_bytes.unwrap_or_else(|| pages::base_page(&reader, info.model.arch.as_deref(), &system));
    // Sockets whose cpus are offline still hold memory: firmware counts them.
    let kernel = cpus.iter().map(|cpu| cpu.socket).collect::<IdSet>().len();
    let sockets = kernel.max(board.sockets);
    let sockets = if system.sees_board { board.sockets.max(1) } else { sockets };
    let theoretical_peak = peak(&reader, &board, &info.model, sockets, system.board_maker());
    let theoretical_link = processors::link(&info.model, sockets).filter(|_| system.hypervisor.is_none());
    Ok(Machine {
        // The processor's model is that of its first core.
        core_limits: core_limits::of(&info.model)
            .filter(|_| cpus.iter().all(|cpu| cpu.kind.is_none() && cpu.core_name.is_none())),
        cpu_model: info.model,
        cpus,
        offline_cpus: found.offline,
        allowed_cpus,
        beyond_affinity,
        allowed_nodes,
        caches,
        nodes,
        page_bytes,
        dimms: board.dimms,
        unlisted_slots: board.unlisted_slots as u64,
        filled_sockets: board.sockets as u64,
        cxl_modules: board.cxl_modules,
        theoretical_peak,
        theoretical_link,
        system,
        contradictions: reader.contradictions(),
        unseen: reader.into_refusals(),
    })
}

/// What a cpuset allows.
fn ids_of(set: &Option<cgroup::Cpuset>) -> Option<&IdSet> {
    set.as_ref().map(|set| &set.ids)
}

/// The kernel has no marketing name on Arm; firmware may. That of a guest is made up.
fn name_by_firmware(model: &mut CpuModel, board: &Identity) {
    if !model.flags.iter().any(|flag| flag == "fpu") {
        model.name = board.processor.clone().or_else(|| model.name.take());
    }
}

/// The architecture of a tree: what a file states, else what the processor alone gives away.
fn arch(reader: &Reader<'_>, model: &CpuModel) -> Option<String> {
    let power = || {
        cpuinfo::power(model.name.as_deref()?)?;
        match reader.word("sys/kernel/cpu_byteorder")?.as_str() {
            "little" => Some("ppc64le".to_owned()),
            "big" => Some("ppc64".to_owned()),
            _ => None,
        }
    };
    let stated = reader.word("proc/sys/kernel/arch").or_else(|| pages::stated_arch(reader));
    stated.or_else(power).or_else(|| model.arch.clone())
}

/// The theoretical peak of the memory channels; if `None`, the reason is noted.
fn peak(
    reader: &Reader<'_>,
    board: &Identity,
    model: &CpuModel,
    sockets: usize,
    hypervisor: Option<&str>,
) -> Option<TheoreticalPeak> {
    if let Some(hypervisor) = hypervisor {
        if board.dimms.iter().any(|dimm| dimm.populated) {
            reader.refuse(messages::modules_made_up(hypervisor));
        }
        return None;
    }
    let most = dmi::Channels::of(model, sockets);
    let peak = dmi::theoretical_peak(&board.dimms, board.unlisted_slots, sockets, most.as_ref());
    if peak.is_none() && board.dimms.iter().any(|dimm| dimm.populated) {
        reader.refuse(messages::peak_unknown());
    }
    peak
}

/// The affinity that `/proc/self/status` shows, for trees without live facts.
struct Status {
    cpus: Option<IdSet>,
    nodes: Option<IdSet>,
}

impl Status {
    fn read(reader: &Reader<'_>) -> Self {
        let path = "proc/self/status";
        let text = reader.lines(path).unwrap_or_default();
        let list = |name: &str| -> Option<IdSet> {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            reader.meant(path, value, format!("is not a set of ids for {name}"), IdSet::from_plain_list(value).ok())
        };
        Self { cpus: list("Cpus_allowed_list"), nodes: list("Mems_allowed_list") }
    }
}

/// What this process may use: its own affinity, which the kernel enforces and which lies within the group's; else what
/// the group may use; else all there is. A view that leaves nothing is misread (a path of another namespace), for this
/// process does run somewhere.
fn allowed(
    reader: &Reader<'_>,
    fact: DisputedFact,
    all: &IdSet,
    process: Option<&IdSet>,
    group: Option<&IdSet>,
) -> IdSet {
    const PROCESS: &str = "this process's affinity";
    const GROUP: &str = "its control group's cpuset";
    let views = [(PROCESS, process), (GROUP, group)].into_iter().filter_map(|(name, ids)| Some((name, ids?)));
    let views: Vec<(&str, &IdSet, IdSet)> = views.map(|(name, ids)| (name, ids, ids.intersection(all))).collect();
    let used = views.iter().find(|(_, _, here)| !here.is_empty());
    let (source, used) = used.map_or(("the system", all), |(name, _, here)| (*name, here));
    // The mask of a process may hold cpus that are only possible, and a group may allow more than the process.
    for (name, ids, _) in views.iter().filter(|(_, _, here)| !used.is_subset(here)) {
        reader.contradict(fact, (source, used), (name, ids));
    }
    used.clone()
}

/// The cpus that a process of this affinity may choose: a cpuset is what the kernel enforces, the affinity was only
/// inherited. Without a cpuset, those that `isolcpus=` took out of the affinity that all processes begin with.
fn choosable(reader: &Reader<'_>, online: &IdSet, own: &IdSet, group: Option<&IdSet>) -> IdSet {
    let isolated = reader.id_list(&format!("{CPU_DIR}/isolated")).unwrap_or_default();
    match group {
        Some(group) => group.intersection(online),
        None if *own == online.difference(&isolated) => isolated.intersection(online),
        None => IdSet::new(),
    }
}

/// Facts that only system calls and instructions give; all `None` for captured trees.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveFacts {
    /// `sched_getaffinity` of this process.
    pub allowed_cpus: Option<IdSet>,
    /// `get_mempolicy(MPOL_F_MEMS_ALLOWED)`.
    pub allowed_nodes: Option<IdSet>,
    /// `sysconf(_SC_PAGESIZE)`, in bytes.
    pub page_bytes: Option<u64>,
    /// Names and versions that `uname` returns; `None` for a captured machine.
    pub uname: Option<Uname>,
    /// The CPUID hypervisor signature (leaf 0x4000_0000), where the processor has one.
    pub hypervisor: Option<String>,
}

/// Names and versions that `uname` returns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Uname {
    /// Kernel release.
    pub release: String,
    /// Architecture.
    pub machine: String,
    /// Host name.
    pub nodename: String,
}
