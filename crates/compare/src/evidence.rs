//! What decides whether two numbers differ: their intervals, the allocations of their runs, and the scatter between
//! runs.

use std::collections::BTreeMap;

use tiermark_model::{Interval, Observation, ValueKind, Visit, Window};
use tiermark_stats::{Between, mad, student_two_sided};

use crate::numbers::Number;
use crate::scatter::Scatter;

/// Standard errors in half of a 95 % interval of a normal value.
const Z: f64 = 1.959_964;
/// The standard error of a median of n normal values in standard deviations, times the root of n.
const OF_MEDIAN: f64 = 1.253;
/// Visits to an allocation below which its best window says little of it.
const FEWEST: usize = 3;
/// Standard deviation of a normal distribution per MAD.
const MAD_TO_SIGMA: f64 = 1.4826;

/// A part of a number's value, by a kernel if one is named, with its interval by its run alone, since the scatter
/// between runs is a part of its own; `None` without either.
pub(crate) fn between(number: &Number<'_>, kernel: Option<&str>, part: f64) -> Option<Between> {
    let (value, interval) = number.judged(kernel)?;
    let interval = interval?;
    Some(Between { value: value * part, low: interval.low.min(value) * part, high: interval.high.max(value) * part })
}

/// The scatter between runs that the interval of a number contains beside that of its run, as a share of it; `None` of
/// what was derived from several steps. By the upper ends: the lower one of a wide interval is cut off at 0.
pub(crate) fn between_runs(number: &Number<'_>) -> Option<f64> {
    let seen = number.seen?;
    let half = |of: Interval| Some((of.high / seen.value? - 1.0) / Z);
    let (whole, own) = (half(seen.interval?)?, half(seen.edge?.within?)?);
    Some((whole.powi(2) - own.powi(2)).sqrt()).filter(|sd| sd.is_finite() && *sd > 0.0)
}

/// The geometric mean of values of several runs, with its interval.
pub(crate) fn mean(all: &[Between]) -> Option<Between> {
    let n = all.len() as f64;
    let sound = |of: &Between| [of.value, of.low, of.high].iter().all(|v| v.is_finite() && *v > 0.0);
    if all.is_empty() || !all.iter().all(sound) {
        return None;
    }
    let square = |of: f64| of.ln().powi(2);
    let value = (all.iter().map(|of| of.value.ln()).sum::<f64>() / n).exp();
    let down = all.iter().map(|of| square(of.value / of.low)).sum::<f64>().sqrt() / n;
    let up = all.iter().map(|of| square(of.high / of.value)).sum::<f64>().sqrt() / n;
    Some(Between { value, low: value * (-down).exp(), high: value * up.exp() })
}

/// What the allocations of two runs add to the difference between two numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    /// Variance that is known for these numbers: of typical values.
    pub(crate) known: f64,
    /// Capabilities: offsets of the allocations' best windows from their mean, for one run after the other.
    pub(crate) offsets: Vec<f64>,
    /// Capabilities: the variance of the difference, in variances between allocations.
    pub(crate) of_edges: f64,
}

impl Places {
    pub(crate) fn of(first: &Number<'_>, other: &Number<'_>, less_is_better: bool) -> Self {
        let spread = |one: &Number<'_>, two: &Number<'_>| {
            let between = |number: &Number<'_>| number.seen?.spread_between;
            // Of a run with one allocation it is not known: it counts like the other.
            between(one).or_else(|| between(two)).unwrap_or(0.0)
        };
        let mut places = Self::default();
        for (one, two) in [(first, other), (other, first)] {
            let Some(seen) = one.seen else { continue };
            let by_allocation = by_allocation(seen);
            let count = by_allocation.len().max(1);
            if seen.kind == ValueKind::Typical {
                places.known += (spread(one, two) * OF_MEDIAN).powi(2) / count as f64;
                continue;
            }
            places.of_edges += of_best(count).powi(2);
            places.offsets.extend(offsets(by_allocation.values(), less_is_better));
        }
        places
    }
}

