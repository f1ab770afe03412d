//! `soak`: memory that is written, read back and compared, at full speed, for a minute or for hours.

use std::fmt;
use std::str::FromStr;

use clap::Args;
use serde::{Deserialize, Serialize};
use tiermark_engine::admit::admit_node;
use tiermark_engine::{Lab, Probe, Study, Subject, nearest_memory_node};
use tiermark_model::messages::soak as says;
use tiermark_model::{
    Bytes, CpuId, Effort, Finding, IdSet, Interval, Labels, Layout, MIB, MemPolicy, Metric, NodeId, Observation, Plan,
    Purpose, Quantity, Refusal, RegionSetup, Request, Role, Setup, Soak, SoakRole, SoakWork, Step, StopRule,
    ThreadSetup, Tier, Unit, Verdict, parse_seconds,
};

use crate::footprints::{Shares, nearly_all};
use crate::task::Task;

/// Memory is taken in blocks of this size.
const BLOCK: u64 = 2 * MIB;
/// Share of the time that each half of the memory rests between writing and reading, and the bounds of it in seconds: cells that lose
/// their charge do so within some seconds at high temperature.
const REST_SHARE: f64 = 0.2;
const REST: [f64; 2] = [2.0, 120.0];
/// The run ends where less than this part of what was left free is free, and at least this many bytes.
const LEAST_FREE: (u64, u64) = (4, 64 * MIB);

/// How long a soak is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// A minute.
    Quick,
    /// An hour.
    Standard,
    /// Eight hours.
    Long,
}

impl Level {
    const ALL: [Self; 3] = [Self::Quick, Self::Standard, Self::Long];

    fn of(effort: Effort) -> Self {
        effort.choose(Self::ALL)
    }

    /// Seconds it takes.
    #[must_use]
    pub fn seconds(self) -> f64 {
        match self {
            Self::Quick => 60.0,
            Self::Standard => 3600.0,
            Self::Long => 8.0 * 3600.0,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Long => "long",
        })
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|level| level.to_string() == text);
        found.ok_or_else(|| {
            format!("'{text}' is no level; use quick (a minute), standard (an hour) or long (eight hours)")
        })
    }
}

/// Parameters of the soak.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct SoakParams {
    /// quick (a minute), standard (an hour) or long (eight hours) [default: standard]
    #[arg(long, value_name = "LEVEL", value_parser = Level::from_str, conflicts_with_all = ["quick", "full"])]
    pub level: Option<Level>,
    /// Time of the run, instead of its level's: 90s, 30m, 8h
    #[arg(long, value_name = "TIME", value_parser = parse_seconds, conflicts_with = "max_time")]
    pub time: Option<f64>,
    /// Only memory of these NUMA nodes, as in 0-1,3 [default: all]
    #[arg(long, value_name = "NODES", value_parser = nodes, conflicts_with = "mem_node")]
    pub nodes: Option<IdSet>,
}

fn nodes(text: &str) -> Result<IdSet, String> {
    text.parse::<IdSet>().map_err(|error| error.to_string())
}

/// The probe of `tiermark soak`; `docs/methods/soak.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "soak",
    method: 1,
    subject: Subject::Memory,
    summary: "Whether memory is right: written, read back, compared",
    page: include_str!("../../../docs/methods/soak.md"),
    aids: &[],
    study: |request, lab| Ok(Box::new(SoakStudy::new(request, lab)?)),
};

struct SoakStudy {
    task: Task,
    level: Level,
    seconds: f64,
    nodes: IdSet,
}

/// The memory of one node.
struct Held {
    node: NodeId,
    bytes: u64,
    limit: String,
}

