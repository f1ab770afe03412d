//! From the visits of a step to its number: the level that undisturbed visits reach, or what a program typically got,
//! and how far it can be trusted. Pure.

mod between_runs;
mod places;
mod steady;
mod typical;

use std::collections::BTreeMap;

use tiermark_model::{
    EdgeSeen, Grade, InState, Interval, Metric, Mode, Passes, PerCycle, Reason, SlowPlaces, StateKind, StopRule,
    Typical, Unit, ValueKind, Visit, Visits, Window,
};
use tiermark_stats::{
    APART_SECONDS, FEWEST_VISITS, PILE_NEAR, PILE_NEAR_OF_CORE, Pile, Side, VISITS, VisitValue, median, moments, pile,
};

use crate::clock::{Basis, mean_clock};
use crate::states::Conditions;

pub(crate) use between_runs::between_runs;
pub use between_runs::random_latency_between_runs;
use typical::Middle;

/// The column of a window's values that is the step's own value; parts and threads follow.
const VALUE: usize = 0;
/// Confidence level of every interval.
const LEVEL: f64 = 0.95;
/// Standard deviations in half of a 95 % interval of a normal value.
const IN_HALF: f64 = 1.96;
/// A typical value is the hardware's own, and not only what others left of it, if it is within this share of the level
/// that visits pile up at.
const AT_LEVEL: f64 = 0.02;
/// Visits of which this share lies within [`AT_LEVEL`] of the middle are the hardware's own too, if few of them cannot
/// prove a level: others that use the same cache or memory scatter them.
const NARROW: f64 = 0.9;
/// Share of the visits that need a clock for a number of a core's own caches: a busy other hardware thread takes the
/// clock from the others.
const WITH_CLOCK: f64 = 1.0 / 3.0;

/// The number of a step, from its visits.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Estimate {
    pub(crate) value: Option<f64>,
    pub(crate) kind: ValueKind,
    pub(crate) interval: Option<Interval>,
    pub(crate) per_cycle: Option<PerCycle>,
    /// The power of the clock that rates follow; `None` if it is 0.
    pub(crate) clock_slope: Option<f64>,
    pub(crate) typical: Option<Typical>,
    /// The best that was sustained: by a tenth of the visits, or over whole passes.
    pub(crate) best: Option<f64>,
    pub(crate) edge: Option<EdgeSeen>,
    pub(crate) state: Option<StateKind>,
    pub(crate) in_states: Vec<InState>,
    pub(crate) modes: Vec<Mode>,
    /// Places at which a core's own caches are slower for good.
    pub(crate) slow_places: Option<SlowPlaces>,
    /// The named parts, over the visits that the value is of.
    pub(crate) parts: Vec<Option<f64>>,
    /// Why it is not trusted, and the grade that it has instead; empty where nothing speaks against it.
    pub(crate) doubts: Vec<(Grade, Reason)>,
}

impl Estimate {
    /// Whether other moments could make a number of it that it is not, or show the level of a core's own caches, which
    /// a busy hardware thread hides most of the time.
    pub(crate) fn is_open(&self) -> bool {
        let hides_level = self.kind == ValueKind::Capability && !self.doubts.is_empty();
        hides_level || self.doubts.iter().any(|(grade, _)| *grade > Grade::Shared)
    }
}

