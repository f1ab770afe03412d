//! The bandwidths of memory that a run measured, each with what its threads did and where.

use std::collections::HashMap;

use tiermark_model::{
    Cpu, Distance, Experiment, Finding, Grade, IdSet, KernelInfo, Labels, Machine, NodeId, Observation, Pattern,
    Purpose, Quantity, Run, Span, StoreKind, Tier,
};

/// Bandwidths that are explained at most: those of 64 nodes with memory of 64 nodes. Documents may come from anywhere.
const MOST: usize = 4096;

/// What the threads did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Loads.
    Read,
    /// Ordinary stores.
    Store,
    /// Stores that go out as whole lines.
    NonTemporal,
    /// Both loads and stores, or instructions whose protocol the core chooses.
    Other,
}

impl Access {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Store => "store",
            Self::NonTemporal => "non-temporal",
            Self::Other => "other",
        }
    }
}

/// Threads: whether they are of a matrix, the row or the nodes of their cpus, the span, how many, and the pages of
/// their memory.
pub(crate) type Crew<'a> = (bool, &'a str, &'a IdSet, Option<Span>, u64, &'a str);

/// A bandwidth of memory.
pub(crate) struct Cell<'a> {
    pub(crate) step: &'a str,
    pub(crate) seen: &'a Observation,
    /// The operation as it is labelled.
    pub(crate) op: &'a str,
    pub(crate) kernel: Option<&'a KernelInfo>,
    pub(crate) access: Access,
    pub(crate) is_random: bool,
    pub(crate) distance: Distance,
    /// Row of a matrix, or the memory of a ladder.
    pub(crate) from: &'a str,
    pub(crate) is_matrix: bool,
    /// Words for the memory: `memory of node 1`.
    pub(crate) memory: String,
    /// The cpus and the memory in full: `cpus of node 0, memory of node 1`.
    spot: String,
    /// Nodes of the cpus.
    pub(crate) home: IdSet,
    /// Nodes that hold the memory.
    pub(crate) nodes: IdSet,
    /// The label of the other node of mixed memory, or of the memory.
    pub(crate) node: Option<NodeId>,
    pub(crate) span: Option<Span>,
    pub(crate) page: &'a str,
    pub(crate) threads: f64,
    /// Cores that the threads run on: fewer than threads where two run on a core.
    pub(crate) cores: f64,
    /// Whether these are all cores of their nodes that the run could use.
    pub(crate) is_full: bool,
    /// Useful bytes a second.
    pub(crate) used: f64,
    /// Whether the rate is only a bound.
    pub(crate) is_bound: bool,
}

impl Cell<'_> {
    /// The place in words.
    pub(crate) fn place(&self) -> String {
        let threads = if self.threads == 1.0 { "1 thread".to_owned() } else { format!("{} threads", self.threads) };
        format!("{}, {}, {threads}", self.op, self.spot)
    }

    /// What cells of the same threads have in common, whatever they did and wherever their memory was.
    pub(crate) fn crew(&self) -> Crew<'_> {
        let row = if self.is_matrix { self.from } else { "" };
        (self.is_matrix, row, &self.home, self.span, self.threads.to_bits(), self.page)
    }

    /// Whether another is of the same memory.
    pub(crate) fn is_of_same_memory(&self, other: &Self) -> bool {
        self.distance == other.distance && self.memory == other.memory
    }
}

/// All bandwidths of memory that can be used: trusted ones and bounds.
pub(crate) fn cells(run: &Run) -> Vec<Cell<'_>> {
    run.experiments.iter().flat_map(|experiment| experiment_cells(experiment, run)).take(MOST).collect()
}

fn experiment_cells<'a>(experiment: &'a Experiment, run: &'a Run) -> Vec<Cell<'a>> {
    let seen: HashMap<&str, &Observation> = experiment.observations.iter().map(|o| (o.step.as_str(), o)).collect();
    let rates = experiment.findings.iter();
    let rates = rates.filter(|f| matches!(f.quantity, Quantity::Bandwidth | Quantity::GranularityRate));
    rates.filter_map(|f| cell(f, seen.get(f.evidence.first()?.as_str())?, run)).collect()
}