impl SoakStudy {
    fn new(request: &Request, lab: &Lab) -> Result<Self, Refusal> {
        let (task, params): (_, SoakParams) = Task::new(request, lab)?;
        let level = params.level.unwrap_or_else(|| Level::of(task.effort()));
        let seconds = params.time.or(request.scope.max_seconds).unwrap_or_else(|| level.seconds());
        let chosen = params.nodes.or_else(|| task.node().map(|node| IdSet::from_iter([node])));
        for node in chosen.iter().flat_map(IdSet::iter) {
            admit_node(node, &lab.machine)?;
        }
        let nodes = chosen.unwrap_or_else(|| lab.machine.memory_nodes());
        Ok(Self { task, level, seconds, nodes })
    }

    /// What is taken of each node: nearly all that is free, and of all together no more than the machine can give.
    fn held(&self) -> Vec<Held> {
        let (machine, scope) = (self.task.machine(), &self.task.request.scope);
        let (together, limit) = nearly_all(machine, &Shares::new(), scope);
        let of = |node: NodeId| {
            let (bytes, limit) = nearly_all(machine, &Shares::from([(node, 1)]), scope);
            // Where the system does not say what is free, a node has no more than it has.
            let most = machine.node(node).and_then(|found| machine.memory_of(found)).unwrap_or(u64::MAX);
            Held { node, bytes: bytes.min(most), limit }
        };
        let mut all: Vec<Held> = self.nodes.iter().map(of).collect();
        let sum: u64 = all.iter().fold(0, |sum, held| sum.saturating_add(held.bytes));
        for held in all.iter_mut().filter(|_| sum > together) {
            held.bytes = (u128::from(held.bytes) * u128::from(together) / u128::from(sum)) as u64;
            held.limit.clone_from(&limit);
        }
        all.iter_mut().for_each(|held| held.bytes = held.bytes / BLOCK * BLOCK);
        all
    }

    /// The cpus of the threads, each with the index of the node whose memory it writes: those near a node that is
    /// soaked, and all where none is.
    fn threads(&self, held: &[Held]) -> Vec<(CpuId, usize)> {
        let machine = self.task.machine();
        let home = |cpu| held.iter().position(|of| Some(of.node) == nearest_memory_node(cpu, machine));
        let mut near: Vec<(CpuId, usize)> = self.task.cpus.iter().filter_map(|cpu| Some((cpu, home(cpu)?))).collect();
        // Node after node, whatever the numbers of the cpus: the next one is then near, and one half further on far.
        near.sort_by_key(|(cpu, home)| (*home, *cpu));
        let any = || self.task.cpus.iter().zip((0..held.len()).cycle()).collect();
        if near.is_empty() { any() } else { near }
    }

    fn setup(&self, held: &[Held], role: SoakRole) -> Setup {
        let region = |of: &Held| RegionSetup {
            bytes: Bytes(of.bytes),
            policy: MemPolicy::Bind,
            nodes: IdSet::from_iter([of.node]),
            page: self.task.page(),
            layout: Layout::Data,
        };
        let thread = |(cpu, home): (CpuId, usize)| ThreadSetup::new(cpu, Role::Soak(role), home);
        Setup {
            regions: held.iter().map(region).collect(),
            threads: self.threads(held).into_iter().map(thread).collect(),
            seed: self.task.request.seed,
        }
    }

    /// Bytes that stay free for others, as far as the system says what is free.
    fn left(&self, taken: u64) -> u64 {
        let system = &self.task.machine().system;
        let group = system.cgroup.as_ref().and_then(|group| group.memory_left());
        let free = system.available_bytes.into_iter().chain(group).min();
        free.map_or(0, |free| free.saturating_sub(taken))
    }
}

