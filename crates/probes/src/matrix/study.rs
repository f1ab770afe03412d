//! The cells of a matrix as steps.

use tiermark_engine::Lab;
use tiermark_model::messages::plan as says;
use tiermark_model::messages::rules;
use tiermark_model::{
    Bytes, CpuId, Effort, IdSet, Labels, Layout, MemPolicy, Metric, NodeId, Note, PageKind, Plan, Purpose, Refusal,
    RegionSetup, Request, Role, Setup, Span, Step, StopRule, ThreadSetup, Tier,
};

use super::groups::{CpuGroup, MatrixThreads, Origin, groups, of_each_kind};
use super::memory::{WorkerMemory, Workers, check_buffer, writes};
use super::ops::{LATENCY, work};
use super::sides::{columns, rows};
use super::{MatrixParams, Policy};
use crate::ceilings::Stated;
use crate::chasing::Chase;
use crate::footprints::{Shares, dram_bytes, dram_bytes_over};
use crate::steps::{check_size, no_kernel, one_cpu};
use crate::task::Task;

/// Wanted half-width of the interval of a latency, and of a bandwidth.
const PRECISION: (f64, f64) = (0.01, 0.02);

/// A row of the matrix, its threads and their work.
#[derive(Clone, Copy)]
pub(super) struct RowJob<'a> {
    pub(super) group: &'a CpuGroup,
    pub(super) crew: &'a MatrixThreads,
    pub(super) op: &'a str,
}

/// Where one thread's memory lies.
#[derive(Debug, Clone)]
pub(super) struct ThreadMemory {
    pub(super) policy: MemPolicy,
    /// Empty is the thread's own node.
    pub(super) nodes: IdSet,
    /// The part of the step that the thread belongs to.
    pub(super) part: &'static str,
}

impl ThreadMemory {
    pub(super) fn on(node: NodeId) -> Self {
        Self { policy: MemPolicy::Bind, nodes: [node].into_iter().collect(), part: "" }
    }
}

/// Makes the steps of one request.
pub(super) struct MatrixStudy {
    pub(super) task: Task,
    pub(super) params: MatrixParams,
    /// The rows.
    pub(super) groups: Vec<CpuGroup>,
    /// The columns.
    pub(super) targets: IdSet,
    /// What each thread has.
    pub(super) memory: WorkerMemory,
    /// Requested rows and columns that cannot be measured.
    refused: Vec<Refusal>,
    /// The cpus of all rows, with those that a sample leaves out.
    pub(super) cpus: IdSet,
    /// Cpus in scope that are in no row.
    without_row: IdSet,
    /// How many rows there are, with those that a sample leaves out.
    pub(super) rows: usize,
}

impl MatrixStudy {
    pub(super) fn new(request: &Request, lab: &Lab) -> Result<Self, Refusal> {
        let (task, params): (_, MatrixParams) = Task::new(request, lab)?;
        params.size.or(params.worker_memory).map_or(Ok(()), check_size)?;
        check_buffer(&params, &lab.bench)?;
        let mut refused = Vec::new();
        let cpus = rows(task.cpus.clone(), &params, lab, &mut refused)?;
        let targets = columns(request, &params, lab, &mut refused)?;
        let mut groups = groups(&lab.machine, &cpus, params.from);
        let of_rows = groups.iter().fold(IdSet::new(), |all, group| all.union(&group.cpus));
        let (rows, without_row) = (groups.len(), cpus.difference(&of_rows));
        if params.sample {
            groups = of_each_kind(groups, &targets, &lab.machine);
        }
        if groups.is_empty() {
            return Err(says::sharing_unknown(&cpus));
        }
        let memory = WorkerMemory::new(&task, &params, &groups, &targets);
        let study = Self { task, params, groups, targets, memory, refused, cpus: of_rows, without_row, rows };
        for op in study.params.ops.iter().filter(|op| *op != LATENCY) {
            if work(op, &lab.bench).is_none() {
                return Err(no_kernel(op, &lab.bench));
            }
        }
        Ok(study)
    }

    /// The matrix itself: every group against every node.
    pub(super) fn cells(&self, plan: &mut Plan) {
        plan.refused.extend(self.refused.iter().cloned());
        let names: Vec<&str> = self.groups.iter().map(|g| g.name.as_str()).collect();
        plan.rules.push(rules::matrix_between(&names.join(", "), &self.targets));
        if self.params.sample {
            plan.rules.push(rules::matrix_sample(self.groups.len(), self.rows));
        }
        if !self.without_row.is_empty() && self.params.from == Origin::Node {
            plan.rules.push(rules::cpus_without_node(&self.without_row));
        }
        plan.rules.extend(self.footprint_rule());
        plan.rules.extend(self.memory.rule.clone());
        plan.rules.extend(self.params.is_shared().then(rules::buffer_shared));
        plan.rules.extend(self.params.total.map(rules::ends_after));
        if !self.wants(Policy::Bind) {
            return;
        }
        for (op, group) in self.ops().iter().flat_map(|op| self.groups.iter().map(move |group| (op, group))) {
            for node in self.columns(group).iter() {
                let cells =
                    if op == LATENCY { vec![self.latency(group, node)] } else { self.bandwidth(op, group, node) };
                for cell in cells {
                    match cell {
                        Ok(step) => plan.steps.push(step),
                        Err(refusal) => plan.refused.push(refusal),
                    }
                }
            }
        }
    }

