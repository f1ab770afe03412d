//! The states of the machine: what pings between the threads' cpus and steps that are revisited all the time say of it.
//! Pure.

use tiermark_model::{Metric, Observation, Role, State, StateKind, Step, Tier, Visit, Visits};
use tiermark_stats::{FEWEST_VISITS, group_limits, group_of, median};

use crate::clock::{Basis, RunClock};

/// Least visits that could have seen a state, for its share to be reported.
const FEWEST: usize = 20;
/// A state with a smaller share of the visits is not reported, and a step need not have met it: a few visits may be
/// chance.
const LEAST_SHARE: f64 = 0.02;
/// Visits of all threads in the first level below this share of its edge: on one core both threads get about half (0.55
/// was seen), and with each a neighbour of its own 0.75 and more.
const ONE_CORE: f64 = 0.65;
/// Threads whose rate is lost, at least, while two of them share a core: each of the two gets about half, 0.55 was
/// seen. Two threads that each have a neighbour of its own lose up to 0.5 together.
const LOST_ON_ONE_CORE: f64 = 0.7;
/// Threads whose rate is lost beyond what all visits lose, at least: on cores of their own, too, they may have
/// neighbours.
const LOST_MORE: f64 = 0.4;
/// Visits of one thread in the first level below this share of its edge had company on the core: a clock moves by less.
const SIBLING: f64 = 0.95;
/// Visits of one thread to a shared cache or memory below this share of its edge shared it with others.
const SHARED: f64 = 0.9;

/// The conditions of a run, over all visits of all steps: groups of round trips, which are the states that can be
/// separated, and the clock of the cores.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Conditions {
    /// The clock of the cores; `None` if it is not known.
    pub clock: Option<RunClock>,
    limits: Vec<f64>,
    /// The group of cpus that share a last-level cache; a faster one is of cpus on one core, or too few steps saw it to
    /// know.
    near: usize,
    /// Whether the fastest group is known to be of cpus on one core.
    one_core: bool,
}

