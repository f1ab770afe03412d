//! `mlp`: how many misses a core keeps in flight, by following several chains at once.

use serde::{Deserialize, Serialize};
use tiermark_engine::{About, Lab, Probe, Subject};
use tiermark_model::messages::memory;
use tiermark_model::{
    ChainLayout, CpuId, Effort, Finding, IdSet, Labels, Observation, PageKind, Plan, Purpose, Quantity, Refusal,
    Request, Step, Unit,
};

use crate::chasing::{Chase, Chaser, resting_on};
use crate::finder::{Finder, after_curve, curve_first};
use crate::ladder::{derived, quotient, with_purpose, with_range};
use crate::steps::{asked, default_page, headline, once, one_cpu, with_steps};
use crate::tiers::{Ladder, Tier, ladder, ladder_of};

/// Chains followed at once; none means these.
const CHAINS: [u8; 14] = [1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32];
/// With little time: enough to see where it ends.
const FEW: [u8; 6] = [1, 4, 8, 12, 16, 32];
/// A time within this of the best is as good: the fewest chains that reach it are named.
const AS_GOOD: f64 = 1.03;
/// Wanted half-width of the interval.
const PRECISION: f64 = 0.02;

/// Parameters of the mlp probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MlpParams {
    /// Chains followed at once, 1 to 32.
    pub chains: Vec<u8>,
}

/// The probe of `tiermark mlp`; `docs/methods/mlp.md` describes the method.
pub struct Mlp;

static ABOUT: About = About {
    id: "mlp",
    method: 4,
    subject: Subject::Memory,
    summary: "Cache misses that one core keeps in flight, by tier",
    page: include_str!("../../../docs/methods/mlp.md"),
    shapes: &[],
};

impl Probe for Mlp {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn plan(&self, request: &Request, lab: Lab<'_>) -> Result<Plan, Refusal> {
        let planner = MlpPlanner::new(request, lab)?;
        let mut plan = Plan::default();
        let rungs = planner.rungs(ladder(lab.machine, &planner.chaser(), &request.scope), &mut plan);
        if rungs.is_empty() {
            return with_steps(plan, request, "allow more with --max-mem");
        }
        curve_first(planner.finder().as_ref(), &rungs, effort_seconds(request.effort), &mut plan);
        Ok(plan)
    }

    fn refine(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Step> {
        let Ok(planner) = MlpPlanner::new(request, lab) else { return Vec::new() };
        after_curve(planner.finder(), observations, |found| {
            let ladder = ladder_of(lab.machine, &planner.chaser(), &request.scope, found);
            planner.rungs(ladder, &mut Plan::default())
        })
    }

    fn derive(&self, _request: &Request, _lab: Lab<'_>, observations: &[Observation]) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut tiers: Vec<&str> = Vec::new();
        for observation in with_purpose(observations, Purpose::Mlp) {
            let tier = observation.labels.get(Labels::TIER).unwrap_or_default();
            if !tiers.contains(&tier) {
                tiers.push(tier);
            }
            let labels = observation.labels.clone();
            let mut found = derived(observation, Quantity::MlpAccess, labels, 0.0, Unit::Ns);
            (found.value, found.interval) = (observation.value, observation.interval);
            findings.push(found);
        }
        findings.extend(tiers.into_iter().filter_map(|tier| in_flight(observations, tier)));
        findings
    }
}

/// Seconds an effort allows, with those of the curve.
fn effort_seconds(effort: Effort) -> f64 {
    match effort {
        Effort::Quick => 10.0,
        Effort::Standard => 40.0,
        Effort::Full => 150.0,
    }
}

struct MlpPlanner<'a> {
    request: &'a Request,
    lab: Lab<'a>,
    cpu: CpuId,
    page: PageKind,
    /// Chains followed at once, rising.
    chains: Vec<u8>,
}

