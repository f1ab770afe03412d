//! The trials of a search by their number of tenants: full ones, whose times are shown, and the others.

use std::collections::{BTreeMap, HashMap};

use tiermark_model::Grade;
use tiermark_model::capacity::{Case, CurvePoint, Outcome, Phase, TenantTimes, Votes};

/// What the times of a trial are worth, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Those of a full trial with a clear outcome.
    Full,
    /// Those of a short trial on the way up.
    Ramp,
    /// Those of an unclear trial.
    Unclear,
    /// Those until a guard ended the trial.
    EndedEarly,
}

impl Kind {
    fn of(point: &CurvePoint, phase: Option<&Phase>) -> Self {
        match point.outcome {
            _ if point.ended_early => Self::EndedEarly,
            Outcome::Unclear => Self::Unclear,
            _ if phase.is_none_or(|phase| phase.is_full()) => Self::Full,
            _ => Self::Ramp,
        }
    }

    /// The grade of its numbers in rows.
    pub fn grade(self) -> Grade {
        if self == Self::Full { Grade::Trusted } else { Grade::Suspect }
    }

    /// Why the grade is not trusted, as a code.
    pub fn code(self) -> Option<&'static str> {
        match self {
            Self::Full => None,
            Self::Ramp => Some("ramp"),
            Self::Unclear => Some("unclear"),
            Self::EndedEarly => Some("ended_early"),
        }
    }

    /// The name of a trial that is not full.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Full => None,
            Self::Ramp => Some("ramp"),
            Self::Unclear => Some("unclear"),
            Self::EndedEarly => Some("ended early"),
        }
    }
}

/// The trials of one number of tenants.
#[derive(Debug, Default)]
pub struct Number<'a> {
    /// How many tenants.
    pub tenants: u32,
    /// Results of the trials that answered requests.
    pub trials: BTreeMap<Kind, Vec<&'a CurvePoint>>,
    /// Outcomes of all trials, with or without a result.
    pub votes: Votes,
}

/// All numbers of tenants that were tried, rising.
pub fn numbers(case: &Case) -> Vec<Number<'_>> {
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
        number.trials.entry(Kind::of(point, phases.get(&point.trial))).or_default().push(point);
    }
    all.into_values().collect()
}

/// Outcomes of all trials of a number of tenants; `None` where the document has none of them.
pub fn votes(case: &Case, tenants: u64) -> Option<Votes> {
    numbers(case).into_iter().find(|number| u64::from(number.tenants) == tenants).map(|number| number.votes)
}

impl<'a> Number<'a> {
    /// What the results that are shown are worth; `None` where no trial has one.
    pub fn kind(&self) -> Option<Kind> {
        self.trials.first_key_value().map(|(kind, _)| *kind)
    }

    /// The results to show: of the full trials; if there is none, of the best of the others.
    pub fn results(&self) -> &[&'a CurvePoint] {
        self.trials.first_key_value().map_or(&[], |(_, points)| points)
    }

    /// Times of every tenant in every trial that is shown, without tenants that answered nothing.
    pub fn tenants_times(&self) -> impl Iterator<Item = &'a TenantTimes> {
        self.results().iter().flat_map(|point| &point.each).filter(|one| one.requests > 0)
    }

    /// The trials that are shown, in words.
    pub fn words(&self) -> String {
        match self.kind() {
            None => "no times".to_owned(),
            Some(kind) => kind.name().map_or_else(|| self.results().len().to_string(), str::to_owned),
        }
    }

    /// The trials of a row that has the worst of several.
    pub fn worst(&self) -> String {
        match self.kind() {
            Some(Kind::Ramp) => "ramp, worst".to_owned(),
            Some(Kind::EndedEarly) => "ended, worst".to_owned(),
            // Unclear trials have the word in the column beside it.
            _ => format!("worst of {}", self.results().len()),
        }
    }
}

/// The middle of some values; of an even number the mean of both in the middle. `None` for no value.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => None,
        0 => Some(f64::midpoint(values[middle - 1], values[middle])),
        _ => Some(values[middle]),
    }
}

/// The largest of some values; `None` for no value.
pub fn largest(values: Vec<f64>) -> Option<f64> {
    values.into_iter().max_by(f64::total_cmp)
}
