//! From the windows of a step to its value: the edge in the best state, what a program got meanwhile, and whether the
//! edge is sharp. Pure.

mod steady;
mod sustained;
mod threads;

use std::collections::BTreeMap;

use tiermark_model::{
    EdgeSeen, InState, Interval, Metric, Mode, Now, Passes, PerCycle, Reason, StateKind, StopRule, Unit, Visit, Visits,
    Window,
};
use tiermark_stats::{
    APART_SECONDS, NEAR, Pile, Side, VISITS, VisitWindows, bare_pile, bootstrap_median, group_limits, group_of, median,
    moderated_half_width, pile,
};

use crate::clock::Basis;
use crate::sharing::Sharing;
use crate::states::Conditions;
use threads::Found;

/// The column of a window's values that is the step's own value; parts and threads follow.
const VALUE: usize = 0;
/// Confidence level of every interval.
const LEVEL: f64 = 0.95;
/// Resamples of the bootstrap of a middle: the ends of a 95 % interval then move by under a tenth of its width (Davison
/// & Hinkley 1997, §2.5.2).
const RESAMPLES: usize = 200;
/// What is known of the scatter between allocations before any is made: its standard deviation as a share of the value
/// (0.1 to 0.4 % between three allocations in caches and memory of guests of Zen 3 to 5), and the degrees of freedom
/// that this counts for.
const PLACES: (f64, f64) = (0.002, 4.0);
/// Standard deviation of a number between runs of an unchanged machine, as a share of the number. One run cannot show
/// it, because each run has its own pages and its own hour. In 23 surveys of a Zen 5 guest it was 0.7 to 1 % for
/// memory, 1.6 % for L3, and 0.03 to 0.3 % (per cycle) for the core's own caches.
const BETWEEN_RUNS: Scatter = Scatter { shared_cache: 0.016, memory: 0.008 };
/// Scatter between runs by what is measured.
struct Scatter {
    shared_cache: f64,
    memory: f64,
}
/// Longest usual stay of virtual cpus in a state, seconds (0.2 to 5 on guests of Zen 4 and 5).
const LONGEST_STAY: f64 = 5.0;
/// Standard deviations in half of a 95 % interval of a normal value.
const IN_HALF: f64 = 1.96;
/// A middle whose interval reaches this share of it differs from visit to visit: its visits do not describe one thing.
const SCATTERED: f64 = 0.05;

/// The number of a step, from its windows.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Estimate {
    pub(crate) value: Option<f64>,
    pub(crate) interval: Option<Interval>,
    pub(crate) per_cycle: Option<PerCycle>,
    /// The power of the clock that rates follow; `None` if it is 0.
    pub(crate) clock_slope: Option<f64>,
    pub(crate) now: Option<Now>,
    pub(crate) edge: Option<EdgeSeen>,
    pub(crate) state: Option<StateKind>,
    pub(crate) in_states: Vec<InState>,
    pub(crate) modes: Vec<Mode>,
    /// The named parts, in the state of the value: medians over all clean windows, or, of an edge, over those at it.
    pub(crate) parts: Vec<Option<f64>>,
    /// Why it is a bound; empty where it is the hardware's.
    pub(crate) bound: Vec<Reason>,
}

/// How the windows of a step are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) metric: Metric,
    /// The tier that it is labelled with.
    pub(crate) tier: Option<&'a str>,
    /// Cores that its threads run on.
    pub(crate) cores: usize,
    /// Share of the shots that did not settle in the time allowed.
    pub(crate) unsettled: f64,
    /// Whether the value is their edge, or their middle.
    pub(crate) has_edge: bool,
    /// Caches and memory that its threads share.
    pub(crate) sharing: Sharing,
    pub(crate) groups: &'a Conditions,
    pub(crate) stop: &'a StopRule,
    pub(crate) seed: u64,
    /// Whole passes of streams over memory; `None` if none was made.
    pub(crate) passes: Option<Passes>,
    /// Whether intervals are wanted: they take most of the time.
    pub(crate) intervals: bool,
}

