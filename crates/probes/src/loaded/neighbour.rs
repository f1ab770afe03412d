//! What a busy neighbour costs a chaser, with patterns that prefetchers like and with those they cannot
//! follow.

use tiermark_engine::Study;
use tiermark_engine::accounting::MEDIAN;
use tiermark_model::messages::memory;
use tiermark_model::messages::plan as says;
use tiermark_model::messages::rules;
use tiermark_model::{
    Bytes, ChainLayout, CpuId, Finding, KernelInfo, Labels, Layout, Metric, Note, Observation, Pattern, Plan, Purpose,
    Quantity, Refusal, Role, Step, StopRule, Unit,
};

use crate::chasing::{join, resting_on};
use crate::finder::Finder;
use crate::found::Found;
use crate::ladder::{derived, measured, quotient, with_purpose, with_range};
use crate::mix::plain_kernel;
use crate::steps::{VISIT_SECONDS, once, setup};
use crate::task::Task;
use crate::tiers::{Ladder, Rung};

/// The work of a neighbour: its name, and the operation of its kernel.
const NEIGHBOURS: [(&str, &str); 4] = [
    ("sequential read", "read"),
    ("sequential write", "write"),
    ("random read", "read.random"),
    ("random write", "write.random"),
];
/// The neighbour that is not there.
const ALONE: &str = "nothing";
/// Wanted half-width of the interval.
const PRECISION: f64 = 0.02;

impl Study for NeighbourStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = Plan { rules: vec![self.rule.clone()], ..Plan::default() };
        let rungs = self.rungs(self.finder.ladder(&Found::default()), &mut plan);
        self.finder.begin(&rungs, self.task.effort().choose([40.0, 40.0, 150.0]), &mut plan);
        Ok(plan)
    }

    fn refine(&self, observations: &[Observation]) -> Vec<Step> {
        self.finder.next(observations, |found| self.rungs(self.finder.ladder(found), &mut Plan::default()))
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for observation in with_purpose(observations, Purpose::Neighbour) {
            findings.push(measured(observation, Quantity::NeighbourLatency));
            let Some(rate) = observation.parts.first() else { continue };
            let labels = observation.labels.clone();
            let mut beside = derived(observation, Quantity::NeighbourRate, labels, 0.0, Unit::BytesPerSecond);
            beside.value = rate.value.filter(|_| observation.value.is_some());
            findings.push(beside);
            findings.extend(cost(observations, observation, rate.value));
        }
        findings
    }
}

/// Cost of a neighbour, as a share of the latency alone.
fn cost(observations: &[Observation], beside: &Observation, rate: Option<f64>) -> Option<Finding> {
    let same = |o: &&Observation| o.labels.beside() == Some(ALONE) && o.labels.tier_name() == beside.labels.tier_name();
    let alone = with_purpose(observations, Purpose::Neighbour).find(same)?;
    let (with, without) = (beside.value?, alone.value?);
    let labels = beside.labels.clone();
    let value = Some(with / without - 1.0);
    let mut found = resting_on(&[beside, alone], Quantity::NeighbourCost, labels, value, Unit::Ratio);
    found
        .notes
        .extend(rate.filter(|rate| *rate > 0.0).map(|rate| memory::cost_of_traffic(with - without, rate.into())));
    Some(with_range(found, quotient(beside, alone), -1.0))
}

/// As many visits to each step: what a neighbour costs is the difference of two medians, and those are comparable where
/// they are of the same moments. A step that stopped when its own median was known well enough would be of fewer
/// moments than the others.
fn stop(task: &Task) -> StopRule {
    let (allocations, visits) = task.effort().choose([(2, 100), (3, 300), (4, 1200)]);
    let precision = task.precision(PRECISION);
    StopRule { precision, allocations, min_visits: visits, max_visits: visits, shot_seconds: VISIT_SECONDS }
}

pub(super) struct NeighbourStudy {
    task: Task,
    cpu: CpuId,
    other: CpuId,
    /// Memory of the neighbour.
    memory: u64,
    /// The cpus of chaser and neighbour, in words.
    rule: Note,
    finder: Finder,
}

impl NeighbourStudy {
    pub(super) fn new(task: Task) -> Result<Self, Refusal> {
        let cpu = task.one_cpu()?;
        let other = neighbour(&task, cpu).ok_or_else(|| says::no_neighbour(cpu))?;
        let (memory, rule) = task.dram_bytes(&[cpu, other], task.node())?;
        let rule = rules::beside_neighbour(cpu, other, &rule);
        let finder = Finder::new(&task, cpu, task.page());
        Ok(Self { task, cpu, other, memory, rule, finder })
    }

    /// The chaser in each cache and in the memory of its own or of the chosen node, alone and beside each neighbour.
    fn rungs(&self, ladder: Ladder, plan: &mut Plan) -> Vec<Step> {
        plan.refused.extend(ladder.refused);
        let mut steps = Vec::new();
        for rung in ladder.rungs.iter().filter(|rung| rung.node == self.task.node() || rung.node.is_none()) {
            steps.push(self.step(rung, ALONE, None));
            for (beside, op) in NEIGHBOURS {
                steps
                    .extend(plain_kernel(&self.task.lab.bench, op).map(|kernel| self.step(rung, beside, Some(kernel))));
            }
        }
        once(&mut steps);
        steps
    }

    fn step(&self, rung: &Rung, beside: &str, kernel: Option<&KernelInfo>) -> Step {
        let (node, page, seed) = (self.task.node(), self.task.page(), self.task.request.seed);
        let name = rung.tier;
        let mut labels = Labels::new()
            .with_purpose(Purpose::Neighbour)
            .with_tier(name)
            .with_beside(beside)
            .with_size(rung.bytes)
            .with_page(page)
            .with_cpus(format!("{},{}", self.cpu, self.other));
        let chain = Layout::Chain(if rung.tier.is_memory() { ChainLayout::Groups } else { ChainLayout::Random });
        let chase = Role::Chase { chains: 1 };
        let mut both = setup(&[self.cpu], Bytes(rung.bytes), node, page, chain, &chase, seed);
        if let Some(KernelInfo { id, pattern, .. }) = kernel {
            // Loads walk in order only; a stream walks lines in any.
            let (layout, role) = if *pattern == Pattern::Random {
                (Layout::Permuted, Role::Stream { kernel: id.clone(), rivals: Vec::new() })
            } else {
                (Layout::Data, Role::Load { kernels: vec![id.clone()], pause_ns: 0 })
            };
            join(&mut both, setup(&[self.other], Bytes(self.memory), node, page, layout, &role, seed));
        } else {
            // Numbers beside a neighbour are medians, so the number that they are compared with is one too.
            labels = labels.with_statistic(MEDIAN);
        }
        let id = format!("neighbour/{name}/{}", beside.replace(' ', "-"));
        Step { id, labels, phase: 0, metric: Metric::Latency, setup: both, stop: stop(&self.task) }
    }
}

/// A cpu on another core: one that shares the last level cache where there is one.
fn neighbour(task: &Task, cpu: CpuId) -> Option<CpuId> {
    let machine = task.machine();
    let own = machine.cpu(cpu)?;
    let others = || task.cpus.iter().filter_map(|id| machine.cpu(id)).filter(|other| other.core != own.core);
    others().find(|other| other.llc == own.llc).or_else(|| others().next()).map(|other| other.id)
}
