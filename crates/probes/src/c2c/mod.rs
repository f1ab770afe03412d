//! `c2c`: how long a line takes from core to core.

mod findings;
mod pairs;
mod remark;

use std::collections::BTreeMap;
use std::str::FromStr;

use clap::Args;
use serde::{Deserialize, Serialize};
use tiermark_engine::{Lab, Probe, Study, Subject, nearest_memory_node};
use tiermark_model::messages::plan as says;
use tiermark_model::messages::rules;
use tiermark_model::{
    Bytes, CpuId, Effort, Finding, IdSet, KIB, Labels, Layout, LineState, MemPolicy, Metric, NodeId, Observation,
    PageKind, PingOp, Plan, Purpose, Refusal, RegionSetup, Relation, Request, Role, Setup, Step, StopRule, ThreadSetup,
};

use crate::steps::VISIT_SECONDS;
use crate::task::Task;
use pairs::{Choice, Class, CpuPair, choose, count, divide};

/// Wanted half-width of the interval of a round trip: lines differ by where their home lies, which is no noise.
const PRECISION: f64 = 0.03;
/// Bytes of shared lines: 512 places to draw lines from.
const SHARED: Bytes = Bytes(64 * KIB);
/// The least time of a shot for each contender, s: ten blocks of 128 turns of 50 ns, while all others take as many. In
/// a shorter shot each of thousands of cpus would finish hardly one block.
const CONTENDER_SECONDS: f64 = 10.0 * 128.0 * 50e-9;
/// Up to this many pairs are measured as long as other steps: this takes some seconds in all.
const FEW: usize = 64;
/// Share of the time budget that the pairs of a matrix may be expected to take: the other steps need time too, and
/// pairs that scatter need more allocations.
const PAIRS_SHARE: f64 = 0.5;

/// Parameters of the c2c probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct C2cParams {
    /// How two cpus pass turns: cas, flag, one-way [default: cas]
    ///
    /// These are measured for all pairs. Without this option, flag and one-way are measured for one pair of each
    /// relation.
    #[arg(long = "op", value_name = "LIST", value_delimiter = ',')]
    pub ops: Vec<PingOp>,
    /// Pairs of each relation, or all [default: as time allows]
    #[arg(long, value_name = "PAIRS")]
    pub sample: Option<Sample>,
}

/// Which pairs are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sample {
    /// All of them, however long it takes.
    All,
    /// So many of each relation.
    Each(u32),
}

impl FromStr for Sample {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let each = || text.parse().ok().filter(|n| *n > 0).map(Self::Each);
        if text == "all" { Ok(Self::All) } else { each().ok_or("use a number of pairs above 0, or all") }
    }
}

/// The probe of `tiermark c2c`; `docs/methods/c2c.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "c2c",
    method: 4,
    subject: Subject::Memory,
    summary: "Time of a cache line from core to core, and contention",
    page: include_str!("../../../../docs/methods/c2c.md"),
    aids: &[],
    study: |request, lab| Ok(Box::new(C2cStudy::new(request, lab)?)),
};

struct C2cStudy {
    task: Task,
    params: C2cParams,
}

impl Study for C2cStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        let ops = self.ops(&mut plan)?;
        let all = count(self.task.machine(), &self.task.cpus);
        let others: Vec<Step> = self.contention();
        let choice =
            choose(self.task.machine(), &self.task.cpus, &self.most(&all, ops.len(), &others), self.task.request.seed);
        plan.rules.push(choice.rule(self.task.cpus.len()));
        let speakers = choice.speakers();
        let stop = if choice.pairs.len() * ops.len() <= FEW { self.stop() } else { self.pair_stop() };
        for op in &ops {
            for pair in &choice.pairs {
                let phase = u8::from(!speakers.contains(pair));
                plan.steps.push(Step { phase, stop, ..self.trip(Purpose::Pair, *op, *pair, self.task.node(), None) });
            }
        }
        for pair in speakers {
            plan.steps.extend(self.of_speaker(pair, &ops));
        }
        plan.steps.extend(others);
        self.say_homes(&choice, &mut plan);
        self.task.limit(&mut plan, self.allowed_seconds());
        Ok(plan)
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        findings::derive(&self.task, observations)
    }
}

impl C2cStudy {
    fn new(request: &Request, lab: &Lab) -> Result<Self, Refusal> {
        let (task, params): (_, C2cParams) = Task::new(request, lab)?;
        if task.cpus.len() < 2 {
            return Err(says::one_cpu_only(&task.cpus));
        }
        if params.sample == Some(Sample::Each(0)) {
            return Err(says::no_pairs());
        }
        Ok(Self { task, params })
    }

