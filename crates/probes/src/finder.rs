//! The latency curve that tiers are found in: which points to measure next, and which tiers there are.
//!
//! All probes that measure tiers plan their ladders from the same curve, by the same steps, so that a survey measures
//! it once. A watch, which has no time for one, takes a coarse one.

use tiermark_model::{
    AFTER_FIGURES, Bytes, ChainLayout, CpuId, Effort, KIB, Labels, MIB, Machine, Metric, Observation, PageKind, Plan,
    Purpose, Step, StopRule,
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

/// Points of a coarse curve: two or three on each plateau, in a second.
const COARSE: usize = 14;
/// The smallest of them: half of any first level.
const COARSE_SMALLEST: u64 = 8 * KIB;
/// The largest: points further apart than twofold would leave a plateau of some caches with one point. A cache that
/// holds more than this has its rung below it all the same.
const COARSE_LARGEST: u64 = 128 * MIB;

/// The largest footprint of the first points, on machines whose curve goes beyond [`LONG`]: larger ones take as long as
/// all others together, and say only how far the last level reaches. Where more is cached, its rung lies below.
pub(crate) const SEARCHED: u64 = 128 * MIB;
/// Up to this footprint a curve is made in a second or two.
const LONG: u64 = 1024 * MIB;

/// The footprints of a coarse curve, evenly spread in log.
fn coarse_sizes(largest: u64) -> Vec<Bytes> {
    let ratio = (largest as f64 / COARSE_SMALLEST as f64).max(1.0);
    let at = |index: usize| COARSE_SMALLEST as f64 * ratio.powf(index as f64 / (COARSE - 1) as f64);
    let mut sizes: Vec<Bytes> = (0..COARSE).map(|index| Bytes((at(index) / KIB as f64).round() as u64 * KIB)).collect();
    sizes.dedup();
    sizes
}

/// The finder of a task on a cpu.
pub(crate) struct Finder {
    task: Task,
    cpu: CpuId,
    page: PageKind,
    is_coarse: bool,
}

impl Finder {
    pub(crate) fn new(task: &Task, cpu: CpuId, page: PageKind) -> Self {
        Self { task: task.clone(), cpu, page, is_coarse: false }
    }

    /// One that looks at few points, once each: it places the rungs and says nothing of the tiers' sizes.
    pub(crate) fn coarse(task: &Task, cpu: CpuId, page: PageKind) -> Self {
        Self { is_coarse: true, ..Self::new(task, cpu, page) }
    }

    /// The ladder of the tiers that were found, and of those that the system declares.
    pub(crate) fn ladder(&self, found: &Found) -> Ladder {
        ladder_of(self.task.machine(), &[self.cpu].into_iter().collect(), &self.task.request, found)
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
        match self.look(observations, self.searched()) {
            Curve::More(points) => points,
            Curve::Known(found) => steps(&found),
        }
    }

    /// More points of a curve whose first and last ones are there, where it moves: sizes are read from it.
    pub(crate) fn denser(&self, observations: &[Observation]) -> Vec<Step> {
        let is_there = |step: &Step| observations.iter().any(|seen| seen.step == step.id);
        let rest = self.rest();
        let is_longer = |largest: &u64| *largest > self.searched() && !rest.is_empty() && rest.iter().all(is_there);
        let Some(largest) = self.largest().filter(is_longer) else { return Vec::new() };
        match self.look(observations, largest) {
            Curve::More(points) => points.into_iter().map(after_figures).collect(),
            Curve::Known(_) => Vec::new(),
        }
    }

    /// The largest footprint: memory's, or as much as may be had.
    fn largest(&self) -> Option<u64> {
        let memory = self.task.dram_bytes(&[self.cpu], self.task.node()).ok().map(|(bytes, _)| bytes);
        memory.or(Some(self.room())).filter(|bytes| *bytes > SMALLEST)
    }

    /// The largest footprint of the points that the tiers are found in.
    fn searched(&self) -> u64 {
        let largest = self.largest().unwrap_or_default();
        if largest > LONG { SEARCHED } else { largest }
    }

    /// The most memory that a point may take.
    fn room(&self) -> u64 {
        self.task.memory_cap(&[self.cpu], self.task.node()).bytes
    }

    fn point(&self, size: Bytes) -> Step {
        let (node, layout) = (self.task.node(), ChainLayout::Random);
        let chase = Chase { cpu: self.cpu, bytes: size.0, node, layout, page: self.page, chains: 1 };
        let labels = Labels::new().with_purpose(Purpose::Curve);
        let once = StopRule { allocations: 1, min_visits: 1, max_visits: 1, ..self.task.curve_point() };
        let stop = if self.is_coarse { once } else { self.task.curve_point() };
        chase.step("latency", labels, self.task.request.seed, stop)
    }

    /// The points beyond the first ones, without those for which there is no time. Those of a long curve wait for the
    /// figures.
    pub(crate) fn rest(&self) -> Vec<Step> {
        let quick = self.task.effort() == Effort::Quick;
        let Some(largest) = self.largest().filter(|_| !self.is_coarse && !quick) else { return Vec::new() };
        let searched = self.searched();
        let beyond = self.sweep(largest).into_iter().filter(|size| size.0 > searched).map(|size| self.point(size));
        let placed = |step| if largest > searched { after_figures(step) } else { step };
        beyond.chain(self.twice()).map(placed).collect()
    }

    /// The point at twice the working set of memory, which must take as long as once; `None` without room or time.
    fn twice(&self) -> Option<Step> {
        let largest = self.largest().filter(|_| self.task.effort() > Effort::Quick)?;
        (2 * largest <= self.room()).then(|| self.point(Bytes(2 * largest)))
    }

    /// The first points.
    pub(crate) fn first(&self) -> Vec<Step> {
        if self.is_coarse {
            let largest = self.room().min(COARSE_LARGEST);
            return coarse_sizes(largest).into_iter().map(|size| self.point(size)).collect();
        }
        let Some(largest) = self.largest() else { return Vec::new() };
        let sizes = self.sweep(largest).into_iter().filter(|size| size.0 <= self.searched());
        sizes.map(|size| self.point(size)).collect()
    }

    fn sweep(&self, largest: u64) -> Vec<Bytes> {
        sweep(largest, self.task.effort().choose([2, 2, 4]))
    }

    /// The tiers by the points measured so far.
    fn look(&self, observations: &[Observation], largest: u64) -> Curve {
        let curve = self.curve(observations);
        let first = self.first().len();
        let measured: Vec<CurvePoint> = curve.iter().filter_map(|seen| point(seen)).collect();
        let rest = self.rest();
        let planned = first + curve.iter().filter(|seen| rest.iter().any(|step| step.id == seen.step)).count();
        let left = (planned + most_added(self.task.effort())).saturating_sub(curve.len());
        let known = |bytes: u64| curve.iter().any(|seen| seen.labels.bytes() == Some(bytes));
        let mut more = refine(&measured, largest, this_round(left));
        more.retain(|bytes| !known(*bytes));
        if !more.is_empty() {
            return Curve::More(more.into_iter().map(|bytes| self.point(Bytes(bytes))).collect());
        }
        Curve::Known(self.found(&measured))
    }

    /// The tiers of these points.
    pub(crate) fn found(&self, points: &[CurvePoint]) -> Found {
        let page = page_bytes(self.page, self.task.machine()).unwrap_or(self.task.machine().page_bytes);
        find(points, &declared(self.task.machine(), Some(self.cpu)), page, None)
    }

    /// The observations of the curve's points.
    fn curve<'o>(&self, observations: &'o [Observation]) -> Vec<&'o Observation> {
        let page = self.page.to_string();
        let of_curve = |o: &&Observation| {
            o.metric == Metric::Latency
                && o.labels.is_for(Purpose::Curve)
                && o.labels.layout() == Some("random")
                && o.labels.page() == Some(&page)
                && o.labels.chains() == Some(1)
        };
        observations.iter().filter(of_curve).collect()
    }
}

