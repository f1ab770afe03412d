//! The trials of a search by their number of tenants: full ones, whose times are shown, and the others.

use std::collections::{BTreeMap, HashMap};

use super::{Case, CurvePoint, Outcome, Phase, TenantTimes, Votes};
use crate::verdict::Grade;

/// What the times of a trial are worth, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrialKind {
    /// Those of a full trial with a clear outcome.
    Full,
    /// Those of a short trial on the way up.
    Ramp,
    /// Those of an unclear trial.
    Unclear,
    /// Those until a guard ended the trial.
    EndedEarly,
}

impl TrialKind {
    fn of(point: &CurvePoint, phase: Option<&Phase>) -> Self {
        match point.outcome {
            _ if point.ended_early => Self::EndedEarly,
            Outcome::Unclear => Self::Unclear,
            _ if phase.is_none_or(|phase| phase.is_full()) => Self::Full,
            _ => Self::Ramp,
        }
    }

    /// The grade of its numbers in rows.
    #[must_use]
    pub fn grade(self) -> Grade {
        if self == Self::Full { Grade::Trusted } else { Grade::Suspect }
    }

    /// Why the grade is not trusted, as a code.
    #[must_use]
    pub fn code(self) -> Option<&'static str> {
        match self {
            Self::Full => None,
            Self::Ramp => Some("ramp"),
            Self::Unclear => Some("unclear"),
            Self::EndedEarly => Some("ended_early"),
        }
    }

    /// The name of a trial that is not full.
    #[must_use]
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
pub struct TenantCount<'a> {
    /// How many tenants.
    pub tenants: u32,
    /// Results of the trials that answered requests.
    pub trials: BTreeMap<TrialKind, Vec<&'a CurvePoint>>,
    /// Outcomes of all trials, with or without a result.
    pub votes: Votes,
}

impl Case {
    /// All numbers of tenants that were tried, rising.
    #[must_use]
    pub fn tenant_counts(&self) -> Vec<TenantCount<'_>> {
        let phases: HashMap<u32, Phase> = self.trials.iter().map(|trial| (trial.number, trial.phase)).collect();
        let mut all: BTreeMap<u32, TenantCount<'_>> = BTreeMap::new();
        let outcomes = self.trials.iter().map(|trial| (trial.tenants, trial.outcome));
        // Points without a record are those of documents that lack it.
        let unrecorded = self.curve.iter().filter(|point| !phases.contains_key(&point.trial));
        for (tenants, outcome) in outcomes.chain(unrecorded.map(|point| (point.tenants, point.outcome))) {
            let number = all.entry(tenants).or_insert_with(|| TenantCount { tenants, ..TenantCount::default() });
            let count = match outcome {
                Outcome::Pass => &mut number.votes.passed,
                Outcome::Fail => &mut number.votes.failed,
                Outcome::Unclear => &mut number.votes.unclear,
            };
            *count = count.saturating_add(1);
        }
        for point in &self.curve {
            let number = all
                .entry(point.tenants)
                .or_insert_with(|| TenantCount { tenants: point.tenants, ..TenantCount::default() });
            number.trials.entry(TrialKind::of(point, phases.get(&point.trial))).or_default().push(point);
        }
        all.into_values().collect()
    }

    /// The outcomes of all trials with so many tenants; `None` where the document has no such trial.
    #[must_use]
    pub fn votes(&self, tenants: u64) -> Option<Votes> {
        self.tenant_counts().into_iter().find(|number| u64::from(number.tenants) == tenants).map(|number| number.votes)
    }
}

impl<'a> TenantCount<'a> {
    /// What the results that are shown are worth; `None` where no trial has one.
    #[must_use]
    pub fn kind(&self) -> Option<TrialKind> {
        self.trials.first_key_value().map(|(kind, _)| *kind)
    }

    /// The results to show: of the full trials; if there is none, of the best of the others.
    #[must_use]
    pub fn results(&self) -> &[&'a CurvePoint] {
        self.trials.first_key_value().map_or(&[], |(_, points)| points)
    }

    /// Times of every tenant in every trial that is shown, without tenants that answered nothing.
    pub fn tenants_times(&self) -> impl Iterator<Item = &'a TenantTimes> {
        self.results().iter().flat_map(|point| &point.each).filter(|one| one.requests > 0)
    }

    /// The trials that are shown, in words.
    #[must_use]
    pub fn words(&self) -> String {
        match self.kind() {
            None => "no times".to_owned(),
            Some(kind) => kind.name().map_or_else(|| self.results().len().to_string(), str::to_owned),
        }
    }

    /// The trials of a row that has the worst of several.
    #[must_use]
    pub fn worst(&self) -> String {
        match self.kind() {
            Some(TrialKind::Ramp) => "ramp, worst".to_owned(),
            Some(TrialKind::EndedEarly) => "ended, worst".to_owned(),
            // Unclear trials have the word in the column beside it.
            _ => format!("worst of {}", self.results().len()),
        }
    }
}
