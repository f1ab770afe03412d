//! The latency curve that tiers are found in: which points to measure next, and which tiers there are.
//!
//! All probes that measure tiers plan their ladders from the same curve, by the same steps, so that a survey measures
//! it once.

use tiermark_engine::Lab;
use tiermark_model::{
    Bytes, ChainLayout, CpuId, Effort, IdSet, Labels, Layout, Machine, Metric, Observation, PageKind, Plan, Purpose,
    Request, Role, Step, StopRule,
};

use crate::footprints::{dram_bytes, memory_cap};
use crate::found::{CurvePoint, Declared, Found, find, refine};
use crate::memory_kinds::quiet_cpu;
use crate::sizes::{SMALLEST, sweep};
use crate::steps::{curve_point, follow, max_seconds, setup};
use crate::tlb::page_bytes;

/// A chase of one random chain on one cpu: the step behind a point of the curve, or behind any other latency.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chase {
    pub(crate) cpu: CpuId,
    pub(crate) size: Bytes,
    pub(crate) node: Option<u32>,
    pub(crate) layout: ChainLayout,
    pub(crate) page: PageKind,
    pub(crate) chains: u8,
}

impl Chase {
    /// The step, with these labels besides its own.
    pub(crate) fn step(self, labels: Labels, phase: u8, seed: u64, stop: StopRule) -> Step {
        let Self { cpu, size, node, layout, page, chains } = self;
        let mut labels = labels
            .whole(Labels::SIZE, size.0)
            .text(Labels::LAYOUT, layout)
            .text(Labels::PAGE, page)
            .whole(Labels::CHAINS, u64::from(chains))
            .text(Labels::CPUS, cpu);
        if let Some(node) = node {
            labels = labels.whole(Labels::NODE, u64::from(node));
        }
        let place = node.map_or_else(String::new, |n| format!("/node{n}"));
        let purpose = labels.get(Labels::PURPOSE).unwrap_or_default();
        let id = format!("latency/{purpose}/{layout}/{page}/chains{chains}{place}/{}", size.0);
        let setup = setup(&[cpu], size, node, page, Layout::Chain(layout), &Role::Chase { chains }, seed);
        Step { id, phase, labels, metric: Metric::Latency, setup, stop }
    }
}

/// State of the curve so far.
enum Curve {
    /// More points are wanted before it says enough.
    More(Vec<Step>),
    /// The tiers.
    Known(Found),
}

/// Points that may be added to the first ones: enough that most sizes are known within 10 % (of simulated curves with
/// wild and missing points, 7 of 10 third levels; of others 9 and more), in a time that leaves most for the numbers.
fn most_added(effort: Effort) -> usize {
    match effort {
        Effort::Quick => 8,
        Effort::Standard => 20,
        Effort::Full => 96,
    }
}

/// Points of the next round, of the `left` points that remain: a third, so that the first ones show where the others
/// help, but not so few that a round takes longer than its points.
pub(crate) fn this_round(left: usize) -> usize {
    const PARTS: usize = 3;
    const LEAST: usize = 3;
    left.div_ceil(PARTS).max(LEAST).min(left)
}

/// Makes the curve the first steps of a plan. The ladder as declared says how long the steps will take that the curve
/// leads to.
pub(crate) fn curve_first(finder: Option<&Finder<'_>>, declared: &[Step], effort_seconds: f64, plan: &mut Plan) {
    follow(declared, plan);
    plan.steps = finder.into_iter().flat_map(Finder::first).collect();
    if let Some(finder) = finder {
        let all: Vec<Step> = plan.steps.iter().chain(declared).cloned().collect();
        plan.max_seconds = max_seconds(finder.request, effort_seconds, &all);
    }
}

/// The steps that follow from the curve: more of its points, or the ladder of the tiers that it shows.
pub(crate) fn after_curve(
    finder: Option<Finder<'_>>,
    observations: &[Observation],
    ladder: impl FnOnce(&Found) -> Vec<Step>,
) -> Vec<Step> {
    match finder.map(|finder| finder.look(observations)) {
        Some(Curve::More(points)) => points,
        Some(Curve::Known(found)) => ladder(&found),
        None => Vec::new(),
    }
}

/// The finder of a request on a machine.
pub(crate) struct Finder<'a> {
    request: &'a Request,
    lab: Lab<'a>,
    cpu: CpuId,
    page: PageKind,
}

impl<'a> Finder<'a> {
    /// `None` where no cpu may be used.
    pub(crate) fn new(request: &'a Request, lab: Lab<'a>, cpus: &IdSet, page: PageKind) -> Option<Self> {
        Some(Self { request, lab, cpu: quiet_cpu(lab.machine, cpus)?, page })
    }