    /// How turns are passed between all pairs.
    fn ops(&self, plan: &mut Plan) -> Result<Vec<PingOp>, Refusal> {
        let mut ops = self.params.ops.clone();
        if ops.is_empty() {
            ops.push(PingOp::Cas);
        }
        if let Err(refusal) = self.common_clock() {
            if ops.contains(&PingOp::OneWay) {
                plan.refused.push(refusal.clone());
                ops.retain(|op| *op != PingOp::OneWay);
            } else {
                plan.rules.push(rules::operation_left_out(&refusal.what, &refusal.why));
            }
            if ops.is_empty() {
                return Err(refusal);
            }
        }
        Ok(ops)
    }

    /// Whether the clock is the same on all cpus, without a system call in between.
    fn common_clock(&self) -> Result<(), Refusal> {
        let source = &self.task.lab.bench.clock.source;
        if source != "clock_monotonic_raw" {
            return Ok(());
        }
        Err(says::no_common_clock())
    }

    /// The most pairs of each class: as requested, or as many as fit into the time budget.
    fn most(&self, all: &BTreeMap<Class, u64>, ops: usize, others: &[Step]) -> BTreeMap<Class, u64> {
        match self.params.sample {
            Some(Sample::All) => BTreeMap::new(),
            Some(Sample::Each(pairs)) => all.keys().map(|class| (*class, u64::from(pairs))).collect(),
            None => {
                let allowed = self.task.request.scope.max_seconds.unwrap_or(self.allowed_seconds());
                let taken: f64 = others.iter().map(Step::expected_seconds).sum();
                let stop = self.pair_stop();
                let class = Class { relation: Relation::Socket, kinds: None };
                let pair = CpuPair { class, first: 0, second: 0 };
                let seconds =
                    Step { stop, ..self.trip(Purpose::Pair, PingOp::Cas, pair, None, None) }.expected_seconds();
                let pairs = (allowed * PAIRS_SHARE).min(allowed - taken).max(0.0) / seconds / ops.max(1) as f64;
                divide(all, pairs as u64)
            }
        }
    }

    /// Steps of only one pair of each class.
    fn of_speaker(&self, pair: CpuPair, ops: &[PingOp]) -> Vec<Step> {
        let node = self.task.node();
        let mut steps = vec![self.trip(Purpose::Reverse, ops[0], pair.turned(), node, None)];
        if self.task.effort() > Effort::Quick && self.params.ops.is_empty() {
            let usable = |op: &&PingOp| !ops.contains(op) && (**op != PingOp::OneWay || self.common_clock().is_ok());
            steps.extend(PingOp::ALL.iter().filter(usable).map(|op| self.trip(Purpose::Op, *op, pair, node, None)));
        }
        for state in [LineState::Clean, LineState::Dirty] {
            steps.push(self.transfer(pair, state));
        }
        for (home, node) in self.homes(pair) {
            steps.push(self.trip(Purpose::Home, ops[0], pair, Some(node), Some(home)));
        }
        steps
    }

    /// The nodes that a pair's lines can have their home on beside that of the first cpu, which is where all pairs are
    /// measured.
    fn homes(&self, pair: CpuPair) -> Vec<(&'static str, NodeId)> {
        let machine = self.task.machine();
        if self.task.node().is_some() {
            return Vec::new();
        }
        let Some(first) = nearest_memory_node(pair.first, machine) else { return Vec::new() };
        let second = nearest_memory_node(pair.second, machine).filter(|node| *node != first);
        let distance =
            |node: NodeId| machine.node(first).and_then(|n| n.distances.get(&node)).copied().unwrap_or(u32::MAX);
        let usable = machine.memory_nodes();
        let is_other = |n: &&tiermark_model::Node| usable.contains(n.id) && n.id != first && Some(n.id) != second;
        let others: Vec<_> = machine.nodes.iter().filter(is_other).collect();
        // One third node with cpus and one without, the nearest of each.
        let third = |bare: bool| {
            let of_kind = others.iter().filter(|n| n.is_memory_only() == bare);
            of_kind.min_by_key(|n| (distance(n.id), n.id)).map(|n| ("third", n.id))
        };
        second.map(|node| ("second", node)).into_iter().chain(third(false)).chain(third(true)).collect()
    }

    fn say_homes(&self, choice: &Choice, plan: &mut Plan) {
        let swept = plan.steps.iter().any(|step| step.labels.is_for(Purpose::Home));
        plan.rules.push(match (self.task.node(), swept) {
            (Some(node), _) => rules::home_asked(node),
            (None, true) => rules::homes_swept(choice.speakers().len()),
            (None, false) => rules::home_only(),
        });
    }

