//! `residency`: how long a shared cache keeps lines that were used once, and lines that were used again.

mod findings;
mod limits;
mod ranges;

use clap::Args;
use serde::{Deserialize, Serialize};
use tiermark_engine::{Lab, Probe, Study, Subject};
use tiermark_model::messages::plan as says;
use tiermark_model::messages::rules;
use tiermark_model::{
    Before, Bytes, Cache, ChainLayout, CpuId, Effort, Finding, Labels, Layout, Machine, Metric, Observation, Plan,
    Purpose, Refusal, Request, Role, Step, StopRule, parse_footprint,
};

use crate::memory_kinds::quiet_cpu;
use crate::steps::{check_size, scope_cpus, setup};
use crate::task::Task;

/// Ranges are these parts of the cache: a guest that shares it rarely holds more than half.
const PARTS: [u64; 3] = [8, 4, 2];
/// Ranges are larger than this many times what is held closer to the core: reading a range leaves its end there, and
/// accesses to that end say nothing of the shared cache.
pub(crate) const INNER: u64 = 2;
/// Times since touch, ns: from what a small request of a server takes to eight scheduler slices. Neighbours on a shared
/// Zen 4 guest evicted half within 2 to 3 ms. The shortest says what a hit takes and what is held at once.
const WAITS_NS: [u32; 8] = [50_000, 250_000, 500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000, 32_000_000];
/// Of these with few repetitions.
const QUICK_WAITS_NS: [u32; 6] = [50_000, 250_000, 1_000_000, 4_000_000, 8_000_000, 32_000_000];
/// Of these for a range that was used once, with few repetitions, since it is flushed first: what is held at once, and
/// whether that lasts.
const QUICK_ONCE_NS: [u32; 2] = [50_000, 4_000_000];
/// Time of the visits to one range with few repetitions, seconds.
const QUICK_SECONDS: f64 = 4.5;
/// Visits to each step before the other parts of a survey have theirs.
const FIRST_VISITS: u32 = 4;
/// Largest range there, where it is larger than closer caches: to flush 75 MiB of 300 takes 0.2 s a visit.
const BRIEF_RANGE: u64 = 16 << 20;
/// Most visits there. To flush 65 MiB takes 160 ms, and 40 visits took a sixth of a survey for one line of it.
const BRIEF_VISITS: u32 = 12;
/// Accesses of a chase: 60 µs of hits, half a millisecond of misses, so that the chase itself ages what it looks at by
/// little where that matters.
const ACCESSES: u64 = 4096;
/// At most one line in so many is looked at, so that a chase through a small range stays short against its wait.
const SAMPLED: u64 = 8;
/// Accesses of a chase at least: a twentieth of them is known within a fifth.
const FEWEST_ACCESSES: u64 = 512;
/// Passes over a range that is used again.
const AGAIN: f64 = 3.0;
/// Bytes a second at which a range is read, for the expected time of a visit: lines from memory by one core.
const TOUCH_RATE: f64 = 10e9;
/// The same of a range that is flushed, a line after the other.
const FLUSH_RATE: f64 = 2e9;
/// Time of a chase, seconds, for the same: half of it misses.
const CHASE_SECONDS: f64 = 4e-4;
/// Half-width of the interval from which the visits to a step do not describe one thing.
const PRECISION: f64 = 0.1;
/// In a survey a step has fewer visits than the others only where its median is known as well as this: what medians of
/// other moments differ by is then no more.
const BRIEF_PRECISION: f64 = 0.02;

/// Purpose of the visits to a range touched before, and of those to a flushed range, which give the time of a miss.
const TOUCHED: Purpose = Purpose::Residency;
const FLUSHED: Purpose = Purpose::Flushed;

/// Parameters of the residency probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, Args)]
#[serde(default, deny_unknown_fields)]
pub struct ResidencyParams {
    /// Ranges to touch, as in 4M,16M [default: parts of the last-level cache]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_footprint)]
    pub sizes: Vec<Bytes>,
    /// As few waits and visits as with `--quick`, whatever the effort.
    #[arg(skip)]
    pub brief: bool,
}