impl Reading<'_> {
    fn side(&self) -> Side {
        if self.metric == Metric::Latency { Side::Low } else { Side::High }
    }

    /// Whether one value is better than another.
    fn better(&self, a: f64, b: f64) -> bool {
        if self.metric == Metric::Latency { a < b } else { a > b }
    }

    /// Whether one state of the cpus may give a better value than another: streams on cpus that lie farther apart share
    /// less, and get at least as much.
    fn may_be_better(&self, one: StateKind, other: StateKind) -> bool {
        let apart = |state| match state {
            StateKind::OneCore => 0,
            StateKind::Apart { apart, .. } => 1 + apart,
            _ => 1,
        };
        self.metric == Metric::Latency || apart(one) > apart(other)
    }

    /// The state of a visit. To threads with private caches it only matters whether two of them share a core.
    pub(crate) fn state(&self, visit: &Visit, pairs: usize) -> Option<StateKind> {
        // Cpus that did not answer may be anywhere.
        if visit.before.len() != pairs {
            return None;
        }
        if self.sharing == Sharing::Nothing { self.groups.state_of_cores(visit) } else { self.groups.state(visit) }
    }

    /// The states that visits with so many pings should have met.
    fn common(&self, pairs: usize) -> &[StateKind] {
        if self.sharing == Sharing::Nothing { self.groups.common_of_cores(pairs) } else { self.groups.common(pairs) }
    }

    /// Estimates: of the visits as if the cores had run at the clock of the run all the time.
    pub(crate) fn estimate(&self, visits: &Visits) -> Estimate {
        let (at_clock, basis) = self.groups.at_clock(self.tier, self.metric, visits);
        let mut estimate = self.at_one_clock(&at_clock);
        estimate.now = self.now(visits);
        estimate.clock_slope = Some(basis.slope()).filter(|slope| *slope > 0.0);
        self.hold_against_passes(&mut estimate);
        self.hold_against_now(&mut estimate, visits);
        let hz = self.groups.clock_of(visits).filter(|_| basis == Basis::Cycles);
        estimate.per_cycle = estimate.value.zip(hz).map(|(value, hz)| match self.metric {
            Metric::Latency => PerCycle { value: value * hz / 1e9, unit: Unit::Cycles },
            Metric::Bandwidth => PerCycle { value: value / hz / self.cores.max(1) as f64, unit: Unit::BytesPerCycle },
        });
        estimate
    }

    fn at_one_clock(&self, visits: &Visits) -> Estimate {
        let pairs = visits.list.iter().map(|visit| visit.before.len()).max().unwrap_or_default();
        let mut by_state: BTreeMap<StateKind, Vec<&Visit>> = BTreeMap::new();
        for visit in &visits.list {
            if let Some(state) = self.state(visit, pairs) {
                by_state.entry(state).or_default().push(visit);
            }
        }
        let in_states: Vec<InState> =
            by_state.iter().filter_map(|(state, chosen)| self.in_state(*state, visits, chosen)).collect();
        let best = in_states.iter().reduce(|a, b| if self.better(b.value, a.value) { b } else { a });
        let state = best.map(|best| best.state);
        let chosen: Vec<&Visit> = match state {
            Some(state) => by_state.remove(&state).unwrap_or_default(),
            None => visits.list.iter().collect(),
        };
        let met = |state: &StateKind| in_states.iter().any(|seen| seen.state == *state);
        let may_be_better = |missed: &StateKind| state.is_none_or(|best| self.may_be_better(*missed, best));
        let missed = self.common(pairs).iter().find(|state| !met(state) && may_be_better(state)).copied();
        let found = if self.has_edge { self.found(visits, &chosen) } else { None };
        // Threads that do not compete for a cache get no more when they are farther apart.
        let is_enough = found.is_some_and(|found| found.is_independent)
            && self.sharing == Sharing::Cache
            && state != Some(StateKind::OneCore);
        let missed = missed.filter(|_| !is_enough);
        let mut estimate = match found {
            Some(found) => self.of_other_runs(of_edge(found)),
            None if self.has_edge => self.of_disturbed(&chosen),
            None => self.in_the_middle(&clean(&chosen, VALUE)),
        };
        estimate.bound.extend(missed.map(|state| Reason::StateMissed { state }));
        let are_several = in_states.len().max(self.common(pairs).len()) > 1;
        if let Some(edge) = estimate.value.filter(|_| self.has_edge && are_several && estimate.bound.is_empty()) {
            estimate.bound.extend(self.of_one_stay(&chosen, edge));
        }
        estimate.bound.extend(self.not_settled(&chosen));
        estimate.state = state;
        estimate.in_states = in_states;
        estimate.modes = modes(&clean(&chosen, VALUE));
        let edge = estimate.value.filter(|_| self.has_edge);
        let counts = |window: &Window| window.clean && edge.is_none_or(|edge| self.at_its_best(window, edge));
        estimate.parts = (0..usize::from(visits.parts)).map(|part| middle(&chosen, 1 + part, counts)).collect();
        estimate
    }

    /// The reason for a bound if all visits that reached the edge lie within [`LONGEST_STAY`]: cpus stay in a state,
    /// and neighbours do the same work, for 0.2 to 5 s. Two threads read memory at 82 GB/s for 3 s of a survey, at 50
    /// for the rest, and at 88 to 106 in other surveys (Zen 5 guest). `None` if the visits span more time.
    fn of_one_stay(&self, chosen: &[&Visit], edge: f64) -> Option<Reason> {
        let reaches =
            |visit: &&&Visit| visit.windows.iter().any(|window| window.clean && self.at_its_best(window, edge));
        let reached: Vec<f64> = chosen.iter().filter(reaches).map(|visit| visit.at).collect();
        let seconds = reached.last()? - reached.first()?;
        (seconds <= LONGEST_STAY).then_some(Reason::OneStay { seconds })
    }

    /// Whether a window lies at the edge: near it, or beyond. The parts of an edge are those of these windows, so that
    /// they add up to it.
    fn at_its_best(&self, window: &Window, edge: f64) -> bool {
        window.value().is_some_and(|value| match self.side() {
            Side::High => value >= edge * (1.0 - NEAR),
            Side::Low => value <= edge * (1.0 + NEAR),
        })
    }

    /// The number of the step in a state; `None` if it has too few visits there.
    fn in_state(&self, state: StateKind, visits: &Visits, chosen: &[&Visit]) -> Option<InState> {
        let bare = Reading { intervals: false, ..*self };
        let edge = bare.found(visits, chosen).map(|found| found.edge).filter(Pile::has_enough)?;
        let value = if self.has_edge { edge.value } else { median(&all(&clean(chosen, VALUE)))? };
        Some(InState { state, value, share: edge.share, windows: edge.windows as u64, visits: edge.visits as u64 })
    }

    /// The edge of a column of the windows.
    fn of_column(&self, column: usize, chosen: &[&Visit]) -> Option<Pile> {
        let windows = clean(chosen, column);
        if !self.intervals {
            return bare_pile(&windows, self.side());
        }
        Some(self.with_places(pile(&windows, self.side(), self.seed)?, column, chosen))
    }

    /// The best of windows that all have gaps: a gap takes away, so that the number is a bound all the same.
    fn of_disturbed(&self, chosen: &[&Visit]) -> Estimate {
        let all = chosen.iter().flat_map(|visit| &visit.windows).filter_map(Window::value);
        let value = all.reduce(|a, b| if self.better(b, a) { b } else { a });
        let visits = chosen.iter().filter(|visit| !visit.windows.is_empty()).count() as u64;
        let bound = value.map(|_| Reason::TooFew { windows: 0, visits }).into_iter().collect();
        Estimate { value, bound, ..Estimate::default() }
    }

    /// The level, with its interval widened for the uncertainty from few allocations: an interval over each
    /// allocation's median of the windows near the level. Resampling visits cannot show the effect of allocations that
    /// were not made (Kalibera & Jones 2013, §6).
    fn with_places(&self, edge: Pile, column: usize, chosen: &[&Visit]) -> Pile {
        let mut places: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for visit in chosen {
            let near = values(visit, column).filter(|value| (value / edge.value - 1.0).abs() <= NEAR);
            places.entry(visit.allocation).or_default().extend(near);
        }
        let middles: Vec<f64> = places.values().filter_map(|near| median(near)).collect();
        let Some(half) = moderated_half_width(&middles, PLACES.0 * edge.value, PLACES.1) else { return edge };
        Pile { low: edge.low.min(edge.value - half).max(0.0), high: edge.high.max(edge.value + half), ..edge }
    }

    /// Widens the interval of an edge to where the mean of many runs may lie.
    fn of_other_runs(&self, edge: Estimate) -> Estimate {
        let scatter = match self.tier {
            // Steps without a tier, as the points of curves, are compared with others of their run.
            None | Some("L1" | "L2") => return edge,
            Some(tier) if tier.starts_with('L') => BETWEEN_RUNS.shared_cache,
            Some(_) => BETWEEN_RUNS.memory,
        };
        let Some((value, within)) = edge.value.zip(edge.interval) else { return edge };
        let wide = |half: f64| half.hypot(IN_HALF * scatter * value);
        let (low, high) = (value - wide(value - within.low), value + wide(within.high - value));
        Estimate { interval: Some(Interval { low: low.max(0.0), high, ..within }), ..edge }
    }

    fn in_the_middle(&self, windows: &[VisitWindows]) -> Estimate {
        let groups: Vec<Vec<f64>> = windows.iter().map(|visit| visit.values.clone()).collect();
        let Some(value) = median(&all(windows)) else { return Estimate::default() };
        let interval = bootstrap_median(&groups, LEVEL, RESAMPLES, self.seed).map(|found| Interval {
            low: found.low,
            high: found.high,
            level: LEVEL,
        });
        let mut bound = Vec::new();
        let (first, last) = (windows.first().map_or(0.0, |v| v.at), windows.last().map_or(0.0, |v| v.at));
        if windows.len() < VISITS || last - first < (VISITS - 1) as f64 * APART_SECONDS {
            bound.push(Reason::NotReproduced { reached: windows.len().min(VISITS - 1) as u64 });
        }
        // A single visit has no interval, and was not reproduced.
        let half = interval.map(|i| (i.high - i.low) / 2.0 / value);
        if let Some(half_width) = half.filter(|half| *half > SCATTERED.max(self.stop.precision)) {
            bound.push(Reason::Scattered { half_width });
        }
        Estimate { value: Some(value), interval, bound, ..Estimate::default() }
    }

    /// The median visit, and the 10th and 90th percentile, by the time that each speaks for, of all windows: the
    /// disturbed ones are what a program got, too.
    fn now(&self, visits: &Visits) -> Option<Now> {
        let middle = |visit: &Visit| median(&visit.windows.iter().filter_map(|w| w.value()).collect::<Vec<f64>>());
        let mut seen: Vec<(f64, f64)> =
            visits.list.iter().filter_map(|visit| Some((visit.at, middle(visit)?))).collect();
        // A visit speaks for the time up to half way to its neighbours.
        let span = |at: usize| {
            let (before, after) = (at.saturating_sub(1), (at + 1).min(seen.len() - 1));
            (seen[after].0 - seen[before].0).max(f64::MIN_POSITIVE)
        };
        let spans: Vec<f64> = (0..seen.len()).map(span).collect();
        seen.iter_mut().zip(spans).for_each(|(seen, span)| seen.0 = span);
        seen.sort_unstable_by(|a, b| a.1.total_cmp(&b.1));
        let all: f64 = seen.iter().map(|(span, _)| span).sum();
        let at = |q: f64| {
            let mut passed = 0.0;
            let found = seen.iter().find(|(span, _)| {
                passed += span;
                passed >= q * all
            });
            found.or(seen.last()).map(|(_, value)| *value)
        };
        Some(Now { median: at(0.5)?, p10: at(0.1)?, p90: at(0.9)? })
    }
}