/// The standard deviation between allocations, from the offsets of a family's numbers.
pub(crate) fn between_places(offsets: &[f64]) -> f64 {
    mad(offsets).map_or(0.0, |of| of * MAD_TO_SIGMA)
}

/// The standard deviation of the best of so many normal values, in theirs (Tippett, Biometrika 17, 1925; from 10 on by
/// the approximation π/√(12 ln n), which errs on the wide side).
fn of_best(count: usize) -> f64 {
    const OF: [f64; 9] = [1.0, 0.826, 0.748, 0.701, 0.669, 0.645, 0.626, 0.611, 0.598];
    let wide = |count: f64| std::f64::consts::PI / (12.0 * count.ln()).sqrt();
    OF.get(count.saturating_sub(1)).copied().unwrap_or_else(|| wide(count as f64))
}

fn by_allocation(seen: &Observation) -> BTreeMap<u32, Vec<&Visit>> {
    let mut all: BTreeMap<u32, Vec<&Visit>> = BTreeMap::new();
    for visit in &seen.visits.list {
        all.entry(visit.allocation).or_default().push(visit);
    }
    all
}

/// How far the best windows of allocations lie from their mean, on logarithms, as if the mean were known.
fn offsets<'a>(allocations: impl Iterator<Item = &'a Vec<&'a Visit>>, less_is_better: bool) -> Vec<f64> {
    let pick = if less_is_better { f64::min } else { f64::max };
    let best = |visits: &Vec<&Visit>| {
        let windows = visits.iter().flat_map(|visit| &visit.windows).filter(|window| window.clean);
        windows.filter_map(Window::value).filter(|value| *value > 0.0).reduce(pick).map(f64::ln)
    };
    let visited = allocations.filter(|visits| visits.len() >= FEWEST);
    let best: Vec<f64> = visited.filter_map(best).collect();
    let n = best.len() as f64;
    let mean = best.iter().sum::<f64>() / n;
    if best.len() < 2 {
        return Vec::new();
    }
    best.iter().map(|value| (value - mean) * (n / (n - 1.0)).sqrt()).collect()
}

/// The difference of two numbers, on logarithms, with its variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Weighed {
    pub(crate) difference: f64,
    /// Variance by the visits and allocations of these runs.
    pub(crate) own: f64,
    /// One over the number of first runs, and one for the other.
    pub(crate) factor: f64,
    /// Variance with the scatter between runs.
    pub(crate) whole: f64,
    pub(crate) p_value: f64,
}

impl Weighed {
    /// The variance between runs of one value.
    pub(crate) fn scatter(&self) -> f64 {
        (self.whole - self.own) / self.factor
    }
}

/// The difference of the mean of so many numbers of a family; `own` is its variance by visits and allocations.
pub(crate) fn weighed(difference: f64, own: f64, factor: f64, numbers: usize, scatter: Scatter) -> Option<Weighed> {
    let whole = own + factor * scatter.variance(numbers);
    let degrees = scatter.degrees(numbers, factor, whole);
    let p_value = student_two_sided(difference / whole.sqrt(), degrees)?;
    Some(Weighed { difference, own, factor, whole, p_value })
}

/// The variance of a ratio's logarithm by its interval, of the side towards 1.
pub(crate) fn variance(ratio: Between) -> f64 {
    let half = if ratio.value > 1.0 { ratio.value / ratio.low } else { ratio.high / ratio.value }.ln();
    (half / Z).powi(2)
}

/// A ratio whose interval also has a variance that its visits do not show.
pub(crate) fn widened(ratio: Between, variance: f64) -> Between {
    let wide = |half: f64| half.hypot(Z * variance.sqrt());
    let down = wide((ratio.value / ratio.low).ln());
    let up = wide((ratio.high / ratio.value).ln());
    Between { low: ratio.value * (-down).exp(), high: ratio.value * up.exp(), ..ratio }
}
