//! `mlp`: how many misses a core keeps in flight, by following several chains at once.

use clap::Args;
use serde::{Deserialize, Serialize};
use tiermark_engine::{Lab, Probe, Study, Subject};
use tiermark_model::messages::memory;
use tiermark_model::{
    ChainLayout, CpuId, Effort, Finding, Labels, Observation, Plan, Purpose, Quantity, Refusal, Request, Step, Unit,
    parse_within,
};

use crate::chasing::{Chase, resting_on};
use crate::finder::Finder;
use crate::found::Found;
use crate::ground::{Says, grounded};
use crate::ladder::{measured, quotient, with_purpose, with_range};
use crate::steps::once;
use crate::task::Task;
use crate::tiers::{Ladder, Rung};

/// Chains followed at once; none means these.
const CHAINS: [u8; 14] = [1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32];
/// With little time: enough to see where it ends.
const FEW: [u8; 6] = [1, 4, 8, 12, 16, 32];
/// A time within this of the best is as good: the fewest chains that reach it are named.
const AS_GOOD: f64 = 1.03;
/// Wanted half-width of the interval.
const PRECISION: f64 = 0.02;

/// Parameters of the mlp probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct MlpParams {
    /// Independent chains followed at once, 1 to 32 [default: 1 to 32 in 14 steps]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_within::<u8>(1..=32))]
    pub chains: Vec<u8>,
}

/// The probe of `tiermark mlp`; `docs/methods/mlp.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "mlp",
    method: 4,
    subject: Subject::Memory,
    summary: "Cache misses that one core keeps in flight, by tier",
    page: include_str!("../../../docs/methods/mlp.md"),
    aids: &[Purpose::Curve],
    study: |request, lab| Ok(Box::new(MlpStudy::new(request, lab)?)),
};

impl Study for MlpStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        // The tiers as the machine declares them: their steps are not planned, only their time is.
        let expected = self.rungs(self.finder.ladder(&Found::default()), &mut plan);
        if expected.is_empty() {
            return self.task.with_steps(plan, "allow more with --max-mem", &["--max-mem"]);
        }
        self.finder.begin(&expected, self.task.effort().choose([10.0, 40.0, 150.0]), &mut plan);
        Ok(plan)
    }

    fn refine(&self, observations: &[Observation]) -> Vec<Step> {
        // Rules and refusals are those of the plan.
        self.finder.next(observations, |found| self.rungs(self.finder.ladder(found), &mut Plan::default()))
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut tiers: Vec<&str> = Vec::new();
        for observation in with_purpose(observations, Purpose::Mlp) {
            tiers.extend(observation.labels.tier_name().filter(|tier| !tiers.contains(tier)));
            findings.push(measured(observation, Quantity::MlpAccess));
        }
        findings.extend(tiers.into_iter().filter_map(|tier| in_flight(observations, tier)));
        findings
    }
}

struct MlpStudy {
    task: Task,
    cpu: CpuId,
    /// Chains followed at once, rising.
    chains: Vec<u8>,
    finder: Finder,
}

impl MlpStudy {
    fn new(request: &Request, lab: &Lab) -> Result<Self, Refusal> {
        let (task, params): (_, MlpParams) = Task::new(request, lab)?;
        let cpu = task.one_cpu()?;
        let mut chains = match (params.chains.as_slice(), request.effort) {
            ([], Effort::Quick) => FEW.to_vec(),
            ([], _) => CHAINS.to_vec(),
            (asked, _) => asked.to_vec(),
        };
        // One chain is the latency that all others are compared with.
        chains.push(1);
        chains.sort_unstable();
        chains.dedup();
        let finder = Finder::new(&task, cpu, task.page());
        Ok(Self { task, cpu, chains, finder })
    }

    /// Every number of chains in each tier.
    fn rungs(&self, ladder: Ladder, plan: &mut Plan) -> Vec<Step> {
        plan.rules.extend(ladder.rules);
        plan.refused.extend(ladder.refused);
        let of_tier = |rung: &Rung| self.chains.iter().map(|chains| self.step(rung, *chains)).collect::<Vec<_>>();
        let mut steps: Vec<Step> = ladder.rungs.iter().flat_map(of_tier).collect();
        once(&mut steps);
        steps
    }

    fn step(&self, rung: &Rung, chains: u8) -> Step {
        let (node, page) = (self.task.node(), self.task.page());
        let chase = Chase { cpu: self.cpu, bytes: rung.bytes, node, layout: ChainLayout::Random, page, chains };
        let labels = Labels::new().with_purpose(Purpose::Mlp).with_tier(rung.tier);
        let mut step = chase.step("mlp", labels, self.task.request.seed, self.task.headline(PRECISION));
        // The same name whatever size the curve shows.
        step.id = format!("mlp/{}/{chains}", rung.tier);
        // Memory of the tier's own node; a label names only the node that the user named.
        if let Some(node) = rung.node {
            step.setup.regions.iter_mut().for_each(|r| r.nodes = [node].into_iter().collect());
        }
        step
    }
}

/// The most accesses of a tier under way at once.
fn in_flight(observations: &[Observation], tier: &str) -> Option<Finding> {
    let of_tier: Vec<(u64, f64, &Observation)> = with_purpose(observations, Purpose::Mlp)
        .filter(|o| o.labels.tier_name() == Some(tier))
        .filter_map(|o| Some((o.labels.chains()?, o.value?, o)))
        .collect();
    let Some((_, latency, single)) = of_tier.iter().find(|(chains, ..)| *chains == 1) else {
        // Without the latency of one chain there is nothing to divide.
        let alone = |o: &&Observation| o.labels.tier_name() == Some(tier) && o.labels.chains() == Some(1);
        let missing = with_purpose(observations, Purpose::Mlp).find(alone)?;
        let labels = Labels::new().with_tier_name(tier);
        return Some(resting_on(&[missing], Quantity::MlpInFlight, labels, None, Unit::Count));
    };
    let (_, best, fastest) = of_tier.iter().min_by(|(_, a, _), (_, b, _)| a.total_cmp(b))?;
    let (chains, ns, reached) = of_tier.iter().filter(|(_, ns, _)| *ns <= best * AS_GOOD).min_by_key(|(n, ..)| *n)?;
    let most = of_tier.iter().map(|(chains, ..)| *chains).max()?;
    let all: Vec<&Observation> = of_tier.iter().map(|(.., seen)| *seen).collect();
    let mut labels = Labels::new().with_tier_name(tier);
    let still_falls = *chains == most && most > 1;
    if still_falls {
        labels = labels.with_statistic("at least");
    }
    let flying = latency / best;
    let mut found = resting_on(&[single, reached, fastest], Quantity::MlpInFlight, labels, Some(flying), Unit::Count);
    let note = if still_falls { memory::chains_still_gain } else { memory::chains_gain_until };
    found.notes.push(note((*latency).into(), (*ns).into(), *chains));
    let asked = with_purpose(observations, Purpose::Mlp).filter(|o| o.labels.tier_name() == Some(tier)).count();
    Some(grounded(with_range(found, quotient(single, fastest), 0.0), &all, asked, Says::Level))
}
