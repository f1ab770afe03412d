//! What the visits of two runs say: whether their numbers differ by more than chance.

use tiermark_model::{Finding, Observation};
use tiermark_stats::{Between, fisher_exact, mann_whitney, median, ratio_p};

use crate::numbers::Number;

/// Visits below which a run has too few to test.
const FEWEST: usize = 3;

/// The value of a finding with its interval; `None` without either.
pub(crate) fn between(finding: &Finding) -> Option<Between> {
    let (value, interval) = (finding.value?, finding.interval?);
    Some(Between { value, low: interval.low.min(value), high: interval.high.max(value) })
}

/// The p-value of the difference between two trusted numbers: how often one this large would occur by chance if the
/// hardware had not changed. `None` if nothing can be tested.
///
/// Of edges: how many visits of each run came beyond the middle between the two edges. An undisturbed moment is rare on
/// a shared machine, and all other visits tell of the neighbours only, so that their ranks would hide the hardware. Of
/// middles: the ranks of all visits. Of what was derived from several steps: the interval.
pub(crate) fn p_value(first: &Number<'_>, other: &Number<'_>, ratio: Between, less_is_better: bool) -> Option<f64> {
    let (Some(a), Some(b)) = (first.seen, other.seen) else { return ratio_p(ratio) };
    if a.edge.is_none() {
        return tested(&visits(a, middle), &visits(b, middle), mann_whitney);
    }
    let best = |values: &[f64]| {
        let pick = if less_is_better { f64::min } else { f64::max };
        values.iter().copied().reduce(pick)
    };
    // Between 0 and a change nobody overlooks, the middle on logarithms.
    let middle = (a.value? * b.value?).sqrt();
    let reached = |value: &&f64| if less_is_better { **value < middle } else { **value > middle };
    let test = |a: &[f64], b: &[f64]| {
        fisher_exact(a.iter().filter(reached).count(), a.len(), b.iter().filter(reached).count(), b.len())
    };
    tested(&visits(a, best), &visits(b, best), test)
}

fn tested(a: &[f64], b: &[f64], test: impl Fn(&[f64], &[f64]) -> Option<f64>) -> Option<f64> {
    (a.len().min(b.len()) >= FEWEST).then(|| test(a, b)).flatten()
}

/// One value for each visit that has a clean window.
fn visits(seen: &Observation, one: impl Fn(&[f64]) -> Option<f64>) -> Vec<f64> {
    let of = |visit: &tiermark_model::Visit| {
        let clean = visit.windows.iter().filter(|window| window.clean).filter_map(tiermark_model::Window::value);
        one(&clean.collect::<Vec<f64>>())
    };
    seen.visits.list.iter().filter_map(of).collect()
}

fn middle(values: &[f64]) -> Option<f64> {
    median(values)
}
