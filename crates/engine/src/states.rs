//! The states of the machine: what pings between the threads' cpus and steps that are revisited all the time say of it. Pure.

use std::collections::BTreeMap;

use tiermark_model::{IdSet, Labels, Machine, Metric, Observation, Role, State, StateKind, Step, Visit, Visits};
use tiermark_stats::{FEWEST_VISITS, group_limits, group_of, median};

/// Visits that could have seen a state, at least, for its share to be told.
const FEWEST: usize = 20;
/// A state with a smaller share of the visits is left out of the report, and a step need not have met it: a few visits may be chance.
const LEAST_SHARE: f64 = 0.02;
/// Visits of all threads in the first level below this share of its edge: on one core both threads get about half (0.55 was seen), and
/// with each a neighbour of its own 0.75 and more.
const ONE_CORE: f64 = 0.65;
/// Threads whose rate is lost, at least, while two of them share a core: each of the two gets about half, 0.55 was seen.
const LOST_ON_ONE_CORE: f64 = 0.4;
/// Visits of one thread in the first level below this share of its edge had company on the core: a clock moves by less.
const SIBLING: f64 = 0.95;
/// Visits of one thread to a shared cache or memory below this share of its edge shared it with others.
const SHARED: f64 = 0.9;

/// Groups of round trips over all visits of all steps: the states that can be told apart, and those that a step should have met.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PingGroups {
    limits: Vec<f64>,
    /// Whether the fastest group is of cpus on one core.
    one_core: bool,
    /// By the number of pairs that were asked: the states that enough of such visits saw.
    common: BTreeMap<usize, Vec<StateKind>>,
}

impl PingGroups {
    /// Finds the groups.
    pub fn of<'a>(steps: impl Iterator<Item = (&'a Step, &'a Visits)> + Clone) -> Self {
        let visits = steps.clone().flat_map(|(_, visits)| &visits.list);
        let pings: Vec<f64> =
            visits.clone().flat_map(|visit| visit.before.iter().chain(&visit.after)).copied().collect();
        let mut groups = Self { limits: group_limits(&pings), ..Self::default() };
        if groups.limits.is_empty() {
            return groups;
        }
        groups.one_core = groups.halves(steps);
        let mut counts: BTreeMap<usize, BTreeMap<StateKind, usize>> = BTreeMap::new();
        for visit in visits {
            if let Some(state) = groups.state(visit) {
                *counts.entry(visit.before.len()).or_default().entry(state).or_default() += 1;
            }
        }
        for (pairs, states) in counts {
            let all: usize = states.values().sum();
            let common = |count: usize| count >= FEWEST_VISITS && count as f64 >= LEAST_SHARE * all as f64;
            groups
                .common
                .insert(pairs, states.into_iter().filter(|(_, n)| common(*n)).map(|(state, _)| state).collect());
        }
        groups
    }

    /// The states that a step with so many pairs should have met.
    pub(crate) fn common(&self, pairs: usize) -> &[StateKind] {
        self.common.get(&pairs).map_or(&[], Vec::as_slice)
    }

    /// The state of a visit; `None` where there is only one state, or it changed meanwhile, or the cpus did not answer.
    pub fn state(&self, visit: &Visit) -> Option<StateKind> {
        if self.limits.is_empty() || visit.before.is_empty() || visit.before.len() != visit.after.len() {
            return None;
        }
        let group = |ping: &f64| group_of(*ping, &self.limits);
        let pairs = visit.before.iter().zip(&visit.after);
        let same = pairs.clone().all(|(before, after)| group(before) == group(after));
        let on_one_core = self.one_core && visit.before.iter().any(|ping| group(ping) == 0);
        let apart = pairs.filter(|(before, _)| group(before) > usize::from(self.one_core)).count() as u32;
        same.then_some(match apart {
            _ if on_one_core => StateKind::OneCore,
            0 => StateKind::Near,
            apart => StateKind::Apart { apart, of: visit.before.len() as u32 },
        })
    }

    /// The state of a visit, as far as it matters to threads with caches of their own: only whether two of them were on one core.
    pub(crate) fn state_of_cores(&self, visit: &Visit) -> Option<StateKind> {
        if !self.one_core || visit.before.is_empty() || visit.before.len() != visit.after.len() {
            return None;
        }
        let shared = |pings: &[f64]| pings.iter().any(|ping| group_of(*ping, &self.limits) == 0);
        match (shared(&visit.before), shared(&visit.after)) {
            (false, false) => Some(StateKind::OwnCores),
            (true, true) => Some(StateKind::OneCore),
            _ => None,
        }
    }

    /// Whether pings tell cpus on one core from others.
    pub(crate) fn tells_cores(&self) -> bool {
        self.one_core
    }

    /// Whether a visit was in a state of the cpus.
    pub(crate) fn is_in(&self, visit: &Visit, state: StateKind) -> bool {
        let seen = if state == StateKind::OwnCores { self.state_of_cores(visit) } else { self.state(visit) };
        seen == Some(state)
    }

    /// Whether what all threads do in the first level gets slower while a pair of cpus answers fastest: then the pair shares a core, and no
    /// two cpus with one last-level cache do. Declared hardware threads of one core are always one.
    fn halves<'a>(&self, steps: impl Iterator<Item = (&'a Step, &'a Visits)>) -> bool {
        let (mut fastest, mut others) = (Vec::new(), Vec::new());
        let streams = |step: &Step| step.metric == Metric::Bandwidth && !loads(step) && threads(step) > 1;
        for (step, visits) in steps.filter(|(step, _)| first_level(step) && streams(step)) {
            let middles: Vec<(&Visit, f64)> =
                visits.list.iter().filter_map(|visit| Some((visit, middle_of(visit)?))).collect();
            let most = middles.iter().map(|(_, middle)| *middle).fold(0.0, f64::max);
            for (visit, middle) in middles {
                let near = visit.before.iter().any(|ping| group_of(*ping, &self.limits) == 0);
                let lost = (1.0 - middle / most) * threads(step) as f64;
                if near { &mut fastest } else { &mut others }.push(lost);
            }
        }
        let enough = fastest.len().min(others.len()) >= FEWEST_VISITS;
        let lost = median(&fastest).zip(median(&others)).map(|(fastest, others)| fastest - others);
        enough && lost.is_some_and(|lost| lost > LOST_ON_ONE_CORE)
    }

    /// Whether there is more than one.
    pub fn any(&self) -> bool {
        !self.limits.is_empty()
    }
}

