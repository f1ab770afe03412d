//! The steps of a bandwidth request.

use tiermark_engine::Lab;
use tiermark_model::{
    Bytes, CpuId, Effort, IdSet, KIB, Labels, Layout, Metric, NodeId, Observation, Pattern, Plan, Purpose, Refusal,
    Request, Role, Span, Step, StopRule, Tier,
};

use super::job::{Job, Jobs};
use super::{BandwidthParams, DataKind, PRECISION, ThreadCount};
use crate::finder::{Finder, after_figures};
use crate::found::Found;
use crate::ladder::{points, with_purpose};
use crate::memory_kinds::{local_cpus, own_memory, quiet_cpu};
use crate::sizes::{between, sweep};
use crate::steps::{check_size, follow, no_kernel, phase, setup, stream_role};
use crate::task::Task;
use crate::tiers::{Rung, ladder_of};
use crate::traffic;

/// Points of a curve this near (octaves) to a figure of the ladder are left out: the figure is a point of the curve.
const NEAR: f64 = 0.5;
/// The smallest footprint of a curve: below it a loop is short, and the first level is flat.
const CURVE_FROM: Bytes = Bytes(16 * KIB);
/// The cpus of a step, and the label of their number.
#[derive(Debug, Clone, PartialEq)]
struct BandwidthThreads {
    cpus: Vec<CpuId>,
    span: Span,
}

/// How large a row of the table is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TableSize {
    /// The footprint of each thread.
    Footprint(Bytes),
    /// Elements of 8 bytes in each array, shared out among the threads.
    Elements(u64),
}

impl TableSize {
    /// The footprint of each of so many threads, with so many arrays.
    fn footprint(self, arrays: u64, threads: u64) -> Bytes {
        match self {
            Self::Footprint(bytes) => bytes,
            // Whole lines of 8 elements for each thread, so that all operations have arrays of one length.
            Self::Elements(all) => Bytes(all.div_ceil(threads.max(1).saturating_mul(8)).saturating_mul(64 * arrays)),
        }
    }
}

/// Where a step's memory is: footprint of each thread, and node.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Footprint {
    size: Bytes,
    node: Option<NodeId>,
}

pub(super) struct BandwidthStudy {
    pub(super) task: Task,
    params: BandwidthParams,
    jobs: Jobs,
    /// Of the tiers that the ladder is planned from; `None` without a cpu.
    finder: Option<Finder>,
}

impl BandwidthStudy {
    pub(super) fn new(request: &Request, lab: &Lab) -> Result<Self, Refusal> {
        let (task, params): (_, BandwidthParams) = Task::new(request, lab)?;
        let finder = quiet_cpu(task.machine(), &task.cpus).map(|cpu| Finder::new(&task, cpu, task.page()));
        let jobs = Jobs::new(&task);
        let study = Self { task, params, jobs, finder };
        for op in &study.params.ops {
            study.check_op(op)?;
        }
        Ok(study)
    }

    fn check_op(&self, op: &str) -> Result<(), Refusal> {
        if !self.jobs.kernels(op, self.zeros()).is_empty() {
            return Ok(());
        }
        Err(no_kernel(op, &self.task.lab.bench))
    }

    /// All steps of the request.
    pub(super) fn fill(&self, plan: &mut Plan) -> Result<(), Refusal> {
        if !self.params.traffic.is_empty() {
            let stop = self.task.headline(PRECISION);
            plan.steps.push(traffic::step(&self.params.traffic, &self.task, stop)?);
            return Ok(());
        }
        if !self.table_sizes().is_empty() {
            return self.table(plan);
        }
        plan.steps.extend(self.finder.iter().flat_map(Finder::first));
        self.scaling(plan);
        let mut later = self.ladder(&Found::default(), plan)?;
        later.extend(self.curve(&[]));
        follow(&later, plan);
        Ok(())
    }

    fn zeros(&self) -> bool {
        self.params.data == Some(DataKind::Zeros)
    }

    fn ops(&self) -> Vec<String> {
        if self.params.ops.is_empty() {
            vec!["read".into(), "write".into(), "copy".into()]
        } else {
            self.params.ops.clone()
        }
    }