/// What is done with a range before the wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Again,
    Once,
}

impl Use {
    const ALL: [Self; 2] = [Self::Again, Self::Once];

    /// The word of its label.
    fn word(self) -> &'static str {
        match self {
            Self::Again => "again",
            Self::Once => "once",
        }
    }

    /// Times since touch at which it is looked at.
    fn waits(self, effort: Effort) -> &'static [u32] {
        match (self, effort) {
            (Self::Again, Effort::Quick) => &QUICK_WAITS_NS,
            (Self::Once, Effort::Quick) => &QUICK_ONCE_NS,
            _ => &WAITS_NS,
        }
    }
}

/// The probe of `tiermark residency`; `docs/methods/residency.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "residency",
    method: 4,
    subject: Subject::Memory,
    summary: "How long the shared cache keeps lines used once or again",
    page: include_str!("../../../../docs/methods/residency.md"),
    aids: &[],
    study: |request, lab| Ok(Box::new(ResidencyStudy::new(request, lab)?)),
};

impl Study for ResidencyStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        let ranges = self.ranges(&mut plan)?;
        for bytes in &ranges {
            for used in Use::ALL {
                let waits = used.waits(self.task.effort()).iter();
                plan.steps.extend(waits.map(|wait| self.step(*bytes, Some((used, *wait)))));
            }
            plan.steps.push(self.step(*bytes, None));
        }
        if self.params.brief {
            for step in &mut plan.steps {
                let StopRule { min_visits, max_visits, precision, .. } = &mut step.stop;
                let is_flushed_first = step.labels.used() == Some(Use::Once.word());
                let most = if is_flushed_first { FIRST_VISITS } else { BRIEF_VISITS };
                (*min_visits, *max_visits, *precision) = (FIRST_VISITS, most, BRIEF_PRECISION);
            }
        }
        self.task.limit(&mut plan, self.task.effort().choose([QUICK_SECONDS * ranges.len() as f64, 60.0, 220.0]));
        Ok(plan)
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        findings::derive(self.task.machine(), observations)
    }
}

/// The part of a survey: one range, and how long it lasts. `None` with few repetitions, or where no cache is shared.
pub(crate) fn of_a_survey(request: &Request, machine: &Machine) -> Option<serde_json::Value> {
    let cpus = scope_cpus(&request.scope, machine).ok()?;
    let cpu = quiet_cpu(machine, &cpus).filter(|_| request.effort != Effort::Quick)?;
    let bytes = shared_cache(machine, cpu)?.bytes?;
    let inner = INNER * inner_bytes(machine, cpu);
    let parts = PARTS[1..].iter().map(|part| bytes / part);
    let range = parts
        .map(|part| if BRIEF_RANGE > inner { part.min(BRIEF_RANGE) } else { part })
        .find(|range| *range > inner)?;
    serde_json::to_value(ResidencyParams { sizes: vec![Bytes(range)], brief: true }).ok()
}

/// The cache that others may use as well: the last level, where there is one behind the private ones. A guest of one
/// cpu sees it as its own.
pub(crate) fn shared_cache(machine: &Machine, cpu: CpuId) -> Option<&Cache> {
    let last = machine.data_caches().filter(|cache| cache.cpus.contains(cpu)).max_by_key(|cache| cache.level)?;
    (last.level > 2 || (last.level == 2 && last.cpus.len() > 1)).then_some(last)
}

/// Size of the caches closer to the core.
pub(crate) fn inner_bytes(machine: &Machine, cpu: CpuId) -> u64 {
    let level = shared_cache(machine, cpu).map_or(u8::MAX, |cache| cache.level);
    let inner = machine.data_caches().filter(|cache| cache.cpus.contains(cpu) && cache.level < level);
    inner.filter_map(|cache| cache.bytes).max().unwrap_or(0)
}

struct ResidencyStudy {
    task: Task,
    params: ResidencyParams,
    cpu: CpuId,
}

