//! `os`: what the operating system adds: calls, processes, switches, channels, faults and mappings.

mod knee;
mod omitted;
mod pairs;
mod partners;
mod points;
mod quick;

use serde::{Deserialize, Serialize};
use tiermark_engine::{Lab, Probe, Study, Subject};
use tiermark_model::messages::memory;
use tiermark_model::messages::plan as says;
use tiermark_model::messages::rules;
use tiermark_model::messages::shapes;
use tiermark_model::{
    Bytes, Cure, Effort, Finding, Layout, MemPolicy, Metric, Note, Observation, OsGroup, PageKind, Plan, PrimitiveInfo,
    Purpose, Quantity, Refusal, RegionSetup, Request, Role, Setup, Step, StopRule, Sweep, ThreadSetup,
};

use crate::footprints::memory_cap;
use crate::ladder::{derived, measured};
use crate::steps::once;
use crate::task::Task;
use omitted::Omitted;
use points::{Ground, OsPoint};

/// A region for calls that need no memory: a page.
const NO_MEMORY: u64 = 4096;
/// Most memory that a step of page faults touches at a time (32 MiB of huge pages), and the pages of the process.
const FAULTS_MEMORY: u64 = 40 << 20;
/// Wanted half-width of the interval: the kernel's paths vary more than memory does.
const PRECISION: f64 = 0.03;
/// Processes and pipes are scheduled by chance: 5 % is the precision that seconds allow.
const COARSE: f64 = 0.05;

/// Seconds of a quick run at most.
const QUICK_S: f64 = 20.0;
/// Seconds of a usual run at most, where two cpus have that many points: a minute with all that belongs to it.
const STANDARD_S: f64 = 52.0;
/// Seconds of a full run at most, on such a machine.
const FULL_S: f64 = 300.0;
/// Machines with more places and nodes have more points: this many times what the fewest visits take.
const SLACK: f64 = 1.1;
/// How many times longer the shots of channels are.
const PHASES: f64 = 4.0;
/// A shot of sleeps: in five visits 1,200 of a millisecond. With little time a quarter of them.
const SLEEPING_S: f64 = 0.24;
const SLEEPING_QUICK_S: f64 = 0.06;

/// Parameters of the os probe.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OsParams {
    /// Groups (`syscalls`) and primitives (`getppid`); none means all.
    pub only: Vec<String>,
}

/// The probe of `tiermark os`; `docs/methods/os.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "os",
    method: 4,
    subject: Subject::System,
    summary: "System calls, processes, switches, pipes, page faults",
    page: include_str!("../../../../docs/methods/os.md"),
    aids: &[],
    study: |request, lab| Ok(Box::new(OsStudy::new(request, lab)?)),
};

impl Study for OsStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        let mut rows: Vec<Vec<Step>> = Vec::new();
        let mut omitted = Omitted::default();
        let chosen = self.chosen()?;
        for info in &chosen {
            match &info.refusal {
                // Several primitives may lack the same thing: each is refused under its own name.
                Some(refusal) => plan.refused.push(Refusal { what: info.id.0.clone(), ..refusal.clone() }),
                None => rows.push(self.steps(info, &mut plan, &mut omitted)),
            }
        }
        plan.rules = omitted.notes();
        if self.task.effort() == Effort::Quick {
            let seconds = self.task.request.scope.max_seconds.unwrap_or(QUICK_S);
            plan.rules.extend(quick::keep(&mut rows, seconds));
        }
        let by_page = |info: &&PrimitiveInfo| info.sweeps.iter().any(|sweep| matches!(sweep, Sweep::Pages(_)));
        if let Some(page) = self.task.request.scope.page.filter(|_| !chosen.iter().any(by_page)) {
            plan.rules.push(rules::pages_say_nothing(page));
        }
        plan.steps = rows.concat();
        once(&mut plan.steps);
        let expected: f64 = plan.steps.iter().map(Step::expected_seconds).sum();
        let most = self.task.effort().choose([QUICK_S, STANDARD_S.max(SLACK * expected), FULL_S.max(SLACK * expected)]);
        plan.max_seconds = self.task.request.scope.max_seconds.unwrap_or(most);
        if plan.steps.is_empty() {
            let none = || match (self.task.request.scope.page, plan.rules.first()) {
                (Some(page), Some(rule)) => says::page_size_unused(&page.to_string(), &rule.text),
                _ => says::nothing_to_measure("os", &Cure::new("select primitives with --only", &["--only"])),
            };
            return Err(alike(&plan.refused).unwrap_or_else(none));
        }
        Ok(plan)
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let numbers = observations.iter().map(|observation| {
            let metric = match observation.metric {
                Metric::Latency => Quantity::OsLatency,
                Metric::Bandwidth => Quantity::OsBandwidth,
            };
            measured(observation, metric).with_notes(cycles(observation))
        });
        numbers.chain(knee::knees(observations)).chain(tails(observations)).collect()
    }
}

