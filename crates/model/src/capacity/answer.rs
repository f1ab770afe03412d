//! The answer of a search: how many tenants fit, and the votes that it rests on.

use serde::{Deserialize, Serialize};

use super::{Outcome, tenants as counted};
use crate::refusal::Note;

/// How many tenants fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Answer {
    /// So many, verified: they passed three times in succession, and one more failed at least twice.
    Exactly {
        /// Tenants within the service level.
        tenants: u32,
        /// All votes for this number of tenants.
        votes: Votes,
        /// Votes for one tenant more: of full trials from a fresh fill, since only those prove a failure.
        beyond: Votes,
    },
    /// Between two numbers: at some number of tenants the trials disagree, are unclear, or were not all made.
    Between {
        /// The most tenants below which nothing failed.
        low: u32,
        /// The most tenants that passed at all, or that nothing says against; `None` where nothing says against still
        /// more.
        #[serde(default)]
        high: Option<u32>,
        /// Why there is no single number.
        why: Note,
    },
    /// One number of tenants that was asked for (`--tenants`), on each tier; no other was tried.
    Fixed {
        /// Tenants of the trial.
        tenants: u32,
        /// Its outcome.
        outcome: Outcome,
    },
    /// As many as were allowed to be tried; more may fit.
    AtLeast {
        /// Tenants that passed.
        tenants: u32,
    },
    /// Not even one.
    None {
        /// Outcomes of its trials.
        why: Note,
    },
}

impl Answer {
    /// The number of tenants in a few words: `5 tenants`, `5 to 8 tenants`, `8 tenants or more`.
    #[must_use]
    pub fn in_words(&self) -> String {
        self.counted_by(counted)
    }

    fn counted_by(&self, counted: impl Fn(u32) -> String) -> String {
        match self {
            Self::Exactly { tenants, .. } => counted(*tenants),
            Self::AtLeast { tenants } => format!("{} or more", counted(*tenants)),
            Self::Fixed { tenants, outcome } => format!("{}: {outcome}", counted(*tenants)),
            Self::None { .. } => "none".to_owned(),
            Self::Between { low: 0, high: None, .. } => "not known".to_owned(),
            Self::Between { low, high: None, .. } => format!("{} or more", counted(*low)),
            Self::Between { low: 0, high: Some(0), .. } => "none, not verified".to_owned(),
            Self::Between { low, high: Some(high), .. } if low == high => format!("{}, not verified", counted(*low)),
            Self::Between { low, high: Some(high), .. } => format!("{low} to {}", counted(*high)),
        }
    }

    /// The same for a column that has the word tenants in its heading: `5`, `5 to 8`, `8 or more`.
    #[must_use]
    pub fn as_number(&self) -> String {
        match self {
            Self::Fixed { tenants, outcome } => format!("{tenants} {outcome}"),
            other => other.counted_by(|tenants| tenants.to_string()),
        }
    }

    /// The number of tenants that certainly fit: of an interval the lower end; 0 if not even one fits.
    #[must_use]
    pub fn fits(&self) -> u32 {
        match self {
            Self::Exactly { tenants, .. }
            | Self::AtLeast { tenants }
            | Self::Fixed { tenants, outcome: Outcome::Pass } => *tenants,
            Self::Between { low, .. } => *low,
            Self::None { .. } | Self::Fixed { .. } => 0,
        }
    }

    /// Why there is no single number; `None` if there is one.
    #[must_use]
    pub fn why(&self) -> Option<&Note> {
        match self {
            Self::Between { why, .. } | Self::None { why } => Some(why),
            Self::Exactly { .. } | Self::AtLeast { .. } | Self::Fixed { .. } => None,
        }
    }
}

/// Outcomes of the trials of one number of tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Votes {
    /// Trials within the service level.
    pub passed: u32,
    /// Trials outside of it.
    pub failed: u32,
    /// Trials whose interval straddles the limit even after the longest measurement, and those that the client or a
    /// disturbance spoilt.
    pub unclear: u32,
}

impl Votes {
    /// Their sum; saturates at the largest number.
    pub fn all(&self) -> u32 {
        self.passed.saturating_add(self.failed).saturating_add(self.unclear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::capacity as says;

    #[test]
    fn an_interval_of_one_number_is_no_interval() {
        let between = |low, high| Answer::Between { low, high, why: says::search_stopped() };
        for (answer, words, number) in [
            (between(5, Some(8)), "5 to 8 tenants", "5 to 8"),
            (between(0, Some(1)), "0 to 1 tenant", "0 to 1"),
            (between(5, Some(5)), "5 tenants, not verified", "5, not verified"),
            (between(5, None), "5 tenants or more", "5 or more"),
            (between(0, Some(0)), "none, not verified", "none, not verified"),
            (between(0, None), "not known", "not known"),
            (Answer::AtLeast { tenants: 1 }, "1 tenant or more", "1 or more"),
            (Answer::Fixed { tenants: 9, outcome: Outcome::Unclear }, "9 tenants: unclear", "9 unclear"),
        ] {
            assert_eq!((answer.in_words().as_str(), answer.as_number().as_str()), (words, number));
        }
    }
}
