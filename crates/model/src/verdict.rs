//! How far a number can be trusted.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::observation::ValueKind;
use crate::reason::{Reason, ReasonCode};

/// The grade of a number; orders from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Valid, at a level that visits reach again and again.
    Trusted,
    /// Valid, without such a level, since others use the same cache or memory too: what a program typically got.
    Shared,
    /// Valid, of too few moments or of no steady state: the hardware does this much at least (a rate), or takes this long at most (a time).
    Bound,
    /// Something about it could not be proven, or only in part.
    Suspect,
    /// No number: a proof failed.
    Invalid,
}

impl Grade {
    /// Whether the number can be quoted as it is.
    pub fn is_number(self) -> bool {
        self <= Self::Shared
    }
}

impl Grade {
    /// The name that readers see: a number of this grade that is missing was withheld. Documents and exports keep the
    /// name of the grade.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Shared => "shared",
            Self::Bound => "bound",
            Self::Suspect => "suspect",
            Self::Invalid => "withheld",
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Trusted => "trusted",
            Self::Shared => "shared",
            Self::Bound => "bound",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
        })
    }
}

/// A grade with its reasons; `trusted` has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The worst grade of all reasons.
    pub grade: Grade,
    /// Every reason, in the order found.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// No doubt yet.
    pub fn trusted() -> Self {
        Self { grade: Grade::Trusted, reasons: Vec::new() }
    }

    /// Adds a reason for which the number is a bound.
    pub fn bound(&mut self, reason: Reason) {
        self.add(Grade::Bound, reason);
    }

    /// Adds a reason for doubt.
    pub fn suspect(&mut self, reason: Reason) {
        self.add(Grade::Suspect, reason);
    }

    /// Adds a reason for which there is no number.
    pub fn invalid(&mut self, reason: Reason) {
        self.add(Grade::Invalid, reason);
    }

    /// Adds a reason for which a number of this kind is not trusted: a typical value stays what it is, a level that is
    /// not one is a bound.
    pub fn untrusted(&mut self, kind: ValueKind, reason: Reason) {
        let grade = if kind == ValueKind::Typical { Grade::Shared } else { Grade::Bound };
        self.add(grade, reason);
    }

    /// The worst of two verdicts, with the reasons of both, each said once.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for reason in &other.reasons {
            self.add(other.grade, reason.clone());
        }
        self.grade = self.grade.max(other.grade);
        self
    }

    /// Whether a reason of this kind is among its own.
    pub fn has(&self, code: ReasonCode) -> bool {
        self.reasons.iter().any(|reason| reason.code() == code)
    }

    /// Whether there is no number since the step was refused.
    pub fn is_refused(&self) -> bool {
        self.grade == Grade::Invalid && self.reasons.iter().any(|reason| reason.refused().is_some())
    }

    /// Adds a reason for which the number has this grade at best.
    pub fn add(&mut self, grade: Grade, reason: Reason) {
        self.grade = self.grade.max(grade);
        if !self.reasons.contains(&reason) {
            self.reasons.push(reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_only_get_worse() {
        let mut verdict = Verdict::trusted();
        verdict.bound(Reason::NotSharp { share: 0.03 });
        verdict.suspect(Reason::MajorFaults { faults: 2 });
        verdict.invalid(Reason::Quantised { step_ns: 1.0 });
        verdict.suspect(Reason::MajorFaults { faults: 2 });
        assert_eq!(verdict.grade, Grade::Invalid);
        assert_eq!(verdict.reasons.len(), 3);
        assert_eq!(Verdict::trusted().and(&verdict), verdict);
    }

    #[test]
    fn reasons_are_data_in_documents() {
        let reason = Reason::BelowRecord { record: 111.1e9, is_time: false, date: "2026-11-22".into(), clocks: None };
        let json = serde_json::to_value(&reason).unwrap();
        assert_eq!((&json["reason"], &json["record"]), (&"below_record".into(), &111.1e9.into()));
        assert_eq!(serde_json::from_value::<Reason>(json).unwrap(), reason);
        assert_eq!(
            reason.to_string(),
            "this machine's record is 111.1 GB/s on 2026-11-22: a neighbour may have been there all the time"
        );
    }
}
