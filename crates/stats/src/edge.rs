//! The edge of a distribution that disturbance can only push one way.

use crate::moments::{APART_SECONDS, moments};
use crate::usable;

/// The edge is this quantile of a state's windows, counted from the side that disturbance cannot reach. Of the
/// quantiles tried on recorded runs of a shared guest, the median window moved by 2.6 % between
/// runs in the middle cell, the 98th percentile by 1.6 %; the best single window grows with the number of tries.
pub const EDGE_QUANTILE: f64 = 0.98;
/// Windows within this share of the edge are near it.
pub const NEAR: f64 = 0.02;
/// Share of windows near the edge from which the edge is sharp: of 102 cells of six recorded runs, none of the 57
/// accepted at 6 % was off by more than 3 %; of the 65 accepted at 4 %, five were.
pub const SHARP: f64 = 0.06;
/// Moments with visits that reach the edge, at least.
pub const VISITS: usize = 3;
/// Windows and visits below which a state has no edge of its own.
pub const FEWEST_WINDOWS: usize = 60;
/// See [`FEWEST_WINDOWS`].
pub const FEWEST_VISITS: usize = 5;

/// Which end of the distribution disturbance cannot reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Rates: disturbance lowers them.
    High,
    /// Times: disturbance raises them.
    Low,
}

/// The windows of one visit.
#[derive(Debug, Clone, PartialEq)]
pub struct VisitWindows {
    /// When the visit was, in seconds.
    pub at: f64,
    /// Its clean windows' values, positive.
    pub values: Vec<f64>,
}

/// Where the edge lies and how sharp it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// The edge: [`EDGE_QUANTILE`] of the windows, from the side that disturbance cannot reach.
    pub value: f64,
    /// Share of the windows within [`NEAR`] of the edge.
    pub share: f64,
    /// Windows looked at.
    pub windows: usize,
    /// Visits looked at.
    pub visits: usize,
    /// Visits with a window near the edge, each at least [`APART_SECONDS`] after the one before it.
    pub reached: usize,
}

impl Edge {
    /// Whether the windows pile up at the edge: then it is the hardware's, and not the end of a tail.
    #[must_use]
    pub fn is_sharp(&self) -> bool {
        self.share >= SHARP
    }

    /// Whether it was reached in enough visits that lie apart.
    #[must_use]
    pub fn is_reproduced(&self) -> bool {
        self.reached >= VISITS
    }

    /// Whether there are windows and visits enough to speak of an edge.
    #[must_use]
    pub fn has_enough(&self) -> bool {
        self.windows >= FEWEST_WINDOWS && self.visits >= FEWEST_VISITS
    }
}

/// Windows as rates, the fastest first, each with the index of its visit.
struct Ranked {
    rates: Vec<(f64, usize)>,
    side: Side,
}

impl Ranked {
    fn new(visits: &[VisitWindows], side: Side) -> Option<Self> {
        let all = || visits.iter().enumerate().flat_map(|(visit, v)| v.values.iter().map(move |value| (*value, visit)));
        if !usable(&all().map(|(value, _)| value).collect::<Vec<_>>()) || all().any(|(value, _)| value <= 0.0) {
            return None;
        }
        let mut rates: Vec<(f64, usize)> =
            all().map(|(value, visit)| (if side == Side::High { value } else { 1.0 / value }, visit)).collect();
        rates.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        Some(Self { rates, side })
    }

    /// The windows within [`NEAR`] of a rate.
    fn near(&self, edge: f64) -> &[(f64, usize)] {
        let from = self.rates.partition_point(|(rate, _)| *rate > edge * (1.0 + NEAR));
        let to = self.rates.partition_point(|(rate, _)| *rate >= edge * (1.0 - NEAR));
        &self.rates[from..to]
    }
}

/// The edge of the windows of some visits. As cheap as a sort.
///
/// Delays only add, so the fast end of short windows is the machine's and the rest depends on the hour (Chen & Revels,
/// "Robust benchmarking in noisy environments", arXiv 1608.04295, 2016, take the minimum; a minimum grows with the
/// number of tries and cannot separate a tail from an edge, so this is a quantile with a test of how many windows pile
/// up at it).
///
/// `None` without a window, or where a value is not finite and positive.
#[must_use]
pub fn edge(visits: &[VisitWindows], side: Side) -> Option<Edge> {
    let ranked = Ranked::new(visits, side)?;
    let (rate, _) = *ranked.rates.get(((1.0 - EDGE_QUANTILE) * ranked.rates.len() as f64) as usize)?;
    Some(ranked.describe(rate, visits))
}

impl Ranked {
    fn describe(&self, rate: f64, visits: &[VisitWindows]) -> Edge {
        let near = self.near(rate);
        let mut times: Vec<f64> = near.iter().map(|(_, visit)| visits[*visit].at).collect();
        times.sort_unstable_by(f64::total_cmp);
        Edge {
            value: if self.side == Side::High { rate } else { 1.0 / rate },
            share: near.len() as f64 / self.rates.len() as f64,
            windows: self.rates.len(),
            visits: visits.iter().filter(|visit| !visit.values.is_empty()).count(),
            reached: moments(times, APART_SECONDS).len(),
        }
    }
}