/// Converts an edge to an estimate, with the reasons why it is a bound.
fn of_edge(Found { edge: found, alone, .. }: Found) -> Estimate {
    let mut bound = Vec::new();
    if !found.has_enough() {
        bound.push(Reason::TooFew { windows: found.windows as u64, visits: found.visits as u64 });
    } else {
        if !found.piled {
            bound.push(Reason::NotSharp { share: found.share });
        }
        if !found.is_reproduced() {
            bound.push(Reason::NotReproduced { reached: found.reached as u64 });
        }
    }
    if bound.is_empty() {
        bound.extend(alone.map(|alone| Reason::NotTogether { alone }));
    }
    let interval = Interval { low: found.low, high: found.high, level: LEVEL };
    let seen = EdgeSeen {
        share: found.share,
        windows: found.windows as u64,
        visits: found.visits as u64,
        reached: found.reached as u64,
        within: Some(interval),
    };
    Estimate { value: Some(found.value), interval: Some(interval), edge: Some(seen), bound, ..Estimate::default() }
}

/// A column of the clean windows of a visit.
fn values(visit: &Visit, column: usize) -> impl Iterator<Item = f64> {
    let clean = visit.windows.iter().filter(|window| window.clean);
    clean.filter_map(move |window| window.values.get(column).copied().flatten())
}