    fn one(&self) -> BandwidthThreads {
        BandwidthThreads {
            cpus: quiet_cpu(self.task.machine(), &self.task.cpus).into_iter().collect(),
            span: Span::One,
        }
    }

    /// The requested crews, or one thread and one a core (once, if that is the same).
    fn crews(&self) -> Result<Vec<BandwidthThreads>, Refusal> {
        if self.params.threads.is_empty() {
            let (one, cores) = (self.one(), self.crew(ThreadCount::Cores)?);
            return Ok(if cores.cpus.len() > 1 { vec![one, cores] } else { vec![one] });
        }
        let mut crews: Vec<BandwidthThreads> = Vec::new();
        for count in &self.params.threads {
            let crew = self.crew(*count)?;
            // Two ways to say the same crew: all cores, and their number.
            if crews.iter().all(|known| known.cpus != crew.cpus) {
                crews.push(crew);
            }
        }
        Ok(crews)
    }

    fn crew(&self, count: ThreadCount) -> Result<BandwidthThreads, Refusal> {
        let span = match count {
            ThreadCount::One | ThreadCount::Exactly(1) => Span::One,
            ThreadCount::Cores | ThreadCount::Cpus => Span::All,
            ThreadCount::Exactly(_) => Span::Some,
        };
        Ok(BandwidthThreads { cpus: count.cpus(self.task.machine(), &self.task.cpus, "")?, span })
    }

    /// One step for each tier, job and crew; the ladder of a crew has footprints of its own.
    fn ladder(&self, found: &Found, plan: &mut Plan) -> Result<Vec<Step>, Refusal> {
        let stop = self.task.headline(PRECISION);
        let mut steps = Vec::new();
        for crew in self.crews()? {
            let cpus = crew.cpus.iter().copied().collect();
            let ladder = ladder_of(self.task.machine(), &cpus, &self.task.request, found);
            if crew.span == Span::One {
                steps.extend(self.buffer(&ladder.rungs, stop));
            }
            for rung in &ladder.rungs {
                let crew = BandwidthThreads {
                    cpus: crew.cpus.iter().copied().filter(|c| rung.cpus.contains(*c)).collect(),
                    span: crew.span,
                };
                steps.extend(self.rung(rung, &crew, stop));
            }
            plan.rules.extend(ladder.rules);
            plan.refused.extend(ladder.refused);
        }
        Ok(steps)
    }

    /// The steps of one tier.
    fn rung(&self, rung: &Rung, crew: &BandwidthThreads, stop: StopRule) -> Vec<Step> {
        let quick = self.task.effort() == Effort::Quick;
        let mut jobs: Vec<Job> = self.ops().iter().map(|op| self.jobs.of(op, self.zeros())).collect();
        // Clearing memory is a job of its own (the kernel's, every allocator's), and often twice as fast as storing
        // data.
        if !quick && self.params.ops.is_empty() && !self.zeros() && rung.tier == Tier::Dram {
            jobs.push(self.jobs.of("write", true));
        }
        if rung.tier.level().is_some() {
            jobs = jobs.into_iter().map(|job| self.jobs.cached(job)).collect();
        }
        let labels = || Labels::new().with_purpose(Purpose::Ladder).with_tier(rung.tier);
        let place = Footprint { size: Bytes(rung.stream_bytes), node: rung.node };
        // Pages of zeros are filled for themselves: the others come first.
        let waits = |job: &Job| job.zeros && !self.zeros();
        let step = |job: &Job| Some((waits(job), self.step(labels(), job, crew, place, stop)?));
        jobs.iter().filter_map(step).map(|(waits, step)| if waits { after_figures(step) } else { step }).collect()
    }

    /// A buffer as large as the rung of the last-level cache, by all ways to write it: beside the row of that cache.
    fn buffer(&self, rungs: &[Rung], stop: StopRule) -> Vec<Step> {
        let Some(rung) = rungs.iter().rfind(|rung| rung.tier.level().is_some()) else { return Vec::new() };
        if self.task.effort() == Effort::Quick || !self.params.ops.is_empty() || self.zeros() {
            return Vec::new();
        }
        let place = Footprint { size: Bytes(rung.stream_bytes), node: rung.node };
        let step = |op: &str| {
            let (job, labels) = (self.jobs.of(op, false), Labels::new().with_purpose(Purpose::Buffer));
            let has_choice = self.jobs.cached(job.clone()).kernels != job.kernels;
            has_choice.then(|| self.step(labels, &job, &self.one(), place, stop).map(after_figures))?
        };
        ["write", "copy"].into_iter().filter_map(step).collect()
    }

