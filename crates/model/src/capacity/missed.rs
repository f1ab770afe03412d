//! The limit of the service level that decided a trial, and the trial that decided a search.

use serde::{Deserialize, Serialize};

use super::{Case, Outcome, TrialRecord};
use crate::Note;
use crate::messages::trials::codes::{hit_rate_moves, limit_decides, too_few_tenants};

/// What a limit of the service level is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitOf {
    /// A response time: average, percentile, maximum.
    Time,
    /// Requests answered over requests due.
    Rate,
    /// GETs that found their key over all GETs.
    HitRate,
}

/// A statistic of response times that a limit may be of, and that charts have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TimeStatistic {
    /// The mean.
    Average,
    /// The 99th percentile.
    P99,
    /// The largest.
    Maximum,
}

/// The most that the service level allows of a response time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeLimit {
    /// What is limited.
    pub of: TimeStatistic,
    /// The limit in ns.
    pub ns: f64,
}

/// A limit that was missed, or is not clear, with the value of the first that missed it.
#[derive(Debug, Clone, PartialEq)]
pub struct MissedLimit {
    /// What it is of.
    pub of: LimitOf,
    /// As the service level states it: `hit rate > 60 %`.
    pub limit: String,
    /// What was found: ns, or a share.
    pub value: f64,
}

impl MissedLimit {
    /// The limit that the reason of an outcome names; `None` where something else decided.
    #[must_use]
    pub fn in_reason(reason: &Note) -> Option<Self> {
        if reason.code == too_few_tenants {
            return Self::in_reason(&serde_json::from_value(reason.data.get("example")?.clone()).ok()?);
        }
        if reason.code == hit_rate_moves {
            let (limit, value) = (reason.data.get("limit")?.as_str()?.to_owned(), reason.data.get("ahead")?.as_f64()?);
            return Some(Self { of: LimitOf::HitRate, limit, value });
        }
        if reason.code != limit_decides {
            return None;
        }
        let (limit, value) = (reason.data.get("limit")?.as_str()?.to_owned(), reason.data.get("value")?.as_f64()?);
        let of = LimitOf::deserialize(reason.data.get("of")?).ok()?;
        Some(Self { of, limit, value })
    }
}

impl TrialRecord {
    /// The limit for which the trial failed; `None` where it did not, or something else than a limit decided.
    #[must_use]
    pub fn missed(&self) -> Option<MissedLimit> {
        MissedLimit::in_reason(&self.decided_by).filter(|_| self.outcome == Outcome::Fail)
    }
}

impl Case {
    /// The trial that shows what ended the search. Of the trials of more tenants than fit: the one with the resource
    /// that ran out, else the failure of the fewest tenants, else an unclear trial of the fewest. Without one of these
    /// nothing ended the search, and its pass of the most tenants shows that. Failures of tenants that fit were
    /// outvoted by passes.
    #[must_use]
    pub fn telling(&self) -> Option<&TrialRecord> {
        let fit = self.answer.fits();
        let last = || self.trials.iter().rev();
        let beyond = || last().filter(|trial| trial.tenants > fit);
        let of_end = self.ended_by.as_ref().and_then(|_| beyond().find(|trial| trial.ended_by == self.ended_by));
        let fewest = |outcome| beyond().filter(|trial| trial.outcome == outcome).min_by_key(|trial| trial.tenants);
        let passed = || self.trials.iter().filter(|trial| trial.outcome == Outcome::Pass);
        // Of equals max_by_key returns the last.
        let most = || passed().max_by_key(|trial| trial.tenants);
        of_end.or_else(|| fewest(Outcome::Fail)).or_else(|| fewest(Outcome::Unclear)).or_else(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::trials as says;

    #[test]
    fn the_limit_that_decided_is_known_behind_the_tenants_that_missed_it() {
        let missed =
            |of, limit: &str, value| says::limit_decides(of, limit, value, value, value, "1", &says::of_tenant(1));
        let found = |note: &Note| MissedLimit::in_reason(note).map(|missed| (missed.of, missed.value));
        let hits = missed(LimitOf::HitRate, "hit rate > 60 %", 0.47);
        assert_eq!(found(&hits), Some((LimitOf::HitRate, 0.47)));
        assert_eq!(found(&says::too_few_tenants(true, 1, 2, &hits)), Some((LimitOf::HitRate, 0.47)));
        assert_eq!(found(&missed(LimitOf::Rate, "rate > 99.5 %", 0.9)), Some((LimitOf::Rate, 0.9)));
        assert_eq!(found(&missed(LimitOf::Time, "P99 < 5 ms", 6e6)), Some((LimitOf::Time, 6e6)));
        assert_eq!(found(&says::too_few_tenants(true, 1, 2, &says::tenant_silent(1))), None);
        assert_eq!(found(&says::closest_to_limit("P99 < 5 ms", 4e6, "4 ms", 1)), None, "it was kept");
    }
}