/// A column of the clean windows of some visits.
fn clean(visits: &[&Visit], column: usize) -> Vec<VisitWindows> {
    let of = |visit: &&Visit| VisitWindows { at: visit.at, values: values(visit, column).collect() };
    visits.iter().map(of).filter(|visit| !visit.values.is_empty()).collect()
}

fn all(windows: &[VisitWindows]) -> Vec<f64> {
    windows.iter().flat_map(|visit| visit.values.iter().copied()).collect()
}

/// The middle of a column over those windows of some visits that count.
fn middle(visits: &[&Visit], column: usize, counts: impl Fn(&Window) -> bool) -> Option<f64> {
    let counting = visits.iter().flat_map(|visit| &visit.windows).filter(|window| counts(window));
    median(&counting.filter_map(|window| window.values.get(column).copied().flatten()).collect::<Vec<f64>>())
}

/// The values that windows pile up at, where they fall into groups.
fn modes(windows: &[VisitWindows]) -> Vec<Mode> {
    let values = all(windows);
    let limits = group_limits(&values);
    if limits.is_empty() {
        return Vec::new();
    }
    let mode = |group: usize| {
        let here: Vec<f64> = values.iter().copied().filter(|value| group_of(*value, &limits) == group).collect();
        Some(Mode { value: median(&here)?, share: here.len() as f64 / values.len() as f64 })
    };
    (0..=limits.len()).filter_map(mode).collect()
}

#[cfg(test)]
mod tests;