    /// The sweep over footprints, one thread, but for those that a figure of the ladder stands for.
    fn curve(&self, observations: &[Observation]) -> Vec<Step> {
        let per_octave = match self.task.effort() {
            // The ladder has the points that matter.
            Effort::Quick => return Vec::new(),
            Effort::Standard => 1,
            Effort::Full => 3,
        };
        let Ok((largest, _)) = self.task.dram_bytes(&self.one().cpus, self.task.node()) else { return Vec::new() };
        let steps = |op: &String| {
            let mut sizes = sweep(largest, per_octave);
            if self.task.effort() != Effort::Full {
                let figures = self.figures(op, observations);
                let is_near = |size: f64| figures.iter().any(|figure| (size / *figure as f64).log2().abs() < NEAR);
                sizes.retain(|size| *size >= CURVE_FROM && !is_near(size.0 as f64));
            }
            self.curve_steps(op, &sizes)
        };
        self.ops().iter().flat_map(steps).collect()
    }

    /// Footprints of the ladder's figures of a job by one thread on the memory of the curve.
    fn figures(&self, op: &str, observations: &[Observation]) -> Vec<u64> {
        let label = self.jobs.of(op, self.zeros()).label;
        let node = self.task.node();
        let is_of_job = |o: &&Observation| {
            let is_one = o.labels.op() == Some(label.as_str()) && o.labels.span() == Some(Span::One);
            is_one && o.value.is_some() && o.labels.node() == node
        };
        let figures = with_purpose(observations, Purpose::Ladder).filter(is_of_job);
        figures.filter_map(|o| o.labels.bytes()).collect()
    }

    /// Points of a job's curve: by ordinary stores where caches may hold them, as the rows of caches are.
    fn curve_steps(&self, op: &str, sizes: &[Bytes]) -> Vec<Step> {
        let (job, crew) = (self.jobs.of(op, self.zeros()), self.one());
        let cached = self.jobs.cached(job.clone());
        let cache = self.task.machine().reachable_cache_bytes(&crew.cpus.iter().copied().collect());
        let step = |size: &Bytes| {
            let place = Footprint { size: *size, node: self.task.node() };
            let labels = Labels::new().with_purpose(Purpose::Curve);
            let job = if size.0 <= cache { &cached } else { &job };
            self.step(labels, job, &crew, place, self.task.curve_point())
        };
        sizes.iter().filter_map(step).collect()
    }

    /// DRAM read by 1, 2, 4 … threads, cores before siblings.
    fn scaling(&self, plan: &mut Plan) {
        let near = local_cpus(self.task.machine(), &self.task.cpus);
        let order = self.task.machine().cores_first(&near);
        let asked = self.ops().iter().any(|op| op == "read") && !self.zeros() && self.params.threads.is_empty();
        if self.task.effort() == Effort::Quick || order.len() < 2 || !asked {
            return;
        }
        let mut counts: Vec<usize> = (0..).map(|i| 1 << i).take_while(|n| *n < order.len()).collect();
        counts.extend([self.task.machine().one_per_core(&near).len(), order.len()]);
        counts.sort_unstable();
        counts.dedup();
        let node = self.task.node().or_else(|| own_memory(self.task.machine(), order[0]).1);
        for count in counts {
            let crew = BandwidthThreads { cpus: order[..count].to_vec(), span: Span::Some };
            let Ok((size, _)) = self.task.dram_bytes(&crew.cpus, node) else { continue };
            let place = Footprint { size: Bytes(size), node };
            let labels = Labels::new().with_purpose(Purpose::Scaling).with_tier(Tier::Dram);
            let job = self.jobs.of("read", self.zeros());
            plan.steps.extend(self.step(labels, &job, &crew, place, self.task.curve_point()));
        }
    }