/// The states of a run, from all steps with their observations: those of cpus first.
pub(crate) fn states(steps: &[(&Step, &Observation)], groups: &PingGroups) -> Vec<State> {
    let mut found = of_pings(steps, groups);
    // Where pings do not tell one core from another, the first level does.
    if !groups.one_core {
        found.extend(of_level(steps, StateKind::OneCore, ONE_CORE, |step| first_level(step) && threads(step) > 1));
    }
    found.extend(of_level(steps, StateKind::Sibling, SIBLING, |step| first_level(step) && threads(step) == 1));
    found.extend(of_level(steps, StateKind::Shared, SHARED, |step| {
        step.labels.get(Labels::TIER).is_some() && !is_of_core(step) && threads(step) == 1
    }));
    found
}

fn threads(step: &Step) -> usize {
    step.setup.threads.len()
}

fn first_level(step: &Step) -> bool {
    step.labels.is(Labels::TIER, "L1")
}

/// Whether a step walks a cache that each core usually has for itself.
fn is_of_core(step: &Step) -> bool {
    step.labels.get(Labels::TIER).is_some_and(|tier| matches!(tier, "L1" | "L2"))
}

/// What the threads of a step share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Each walks a cache that no other of them uses, as declared.
    Nothing,
    /// A cache, or caches of which nothing is declared.
    Cache,
    /// Memory, or what is not known.
    Memory,
}

impl Sharing {
    pub(crate) fn of(step: &Step, machine: &Machine) -> Self {
        let level = step.labels.get(Labels::TIER).and_then(|tier| tier.strip_prefix('L')?.parse::<u8>().ok());
        let Some(level) = level else { return Self::Memory };
        let cpus: IdSet = step.setup.threads.iter().map(|thread| thread.cpu).collect();
        let own = |cpu: u32| {
            let mut caches = machine.data_caches().filter(|cache| cache.level == level && cache.cpus.contains(cpu));
            caches.next().is_some_and(|cache| cache.cpus.intersection(&cpus).len() == 1)
        };
        let apart = cpus.len() == step.setup.threads.len() && cpus.iter().all(own);
        if apart { Self::Nothing } else { Self::Cache }
    }
}