/// An operation on registers in cycles, where the core's clock is known.
fn cycles(observation: &Observation) -> Option<Note> {
    let (hz, ns) = observation.core_hz.zip(observation.value)?;
    let counted = observation.labels.group() == Some(OsGroup::Arithmetic.name());
    counted.then(|| shapes::cycles_of_operation(ns * hz / 1e9, hz))
}

/// The first refusal, with all that are refused for the same reason.
fn alike(refused: &[Refusal]) -> Option<Refusal> {
    let first = refused.first()?;
    let like = refused.iter().filter(|other| (&other.why, &other.cure) == (&first.why, &first.cure));
    let what = like.map(|other| other.what.as_str()).collect::<Vec<_>>().join(", ");
    Some(Refusal { what, ..first.clone() })
}

/// How single operations are distributed, where a block is one of them: children and sleeps.
fn tails(observations: &[Observation]) -> Vec<Finding> {
    let single = |o: &&Observation| o.tail.as_ref().is_some_and(|tail| tail.block_accesses == 1);
    let groups = [OsGroup::Processes, OsGroup::Switches];
    let waits = |o: &&Observation| groups.iter().any(|group| o.labels.group() == Some(group.name()));
    let tail_findings = |observation: &Observation| {
        let tail = observation.tail.iter();
        let quantiles = tail.flat_map(|tail| tail.quantiles.iter().map(|(name, value)| (tail.blocks, name, *value)));
        let found = quantiles.map(|(blocks, name, value)| {
            let labels = observation.labels.clone().with_statistic(name);
            let mut found = derived(observation, Quantity::OsTail, labels, value, observation.unit);
            found.samples = blocks;
            found.with_notes([memory::tail_of_operations()])
        });
        found.collect::<Vec<_>>()
    };
    observations.iter().filter(waits).filter(single).flat_map(tail_findings).collect()
}

/// Makes the steps of a request.
struct OsStudy {
    task: Task,
    params: OsParams,
    cpu: u32,
}

impl OsStudy {
    fn new(request: &Request, lab: &Lab) -> Result<Self, Refusal> {
        let (task, params) = Task::new(request, lab)?;
        let cpu = task.one_cpu()?;
        Ok(Self { task, params, cpu })
    }

    /// The requested primitives.
    fn chosen(&self) -> Result<Vec<&PrimitiveInfo>, Refusal> {
        let known = &self.task.lab.bench.primitives;
        let is = |info: &PrimitiveInfo, name: &str| info.id.0 == name.trim() || info.group.name() == name.trim();
        if let Some(wrong) = self.params.only.iter().find(|name| !known.iter().any(|info| is(info, name))) {
            let groups: Vec<&str> = OsGroup::ALL.iter().map(|g| g.name()).collect();
            return Err(says::unknown_primitive(wrong, &groups));
        }
        let only = &self.params.only;
        let mut chosen: Vec<&PrimitiveInfo> =
            known.iter().filter(|info| only.is_empty() || only.iter().any(|name| is(info, name))).collect();
        chosen.sort_by_key(|info| info.group);
        Ok(chosen)
    }

