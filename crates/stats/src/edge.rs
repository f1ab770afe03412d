//! The edge of a distribution that disturbance can only push one way.

use crate::{Rng, usable};

/// The edge is this quantile of a state's windows, counted from the side that disturbance cannot reach. Of the
/// quantiles tried on recorded runs of a shared guest (`examples/windows.rs`), the median window moved by 2.6 % between
/// runs in the middle cell, the 98th percentile by 1.6 %; the best single window grows with the number of tries.
pub const EDGE_QUANTILE: f64 = 0.98;
/// Windows within this share of the edge are near it.
pub const NEAR: f64 = 0.02;
/// Share of windows near the edge from which the edge is sharp: of 102 cells of six recorded runs, none of the 57
/// accepted at 6 % was off by more than 3 %; of the 65 accepted at 4 %, five were.
pub const SHARP: f64 = 0.06;
/// Visits that must reach the edge, and how far apart they must lie in seconds: visits in a row see the same moment.
pub const VISITS: usize = 3;
/// See [`VISITS`].
pub const APART_SECONDS: f64 = 1.0;
/// Windows and visits below which a state has no edge of its own.
pub const FEWEST_WINDOWS: usize = 60;
/// See [`FEWEST_WINDOWS`].
pub const FEWEST_VISITS: usize = 5;

/// Bootstrap resamples: the ends of a 95 % interval then move by less than a tenth of its width (Davison & Hinkley
/// 1997, §2.5.2).
const RESAMPLES: usize = 200;

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
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
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

    /// The edge where each visit counts this often: the rate, and the middle of the windows near it; `None` where no
    /// visit counts.
    fn edge(&self, counts: &[u32]) -> Option<(f64, f64)> {
        let count = |(_, visit): &(f64, usize)| f64::from(counts[*visit]);
        let total: f64 = self.rates.iter().map(count).sum();
        let edge = self.at(&self.rates, counts, (1.0 - EDGE_QUANTILE) * total)?;
        let near = self.near(edge);
        let within: f64 = near.iter().map(count).sum();
        Some((edge, self.at(near, counts, within / 2.0)?))
    }

    /// The rate that has this much weight above it.
    fn at(&self, rates: &[(f64, usize)], counts: &[u32], above: f64) -> Option<f64> {
        let mut seen = 0.0;
        let found = rates.iter().find(|(_, visit)| {
            seen += f64::from(counts[*visit]);
            seen > above
        });
        found.map(|(rate, _)| *rate)
    }

    /// The windows within [`NEAR`] of a rate.
    fn near(&self, edge: f64) -> &[(f64, usize)] {
        let from = self.rates.partition_point(|(rate, _)| *rate > edge * (1.0 + NEAR));
        let to = self.rates.partition_point(|(rate, _)| *rate >= edge * (1.0 - NEAR));
        &self.rates[from..to]
    }

    fn value(&self, rate: f64) -> f64 {
        if self.side == Side::High { rate } else { 1.0 / rate }
    }
}

/// The edge of the windows of some visits, without its interval: `low` and `high` are `value`. As cheap as a sort.
///
/// `None` without a window, or where a value is not finite and positive.
#[must_use]
pub fn bare_edge(visits: &[VisitWindows], side: Side) -> Option<Edge> {
    let ranked = Ranked::new(visits, side)?;
    let (rate, _) = ranked.edge(&vec![1; visits.len()])?;
    Some(ranked.describe(rate, visits))
}

/// The edge of the windows of some visits, with its interval.
///
/// Delays only add, so the fast end of short windows is the machine's and the rest depends on the hour (Chen & Revels,
/// "Robust benchmarking in noisy environments", arXiv 1608.04295, 2016, take the minimum; a minimum grows with the
/// number of tries and cannot separate a tail from an edge, so this is a quantile with a test of how many windows pile
/// up at it). The interval comes from resampling whole visits (a cluster bootstrap; Davison & Hinkley 1997, §3.8),
/// since windows of one visit see one moment. It reaches from the middle of the pile to the quantile: noise of the
/// windows themselves puts the quantile above the pile's middle.
///
/// `None` without a window, or where a value is not finite and positive.
#[must_use]
pub fn edge(visits: &[VisitWindows], side: Side, seed: u64) -> Option<Edge> {
    let ranked = Ranked::new(visits, side)?;
    let (rate, middle) = ranked.edge(&vec![1; visits.len()])?;
    let mut rng = Rng::new(seed);
    let (mut tops, mut middles) = (vec![rate], vec![middle]);
    let mut counts = vec![0; visits.len()];
    for _ in 0..RESAMPLES {
        counts.fill(0);
        (0..visits.len()).for_each(|_| counts[rng.below(visits.len())] += 1);
        if let Some((top, middle)) = ranked.edge(&counts) {
            tops.push(top);
            middles.push(middle);
        }
    }
    tops.sort_unstable_by(f64::total_cmp);
    middles.sort_unstable_by(f64::total_cmp);
    let quantile = crate::order::quantile_sorted;
    let (slow, fast) = (quantile(&middles, 0.025).min(rate), quantile(&tops, 0.975).max(rate));
    let ends = [ranked.value(slow), ranked.value(fast)];
    let found = ranked.describe(rate, visits);
    Some(Edge { low: ends[0].min(ends[1]), high: ends[0].max(ends[1]), ..found })
}

impl Ranked {
    fn describe(&self, rate: f64, visits: &[VisitWindows]) -> Edge {
        let near = self.near(rate);
        let mut times: Vec<f64> = near.iter().map(|(_, visit)| visits[*visit].at).collect();
        times.sort_unstable_by(f64::total_cmp);
        let mut last = f64::NEG_INFINITY;
        let mut reached = 0;
        for at in times {
            if at - last >= APART_SECONDS {
                (last, reached) = (at, reached + 1);
            }
        }
        let value = self.value(rate);
        Edge {
            value,
            low: value,
            high: value,
            share: near.len() as f64 / self.rates.len() as f64,
            windows: self.rates.len(),
            visits: visits.iter().filter(|visit| !visit.values.is_empty()).count(),
            reached,
        }
    }
}