impl<'a> MlpPlanner<'a> {
    fn new(request: &'a Request, lab: Lab<'a>) -> Result<Self, Refusal> {
        let (params, cpus): (MlpParams, _) = asked(request, lab)?;
        let cpu = one_cpu(lab.machine, &cpus, "mlp")?;
        let mut chains = match (params.chains.as_slice(), request.effort) {
            ([], Effort::Quick) => FEW.to_vec(),
            ([], _) => CHAINS.to_vec(),
            (asked, _) => asked.to_vec(),
        };
        // One chain is the latency that all others are compared with.
        chains.push(1);
        chains.sort_unstable();
        chains.dedup();
        let page = request.scope.page.unwrap_or_else(|| default_page(lab.machine));
        Ok(Self { request, lab, cpu, page, chains })
    }

    fn chaser(&self) -> IdSet {
        [self.cpu].into_iter().collect()
    }

    fn finder(&self) -> Option<Finder<'a>> {
        Finder::new(self.request, self.lab, &self.chaser(), self.page)
    }

    /// Every number of chains in each tier.
    fn rungs(&self, ladder: Ladder, plan: &mut Plan) -> Vec<Step> {
        plan.rules.extend(ladder.rules);
        plan.refused.extend(ladder.refused);
        let of_tier = |tier: &Tier| self.chains.iter().map(|chains| self.step(tier, *chains)).collect::<Vec<_>>();
        let mut steps: Vec<Step> = ladder.tiers.iter().flat_map(of_tier).collect();
        once(&mut steps);
        steps
    }

    fn step(&self, tier: &Tier, chains: u8) -> Step {
        let chaser = Chaser { probe: "mlp", request: self.request, cpu: self.cpu };
        let chase =
            Chase { purpose: Purpose::Mlp, bytes: tier.bytes, layout: ChainLayout::Random, page: self.page, chains };
        let precision = self.request.precision.unwrap_or(PRECISION);
        let mut step = chaser.step(&chase, headline(self.request.effort, precision));
        step.id = format!("mlp/{}/{chains}", tier.name);
        step.labels = step.labels.text(Labels::TIER, &tier.name);
        if let Some(node) = tier.node {
            step.setup.regions.iter_mut().for_each(|r| r.nodes = [node].into_iter().collect());
        }
        step
    }
}

/// The most accesses of a tier under way at once.
fn in_flight(observations: &[Observation], tier: &str) -> Option<Finding> {
    let of_tier: Vec<(u64, f64, &Observation)> = with_purpose(observations, Purpose::Mlp)
        .filter(|o| o.labels.is(Labels::TIER, tier))
        .filter_map(|o| Some((o.labels.number(Labels::CHAINS)?, o.value?, o)))
        .collect();
    let Some((_, latency, single)) = of_tier.iter().find(|(chains, ..)| *chains == 1) else {
        // Without the latency of one chain there is nothing to divide.
        let alone = |o: &&Observation| o.labels.is(Labels::TIER, tier) && o.labels.number(Labels::CHAINS) == Some(1);
        let missing = with_purpose(observations, Purpose::Mlp).find(alone)?;
        let labels = Labels::new().text(Labels::TIER, tier);
        return Some(resting_on(&[missing], Quantity::MlpInFlight, labels, None, Unit::Count));
    };
    let (_, best, fastest) = of_tier.iter().min_by(|(_, a, _), (_, b, _)| a.total_cmp(b))?;
    let (chains, ns, reached) = of_tier.iter().filter(|(_, ns, _)| *ns <= best * AS_GOOD).min_by_key(|(n, ..)| *n)?;
    let most = of_tier.iter().map(|(chains, ..)| *chains).max()?;
    let mut labels = Labels::new().text(Labels::TIER, tier);
    let still_falls = *chains == most && most > 1;
    if still_falls {
        labels = labels.text(Labels::STATISTIC, "at least");
    }
    let flying = latency / best;
    let mut found = resting_on(&[single, reached, fastest], Quantity::MlpInFlight, labels, Some(flying), Unit::Count);
    let note = if still_falls { memory::chains_still_gain } else { memory::chains_gain_until };
    found.notes.push(note((*latency).into(), (*ns).into(), *chains));
    Some(with_range(found, quotient(single, fastest), 0.0))
}