    /// The steps of a primitive; the plan gets the reasons for those that are omitted.
    fn steps(&self, info: &PrimitiveInfo, plan: &mut Plan, omitted: &mut Omitted) -> Vec<Step> {
        let cap = memory_cap(self.task.machine(), &self.task.cpus, self.task.node(), &self.task.request.scope);
        let beside = if info.group == OsGroup::Faults { FAULTS_MEMORY } else { 0 };
        let (mut steps, mut left_out) = (Vec::new(), None);
        for point in points::of(info, self.ground()) {
            // A child that writes all its memory takes it twice.
            let needed = (2 * point.resident.unwrap_or(0).max(point.call.bytes.unwrap_or(0))).max(beside);
            if needed > cap.bytes {
                left_out = Some(left_out.map_or(needed, |least: u64| least.min(needed)));
                continue;
            }
            steps.push(self.step(info, point));
        }
        for why in self.not_asked(info) {
            omitted.add(&info.id, why);
        }
        let (room, why) = (Bytes(cap.bytes), &cap.why);
        match left_out {
            Some(least) if steps.is_empty() => {
                plan.refused.push(says::primitive_too_large(&info.id.0, room, why, &cap.cure(least)));
            }
            Some(_) => omitted
                .add(&info.id, format!("points that need twice their memory, above {room} ({why}), are left out")),
            None => {}
        }
        steps
    }