    /// The columns that a row is measured against.
    fn columns(&self, group: &CpuGroup) -> IdSet {
        if !self.params.sample {
            return self.targets.clone();
        }
        let far = group.far_kinds(&self.targets, self.task.machine());
        group.homes.intersection(&self.targets).union(&far.into_iter().collect())
    }

    /// How large the memory of the first row is, and why.
    fn footprint_rule(&self) -> Option<Note> {
        let (group, node) = (self.groups.first()?, self.targets.first()?);
        let crew = self.crews(group).into_iter().flatten().next()?;
        let cpus: IdSet = crew.cpus.iter().copied().collect();
        match self.memory.size {
            Some(size) => self.memory.rule.is_none().then(|| rules::size_asked(size)),
            None => {
                let (_, rule) = dram_bytes(self.task.machine(), &cpus, Some(node), &self.task.request).ok()?;
                Some(rules::memory_size(&format!("{} to node {node}", group.name), &rule))
            }
        }
    }

    /// Whether a policy is part of the request: named, or what the effort allows.
    pub(super) fn wants(&self, policy: Policy) -> bool {
        let usual: &[Policy] = self.task.effort().choose([
            &[Policy::Bind],
            &[Policy::Bind, Policy::Interleave, Policy::Mixed],
            &[Policy::Bind, Policy::Interleave, Policy::Weighted, Policy::Mixed],
        ]);
        let may_be = !self.params.is_shared() || policy != Policy::Mixed;
        self.named(policy) || (self.params.policies.is_empty() && usual.contains(&policy) && may_be)
    }

    /// Whether the user named a policy, or its parameters, so that its absence has to be reported.
    pub(super) fn named(&self, policy: Policy) -> bool {
        let params = &self.params;
        let by_parameters = match policy {
            Policy::Bind => false,
            Policy::Interleave => !params.interleave.is_empty(),
            Policy::Weighted => !params.weights.is_empty(),
            Policy::Mixed => !params.mixed.is_empty(),
        };
        by_parameters || params.policies.contains(&policy)
    }

    fn ops(&self) -> Vec<String> {
        if !self.params.ops.is_empty() {
            return self.params.ops.clone();
        }
        let ops: &[&str] = match self.task.effort() {
            Effort::Quick => &[LATENCY, "read"],
            Effort::Standard => &[LATENCY, "read", "write", "copy", "2:1", "read.random"],
            Effort::Full => {
                &[LATENCY, "read", "write", "write.cached", "copy", "3:1", "2:1", "1:1", "read.random", "write.random8"]
            }
        };
        ops.iter().map(|op| (*op).to_owned()).filter(|op| self.may_do(op)).collect()
    }

    /// Whether the threads may do it on their memory: nothing stores to a shared buffer.
    fn may_do(&self, op: &str) -> bool {
        !self.params.is_shared() || !writes(op, &self.task.lab.bench)
    }

    /// The operations that policies are measured with: those named, else the two that differ most.
    pub(super) fn policy_ops(&self) -> Vec<String> {
        let named: Vec<String> = self.params.ops.iter().filter(|op| *op != LATENCY).cloned().collect();
        let usual = || ["read", "write"].map(String::from).into_iter().filter(|op| self.may_do(op)).collect();
        if named.is_empty() { usual() } else { named }
    }

    /// The threads of a group, one crew for each requested number.
    pub(super) fn crews(&self, group: &CpuGroup) -> Vec<Result<MatrixThreads, Refusal>> {
        self.params.crews(group, self.task.machine())
    }

    /// Bytes of one page of the requested size.
    pub(super) fn page_bytes(&self) -> u64 {
        match self.memory.page {
            PageKind::Base => self.task.machine().page_bytes,
            PageKind::Thp => self.task.machine().system.thp_bytes.unwrap_or(2 << 20),
            PageKind::Huge(bytes) => bytes,
        }
        .max(1)
    }

    /// The footprint of each of these threads with pages on these nodes.
    pub(super) fn size(&self, cpus: &[CpuId], on: &Shares) -> Result<Bytes, Refusal> {
        match self.memory.size {
            Some(size) => Ok(size),
            None => {
                let cpus: IdSet = cpus.iter().copied().collect();
                let size = dram_bytes_over(Tier::Dram, self.task.machine(), &cpus, on, &self.task.request);
                size.map(|(bytes, _)| Bytes(bytes))
            }
        }
    }

    fn stop(&self, metric: Metric) -> StopRule {
        let usual = if metric == Metric::Latency { PRECISION.0 } else { PRECISION.1 };
        self.task.headline(usual)
    }

