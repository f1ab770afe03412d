//! The latency curve that tiers are found in: which points to measure next, and which tiers there are.
//!
//! All probes that measure tiers plan their ladders from the same curve, by the same steps, so that a survey measures
//! it once.

use tiermark_model::{
    Bytes, ChainLayout, CpuId, Effort, Labels, Machine, Metric, Observation, PageKind, Plan, Purpose, Step,
};

use crate::chasing::Chase;
use crate::found::{CurvePoint, Declared, Found, find, refine};
use crate::sizes::{SMALLEST, sweep};
use crate::steps::{follow, max_seconds, page_bytes};
use crate::task::Task;
use crate::tiers::{Ladder, ladder_of};

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
    effort.choose([8, 20, 96])
}

/// Points of the next round, of the `left` points that remain: a third, so that the first ones show where the others
/// help, but not so few that a round takes longer than its points.
pub(crate) fn this_round(left: usize) -> usize {
    const PARTS: usize = 3;
    const LEAST: usize = 3;
    left.div_ceil(PARTS).max(LEAST).min(left)
}

/// The finder of a task on a cpu.
pub(crate) struct Finder {
    task: Task,
    cpu: CpuId,
    page: PageKind,
}

impl Finder {
    pub(crate) fn new(task: &Task, cpu: CpuId, page: PageKind) -> Self {
        Self { task: task.clone(), cpu, page }
    }

    /// The ladder of the tiers that were found, and of those that the system declares.
    pub(crate) fn ladder(&self, found: &Found) -> Ladder {
        ladder_of(self.task.machine(), &[self.cpu].into_iter().collect(), &self.task.request.scope, found)
    }

    /// Makes the curve the first steps of a plan. The time of the steps that follow from the curve is estimated from
    /// the declared ladder.
    pub(crate) fn begin(&self, declared: &[Step], effort_seconds: f64, plan: &mut Plan) {
        follow(declared, plan);
        plan.steps = self.first();
        let all: Vec<Step> = plan.steps.iter().chain(declared).cloned().collect();
        plan.max_seconds = max_seconds(&self.task.request, effort_seconds, &all);
    }

    /// The steps that follow from the curve: more of its points, or those for the tiers that it shows.
    pub(crate) fn next(&self, observations: &[Observation], steps: impl FnOnce(&Found) -> Vec<Step>) -> Vec<Step> {
        match self.look(observations) {
            Curve::More(points) => points,
            Curve::Known(found) => steps(&found),
        }
    }

    /// The largest footprint: memory's, or as much as may be had.
    fn largest(&self) -> Option<u64> {
        let memory = self.task.dram_bytes(&[self.cpu], self.task.node()).ok().map(|(bytes, _)| bytes);
        memory.or(Some(self.room())).filter(|bytes| *bytes > SMALLEST)
    }

    /// The most memory that a point may take.
    fn room(&self) -> u64 {
        self.task.memory_cap(&[self.cpu], self.task.node()).bytes
    }

    fn point(&self, size: Bytes) -> Step {
        let (node, layout) = (self.task.node(), ChainLayout::Random);
        let chase = Chase { cpu: self.cpu, bytes: size.0, node, layout, page: self.page, chains: 1 };
        let labels = Labels::new().purpose(Purpose::Curve);
        chase.step("latency", labels, self.task.request.seed, self.task.curve_point())
    }

    /// The first points.
    pub(crate) fn first(&self) -> Vec<Step> {
        let per_octave = self.task.effort().choose([2, 2, 4]);
        let Some(largest) = self.largest() else { return Vec::new() };
        // Twice the working set of memory must take as long as once.
        let twice = (self.task.effort() > Effort::Quick && 2 * largest <= self.room()).then_some(Bytes(2 * largest));
        sweep(largest, per_octave).into_iter().chain(twice).map(|size| self.point(size)).collect()
    }

    /// The tiers by the points measured so far.
    fn look(&self, observations: &[Observation]) -> Curve {
        let curve = self.curve(observations);
        let first = self.first().len();
        let measured: Vec<CurvePoint> = curve.iter().filter_map(|seen| point(seen)).collect();
        let left = (first + most_added(self.task.effort())).saturating_sub(curve.len());
        let known = |bytes: u64| curve.iter().any(|seen| seen.labels.number(Labels::SIZE) == Some(bytes));
        let mut more = refine(&measured, self.largest().unwrap_or_default(), this_round(left));
        more.retain(|bytes| !known(*bytes));
        if !more.is_empty() {
            return Curve::More(more.into_iter().map(|bytes| self.point(Bytes(bytes))).collect());
        }
        let page = page_bytes(self.page, self.task.machine()).unwrap_or(self.task.machine().page_bytes);
        Curve::Known(find(&measured, &declared(self.task.machine(), Some(self.cpu)), page, None))
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