    fn ground(&self) -> Ground<'_> {
        let effort = self.task.effort();
        Ground {
            machine: self.task.machine(),
            cpus: &self.task.cpus,
            cpu: self.cpu,
            effort,
            page: self.task.request.scope.page,
        }
    }

    /// Parts of a primitive that the request excludes, in words.
    fn not_asked(&self, info: &PrimitiveInfo) -> Vec<String> {
        let mut rules = Vec::new();
        for sweep in &info.sweeps {
            let rule = match (sweep, self.task.request.scope.page) {
                (Sweep::NodePairs, _) if self.task.effort() != Effort::Full => {
                    pairs::left_out(self.task.machine(), self.cpu).map(|rule| rule.text)
                }
                (Sweep::Pages(all), Some(page)) if !all.contains(&page) => {
                    let all: Vec<String> = all.iter().map(ToString::to_string).collect();
                    Some(format!("left out with --pages {page}: measured on {}", all.join(", ")))
                }
                (Sweep::Pages(all), Some(page)) if all.len() > 1 => {
                    Some(format!("on {page} pages alone, with --pages"))
                }
                (Sweep::Partner, _) => {
                    omitted::places(&self.task.request.scope, self.task.machine(), &self.task.cpus, self.cpu)
                }
                _ => None,
            };
            rules.extend(rule);
        }
        rules
    }

    fn step(&self, info: &PrimitiveInfo, point: OsPoint) -> Step {
        let page = point.page.unwrap_or(PageKind::Base);
        let mut labels = point.labels(info);
        // One other thread takes part and is named by its place; of threads that only run beside, the label is their
        // number.
        if let [cpu] = point.call.others.as_slice() {
            labels = labels.with_to(cpu);
        }
        let purpose = if point.first { Purpose::Os } else { Purpose::OsPoint };
        labels = labels.with_purpose(purpose).with_cpus(self.cpu);
        let region = RegionSetup {
            bytes: Bytes(point.resident.unwrap_or(NO_MEMORY)),
            policy: MemPolicy::Bind,
            nodes: self.task.node().into_iter().collect(),
            page: if point.resident.is_some() { page } else { PageKind::Base },
            layout: Layout::Data,
        };
        let id = point.id(info);
        let thread = ThreadSetup::new(self.cpu, Role::Os(point.call), 0);
        let setup = Setup { regions: vec![region], threads: vec![thread], seed: self.task.request.seed };
        Step { id, labels, phase: 0, metric: info.metric, setup, stop: self.stop(info) }
    }

    fn stop(&self, info: &PrimitiveInfo) -> StopRule {
        let (min_visits, max_visits, shot_seconds) =
            self.task.effort().choose([(5, 6, 0.006), (5, 12, 0.012), (8, 24, 0.030)]);
        let usual = if matches!(info.group, OsGroup::Syscalls | OsGroup::Libc | OsGroup::Arithmetic) {
            PRECISION
        } else {
            COARSE
        };
        let precision = self.task.request.precision.unwrap_or(usual);
        // The memory of a process is part of the cost of its calls: every visit has fresh memory.
        let rule = StopRule { precision, allocations: max_visits, min_visits, max_visits, shot_seconds };
        // A channel has fast and slow phases, as its sides find each other awake or not: a shot has several of both.
        let phases = info.group == OsGroup::Channels && info.metric == Metric::Bandwidth;
        let rule = if phases { StopRule { shot_seconds: PHASES * shot_seconds, ..rule } } else { rule };
        // Sleeps are measured for their distribution: as many as a 99th percentile takes, whatever the median's
        // interval.
        let sleeps = info.group == OsGroup::Switches && info.sweeps.is_empty();
        let sleeping = if self.task.effort() == Effort::Quick { SLEEPING_QUICK_S } else { SLEEPING_S };
        if sleeps { StopRule { max_visits: rule.min_visits, shot_seconds: sleeping, ..rule } } else { rule }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::knee::tests::seen;
    use tiermark_model::Labels;
    use tiermark_model::Tail;

    #[test]
    fn who_is_refused_alike_is_named_together() {
        let refused = ["move_pages", "mbind"].map(|what| Refusal::new(what, "one node", "another machine"));
        let other = Refusal::new("swap-in", "no swap", "swapon");
        let all = [refused[0].clone(), other, refused[1].clone()];
        assert_eq!(alike(&all).map(|refusal| refusal.what), Some("move_pages, mbind".to_owned()));
        assert_eq!(alike(&[]), None);
    }

    #[test]
    fn operations_on_registers_are_counted_in_cycles_where_the_clock_is_known() {
        let of = |group: OsGroup, core_hz| {
            let labels = Labels::new().with_op("int64 mul").with_group(group);
            cycles(&Observation { labels, value: Some(0.75), core_hz, ..seen() })
        };
        let counted = of(OsGroup::Arithmetic, Some(4e9)).unwrap();
        assert_eq!(counted.data["cycles"], 3.0);
        assert!(of(OsGroup::Arithmetic, None).is_none() && of(OsGroup::Syscalls, Some(4e9)).is_none());
    }

    #[test]
    fn only_single_operations_have_a_distribution() {
        let sleep = |block_accesses| {
            let labels = Labels::new().with_op("sleep 1ms").with_group(OsGroup::Switches);
            let quantiles = [("p50".to_owned(), 70e3), ("max".to_owned(), 5e6)].into();
            Observation { labels, tail: Some(Tail { block_accesses, blocks: 40, quantiles }), ..seen() }
        };
        let found = tails(&[sleep(1), sleep(2), Observation { tail: None, ..sleep(1) }]);
        let told: Vec<_> = found.iter().map(|f| (f.labels.statistic().unwrap(), f.value.unwrap(), f.samples)).collect();
        assert_eq!(told, [("max", 5e6, 40), ("p50", 70e3, 40)]);
        // Blocks of calls are means.
        let call = Observation { labels: Labels::new().with_group(OsGroup::Syscalls), ..sleep(1) };
        assert!(tails(&[call]).is_empty());
    }
}
