//! The trials of a search by their number of tenants: full ones, whose times are shown, and the others.

use std::collections::{BTreeMap, HashMap};

use tiermark_model::capacity::{Case, CurvePoint, Outcome, Phase, TenantTimes, Votes};

/// What stands beside the name of a tier in a chart for trials that are not full or not clear.
pub(super) const OTHERS: &str = "ramp or unclear";

/// The trials of one number of tenants.
#[derive(Debug, Default)]
pub(super) struct Number<'a> {
    pub(super) tenants: u32,
    /// Results of full trials with a clear outcome.
    pub(super) full: Vec<&'a CurvePoint>,
    /// Results of the others: short trials on the way up, and unclear ones.
    pub(super) others: Vec<&'a CurvePoint>,
    /// Outcomes of all trials, with or without a result.
    pub(super) votes: Votes,
}

/// All numbers of tenants that were tried, rising.
pub(super) fn numbers(case: &Case) -> Vec<Number<'_>> {
    let phases: HashMap<u32, Phase> = case.trials.iter().map(|trial| (trial.number, trial.phase)).collect();
    let mut all: BTreeMap<u32, Number<'_>> = BTreeMap::new();
    let outcomes = case.trials.iter().map(|trial| (trial.tenants, trial.outcome));
    // Points without a record are those of documents that lack it.
    let unrecorded = case.curve.iter().filter(|point| !phases.contains_key(&point.trial));
    for (tenants, outcome) in outcomes.chain(unrecorded.map(|point| (point.tenants, point.outcome))) {
        let number = all.entry(tenants).or_insert_with(|| Number { tenants, ..Number::default() });
        let count = match outcome {
            Outcome::Pass => &mut number.votes.passed,
            Outcome::Fail => &mut number.votes.failed,
            Outcome::Unclear => &mut number.votes.unclear,
        };
        *count = count.saturating_add(1);
    }
    for point in &case.curve {
        let number = all.entry(point.tenants).or_insert_with(|| Number { tenants: point.tenants, ..Number::default() });
        let is_full = phases.get(&point.trial).is_none_or(|phase| phase.is_full());
        match is_full && point.outcome != Outcome::Unclear {
            true => number.full.push(point),
            false => number.others.push(point),
        }
    }
    all.into_values().collect()
}

impl<'a> Number<'a> {
    /// Whether all that is known is from short trials on the way up.
    pub(super) fn is_ramp(&self) -> bool {
        self.full.is_empty() && self.others.iter().any(|point| point.outcome != Outcome::Unclear)
    }

    /// The results to show: of the full trials; if there is none, of the other trials.
    pub(super) fn results(&self) -> &[&'a CurvePoint] {
        if self.full.is_empty() { &self.others } else { &self.full }
    }

    /// Times of every tenant in every trial that is shown, without tenants that answered nothing.
    pub(super) fn tenants_times(&self) -> impl Iterator<Item = &'a TenantTimes> {
        self.results().iter().flat_map(|point| &point.each).filter(|one| one.requests > 0)
    }

    /// The trials that are shown, in words.
    pub(super) fn kind(&self) -> String {
        match (self.full.len(), self.others.len()) {
            (0, 0) => "no times".to_owned(),
            (0, _) if self.is_ramp() => "ramp".to_owned(),
            (0, _) => "unclear".to_owned(),
            (count, _) => count.to_string(),
        }
    }
}

/// The middle of some values; of an even number the mean of both in the middle. `None` for no value.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => None,
        0 => Some(f64::midpoint(values[middle - 1], values[middle])),
        _ => Some(values[middle]),
    }
}

/// The largest of some values; `None` for no value.
pub(super) fn largest(values: Vec<f64>) -> Option<f64> {
    values.into_iter().max_by(f64::total_cmp)
}