impl ResidencyStudy {
    fn new(request: &Request, lab: &Lab) -> Result<Self, Refusal> {
        let (mut task, params): (_, ResidencyParams) = Task::new(request, lab)?;
        if params.brief {
            task.request.effort = Effort::Quick;
        }
        Ok(Self { cpu: task.one_cpu()?, task, params })
    }

    /// The ranges to touch, rising; those that cannot say anything are refused in the plan.
    fn ranges(&self, plan: &mut Plan) -> Result<Vec<u64>, Refusal> {
        let inner = inner_bytes(self.task.machine(), self.cpu);
        let shared = shared_cache(self.task.machine(), self.cpu).and_then(|cache| Some((cache.level, cache.bytes?)));
        let mut wanted: Vec<u64> = self.params.sizes.iter().map(|size| size.0).collect();
        if wanted.is_empty() {
            let (level, bytes) = shared.ok_or_else(says::no_shared_cache)?;
            plan.rules.push(rules::parts_of_cache(level, Bytes(bytes)));
            wanted = PARTS.iter().map(|part| bytes / part).collect();
        }
        let mut refusals = Vec::new();
        for size in &wanted {
            check_size(Bytes(*size))?;
            if *size <= INNER * inner {
                refusals.push(says::range_within_inner_cache(Bytes(*size), INNER, Bytes(inner)));
            }
        }
        wanted.retain(|size| *size > INNER * inner);
        wanted.sort_unstable();
        match refusals.first() {
            Some(refusal) if wanted.is_empty() => Err(refusal.clone()),
            _ if self.params.sizes.is_empty() => Ok(wanted),
            _ => {
                plan.refused.extend(refusals);
                Ok(wanted)
            }
        }
    }

    /// The step that visits a range after a use and a wait. With `None`, the range is flushed first: the visits then
    /// measure the time of a miss.
    fn step(&self, bytes: u64, used: Option<(Use, u32)>) -> Step {
        let (cpu, page, node) = (self.cpu, self.task.page(), self.task.node());
        let accesses = (bytes / 64 / SAMPLED).clamp(FEWEST_ACCESSES, ACCESSES) as u32;
        let mut labels = Labels::new().with_purpose(if used.is_some() { TOUCHED } else { FLUSHED }).with_size(bytes);
        labels = labels.with_page(page).with_cpus(cpu);
        if let Some((used, wait)) = used {
            labels = labels.with_wait(u64::from(wait)).with_used(used.word());
        }
        labels = labels.with_node_if(node);
        let (read, flush) = (bytes as f64 / TOUCH_RATE, bytes as f64 / FLUSH_RATE);
        let wait_ns = used.map_or(WAITS_NS[0], |(_, wait)| wait);
        let (before, prepared, id) = match used {
            Some((Use::Again, wait)) => (Before::UsedAgain, AGAIN * read, wait.to_string()),
            Some((Use::Once, wait)) => (Before::UsedOnce, flush + read, format!("{wait}/once")),
            None => (Before::Flushed, flush, "flushed".to_owned()),
        };
        let role = Role::Revisit { wait_ns, accesses, before, since_last: false };
        let setup =
            setup(&[cpu], Bytes(bytes), node, page, Layout::Chain(ChainLayout::Random), &role, self.task.request.seed);
        let stop = self.stop(f64::from(wait_ns) / 1e9 + prepared + CHASE_SECONDS);
        Step { id: format!("residency/{bytes}/{id}"), labels, phase: 0, metric: Metric::Latency, setup, stop }
    }

    /// All steps get the same number of visits: medians are comparable only if the steps were visited at the same
    /// moments. A step that stopped once its own median was precise enough would cover fewer moments than the next.
    fn stop(&self, shot_seconds: f64) -> StopRule {
        let (allocations, visits) = self.task.effort().choose([(1, 40), (2, 100), (3, 400)]);
        let precision = self.task.precision(PRECISION);
        StopRule { precision, allocations, min_visits: visits, max_visits: visits, shot_seconds }
    }
}
