//! A figure over the time of a watch: its newest value, and the edge of all.

use std::collections::VecDeque;

use tiermark_model::WatchBest;
use tiermark_stats::{Edge, Side, VisitWindows, edge, median};

/// Visits whose windows are kept: their edge takes 20 µs, and they are the last two minutes at a visit a second.
const KEPT: usize = 128;
/// Visits whose median shows a lasting change: two of them may be disturbed.
const RECENT: usize = 5;
/// Visits from which on the best of them stands in for the capability.
const SO_FAR: usize = 2;

/// The visits to one cell.
#[derive(Debug, Clone)]
pub(super) struct Series {
    side: Side,
    visits: VecDeque<VisitWindows>,
    /// The edge of visits that are kept no more.
    earlier: Option<f64>,
    /// The edge of those that are kept, where they are enough.
    edge: Option<f64>,
    now: Option<(f64, f64)>,
    /// The newest visits.
    recent: VecDeque<f64>,
    /// The best visit.
    best_visit: Option<f64>,
    /// From saved runs.
    pub(super) record: Option<f64>,
}

impl Series {
    pub(super) fn new(side: Side, record: Option<f64>) -> Self {
        Self {
            side,
            visits: VecDeque::new(),
            earlier: None,
            edge: None,
            now: None,
            recent: VecDeque::new(),
            best_visit: None,
            record,
        }
    }

    /// Takes in the clean windows of a visit; none leave the series as it is.
    pub(super) fn add(&mut self, at: f64, values: Vec<f64>) {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite() && *value > 0.0).collect();
        let Some(now) = median(&values) else { return };
        self.now = Some((now, at));
        self.recent.push_back(now);
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        self.best_visit = self.better(self.best_visit, Some(now));
        if self.visits.len() == KEPT {
            self.earlier = self.capability();
            self.visits.clear();
        }
        self.visits.push_back(VisitWindows { at, values });
        let edge = edge(self.visits.make_contiguous(), self.side);
        self.edge = edge.filter(Edge::has_enough).map(|edge| edge.value);
    }

    /// The better of the edges of the visits that are kept and of those before. A window of a neighbour's absence is
    /// not forgotten, and single windows beyond the edge do not raise it, however long the watch is.
    pub(super) fn capability(&self) -> Option<f64> {
        self.better(self.earlier, self.edge)
    }

    fn better(&self, one: Option<f64>, other: Option<f64>) -> Option<f64> {
        match (one, other) {
            (Some(a), Some(b)) => Some(if self.side == Side::High { a.max(b) } else { a.min(b) }),
            (a, b) => a.or(b),
        }
    }

    pub(super) fn now(&self) -> Option<f64> {
        self.now.map(|(value, _)| value)
    }

    /// The newest value, else what the series is known to reach.
    pub(super) fn best(&self, at: f64) -> WatchBest {
        let capability = self.capability();
        let recent: Vec<f64> = self.recent.iter().copied().collect();
        WatchBest {
            now: self.now(),
            age_seconds: self.now.map(|(_, seen)| (at - seen).max(0.0)),
            recent: median(&recent).filter(|_| recent.len() == RECENT),
            capability,
            so_far: self.best_visit.filter(|_| capability.is_none() && recent.len() >= SO_FAR),
            record: self.record,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_capability_is_the_edge_of_all_visits() {
        let mut series = Series::new(Side::Low, Some(90.0));
        assert_eq!(series.best(1.0), WatchBest { record: Some(90.0), ..WatchBest::default() });
        for visit in 0..20 {
            series.add(f64::from(visit), vec![100.0; 4]);
            assert_eq!(series.capability(), (visit >= 14).then_some(100.0), "60 windows are enough");
        }
        // A neighbour comes and stays: what was seen before it is not forgotten.
        for visit in 20..2000 {
            series.add(f64::from(visit), vec![200.0; 4]);
            assert_eq!(series.capability(), Some(100.0));
        }
        assert_eq!(series.best(2001.0).now, Some(200.0));
        assert_eq!(series.best(2001.0).age_seconds, Some(2.0));
        // A visit without clean windows changes nothing but the age.
        series.add(2002.0, vec![f64::NAN]);
        assert_eq!(series.best(2003.0).age_seconds, Some(4.0));
    }

    #[test]
    fn the_best_visit_stands_in_until_the_capability_is_known() {
        let mut series = Series::new(Side::Low, None);
        for (visit, value) in [100.0, 90.0, 95.0].into_iter().enumerate() {
            series.add(visit as f64, vec![value; 4]);
            assert_eq!(series.best(0.0).so_far, [None, Some(90.0), Some(90.0)][visit]);
        }
        (3..20).for_each(|visit| series.add(f64::from(visit), vec![95.0; 4]));
        let best = series.best(20.0);
        assert_eq!((best.so_far, best.capability.is_some(), best.recent), (None, true, Some(95.0)));
        // One visit is no change; three of five are.
        series.add(21.0, vec![125.0; 4]);
        assert_eq!((series.best(21.0).now, series.best(21.0).recent), (Some(125.0), Some(95.0)));
        (22..24).for_each(|visit| series.add(f64::from(visit), vec![125.0; 4]));
        assert_eq!(series.best(24.0).recent, Some(125.0));
    }

    #[test]
    fn single_windows_do_not_raise_it() {
        let mut series = Series::new(Side::High, None);
        for visit in 0..1000 {
            let best = if visit % 128 == 5 { 900.0 } else { 500.0 };
            series.add(f64::from(visit), vec![500.0, 500.0, 500.0, best]);
        }
        assert_eq!(series.capability(), Some(500.0));
    }
}
