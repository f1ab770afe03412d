//! The conditions under which a number was measured: two numbers are compared only if their conditions agree.

use tiermark_model::{Bytes, Observation, Obstacle, SeenState, StateKind};
use tiermark_stats::quantiles;

/// Footprints of memory that are compared: times and rates of memory change by about a percent over a quarter of an
/// octave. Those of caches must be the same, since a cache may be full within a percent; larger ones are memory where
/// no tier is named.
const MEMORY_BYTES: u64 = 32 << 20;
const QUARTER_OCTAVE: f64 = 1.19;
/// Round trips that differ by at least this factor show different states of the cpus, as within a run.
const OTHER_STATE: f64 = 1.6;

/// What decides whether two numbers of the same coordinates are comparable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Basis<'a> {
    /// Version of the probe's method.
    pub(crate) method: u32,
    /// Footprint of one thread.
    pub(crate) size: Option<Bytes>,
    /// The tier.
    pub(crate) tier: Option<&'a str>,
    /// Whether it is the middle of its windows; `None` where no step shows it.
    pub(crate) is_middle: Option<bool>,
    /// The state that it is of; `None` where the run saw one state only.
    pub(crate) state: Option<StateKind>,
    /// 10th and 90th percentile of the round trips between its cpus.
    pub(crate) pings: Option<[f64; 2]>,
}

impl Basis<'_> {
    /// Why two numbers do not describe one thing. Between machines footprints differ.
    pub(crate) fn obstacle(&self, other: &Self, by_role: bool) -> Option<Obstacle> {
        if self.method != other.method {
            return Some(Obstacle::Method { first: self.method, other: other.method });
        }
        if self.size != other.size && !by_role && !self.is_near(other) {
            return Some(Obstacle::WorkingSet { first: self.size, other: other.size });
        }
        if self.is_middle.zip(other.is_middle).is_some_and(|(a, b)| a != b) {
            return Some(Obstacle::Estimate);
        }
        (!self.is_in_state_of(other)).then(|| Obstacle::State { first: self.seen_state(), other: other.seen_state() })
    }

    fn seen_state(&self) -> SeenState {
        let middle = |[low, high]: [f64; 2]| (low * high).sqrt();
        SeenState { state: self.state, round_trip_ns: self.pings.map(middle) }
    }

    fn is_near(&self, other: &Self) -> bool {
        let (Some(a), Some(b)) = (self.size, other.size) else { return false };
        let (least, most) = (a.min(b).0, a.max(b).0);
        let is_cache = match self.tier {
            Some(tier) => tier.starts_with('L'),
            None => least <= MEMORY_BYTES,
        };
        !is_cache && most as f64 <= least as f64 * QUARTER_OCTAVE
    }

    /// Whether both numbers are of one state of the cpus. A run that saw one state only does not name it: there the
    /// round trips between the cpus tell.
    fn is_in_state_of(&self, other: &Self) -> bool {
        if self.state.is_some() || other.state.is_some() {
            return self.state == other.state;
        }
        let apart = |near: [f64; 2], far: [f64; 2]| far[0] >= OTHER_STATE * near[1];
        self.pings.zip(other.pings).is_none_or(|(a, b)| !apart(a, b) && !apart(b, a))
    }
}

/// The 10th and the 90th percentile of the round trips around the visits of a step: cpus that moved during a run have
/// round trips of both kinds.
pub(crate) fn pings(seen: &Observation) -> Option<[f64; 2]> {
    let all = seen.visits.list.iter().flat_map(|visit| visit.before.iter().chain(&visit.after)).copied();
    let found = quantiles(&mut all.collect::<Vec<f64>>(), &[0.1, 0.9])?;
    Some([found[0], found[1]])
}