impl Estimate {
    /// The same with the number of threads that have nothing in common: the sum of theirs.
    fn with_sum_of(self, threads: &[Estimate], cores: usize) -> Self {
        let sum = |field: &dyn Fn(&Estimate) -> Option<f64>| threads.iter().map(field).sum::<Option<f64>>();
        let interval = |field: &dyn Fn(&Estimate) -> Option<Interval>| {
            let [low, high] = [|i: Interval| i.low, |i: Interval| i.high].map(|end| sum(&|one| field(one).map(end)));
            Some(Interval { low: low?, high: high?, level: LEVEL })
        };
        let edges = || threads.iter().filter_map(|one| one.edge);
        let edge = EdgeSeen {
            share: edges().map(|edge| edge.share).fold(1.0, f64::min),
            windows: edges().map(|edge| edge.windows).min().unwrap_or_default(),
            visits: edges().map(|edge| edge.visits).min().unwrap_or_default(),
            reached: edges().map(|edge| edge.reached).min().unwrap_or_default(),
            within: interval(&|one| one.edge?.within),
        };
        let per_cycle = sum(&|one| Some(one.per_cycle?.value));
        Self {
            value: sum(&|one| one.value),
            interval: interval(&|one| one.interval),
            per_cycle: per_cycle.map(|sum| PerCycle { value: sum / cores.max(1) as f64, unit: Unit::BytesPerCycle }),
            edge: Some(edge),
            best: None,
            doubts: Vec::new(),
            ..self
        }
    }
}

/// How the visits of a step are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) metric: Metric,
    /// Cores that its threads run on.
    pub(crate) cores: usize,
    /// Share of the shots that did not settle in the time allowed.
    pub(crate) unsettled: f64,
    /// Whether undisturbed visits have one value, or each has one of its own, as what describes a load.
    pub(crate) has_edge: bool,
    /// Whether a core's clock is that of the caches that it works in.
    pub(crate) is_clocked: bool,
    /// Whether its threads use caches of their own cores only.
    pub(crate) is_of_core: bool,
    pub(crate) groups: &'a Conditions,
    pub(crate) stop: &'a StopRule,
    pub(crate) seed: u64,
    /// Whole passes of streams over memory; `None` if none was made.
    pub(crate) passes: Option<Passes>,
    /// Standard deviation of the number between runs of an unchanged machine, as a share of it. One run cannot show it,
    /// because each run has its own pages and its own hour.
    pub(crate) between_runs: f64,
}