/// A step that waits for the figures.
pub(crate) fn after_figures(step: Step) -> Step {
    Step { phase: AFTER_FIGURES, ..step }
}

/// An observation as a point of a curve; `None` without a value.
pub(crate) fn point(observation: &Observation) -> Option<CurvePoint> {
    let (bytes, ns) = (observation.labels.bytes()?, observation.value?);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tiermark_engine::accounting::StepAccounting;
    use tiermark_engine::analyse::{Deductions, analyse};
    use tiermark_engine::{Host, Interruptions};
    use tiermark_machine::synth::Synth;
    use tiermark_model::{GIB, testing};
    use tiermark_sim::{SimCache, SimCore, SimHost, SimOptions};

    use super::*;
    use crate::found::FoundTier;

    /// The tiers of a machine that declares one L3 and has another, by one visit to each of a few footprints.
    fn coarse(declared: u64, held: u64) -> (Vec<FoundTier>, usize) {
        let synth = Synth { cores_per_node: 2, l3_bytes: declared, node_bytes: 64 * GIB, ..Synth::default() };
        let caches = vec![SimCache { level: 3, bytes: held, ways: 16 }];
        let options = SimOptions { core: SimCore { caches, ..SimCore::default() }, ..SimOptions::default() };
        let mut host = SimHost::new(synth.machine().unwrap(), Vec::new(), options);
        let lab = host.lab().clone();
        let (task, ()) = Task::new(&testing::request("watch"), &lab).unwrap();
        let finder = Finder::coarse(&task, 1, task.page());
        let steps = finder.first();
        assert!(steps.iter().all(|step| step.stop.max_visits == 1));
        let mut ns = |step: &Step| {
            let shot = host.prepare(&step.setup).unwrap().shot(Duration::from_millis(1)).unwrap();
            let (stamp_ns, interruptions) = (host.bench().overheads.stamp_ns, &Interruptions::default());
            let deductions = Deductions { stamp_ns, interruptions };
            let seen = analyse(&shot, &StepAccounting::of(step, host.machine()), deductions);
            tiermark_stats::median(&seen.clean().collect::<Vec<f64>>()).unwrap()
        };
        let point =
            |(step, ns): (&Step, f64)| CurvePoint { bytes: step.labels.bytes().unwrap(), ns, low: ns, high: ns };
        let points: Vec<CurvePoint> = steps.iter().map(|step| point((step, ns(step)))).collect();
        (finder.found(&points).tiers, points.len())
    }

    #[test]
    fn few_points_place_the_rungs_of_what_is_held() {
        for (declared, held) in [(16, 16), (32, 32), (64, 64), (480, 40), (480, 16)] {
            let (tiers, points) = coarse(declared * MIB, held * MIB);
            assert!(points <= COARSE, "{points}");
            // A small first level may have too few points: it is measured where it is declared.
            let [.., l2, l3] = tiers[..] else { panic!("{tiers:?}") };
            assert!(l2.level == 2 && l2.rung <= MIB && l3.level == 3, "{tiers:?}");
            let (from, to) = l3.plateau.unwrap();
            assert!(from < to && l3.rung >= 2 * MIB && l3.rung <= to && to <= held * MIB, "{declared} {held}: {l3:?}");
        }
        let (tiers, _) = coarse(480 * MIB, MIB);
        assert!(tiers.iter().all(|tier| tier.level < 3 || tier.plateau.is_none()), "{tiers:?}");
    }
}
