//! Whether the values of a visit are of a steady state: its end against its beginning, over visits.

use tiermark_model::{Metric, Reason, Visit};
use tiermark_stats::{median, sign_test};

use super::{Reading, VALUE, values};

/// Windows at the beginning and at the end of a visit that are compared.
const ENDS: usize = 2;
/// Visits from which the test decides: with fewer no result is rarer than [`CHANCE`].
const FEWEST: usize = 11;
/// A trend this likely by chance is none.
const CHANCE: f64 = 0.001;
/// A change that matters: what a trusted figure may be off.
const LEAST: f64 = 0.02;
/// A change from which a trend is continued beyond the end of the visits: smaller ones are of the order of the errors
/// of clocks.
const CONTINUED: f64 = 0.002;
/// A trend slows down if it is as likely as this by chance that its second half is the smaller one so often.
const SLOWS_DOWN: f64 = 0.05;
/// What may be missing at the end of a visit: half of what a trusted figure may be off, as the visit's own mean has
/// more of the excess.
const MISSING: f64 = 0.005;
/// Share of the shots that did not settle from which a number is of no steady state.
const UNSETTLED: f64 = 0.25;
/// The same if there are too few visits for the test, which would find what did not settle.
const UNSETTLED_OF_FEW: f64 = 0.1;

impl Reading<'_> {
    /// Why the number is of no steady state; `None` if nothing shows it.
    ///
    /// In a steady state a visit's end is as often faster than its beginning as slower (a sign test over visits:
    /// windows of one visit are not independent, visits are). A warm-up that is timed, or leftovers in a nearer cache,
    /// go in one direction in nearly every visit.
    pub(super) fn not_settled(&self, chosen: &[&Visit]) -> Option<Reason> {
        let changes: Vec<f64> = chosen.iter().filter_map(|visit| change(visit)).collect();
        let unsettled = self.unsettled;
        if changes.len() < FEWEST {
            let middle = median(&changes).map(|change| change - 1.0);
            let moved = middle.filter(|change| change.abs() > LEAST);
            let shows = unsettled > UNSETTLED_OF_FEW && (moved.is_some() || changes.is_empty());
            return shows.then_some(Reason::NotSettled { change: moved, unsettled });
        }
        let rises = changes.iter().filter(|change| **change > 1.0).count();
        let falls = changes.iter().filter(|change| **change < 1.0).count();
        let middle = median(&changes)? - 1.0;
        let is_trend = sign_test(rises, falls) < CHANCE;
        match is_trend && (middle.abs() > LEAST || self.is_unfinished(chosen)) {
            true => Some(Reason::NotSettled { change: Some(middle), unsettled }),
            false => (unsettled > UNSETTLED).then_some(Reason::NotSettled { change: None, unsettled }),
        }
    }

    /// Whether visits that get faster would have become faster still, had they been longer.
    ///
    /// A warm-up that is much slower than a visit changes little in it: one of 80 ms that began at twice the steady
    /// time falls by 1 % in 2 ms, and 97 % of the excess are left. So a trend is taken as exponential, and its halves
    /// say how much of it is to come; one that does not slow down has no end in sight.
    fn is_unfinished(&self, chosen: &[&Visit]) -> bool {
        let sign = if self.metric == Metric::Latency { -1.0 } else { 1.0 };
        let halves: Vec<(f64, f64)> = chosen.iter().filter_map(|visit| halves(visit, sign)).collect();
        let (early, late): (Vec<f64>, Vec<f64>) = halves.iter().copied().unzip();
        let (Some(early), Some(late)) = (median(&early), median(&late)) else { return false };
        if early + late < CONTINUED || early.min(late) <= 0.0 {
            return false;
        }
        let smaller = halves.iter().filter(|(early, late)| late < early).count();
        let larger = halves.iter().filter(|(early, late)| late > early).count();
        if late >= early || sign_test(smaller, larger) > SLOWS_DOWN {
            return true;
        }
        let ratio = late / early;
        late * ratio / (1.0 - ratio) > MISSING
    }
}

/// By how much the first half and the second half of a visit got faster, as logarithms; `None` of visits that are too
/// short.
fn halves(visit: &Visit, sign: f64) -> Option<(f64, f64)> {
    let values: Vec<f64> = values(visit, VALUE).collect();
    if values.len() < 3 * ENDS {
        return None;
    }
    let from = (values.len() - ENDS) / 2;
    let at = |from: usize| median(&values[from..from + ENDS]).map(f64::ln);
    let (first, middle, last) = (at(0)?, at(from)?, at(values.len() - ENDS)?);
    Some((sign * (middle - first), sign * (last - middle)))
}

/// The end of a visit over its beginning; `None` of visits that are too short.
fn change(visit: &Visit) -> Option<f64> {
    let values: Vec<f64> = values(visit, VALUE).collect();
    if values.len() < 2 * ENDS {
        return None;
    }
    let (first, last) = (&values[..ENDS], &values[values.len() - ENDS..]);
    Some(median(last)? / median(first)?)
}

#[cfg(test)]
mod tests {
    use tiermark_model::{Window, testing};
    use tiermark_stats::Rng;

    use super::*;
    use crate::states::Conditions;

    /// Whether visits of eight windows, which begin with this excess, are called not settled. Their noise is that of
    /// recorded visits.
    fn is_flagged(count: usize, excess: f64, tau_ms: f64, seed: u64) -> bool {
        let mut rng = Rng::new(seed);
        let (by_visit, by_window) = (0.01, 0.002);
        let visit = |at: usize| {
            let level = 20.0 * (by_visit * rng.normal()).exp();
            let window = |index: usize| {
                let ms = 0.25 * index as f64 + 0.125;
                let value = level * (1.0 + excess * (-ms / tau_ms).exp()) * (1.0 + by_window * rng.normal());
                Window { clean: true, values: vec![Some(value)], ..Window::default() }
            };
            Visit { at: at as f64, windows: (0..8).map(window).collect(), ..Visit::default() }
        };
        let visits: Vec<Visit> = (0..count).map(visit).collect();
        let reading = Reading {
            metric: Metric::Latency,
            cores: 1,
            unsettled: 0.0,
            has_edge: true,
            groups: &Conditions::default(),
            stop: &testing::STOP,
            seed: 1,
            passes: None,
            between_runs: 0.0,
            is_clocked: true,
            is_of_core: true,
        };
        reading.not_settled(&visits.iter().collect::<Vec<_>>()).is_some()
    }

    #[test]
    fn warm_ups_shorter_and_longer_than_a_visit_are_seen() {
        let mut rng = Rng::new(3);
        for count in [60, 200] {
            let mut missed = Vec::new();
            for seed in 0..300 {
                let (excess, tau_ms) = (0.2 + 0.8 * rng.unit(), 0.5 * 160f64.powf(rng.unit()));
                if !is_flagged(count, excess, tau_ms, seed) {
                    missed.push((seed, excess, tau_ms));
                }
            }
            assert!(missed.len() <= 15, "{count} visits: {} of 300 missed: {missed:?}", missed.len());
        }
    }

    #[test]
    fn steady_visits_and_the_last_of_a_warm_up_are_not_called_unsettled() {
        let steady = (0..1000).filter(|seed| is_flagged(60, 0.0, 1.0, *seed)).count();
        assert!(steady <= 10, "{steady} of 1000");
        // 0.5 % that are gone when the visit ends.
        let ends = (0..300).filter(|seed| is_flagged(200, 0.005, 0.5, *seed)).count();
        assert!(ends <= 15, "{ends} of 300");
    }
}