impl Reading<'_> {
    fn side(&self) -> Side {
        if self.metric == Metric::Latency { Side::Low } else { Side::High }
    }

    /// Whether one value is better than another.
    fn better(&self, a: f64, b: f64) -> bool {
        if self.metric == Metric::Latency { a < b } else { a > b }
    }

    /// The state of a visit. To threads with private caches it only matters whether two of them share a core.
    pub(crate) fn state(&self, visit: &Visit, pairs: usize) -> Option<StateKind> {
        // Cpus that did not answer may be anywhere.
        if visit.before.len() != pairs {
            return None;
        }
        if self.is_of_core { self.groups.state_of_cores(visit) } else { self.groups.state(visit) }
    }

    /// Estimates: of the visits as if the cores had run at the clock of the run all the time.
    ///
    /// Threads in caches of their own cores disturb each other in nothing. Where all of them together are hardly ever
    /// without other work beside them, each reaches its level at moments of its own, and the number is their sum.
    pub(crate) fn estimate(&self, visits: &Visits) -> Estimate {
        let whole = self.of_visits(visits);
        let is_settled = !whole.doubts.iter().any(|(_, reason)| matches!(reason, Reason::NotSettled { .. }));
        let has_level = whole.kind != ValueKind::Capability || whole.doubts.is_empty();
        if visits.threads < 2 || has_level || !is_settled {
            return whole;
        }
        let one = Reading { cores: 1, ..*self };
        let of_thread = |thread| {
            let estimate = one.of_visits(&visits_of(visits, thread));
            (estimate.value.is_some() && estimate.doubts.is_empty()).then_some(estimate)
        };
        let threads: Option<Vec<Estimate>> = (0..usize::from(visits.threads)).map(of_thread).collect();
        threads.map_or_else(|| whole.clone(), |threads| whole.clone().with_sum_of(&threads, self.cores))
    }

    fn of_visits(&self, visits: &Visits) -> Estimate {
        let (at_clock, basis) = self.groups.at_clock(self.is_clocked, self.metric, visits);
        // A hardware thread that is busy all the time leaves a run without a clock, and its visits alike.
        let lacks_clock =
            self.is_of_core && self.has_edge && visits.clocks > 0 && (basis == Basis::Time || !has_clock(visits));
        let (at_clock, basis) = if lacks_clock { (visits.clone(), Basis::Time) } else { (at_clock, basis) };
        let mut estimate = self.at_one_clock(&at_clock);
        if lacks_clock && estimate.value.is_some() {
            estimate.doubts.push((Grade::Shared, Reason::NoClock));
        }
        // Without a level there is nothing that a place could miss.
        estimate.slow_places = estimate.slow_places.filter(|_| estimate.doubts.is_empty());
        estimate.typical = typical::spread(&samples(visits.list.iter(), VALUE, true));
        estimate.clock_slope = Some(basis.slope()).filter(|slope| *slope > 0.0);
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
            by_state.iter().filter_map(|(state, chosen)| self.in_state(*state, chosen, visits.list.len())).collect();
        let best = in_states.iter().reduce(|a, b| if self.better(b.value, a.value) { b } else { a });
        let all: Vec<&Visit> = visits.list.iter().collect();
        // What cores have for themselves is given in their best state; what they share, over all of them.
        let state = best.map(|best| best.state).filter(|_| self.is_of_core);
        let chosen = state.and_then(|state| by_state.remove(&state)).unwrap_or_else(|| all.clone());
        let mut estimate = if self.is_of_core && self.has_edge { self.of_core(&chosen) } else { self.typical(&chosen) };
        estimate.doubts.extend(self.not_settled(&chosen).map(|reason| (Grade::Bound, reason)));
        estimate.state = state;
        estimate.in_states = in_states;
        estimate.modes = typical::levels(&samples(chosen.iter().copied(), VALUE, false));
        let part = |part: usize| typical::value(&samples(chosen.iter().copied(), 1 + part, false));
        estimate.parts = (0..usize::from(visits.parts)).map(part).collect();
        if estimate.value.is_none() {
            return self.of_disturbed(&all);
        }
        estimate
    }

    /// The number of the step in a state; `None` if it has too few visits there.
    fn in_state(&self, state: StateKind, chosen: &[&Visit], of: usize) -> Option<InState> {
        let seen = samples(chosen.iter().copied(), VALUE, false);
        let values: Vec<f64> = seen.iter().map(|sample| sample.value).collect();
        let share = seen.len() as f64 / of.max(1) as f64;
        let windows = chosen.iter().map(|visit| visit.windows.len() as u64).sum();
        let enough = seen.len() >= FEWEST_VISITS;
        enough.then(|| Some(InState { state, value: median(&values)?, share, windows, visits: seen.len() as u64 }))?
    }

    /// The level that visits to a core's own caches reach again and again; without one, the median visit.
    fn of_core(&self, chosen: &[&Visit]) -> Estimate {
        let Some(found) = self.level(chosen) else { return Estimate::default() };
        let mut doubts = Vec::new();
        let seen = seen(&found, chosen);
        let mut counting = samples(chosen.iter().copied(), VALUE, false);
        if !found.has_enough() {
            doubts.push((Grade::Bound, Reason::TooFew { windows: seen.windows, visits: seen.visits }));
        } else if moments_of(&counting) < VISITS || (found.piled && !found.is_reproduced()) {
            doubts.push((Grade::Bound, Reason::NotReproduced { reached: found.reached.min(VISITS - 1) as u64 }));
        } else if !found.piled {
            doubts.push((Grade::Shared, Reason::NotSharp { share: found.share }));
        }
        // A level is known from the visits that have it, disturbed ones say nothing of it.
        let is_at_level = |sample: &VisitValue| (sample.value / found.value - 1.0).abs() <= found.near;
        counting.retain(|sample| !found.piled || is_at_level(sample));
        let Some(middle) = Middle::of(&counting, self.seed) else { return Estimate::default() };
        let value = if found.piled { found.value } else { middle.value };
        let (interval, within) = match found.piled {
            true => self.intervals(value, middle.half / IN_HALF / middle.value),
            false => self.intervals_beside(&counting, middle),
        };
        let best = Some(found.sustained).filter(|best| !found.piled && self.better(*best, value));
        let edge = Some(EdgeSeen { within: Some(within), ..seen });
        let is_time = self.metric == Metric::Latency;
        let slow_places = places::slow(chosen, value, |value| if is_time { 1.0 / value } else { value });
        let (value, interval) = (Some(value), Some(interval));
        Estimate {
            value,
            kind: ValueKind::Capability,
            interval,
            best,
            edge,
            slow_places,
            doubts,
            ..Estimate::default()
        }
    }

    /// What a program typically got, where others use the same cache or memory, or of what describes a load.
    fn typical(&self, chosen: &[&Visit]) -> Estimate {
        let seen_visits = samples(chosen.iter().copied(), VALUE, false);
        let Some(middle) = Middle::of(&seen_visits, self.seed) else { return Estimate::default() };
        let found = if self.has_edge { self.level(chosen) } else { None };
        let mut doubts = Vec::new();
        let moments = moments_of(&seen_visits);
        if moments < VISITS {
            doubts.push((Grade::Bound, Reason::NotReproduced { reached: moments as u64 }));
        } else if let Some(found) = &found {
            let is_near = |value: f64| (value / middle.value - 1.0).abs() <= AT_LEVEL;
            let near = seen_visits.iter().filter(|sample| is_near(sample.value)).count();
            let is_level = found.piled && is_near(found.value);
            // A level that is better was shown to be possible.
            let is_narrow = near as f64 >= NARROW * seen_visits.len() as f64 && (is_level || !found.piled);
            // A median that is known worse may lie at the level by chance.
            let is_known = middle.half <= AT_LEVEL * middle.value;
            if !is_known {
                // The share near a level says nothing against it.
                doubts.push((Grade::Shared, Reason::Scattered { half_width: middle.half / middle.value }));
            } else if !(is_level || is_narrow) {
                doubts.push((Grade::Shared, Reason::NotSharp { share: found.share }));
            }
        } else if middle.half / middle.value > SCATTERED.max(self.stop.precision) {
            doubts.push((Grade::Shared, Reason::Scattered { half_width: middle.half / middle.value }));
        }
        let (interval, within) = self.intervals_beside(&seen_visits, middle);
        // The number is given at the clock of the run; passes are as they were.
        let passes = self.passes.map(|passes| passes.best);
        let reached = found.iter().flat_map(|found| [found.sustained, found.value]).chain(passes);
        let best = reached.filter(|best| self.better(*best, middle.value));
        let best = best.reduce(|a, b| if self.better(b, a) { b } else { a });
        let edge = found.as_ref().map(|found| EdgeSeen { within: Some(within), ..seen(found, chosen) });
        let kind = ValueKind::Typical;
        let (value, interval) = (Some(middle.value), Some(interval));
        Estimate { value, kind, interval, best, edge, doubts, ..Estimate::default() }
    }

    /// The 95 % interval of a value with this standard error, as a share of it: with the scatter between runs, and by
    /// this run alone.
    fn intervals(&self, value: f64, se: f64) -> (Interval, Interval) {
        let around = |half: f64| Interval { low: (value - half).max(0.0), high: value + half, level: LEVEL };
        let half = IN_HALF * value;
        (around(half * se.hypot(self.between_runs)), around(half * se))
    }

    /// The same of what was measured beside others, who come and go between runs as between the moments of one.
    fn intervals_beside(&self, visits: &[VisitValue], middle: Middle) -> (Interval, Interval) {
        // Points of curves are compared with others of their run.
        let moments = typical::between_moments(visits).filter(|_| self.between_runs > 0.0).unwrap_or_default();
        let one = Reading { between_runs: self.between_runs.max(moments), ..*self };
        one.intervals(middle.value, middle.half / IN_HALF / middle.value)
    }

    /// The level that the visits pile up at. In a core's own caches it may be one of few visits that agree closely.
    fn level(&self, chosen: &[&Visit]) -> Option<Pile> {
        let visits = samples(chosen.iter().copied(), VALUE, false);
        let found = pile(&visits, self.side(), PILE_NEAR)?;
        let closer = || pile(&visits, self.side(), PILE_NEAR_OF_CORE).filter(|closer| closer.piled);
        if found.piled || !self.is_of_core { Some(found) } else { Some(closer().unwrap_or(found)) }
    }

    /// The best of windows of which hardly a block counts: a gap takes away, so that the number is a bound all the same.
    fn of_disturbed(&self, chosen: &[&Visit]) -> Estimate {
        let all = chosen.iter().flat_map(|visit| &visit.windows).filter_map(Window::value);
        let value = all.reduce(|a, b| if self.better(b, a) { b } else { a });
        let visits = chosen.iter().filter(|visit| !visit.windows.is_empty()).count() as u64;
        let doubts = value.map(|_| (Grade::Bound, Reason::TooFew { windows: 0, visits })).into_iter().collect();
        let kind = if self.is_of_core && self.has_edge { ValueKind::Capability } else { ValueKind::Typical };
        Estimate { value, kind, doubts, ..Estimate::default() }
    }
}