    /// The largest footprint: memory's, or as much as may be had.
    fn largest(&self) -> Option<u64> {
        let only: IdSet = [self.cpu].into_iter().collect();
        let scope = &self.request.scope;
        let memory = dram_bytes(self.lab.machine, &only, scope.mem_node, scope).ok().map(|(bytes, _)| bytes);
        memory.or(Some(self.room())).filter(|bytes| *bytes > SMALLEST)
    }

    /// The most memory that a point may take.
    fn room(&self) -> u64 {
        let only: IdSet = [self.cpu].into_iter().collect();
        memory_cap(self.lab.machine, &only, self.request.scope.mem_node, &self.request.scope).bytes
    }

    fn point(&self, size: Bytes) -> Step {
        let chase = Chase {
            cpu: self.cpu,
            size,
            node: self.request.scope.mem_node,
            layout: ChainLayout::Random,
            page: self.page,
            chains: 1,
        };
        let labels = Labels::new().purpose(Purpose::Curve);
        chase.step(labels, 0, self.request.seed, curve_point(self.request.effort))
    }

    /// The first points.
    pub(crate) fn first(&self) -> Vec<Step> {
        let per_octave = match self.request.effort {
            Effort::Quick | Effort::Standard => 2,
            Effort::Full => 4,
        };
        let Some(largest) = self.largest() else { return Vec::new() };
        // Twice the working set of memory must take as long as once.
        let twice = (self.request.effort > Effort::Quick && 2 * largest <= self.room()).then_some(Bytes(2 * largest));
        sweep(largest, per_octave).into_iter().chain(twice).map(|size| self.point(size)).collect()
    }

    /// The tiers by the points measured so far.
    fn look(&self, observations: &[Observation]) -> Curve {
        let curve = self.curve(observations);
        let first = self.first().len();
        let measured: Vec<CurvePoint> = curve.iter().filter_map(|seen| point(seen)).collect();
        let left = (first + most_added(self.request.effort)).saturating_sub(curve.len());
        let known = |bytes: u64| curve.iter().any(|seen| seen.labels.number(Labels::SIZE) == Some(bytes));
        let mut more = refine(&measured, self.largest().unwrap_or_default(), this_round(left));
        more.retain(|bytes| !known(*bytes));
        if !more.is_empty() {
            return Curve::More(more.into_iter().map(|bytes| self.point(Bytes(bytes))).collect());
        }
        let page = page_bytes(self.page, self.lab.machine).unwrap_or(self.lab.machine.page_bytes);
        Curve::Known(find(&measured, &declared(self.lab.machine, Some(self.cpu)), page, None))
    }

    /// The observations of the curve's points.
    fn curve<'o>(&self, observations: &'o [Observation]) -> Vec<&'o Observation> {
        let page = self.page.to_string();
        let of_curve = |o: &&Observation| {
            o.metric == Metric::Latency
                && o.labels.is_for(Purpose::Curve)
                && o.labels.is(Labels::LAYOUT, "random")
                && o.labels.is(Labels::PAGE, &page)
                && o.labels.number(Labels::CHAINS) == Some(1)
        };
        observations.iter().filter(of_curve).collect()
    }
}

/// An observation as a point of a curve; `None` without a value.
pub(crate) fn point(observation: &Observation) -> Option<CurvePoint> {
    let (bytes, ns) = (observation.labels.number(Labels::SIZE)?, observation.value?);
    let (low, high) = observation.interval.map_or((ns, ns), |i| (i.low, i.high));
    Some(CurvePoint { bytes, ns, low, high })
}

/// The data caches that the system declares for a cpu.
pub(crate) fn declared(machine: &Machine, cpu: Option<CpuId>) -> Vec<Declared> {
    let own = || machine.data_caches().filter(|c| cpu.is_some_and(|cpu| c.cpus.contains(cpu)));
    let last = own().map(|c| c.level).max();
    let core = |cpu: CpuId| machine.cpu(cpu).map(|cpu| cpu.core);
    // A cache that only one core's threads use is private. The last level counts as shared: a guest with one core
    // cannot see which cpus share it.
    let is_shared = |cache: &tiermark_model::Cache| {
        let first = cache.cpus.first().and_then(core);
        let is_of_one_core = first.is_some() && cache.cpus.iter().all(|cpu| core(cpu) == first);
        let is_last = cache.level > 2 && Some(cache.level) == last;
        is_last || (cache.cpus.len() > 1 && !is_of_one_core)
    };
    own().filter_map(|c| Some(Declared { level: c.level, bytes: c.bytes?, shared: is_shared(c) })).collect()
}