    /// All cpus on one word, in numbers that double.
    fn contention(&self) -> Vec<Step> {
        let order = self.task.machine().cores_first(&self.task.cpus);
        let mut counts: Vec<usize> = (0..).map(|i| 1 << i).take_while(|n| *n < order.len()).collect();
        counts.push(order.len());
        counts.into_iter().map(|count| self.contenders(&order[..count])).collect()
    }

    fn contenders(&self, cpus: &[CpuId]) -> Step {
        let part = |cpu: &CpuId| ThreadSetup { part: format!("cpu {cpu}"), ..ThreadSetup::new(*cpu, Role::Contend, 0) };
        let set: IdSet = cpus.iter().copied().collect();
        let labels = Labels::new().with_purpose(Purpose::Contention).with_threads(cpus.len() as u64).with_cpus(&set);
        let id = format!("c2c/contention/{}", cpus.len());
        let step = self.step(id, labels, cpus.iter().map(part).collect(), self.task.node());
        let shot_seconds = step.stop.shot_seconds.max(CONTENDER_SECONDS * cpus.len() as f64);
        Step { stop: StopRule { shot_seconds, ..step.stop }, ..step }
    }

    /// A round trip between two cpus.
    fn trip(&self, purpose: Purpose, op: PingOp, pair: CpuPair, node: Option<NodeId>, home: Option<&str>) -> Step {
        let mut labels = pair_labels(purpose, pair).with_op(op);
        let mut id = format!("c2c/{purpose}/{op}/{}-{}", pair.first, pair.second);
        if let Some(home) = home {
            labels = labels.with_home(home);
        }
        if let Some(node) = node {
            labels = labels.with_node(node);
            id.push_str(&format!("/node{node}"));
        }
        let threads = vec![
            ThreadSetup::new(pair.first, Role::Ping { op }, 0),
            ThreadSetup::new(pair.second, Role::Echo { op }, 0),
        ];
        self.step(id, labels, threads, node)
    }

    /// Lines that the second cpu holds, fetched by the first.
    fn transfer(&self, pair: CpuPair, state: LineState) -> Step {
        let node = self.task.node();
        let mut labels = pair_labels(Purpose::Transfer, pair).with_state(state);
        let mut id = format!("c2c/transfer/{state}/{}-{}", pair.first, pair.second);
        if let Some(node) = node {
            id.push_str(&format!("/node{node}"));
        }
        // The home of the lines is part of the measurement, even if the user named no node.
        if let Some(home) = node.or_else(|| nearest_memory_node(pair.first, self.task.machine())) {
            labels = labels.with_node(home);
        }
        let threads =
            vec![ThreadSetup::new(pair.first, Role::Take, 0), ThreadSetup::new(pair.second, Role::Keep { state }, 0)];
        self.step(id, labels, threads, node)
    }

    fn step(&self, id: String, labels: Labels, threads: Vec<ThreadSetup>, node: Option<NodeId>) -> Step {
        let region = RegionSetup {
            bytes: SHARED,
            policy: MemPolicy::Bind,
            nodes: node.into_iter().collect(),
            page: self.task.request.scope.page.unwrap_or(PageKind::Base),
            layout: Layout::Shared,
        };
        let setup = Setup { regions: vec![region], threads, seed: self.task.request.seed };
        Step { id, phase: 0, labels, metric: Metric::Latency, setup, stop: self.stop() }
    }

    /// Seconds that the effort allows.
    fn allowed_seconds(&self) -> f64 {
        self.task.effort().choose([8.0, 45.0, 300.0])
    }

    /// When one pair of many is good enough.
    fn pair_stop(&self) -> StopRule {
        let (allocations, min_visits, max_visits) = self.task.effort().choose([(1, 8, 60), (2, 8, 120), (3, 16, 400)]);
        StopRule {
            precision: self.task.precision(PRECISION),
            allocations,
            min_visits,
            max_visits,
            shot_seconds: VISIT_SECONDS,
        }
    }

    /// When anything else is.
    fn stop(&self) -> StopRule {
        let (allocations, min_visits, max_visits) = self.task.effort().choose([(2, 8, 80), (3, 12, 200), (4, 24, 600)]);
        StopRule { precision: self.task.precision(PRECISION), allocations, min_visits, max_visits, shot_seconds: 0.004 }
    }
}

fn pair_labels(purpose: Purpose, pair: CpuPair) -> Labels {
    let cpus: IdSet = [pair.first, pair.second].into_iter().collect();
    let labels = Labels::new()
        .with_purpose(purpose)
        .with_relation(pair.class.relation)
        .with_from_cpu(pair.first)
        .with_to_cpu(pair.second)
        .with_cpus(&cpus);
    pair.class.kinds.iter().fold(labels, |labels, kinds| labels.with_kinds(kinds))
}