impl Study for SoakStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let (held, without): (Vec<Held>, Vec<Held>) = self.held().into_iter().partition(|of| of.bytes > 0);
        let refused = without.iter().map(|of| says::no_memory(of.node, &of.limit));
        let mut plan = Plan { max_seconds: self.seconds, refused: refused.collect(), ..Plan::default() };
        if held.is_empty() {
            return self.task.with_steps(plan, "free memory", &[]);
        }
        let bytes: u64 = held.iter().map(|of| of.bytes).sum();
        let rest = (REST_SHARE * self.seconds).clamp(REST[0], REST[1]).round();
        let role = SoakRole {
            rest_seconds: rest as u32,
            least_free: Bytes((self.left(bytes) / LEAST_FREE.0).max(LEAST_FREE.1)),
        };
        let setup = self.setup(&held, role);
        plan.rules.push(says::level(&self.level.to_string(), self.seconds, rest as u64));
        for (index, of) in held.iter().enumerate() {
            let own = setup.threads.iter().filter(|thread| thread.region == index).map(|thread| thread.cpu);
            plan.rules.push(says::memory_of_node(of.node, Bytes(of.bytes), &of.limit, &own.collect()));
        }
        let labels = Labels::new()
            .with_purpose(Purpose::Soak)
            .with_tier(Tier::Dram)
            .with_op("soak")
            .with_size(bytes)
            .with_page(self.task.page());
        let stop =
            StopRule { precision: 1.0, allocations: 1, min_visits: 1, max_visits: 1, shot_seconds: self.seconds };
        plan.steps.push(Step { id: "soak".to_owned(), labels, phase: 0, metric: Metric::Bandwidth, setup, stop });
        Ok(plan)
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let soaked = observations.iter().filter_map(|seen| Some((seen, seen.soak.as_deref()?)));
        soaked.flat_map(|(seen, soak)| findings(seen, soak)).collect()
    }
}

/// The interval of the median of a node's rates.
fn interval(soak: &Soak, node: usize, work: SoakWork) -> Option<Interval> {
    let rates: Vec<f64> = soak.rates(node, work).collect();
    let (low, high) = tiermark_stats::median_interval(&rates)?;
    Some(Interval { low, high, level: 0.95 })
}

/// What follows from a soak: errors first.
fn findings(seen: &Observation, soak: &Soak) -> Vec<Finding> {
    if soak.checked() == 0 {
        return Vec::new();
    }
    let labels = || Labels::new().with_purpose(Purpose::Soak).with_tier(Tier::Dram);
    let found = |quantity, labels, value: Option<f64>, unit| Finding {
        verdict: seen.verdict.clone(),
        evidence: vec![seen.step.clone()],
        ..Finding::new(quantity, labels, value, unit)
    };
    let mut all = vec![
        found(Quantity::SoakWrong, labels(), Some(soak.places() as f64), Unit::Count),
        found(Quantity::SoakLost, labels(), Some(soak.lost.len() as f64), Unit::Count),
    ];
    let first = soak.wrong.first().map(|word| (word.node, word.physical.unwrap_or(word.address)));
    let first = first.or_else(|| soak.lost.first().map(|page| (page.node, page.address)));
    all[0].notes.extend(first.map(|(node, address)| says::first_wrong(node, &address.to_string())));
    for (index, node) in soak.memory.iter().enumerate() {
        let of = || labels().with_node(node.node);
        all.push(found(Quantity::SoakCovered, of(), Some(node.covered.0 as f64), Unit::Bytes));
        if let Some(last) = all.last_mut().filter(|_| node.covered < node.planned) {
            last.notes.push(says::covered_in_part(node.covered, node.planned));
        }
        let rates =
            [(Quantity::SoakRead, node.read, SoakWork::Read), (Quantity::SoakWritten, node.written, SoakWork::Write)];
        for (quantity, rate, work) in rates.into_iter().filter(|(_, rate, _)| rate.is_some()) {
            let interval = interval(soak, index, work);
            all.push(Finding { interval, ..found(quantity, of(), rate, Unit::BytesPerSecond) });
        }
    }
    // Too short to tell is not "no slower".
    let slower = soak.slower().map(|share| Finding {
        verdict: Verdict::trusted(),
        ..found(Quantity::SoakSlower, labels(), Some(share), Unit::Ratio)
    });
    all.extend(slower);
    all
}