impl Conditions {
    /// Finds the clock and the groups.
    pub fn of<'a>(steps: impl Iterator<Item = (&'a Step, &'a Visits)> + Clone) -> Self {
        let clock = RunClock::of(steps.clone().map(|(_, visits)| visits));
        Self::at(clock, steps)
    }

    /// Finds the groups of a run whose clock is known.
    pub(crate) fn at<'a>(clock: Option<RunClock>, steps: impl Iterator<Item = (&'a Step, &'a Visits)> + Clone) -> Self {
        let visits = steps.clone().flat_map(|(_, visits)| &visits.list);
        let pings: Vec<f64> =
            visits.clone().flat_map(|visit| visit.before.iter().chain(&visit.after)).copied().collect();
        let mut groups = Self { limits: group_limits(&pings), clock, ..Self::default() };
        if groups.limits.is_empty() {
            return groups;
        }
        let halves = groups.halves(steps);
        groups.one_core = halves == Some(true);
        // Where nothing shows what the fastest group is, one of three is of cpus on one core, and one that hardly
        // occurs is not the usual.
        let fastest = pings.iter().filter(|ping| group_of(**ping, &groups.limits) == 0).count();
        let is_rare = (fastest as f64) < LEAST_SHARE * pings.len() as f64;
        groups.near = usize::from(halves.unwrap_or(groups.limits.len() > 1 || is_rare));
        groups
    }

    /// The visits to a step as if the cores had run at the clock of the run all the time, and how their values depend
    /// on it.
    pub(crate) fn at_clock(&self, is_of_core: bool, metric: Metric, visits: &Visits) -> (Visits, Basis) {
        match self.clock_of(visits) {
            Some(hz) => {
                let basis = Basis::of(is_of_core, metric, visits);
                (basis.at_clock(metric, visits, hz), basis)
            }
            None => (visits.clone(), Basis::Time),
        }
    }

    /// The clock that the number of these visits is given at: that of the run, or their own if they never ran as fast,
    /// as all cores together do where one alone is clocked higher.
    pub(crate) fn clock_of(&self, visits: &Visits) -> Option<f64> {
        /// A clock that is lower by more than this is no noise of a few visits.
        const LOWER: f64 = 0.95;
        let run = self.clock?.p90;
        let own = RunClock::of(std::iter::once(visits)).map_or(run, |own| own.p90);
        Some(if own < LOWER * run { own } else { run })
    }

    /// The state of a visit; `None` where there is only one state, or it changed meanwhile, or the cpus did not answer.
    pub fn state(&self, visit: &Visit) -> Option<StateKind> {
        if self.limits.is_empty() || visit.before.is_empty() || visit.before.len() != visit.after.len() {
            return None;
        }
        let group = |ping: &f64| group_of(*ping, &self.limits);
        let pairs = visit.before.iter().zip(&visit.after);
        let same = pairs.clone().all(|(before, after)| group(before) == group(after));
        let is_faster = visit.before.iter().any(|ping| group(ping) < self.near);
        let apart = pairs.filter(|(before, _)| group(before) > self.near).count() as u32;
        match apart {
            _ if !same => None,
            _ if is_faster => self.one_core.then_some(StateKind::OneCore),
            0 => Some(StateKind::Near),
            apart => Some(StateKind::Apart { apart, of: visit.before.len() as u32 }),
        }
    }

    /// The state of a visit for threads with private caches: only whether two of them shared a core.
    pub(crate) fn state_of_cores(&self, visit: &Visit) -> Option<StateKind> {
        if self.near == 0 || visit.before.is_empty() || visit.before.len() != visit.after.len() {
            return None;
        }
        let is_faster = |pings: &[f64]| pings.iter().any(|ping| group_of(*ping, &self.limits) < self.near);
        match (is_faster(&visit.before), is_faster(&visit.after)) {
            (false, false) => Some(StateKind::OwnCores),
            (true, true) => self.one_core.then_some(StateKind::OneCore),
            _ => None,
        }
    }

    /// Whether a visit was in a state of the cpus.
    pub(crate) fn is_in(&self, visit: &Visit, state: StateKind) -> bool {
        let seen = if state == StateKind::OwnCores { self.state_of_cores(visit) } else { self.state(visit) };
        seen == Some(state)
    }

    /// Whether the work of all threads in the first level gets slower while a pair of cpus answers fastest: then the
    /// pair shares a core, and no two cpus are fastest only because they share a last-level cache. `None` if too few
    /// visits decide it. Declared hardware threads of one core are always one.
    fn halves<'a>(&self, steps: impl Iterator<Item = (&'a Step, &'a Visits)>) -> Option<bool> {
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
        let (fastest, others) = median(&fastest).zip(median(&others)).filter(|_| enough)?;
        Some(fastest > LOST_ON_ONE_CORE && fastest - others > LOST_MORE)
    }
}

/// The states of a run, from all steps with their observations: those of cpus first.
pub(crate) fn states(steps: &[(&Step, &Observation)], groups: &Conditions) -> Vec<State> {
    let mut found = of_pings(steps, groups);
    // Where pings cannot separate one core from another, the first level does.
    if !groups.one_core {
        found.extend(of_level(steps, groups, StateKind::OneCore, ONE_CORE, |step| {
            first_level(step) && threads(step) > 1
        }));
    }
    found.extend(of_level(steps, groups, StateKind::Sibling, SIBLING, |step| first_level(step) && threads(step) == 1));
    found.extend(of_level(steps, groups, StateKind::Shared, SHARED, |step| {
        step.labels.tier_name().is_some() && !step.labels.is_of_core() && threads(step) == 1
    }));
    found
}

fn threads(step: &Step) -> usize {
    step.setup.threads.len()
}

fn first_level(step: &Step) -> bool {
    step.labels.tier() == Some(Tier::Cache(1))
}