    fn latency(&self, group: &CpuGroup, node: NodeId) -> Result<Step, Refusal> {
        let cpu = one_cpu(self.task.machine(), &group.cpus, &group.name)?;
        let size = self
            .size(&[cpu], &Shares::from([(node, 1)]))
            .map_err(|refusal| self.of_cell(refusal, LATENCY, group, node))?;
        let crew = MatrixThreads { cpus: vec![cpu], span: Span::One };
        let spot = RowJob { group, crew: &crew, op: LATENCY };
        let labels = Labels::new().with_node(node);
        let chase = Chase::of_memory(cpu, size.0, Some(node), self.memory.page);
        let setup = chase.setup(self.task.request.seed);
        Ok(self.step(spot, &format!("node{node}"), Metric::Latency, labels.with_size(size.0), setup))
    }

    fn bandwidth(&self, op: &str, group: &CpuGroup, node: NodeId) -> Vec<Result<Step, Refusal>> {
        let cell = |crew: &MatrixThreads| {
            let size = self.size(&crew.cpus, &Shares::from([(node, 1)]));
            let size = size.map_err(|refusal| self.of_cell(refusal, op, group, node))?;
            let labels = Labels::new().with_node(node);
            self.stream(RowJob { group, crew, op }, &format!("node{node}"), size, labels, &|_| ThreadMemory::on(node))
        };
        self.crews(group).into_iter().map(|crew| cell(&crew?)).collect()
    }

    /// A refusal that says which cell it is about.
    fn of_cell(&self, refusal: Refusal, op: &str, group: &CpuGroup, node: NodeId) -> Refusal {
        Refusal { what: format!("{op} from {} to node {node}", group.name), ..refusal }
    }

    /// A step of streams or loads.
    pub(super) fn stream(
        &self,
        spot: RowJob<'_>,
        at: &str,
        size: Bytes,
        labels: Labels,
        place: &dyn Fn(usize) -> ThreadMemory,
    ) -> Result<Step, Refusal> {
        let work = work(spot.op, &self.task.lab.bench).ok_or_else(|| no_kernel(spot.op, &self.task.lab.bench))?;
        let threads = spot.crew.cpus.len();
        let size = self.memory.region_bytes(size, threads, self.params.is_shared());
        let setup = self.setup(spot.crew, size, &work.role, work.layout, place);
        let mut labels = labels.with_size(size.0).with_threads(threads as u64);
        if self.params.is_shared() {
            labels = labels.with_buffer("shared");
        }
        if let Some(total) = self.params.total {
            labels = labels.with_total(total.0);
        }
        Ok(self.step(spot, at, Metric::Bandwidth, labels.with_span(spot.crew.span), setup))
    }

    fn setup(
        &self,
        crew: &MatrixThreads,
        bytes: Bytes,
        role: &Role,
        layout: Layout,
        place: &dyn Fn(usize) -> ThreadMemory,
    ) -> Setup {
        let page = self.memory.page;
        let places: Vec<ThreadMemory> = (0..crew.cpus.len()).map(place).collect();
        let regions = if self.params.is_shared() { 1 } else { places.len() };
        let region = |place: &ThreadMemory| {
            let ThreadMemory { policy, nodes, .. } = place.clone();
            RegionSetup { bytes, policy, nodes, page, layout }
        };
        let thread = |(index, cpu): (usize, &CpuId)| ThreadSetup {
            part: places[index].part.to_owned(),
            process: self.params.workers == Workers::Processes && places.len() > 1,
            ..ThreadSetup::new(*cpu, role.clone(), index % regions)
        };
        Setup {
            regions: places.iter().take(regions).map(region).collect(),
            threads: crew.cpus.iter().enumerate().map(thread).collect(),
            seed: self.task.request.seed,
        }
    }

    /// What the user states of channels and links.
    pub(super) fn stated(&self) -> Stated {
        Stated { peak: self.params.peak, link: self.params.link_rate }
    }

    fn step(&self, spot: RowJob<'_>, at: &str, metric: Metric, labels: Labels, setup: Setup) -> Step {
        let cpus: IdSet = spot.crew.cpus.iter().copied().collect();
        let labels = labels
            .with_purpose(Purpose::Matrix)
            .with_from(&spot.group.name)
            .with_op(spot.op)
            .with_page(self.memory.page)
            .with_cpus(&cpus);
        let policy = labels.policy().unwrap_or("bind");
        let size = labels.bytes().unwrap_or_default();
        let shared = labels.buffer().map_or("", |_| "/shared");
        let id = format!(
            "matrix/{policy}/{}/{}/{}x{}/{at}/{size}{shared}",
            spot.op,
            spot.group.name,
            spot.crew.span,
            cpus.len()
        );
        // Numbers of the matrix first; what policies make of them next.
        let phase = u8::from(labels.policy().is_some());
        Step { id, phase, labels, metric, setup, stop: self.stop(metric) }
    }
}