fn cell<'a>(finding: &'a Finding, seen: &'a Observation, run: &'a Run) -> Option<Cell<'a>> {
    let labels = &finding.labels;
    let is_plain = labels.is_of_plain_accesses();
    let used = finding.value.filter(|value| value.is_finite() && *value > 0.0)?;
    if !is_plain || finding.verdict.grade > Grade::Bound {
        return None;
    }
    let is_matrix = labels.is_for(Purpose::Matrix);
    let cpus = labels.cpus().and_then(|cpus| IdSet::from_plain_list(cpus).ok()).unwrap_or_default();
    let home = home_of(finding, &run.machine);
    let threads = labels.threads().unwrap_or(1).max(1) as f64;
    let mut op = labels.op()?;
    if labels.is_for(Purpose::Granularity) {
        // There, the operation is one of both grains.
        op = labels.kernel().and_then(|kernel| kernel.split('/').next()).unwrap_or(op);
    }
    let kernel = kernel(labels, seen, op, run);
    let (distance, memory, nodes) = memory(labels, seen, &home, &run.machine)?;
    let from = labels.from().unwrap_or_default();
    let spot = match is_matrix {
        true => format!("cpus of {}, {memory}", from.replacen(':', " ", 1)),
        false => spot(&home, &nodes, &run.machine).unwrap_or_else(|| memory.clone()),
    };
    Some(Cell {
        step: &seen.step,
        seen,
        op,
        kernel,
        access: access(kernel, op),
        is_random: kernel.map_or(op.contains("random"), |kernel| kernel.pattern == Pattern::Random),
        distance,
        from,
        is_matrix,
        memory,
        spot,
        home,
        nodes,
        node: labels.node(),
        span: labels.span(),
        page: labels.page().unwrap_or_default(),
        threads,
        cores: cores(&cpus, threads, &run.machine),
        is_full: is_full(&cpus, threads, &run.machine),
        used,
        is_bound: finding.verdict.grade == Grade::Bound,
    })
}

/// Cores of some threads; as many as threads if the cpus are not known.
fn cores(cpus: &IdSet, threads: f64, machine: &Machine) -> f64 {
    let cpus = cpus.iter().take(machine.cpus.len());
    let cores: IdSet = cpus.filter_map(|cpu| machine.cpu(cpu).map(|cpu| cpu.core)).collect();
    if cores.is_empty() { threads } else { threads.min(cores.len() as f64) }
}

/// Whether threads are on every core of their nodes that the run was allowed to use: the second thread of a core shares
/// what the core keeps in flight. Of threads whose cpus are not known, as many as there are cores are.
pub(crate) fn is_full(cpus: &IdSet, threads: f64, machine: &Machine) -> bool {
    let own: IdSet = cpus.iter().take(machine.cpus.len()).collect();
    let home: IdSet = own.iter().filter_map(|cpu| machine.node_of(cpu)).collect();
    let allowed = |cpu: &&Cpu| {
        (machine.allowed_cpus.is_empty() || machine.allowed_cpus.contains(cpu.id))
            && (home.is_empty() || cpu.node.is_some_and(|node| home.contains(node)))
    };
    let all: IdSet = machine.cpus.iter().filter(allowed).map(|cpu| cpu.core).collect();
    let used: IdSet = own.iter().filter_map(|cpu| machine.cpu(cpu).map(|cpu| cpu.core)).collect();
    let used = if used.is_empty() { threads } else { threads.min(used.len() as f64) };
    !all.is_empty() && used >= all.len() as f64
}

/// The kernel that was run: the one that won, or one of the operation.
fn kernel<'a>(labels: &Labels, seen: &Observation, op: &str, run: &'a Run) -> Option<&'a KernelInfo> {
    let id = labels.kernel().or_else(|| seen.labels.kernel());
    let kernels = &run.bench.kernels;
    match id {
        Some(id) => kernels.iter().find(|kernel| *kernel.id.0 == *id),
        // A job without a winner may have been done by several kernels.
        None => kernels.iter().find(|kernel| *kernel.id.0 == *op),
    }
}

fn access(kernel: Option<&KernelInfo>, op: &str) -> Access {
    match kernel.map(|kernel| (kernel.store_kind, kernel.read_per_line > 0)) {
        Some((StoreKind::None, _)) => Access::Read,
        Some((StoreKind::Cached, false)) => Access::Store,
        Some((StoreKind::NonTemporal, false)) => Access::NonTemporal,
        Some(_) => Access::Other,
        // What `write` alone did is not known: the fastest kernel for it may not read lines first.
        None if op.starts_with("write.cached") || op.starts_with("write.random") => Access::Store,
        None if op == "write.nt" => Access::NonTemporal,
        None if op.starts_with("read") => Access::Read,
        None => Access::Other,
    }
}

