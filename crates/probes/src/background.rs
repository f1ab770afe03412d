//! `background`: what a busy neighbour costs a chaser, with patterns that prefetchers like and with those they cannot
//! follow.

use serde::{Deserialize, Serialize};
use tiermark_engine::accounting::MEDIAN;
use tiermark_engine::{About, Lab, Probe, Subject};
use tiermark_model::messages::memory;
use tiermark_model::messages::plan as says;
use tiermark_model::messages::rules;
use tiermark_model::{
    Bytes, ChainLayout, CpuId, Effort, Finding, IdSet, KernelId, Labels, Layout, Metric, Note, Observation, PageKind,
    Plan, Purpose, Quantity, Refusal, Request, Role, Step, StopRule, Unit,
};

use crate::chasing::{join, plain_kernel, resting_on};
use crate::finder::{Finder, after_curve, curve_first};
use crate::footprints::dram_bytes;
use crate::ladder::{derived, quotient, with_purpose, with_range};
use crate::steps::{VISIT_SECONDS, asked, default_page, once, one_cpu, scope_cpus, setup};
use crate::tiers::{Ladder, Tier, ladder, ladder_of};

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

/// Parameters of the background probe: it has none yet.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BackgroundParams {}

/// The probe of `tiermark background`; `docs/methods/background.md` describes the method.
pub struct Background;

static ABOUT: About = About {
    id: "background",
    method: 4,
    subject: Subject::Memory,
    summary: "How much a busy neighbour slows memory accesses",
    page: include_str!("../../../docs/methods/background.md"),
    shapes: &[],
};

impl Probe for Background {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn plan(&self, request: &Request, lab: Lab<'_>) -> Result<Plan, Refusal> {
        let planner = BackgroundPlanner::new(request, lab)?;
        let mut plan = Plan { rules: vec![planner.rule.clone()], ..Plan::default() };
        let rungs = planner.rungs(ladder(lab.machine, &planner.chaser(), &request.scope), &mut plan);
        curve_first(planner.finder().as_ref(), &rungs, effort_seconds(request.effort), &mut plan);
        Ok(plan)
    }

    fn refine(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Step> {
        let Ok(planner) = BackgroundPlanner::new(request, lab) else { return Vec::new() };
        after_curve(planner.finder(), observations, |found| {
            let ladder = ladder_of(lab.machine, &planner.chaser(), &request.scope, found);
            planner.rungs(ladder, &mut Plan::default())
        })
    }

    fn derive(&self, _request: &Request, _lab: Lab<'_>, observations: &[Observation]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for observation in with_purpose(observations, Purpose::Background) {
            let mut found =
                derived(observation, Quantity::BackgroundLatency, observation.labels.clone(), 0.0, Unit::Ns);
            (found.value, found.interval) = (observation.value, observation.interval);
            findings.push(found);
            let Some(rate) = observation.parts.first() else { continue };
            let labels = observation.labels.clone();
            let mut beside = derived(observation, Quantity::BackgroundRate, labels, 0.0, Unit::BytesPerSecond);
            beside.value = rate.value.filter(|_| observation.value.is_some());
            findings.push(beside);
            findings.extend(cost(observations, observation, rate.value));
        }
        findings
    }
}

/// Cost of a neighbour, as a share of the latency alone.
fn cost(observations: &[Observation], beside: &Observation, rate: Option<f64>) -> Option<Finding> {
    let same = |o: &&Observation| {
        o.labels.is(Labels::BESIDE, ALONE) && o.labels.get(Labels::TIER) == beside.labels.get(Labels::TIER)
    };
    let alone = with_purpose(observations, Purpose::Background).find(same)?;
    let (with, without) = (beside.value?, alone.value?);
    let labels = beside.labels.clone();
    let value = Some(with / without - 1.0);
    let mut found = resting_on(&[beside, alone], Quantity::BackgroundCost, labels, value, Unit::Ratio);
    found
        .notes
        .extend(rate.filter(|rate| *rate > 0.0).map(|rate| memory::cost_of_traffic(with - without, rate.into())));
    Some(with_range(found, quotient(beside, alone), -1.0))
}

/// Seconds an effort allows, with those of the curve.
fn effort_seconds(effort: Effort) -> f64 {
    if effort == Effort::Full { 150.0 } else { 40.0 }
}