fn of_pings(steps: &[(&Step, &Observation)], groups: &Conditions) -> Vec<State> {
    let only = groups.limits.is_empty().then_some(StateKind::Unmoved);
    let mut seen: Vec<(f64, Option<StateKind>, f64)> = steps
        .iter()
        .flat_map(|(_, seen)| &seen.visits.list)
        .filter(|visit| !visit.before.is_empty())
        .map(|visit| (visit.at, groups.state(visit).or(only), median(&visit.before).unwrap_or_default()))
        .collect();
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut kinds: Vec<StateKind> = seen.iter().filter_map(|(_, kind, _)| *kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    // A visit in which the state changed says nothing: its time is that of the visits around it.
    let series: Vec<(f64, Option<StateKind>)> =
        seen.iter().filter(|(_, kind, _)| kind.is_some()).map(|(at, kind, _)| (*at, *kind)).collect();
    let state = |kind: StateKind| {
        let pings: Vec<f64> = seen.iter().filter(|(_, k, _)| *k == Some(kind)).map(|(.., ping)| *ping).collect();
        Some(State { ping_ns: median(&pings), ..summarised(kind, &series)? })
    };
    kinds.into_iter().filter_map(state).collect()
}

/// A state that shows where the visits of a step stay below a share of its edge: of the step whose edge is sharpest,
/// since series of several would mix what each of them suffers from.
fn of_level(
    steps: &[(&Step, &Observation)],
    groups: &Conditions,
    kind: StateKind,
    below: f64,
    shows: impl Fn(&Step) -> bool,
) -> Option<State> {
    let shown = steps.iter().filter(|(step, seen)| shows(step) && !loads(step) && seen.value.is_some());
    let sharp = |seen: &Observation| seen.edge.map_or(0.0, |edge| edge.share);
    let (step, seen) = shown.max_by(|a, b| sharp(a.1).total_cmp(&sharp(b.1)))?;
    let edge = seen.value?;
    let state_at = |(visit, measured): (&Visit, &Visit)| {
        // Beside a busy hardware thread a visit has no clock.
        let middle = middle_of(visit).or_else(|| middle_of(measured))?;
        let share = if step.metric == Metric::Latency { edge / middle } else { middle / edge };
        Some((visit.at, (share < below).then_some(kind)))
    };
    let (visits, _) = groups.at_clock(step.labels.is_of_core(), step.metric, &seen.visits);
    let mut series: Vec<(f64, Option<StateKind>)> =
        visits.list.iter().zip(&seen.visits.list).filter_map(state_at).collect();
    series.sort_by(|a, b| a.0.total_cmp(&b.0));
    summarised(kind, &series)
}

/// The middle of a visit's clean windows.
fn middle_of(visit: &Visit) -> Option<f64> {
    median(&visit.windows.iter().filter(|w| w.clean).filter_map(|w| w.value()).collect::<Vec<f64>>())
}

fn loads(step: &Step) -> bool {
    let threads = &step.setup.threads;
    threads.iter().any(|thread| {
        // Its visits begin slow by design.
        thread.reads_first.is_some() || matches!(thread.role, Role::Load { .. } | Role::Revisit { .. } | Role::Os(_))
    })
}

/// Share of the time and duration of a state in a series in time order; `None` where too little of it was seen.
fn summarised(kind: StateKind, series: &[(f64, Option<StateKind>)]) -> Option<State> {
    // Visits are not evenly spread over the run: each speaks for the time half way to those before and after it.
    let span = |at: usize| series[(at + 1).min(series.len() - 1)].0 - series[at.saturating_sub(1)].0;
    let seconds = |here: &dyn Fn(usize) -> bool| (0..series.len()).filter(|at| here(*at)).map(span).sum::<f64>();
    let share = seconds(&|at| series[at].1 == Some(kind)) / seconds(&|_| true).max(f64::MIN_POSITIVE);
    (series.len() >= FEWEST && share >= LEAST_SHARE).then(|| State {
        state: kind,
        share,
        visits: series.len() as u64,
        lasts: lasts(kind, series),
        ping_ns: None,
    })
}

/// How long a state lasts: the 10th and the 90th percentile of its stretches, without the one that the run began or
/// ended in.
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
    use tiermark_model::{Setup, ThreadSetup, Tier, Window, testing};

    use super::*;
    use tiermark_model::Labels;

    /// Streams of two threads in the first level.
    fn streams() -> Step {
        let role = Role::Stream { kernel: "read/plain".into(), rivals: Vec::new() };
        let threads = (0..2).map(|i| ThreadSetup::new(i, role.clone(), 0)).collect();
        let setup = Setup { regions: Vec::new(), threads, seed: 1 };
        let labels = Labels::new().with_tier(Tier::Cache(1));
        Step { labels, setup, ..testing::step("a", Metric::Bandwidth) }
    }

    fn visits(ping: f64, value: f64) -> Vec<Visit> {
        let windows = vec![Window { clean: true, values: vec![Some(value)], ..Window::default() }];
        vec![Visit { before: vec![ping], after: vec![ping], windows, ..Visit::default() }; 20]
    }

    /// The states by pings where a step of two threads in the first level has these values.
    fn kinds_of(values: [f64; 3]) -> [Option<StateKind>; 3] {
        let step = streams();
        let pings = [31.0, 57.0, 300.0];
        let list: Vec<Visit> = pings.iter().zip(values).flat_map(|(ping, value)| visits(*ping, value)).collect();
        let groups = Conditions::of(std::iter::once((&step, &Visits { list, ..Visits::default() })));
        pings.map(|ping| groups.state(&visits(ping, 1.0)[0]))
    }

    #[test]
    fn what_matters_to_threads_with_caches_of_their_own_is_whether_two_are_on_one_core() {
        let pings = [31.0, 57.0, 300.0];
        let groups = |values: [f64; 3], counts: [usize; 3]| {
            let of = |((ping, value), count): ((f64, f64), usize)| {
                visits(ping, value).into_iter().take(count).collect::<Vec<_>>()
            };
            let list: Vec<Visit> = pings.into_iter().zip(values).zip(counts).flat_map(of).collect();
            Conditions::of(std::iter::once((&streams(), &Visits { list, ..Visits::default() })))
        };
        let between = |before: f64, after: f64| Visit { after: vec![after], ..visits(before, 1.0).remove(0) };
        let told = groups([240.0, 470.0, 465.0], [20; 3]);
        let cores = |groups: &Conditions, a, b| groups.state_of_cores(&between(a, b));
        assert_eq!(cores(&told, 57.0, 300.0), Some(StateKind::OwnCores));
        assert_eq!(cores(&told, 31.0, 31.0), Some(StateKind::OneCore));
        assert_eq!(cores(&told, 31.0, 57.0), None);
        assert!(
            told.is_in(&between(57.0, 300.0), StateKind::OwnCores)
                && told.is_in(&between(31.0, 31.0), StateKind::OneCore)
        );
        // Too few visits of the fastest group to name it.
        let few = groups([240.0, 470.0, 465.0], [3, 20, 20]);
        assert_eq!(
            pings.map(|ping| few.state(&between(ping, ping))),
            [None, Some(StateKind::Near), Some(StateKind::Apart { apart: 1, of: 1 })]
        );
        assert_eq!([cores(&few, 31.0, 31.0), cores(&few, 300.0, 300.0)], [None, Some(StateKind::OwnCores)]);
        // They were never on one core.
        let never = groups([470.0, 470.0, 465.0], [20; 3]);
        assert_eq!([31.0, 300.0].map(|ping| cores(&never, ping, ping)), [None, None]);
    }

    #[test]
    fn the_fastest_answers_are_of_one_core_where_the_first_level_gets_slower() {
        let apart = Some(StateKind::Apart { apart: 1, of: 1 });
        assert_eq!(kinds_of([240.0, 470.0, 465.0]), [Some(StateKind::OneCore), Some(StateKind::Near), apart]);
        assert_eq!(kinds_of([470.0, 470.0, 465.0]), [Some(StateKind::Near), apart, apart]);
        // A neighbour beside each thread takes a quarter; it may be there just while the cpus are close.
        assert_eq!(kinds_of([357.0, 470.0, 465.0]), [Some(StateKind::Near), apart, apart]);
    }
}