/// A middle whose interval reaches this share of it differs from visit to visit: its visits do not describe one thing.
const SCATTERED: f64 = 0.05;

/// The evidence of a level in some visits.
fn seen(found: &Pile, chosen: &[&Visit]) -> EdgeSeen {
    EdgeSeen {
        share: found.share,
        windows: chosen.iter().map(|visit| values(visit, VALUE).count() as u64).sum(),
        visits: found.visits as u64,
        reached: found.reached as u64,
        within: None,
    }
}

/// What one of several threads did in the visits.
fn visits_of(visits: &Visits, thread: usize) -> Visits {
    let column = 1 + usize::from(visits.parts) + thread;
    let window = |window: &Window| Window {
        clean: window.clean,
        values: vec![window.values.get(column).copied().flatten()],
        clocks: window.clocks.get(thread).map(|clock| vec![*clock]).unwrap_or_default(),
    };
    let visit = |visit: &Visit| Visit { windows: visit.windows.iter().map(window).collect(), ..visit.clone() };
    let clocks = u8::from(thread < usize::from(visits.clocks));
    Visits { parts: 0, threads: 0, clocks, list: visits.list.iter().map(visit).collect() }
}

/// Whether enough visits have a clock.
fn has_clock(visits: &Visits) -> bool {
    let with_value = visits.list.iter().filter(|visit| value_of(visit, VALUE, false).is_some());
    let clocked = |visit: &&Visit| visit.windows.iter().any(|window| mean_clock(window).is_some());
    with_value.clone().filter(clocked).count() as f64 >= WITH_CLOCK * with_value.count() as f64
}

/// The value of a visit: the mean over its windows, since each window is as long as the others; with the disturbed ones
/// or without.
pub(crate) fn value_of(visit: &Visit, column: usize, with_disturbed: bool) -> Option<f64> {
    let counting = visit.windows.iter().filter(|window| window.clean || with_disturbed);
    let values: Vec<f64> = counting.filter_map(|window| window.values.get(column).copied().flatten()).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The visits that have a value, each with its time.
fn samples<'a>(visits: impl Iterator<Item = &'a Visit>, column: usize, disturbed: bool) -> Vec<VisitValue> {
    let sample = |visit: &Visit| Some(VisitValue { at: visit.at, value: value_of(visit, column, disturbed)? });
    visits.filter_map(sample).collect()
}

/// How many moments visits see.
fn moments_of(visits: &[VisitValue]) -> usize {
    moments(visits.iter().map(|visit| visit.at), APART_SECONDS).len()
}

/// A column of the clean windows of a visit.
fn values(visit: &Visit, column: usize) -> impl Iterator<Item = f64> {
    let clean = visit.windows.iter().filter(|window| window.clean);
    clean.filter_map(move |window| window.values.get(column).copied().flatten())
}

#[cfg(test)]
mod tests;