/// As many visits to each step: what a neighbour costs is the difference of two medians, and those are comparable where
/// they are of the same moments. A step that stopped when its own median was known well enough would be of fewer
/// moments than the others.
fn stop(request: &Request) -> StopRule {
    let (allocations, visits) = match request.effort {
        Effort::Quick => (2, 100),
        Effort::Standard => (3, 300),
        Effort::Full => (4, 1200),
    };
    let precision = request.precision.unwrap_or(PRECISION);
    StopRule { precision, allocations, min_visits: visits, max_visits: visits, shot_seconds: VISIT_SECONDS }
}

struct BackgroundPlanner<'a> {
    request: &'a Request,
    lab: Lab<'a>,
    cpu: CpuId,
    other: CpuId,
    /// Memory of the neighbour.
    memory: u64,
    /// The cpus of chaser and neighbour, in words.
    rule: Note,
    page: PageKind,
}

impl<'a> BackgroundPlanner<'a> {
    fn new(request: &'a Request, lab: Lab<'a>) -> Result<Self, Refusal> {
        let (BackgroundParams {}, cpus) = asked(request, lab)?;
        let cpu = one_cpu(lab.machine, &cpus, "background")?;
        let other = neighbour(lab, cpu, request).ok_or_else(|| says::no_neighbour(cpu))?;
        let both = [cpu, other].into_iter().collect();
        let (memory, rule) = dram_bytes(lab.machine, &both, request.scope.mem_node, &request.scope)?;
        let rule = rules::beside_neighbour(cpu, other, &rule);
        let page = request.scope.page.unwrap_or_else(|| default_page(lab.machine));
        Ok(Self { request, lab, cpu, other, memory, rule, page })
    }

    fn chaser(&self) -> IdSet {
        [self.cpu].into_iter().collect()
    }

    fn finder(&self) -> Option<Finder<'a>> {
        Finder::new(self.request, self.lab, &self.chaser(), self.page)
    }

    /// The chaser in each cache and in the memory of its own or of the chosen node, alone and beside each neighbour.
    fn rungs(&self, ladder: Ladder, plan: &mut Plan) -> Vec<Step> {
        let scope = &self.request.scope;
        plan.refused.extend(ladder.refused);
        let mut steps = Vec::new();
        for tier in ladder.tiers.iter().filter(|tier| tier.node == scope.mem_node || tier.node.is_none()) {
            steps.push(self.step(tier, ALONE, None));
            for (beside, op) in NEIGHBOURS {
                steps.extend(plain_kernel(self.lab, op).map(|kernel| self.step(tier, beside, Some(kernel))));
            }
        }
        once(&mut steps);
        steps
    }

    fn step(&self, tier: &Tier, beside: &str, kernel: Option<(KernelId, bool)>) -> Step {
        let (request, name, page) = (self.request, &tier.name, self.page);
        let node = request.scope.mem_node;
        let mut labels = Labels::new()
            .purpose(Purpose::Background)
            .text(Labels::TIER, name)
            .text(Labels::BESIDE, beside)
            .whole(Labels::SIZE, tier.bytes)
            .text(Labels::PAGE, page)
            .text(Labels::CPUS, format!("{},{}", self.cpu, self.other));
        let chain = Layout::Chain(if tier.is_memory() { ChainLayout::Groups } else { ChainLayout::Random });
        let chase = Role::Chase { chains: 1 };
        let mut both = setup(&[self.cpu], Bytes(tier.bytes), node, page, chain, &chase, request.seed);
        if let Some((kernel, random)) = kernel {
            // Loads walk in order only; a stream walks lines in any.
            let (layout, role) = if random {
                (Layout::Permuted, Role::Stream { kernel, rivals: Vec::new() })
            } else {
                (Layout::Data, Role::Load { kernels: vec![kernel], pause_ns: 0 })
            };
            join(&mut both, setup(&[self.other], Bytes(self.memory), node, page, layout, &role, request.seed));
        } else {
            // Numbers beside a neighbour are medians, so the number that they are compared with is one too.
            labels = labels.text(Labels::STATISTIC, MEDIAN);
        }
        let id = format!("background/{name}/{}", beside.replace(' ', "-"));
        Step { id, labels, phase: 0, metric: Metric::Latency, setup: both, stop: stop(request) }
    }
}

/// A cpu on another core: one that shares the last level cache where there is one.
fn neighbour(lab: Lab<'_>, cpu: CpuId, request: &Request) -> Option<CpuId> {
    let machine = lab.machine;
    let own = machine.cpu(cpu)?;
    let cpus = scope_cpus(&request.scope, machine).ok()?;
    let others = || cpus.iter().filter_map(|id| machine.cpu(id)).filter(|other| other.core != own.core);
    others().find(|other| other.llc == own.llc).or_else(|| others().next()).map(|other| other.id)
}