/// The nodes of some cpus.
fn home(cpus: &IdSet, machine: &Machine) -> IdSet {
    cpus.iter().take(machine.cpus.len()).filter_map(|cpu| machine.node_of(cpu)).collect()
}

/// The nodes of a finding's cpus; none if it does not name them.
pub(crate) fn home_of(finding: &Finding, machine: &Machine) -> IdSet {
    let cpus = finding.labels.cpus().and_then(|cpus| IdSet::from_plain_list(cpus).ok());
    cpus.map_or_else(IdSet::default, |cpus| home(&cpus, machine))
}

/// Cpus and memory of a machine of several nodes in full: `cpus of node 0, memory of node 1`. `None` of a machine of
/// one node, and where one of both is not known.
fn spot(home: &IdSet, nodes: &IdSet, machine: &Machine) -> Option<String> {
    let name = |nodes: &IdSet| format!("node{} {nodes}", if nodes.len() == 1 { "" } else { "s" });
    let is_known = machine.nodes.len() > 1 && !home.is_empty() && !nodes.is_empty();
    is_known.then(|| format!("cpus of {}, memory of {}", name(home), name(nodes)))
}

/// The spot of a finding, by its own labels or by those of the first observation that it rests on. Memory without a
/// node is that of the cpus.
pub(crate) fn spot_of(finding: &Finding, experiment: &Experiment, machine: &Machine) -> Option<String> {
    let step = finding.evidence.first();
    let seen = experiment.observations.iter().find(|seen| Some(&seen.step) == step);
    let all = || [Some(&finding.labels), seen.map(|seen| &seen.labels)].into_iter().flatten();
    let cpus = all().find_map(|labels| labels.cpus())?;
    let home = home(&IdSet::from_plain_list(cpus).ok()?, machine);
    let node = all().find_map(|labels| labels.node());
    let nodes = node.map_or_else(|| home.clone(), |node| [node].into_iter().collect());
    let is_local = all().all(|labels| labels.place().is_none_or(|place| place == Distance::Local));
    spot(&home, &nodes, machine).filter(|_| node.is_some() || is_local)
}

/// Where the memory is, in words, and on which nodes; `None` if it is no memory, or spread in a way that no rule is
/// about.
fn memory(labels: &Labels, seen: &Observation, home: &IdSet, machine: &Machine) -> Option<(Distance, String, IdSet)> {
    let node = labels.node();
    let proven = seen.placement.as_ref().map(tiermark_model::PlacementProof::nodes).filter(|nodes| !nodes.is_empty());
    let one = |node: NodeId| -> IdSet { [node].into_iter().collect() };
    let distance = |node: NodeId| match machine.node(node) {
        Some(there) if there.is_memory_only() => Distance::Far,
        _ if home.contains(node) || home.is_empty() => Distance::Local,
        _ => Distance::Remote,
    };
    if labels.is_for(Purpose::Matrix) {
        let policy = labels.policy();
        if policy == Some("mixed") {
            let both = home.union(&node.map(one).unwrap_or_default());
            let share = labels.remote().map_or_else(String::new, |share| format!(", {share} % of threads"));
            let other = node.map_or_else(String::new, |node| format!(" and node {node}"));
            return Some((Distance::Mixed, format!("local memory{other}{share}"), both));
        }
        let node = node.filter(|_| policy.is_none())?;
        return Some((distance(node), format!("memory of node {node}"), one(node)));
    }
    let is_grain = labels.is_for(Purpose::Granularity);
    let tier = if is_grain { Tier::Dram } else { labels.tier().filter(|_| labels.is_for(Purpose::Ladder))? };
    let nodes = proven.or_else(|| node.map(one)).unwrap_or_else(|| home.clone());
    match tier {
        Tier::Dram => Some((Distance::Local, tier.to_string(), nodes)),
        Tier::OtherNode(_) => Some((Distance::Remote, tier.to_string(), nodes)),
        _ if tier.is_without_cpus() => Some((Distance::Far, tier.to_string(), nodes)),
        _ => None,
    }
}