fn of_pings(steps: &[(&Step, &Observation)], groups: &PingGroups) -> Vec<State> {
    let mut seen: Vec<(f64, Option<StateKind>, f64)> = steps
        .iter()
        .flat_map(|(_, seen)| &seen.visits.list)
        .filter(|visit| !visit.before.is_empty())
        .map(|visit| (visit.at, groups.state(visit), median(&visit.before).unwrap_or_default()))
        .collect();
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut kinds: Vec<StateKind> = seen.iter().filter_map(|(_, kind, _)| *kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let series: Vec<(f64, Option<StateKind>)> = seen.iter().map(|(at, kind, _)| (*at, *kind)).collect();
    let state = |kind: StateKind| {
        let pings: Vec<f64> = seen.iter().filter(|(_, k, _)| *k == Some(kind)).map(|(.., ping)| *ping).collect();
        Some(State { ping_ns: median(&pings), ..told(kind, &series)? })
    };
    kinds.into_iter().filter_map(state).collect()
}

/// A state that shows where the visits of a step stay below a share of its edge: of the step whose edge is sharpest, since series of several
/// would mix what each of them suffers from.
fn of_level(
    steps: &[(&Step, &Observation)],
    kind: StateKind,
    below: f64,
    shows: impl Fn(&Step) -> bool,
) -> Option<State> {
    let shown = steps.iter().filter(|(step, seen)| shows(step) && !loads(step) && seen.value.is_some());
    let sharp = |seen: &Observation| seen.edge.map_or(0.0, |edge| edge.share);
    let (step, seen) = shown.max_by(|a, b| sharp(a.1).total_cmp(&sharp(b.1)))?;
    let edge = seen.value?;
    let of = |visit: &Visit| {
        let middle = middle_of(visit)?;
        let share = if step.metric == Metric::Latency { edge / middle } else { middle / edge };
        Some((visit.at, (share < below).then_some(kind)))
    };
    let mut series: Vec<(f64, Option<StateKind>)> = seen.visits.list.iter().filter_map(of).collect();
    series.sort_by(|a, b| a.0.total_cmp(&b.0));
    told(kind, &series)
}

/// The middle of a visit's clean windows.
fn middle_of(visit: &Visit) -> Option<f64> {
    median(&visit.windows.iter().filter(|w| w.clean).filter_map(|w| w.value()).collect::<Vec<f64>>())
}

fn loads(step: &Step) -> bool {
    step.setup
        .threads
        .iter()
        .any(|thread| matches!(thread.role, Role::Load { .. } | Role::Revisit { .. } | Role::Os(_)))
}

/// Share and duration of a state in a series in time order; `None` where too little of it was seen.
fn told(kind: StateKind, series: &[(f64, Option<StateKind>)]) -> Option<State> {
    let here = series.iter().filter(|(_, k)| *k == Some(kind)).count();
    let share = here as f64 / series.len() as f64;
    (series.len() >= FEWEST && share >= LEAST_SHARE).then(|| State {
        state: kind,
        share,
        visits: series.len() as u64,
        lasts: lasts(kind, series),
        ping_ns: None,
    })
}

/// How long a state lasts: the 10th and the 90th percentile of its stretches, without the one that the run began or ended in.
fn lasts(kind: StateKind, series: &[(f64, Option<StateKind>)]) -> Option<[f64; 2]> {
    const STRETCHES: usize = 3;
    let mut stretches: Vec<f64> = Vec::new();
    let mut since: Option<f64> = None;
    for pair in series.windows(2) {
        let ((_, before), (at, now)) = (pair[0], pair[1]);
        match (before == Some(kind), now == Some(kind)) {
            (false, true) => since = Some(at),
            (true, false) => stretches.extend(since.take().map(|since| at - since)),
            _ => {}
        }
    }
    stretches.sort_unstable_by(f64::total_cmp);
    let at = |q: f64| tiermark_stats::quantile(&stretches, q);
    if stretches.len() < STRETCHES { None } else { Some([at(0.1)?, at(0.9)?]) }
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Setup, StopRule, ThreadSetup, Window};

    use super::*;

    fn visits(ping: f64, value: f64) -> Vec<Visit> {
        let windows = vec![Window { clean: true, values: vec![Some(value)] }];
        vec![Visit { before: vec![ping], after: vec![ping], windows, ..Visit::default() }; 20]
    }

    /// The states that pings tell where a step of two threads in the first level came to these values.
    fn told(values: [f64; 3]) -> [Option<StateKind>; 3] {
        let role = Role::Stream { kernel: "read/plain".into(), rivals: Vec::new() };
        let threads = (0..2).map(|i| ThreadSetup::new(i, role.clone(), i as usize)).collect();
        let stop = StopRule { precision: 0.05, allocations: 1, min_visits: 2, max_visits: 40, shot_seconds: 0.002 };
        let step = Step {
            id: "a".into(),
            labels: Labels::new().text(Labels::TIER, "L1"),
            phase: 0,
            metric: Metric::Bandwidth,
            setup: Setup { regions: Vec::new(), threads, seed: 1 },
            stop,
        };
        let pings = [31.0, 57.0, 300.0];
        let list: Vec<Visit> = pings.iter().zip(values).flat_map(|(ping, value)| visits(*ping, value)).collect();
        let groups = PingGroups::of(std::iter::once((&step, &Visits { list, ..Visits::default() })));
        pings.map(|ping| groups.state(&visits(ping, 1.0)[0]))
    }

    #[test]
    fn the_fastest_answers_are_of_one_core_where_the_first_level_gets_slower() {
        let apart = Some(StateKind::Apart { apart: 1, of: 1 });
        assert_eq!(told([240.0, 470.0, 465.0]), [Some(StateKind::OneCore), Some(StateKind::Near), apart]);
        assert_eq!(told([470.0, 470.0, 465.0]), [Some(StateKind::Near), apart, apart]);
    }
}