    /// The sizes of the table; empty if the request has none.
    fn table_sizes(&self) -> Vec<TableSize> {
        let elements = self.params.array_elements.map(TableSize::Elements);
        self.params.sizes.iter().copied().map(TableSize::Footprint).chain(elements).collect()
    }

    /// Exactly the requested footprints, kernels and thread counts.
    fn table(&self, plan: &mut Plan) -> Result<(), Refusal> {
        let stop = self.task.headline(PRECISION);
        for row in self.table_sizes() {
            for op in self.ops() {
                let job = self.jobs.of(&op, self.zeros());
                for crew in self.crews()? {
                    let size = row.footprint(self.jobs.arrays(&job), crew.cpus.len() as u64);
                    check_size(size)?;
                    let place = Footprint { size, node: self.task.node() };
                    let labels = Labels::new().with_purpose(Purpose::Table);
                    plan.steps.extend(self.step(labels, &job, &crew, place, stop));
                }
            }
        }
        Ok(())
    }

    /// What to measure next: more points until the latency curve says where the tiers are, then the ladder, then the
    /// curves, with the kernels that the ladder has chosen, and last points between neighbours that differ. A ladder
    /// that was begun stays: another look at the curve may say something else.
    pub(super) fn next(&self, observations: &[Observation]) -> Vec<Step> {
        let began = |purpose: Purpose| with_purpose(observations, purpose).any(|o| o.metric == Metric::Bandwidth);
        let Some(finder) = self.finder.as_ref().filter(|_| self.params.traffic.is_empty()) else { return Vec::new() };
        match (began(Purpose::Ladder), began(Purpose::Curve)) {
            (false, _) if !self.table_sizes().is_empty() => Vec::new(),
            (false, _) => {
                finder.next(observations, |found| self.ladder(found, &mut Plan::default()).unwrap_or_default())
            }
            (true, false) => self.curve(observations),
            (true, true) => self.denser(observations),
        }
    }

    /// Points between neighbours of every curve that differ, with `--full`: the time of others is for the figures.
    fn denser(&self, observations: &[Observation]) -> Vec<Step> {
        let is_curve_point =
            |o: &&Observation, label: &str| o.metric == Metric::Bandwidth && o.labels.op() == Some(label);
        let curve =
            |label: &str| points(with_purpose(observations, Purpose::Curve).filter(|o| is_curve_point(o, label)));
        if self.task.effort() != Effort::Full {
            return Vec::new();
        }
        let denser = |op: &String| self.curve_steps(op, &between(&curve(&self.jobs.of(op, self.zeros()).label)));
        self.ops().iter().flat_map(denser).collect()
    }

    fn step(
        &self,
        labels: Labels,
        job: &Job,
        crew: &BandwidthThreads,
        place: Footprint,
        stop: StopRule,
    ) -> Option<Step> {
        let role = match job.mixed {
            true => Role::Load { kernels: job.kernels.clone(), pause_ns: 0 },
            false => stream_role(&job.kernels)?,
        };
        let random = self.task.lab.bench.kernels.iter().any(|k| k.id == job.kernels[0] && k.pattern == Pattern::Random);
        let layout = match (random, job.zeros) {
            (true, _) => Layout::Permuted,
            (false, true) => Layout::Zeros,
            (false, false) => Layout::Data,
        };
        let cpus: IdSet = crew.cpus.iter().copied().collect();
        let mut labels = labels
            .with_op(&job.label)
            .with_size(place.size.0)
            .with_page(self.task.page())
            .with_threads(crew.cpus.len() as u64)
            .with_span(crew.span)
            .with_cpus(&cpus);
        if job.zeros {
            labels = labels.with_data("zeros");
        }
        labels = labels.with_node_if(place.node);
        let at = place.node.map_or_else(String::new, |n| format!("/node{n}"));
        let purpose = labels.purpose().map_or("", Purpose::name);
        let op = job.label.replace(' ', "-");
        let id = format!("bandwidth/{purpose}/{op}/{}x{}{at}/{}", crew.span, crew.cpus.len(), place.size.0);
        let setup = setup(&crew.cpus, place.size, place.node, self.task.page(), layout, &role, self.task.request.seed);
        Some(Step { id, phase: phase(&labels), labels, metric: Metric::Bandwidth, setup, stop })
    }
}
