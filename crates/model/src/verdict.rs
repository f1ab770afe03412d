//! How far a number can be trusted, and why.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The grade of a number; orders from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Proofs hold, the interval reached its target.
    Trusted,
    /// A number, with reasons for doubt.
    Suspect,
    /// No number: a proof failed.
    Invalid,
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Trusted => "trusted",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
        })
    }
}

/// What kind of doubt a reason is; stable names for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// Too many windows were disturbed (preempted, stolen, stalled).
    Disturbed,
    /// The interval did not reach its target.
    Imprecise,
    /// Too few samples.
    TooFew,
    /// The core's clock moved.
    Frequency,
    /// Pages were not on the node asked for.
    WrongNode,
    /// Placement could not be proven.
    Unproven,
    /// Pages did not have the size asked for.
    PageSize,
    /// Page faults inside the window.
    Faults,
    /// A worker left its cpu.
    Migrated,
    /// The samples are multiples of the clock's quantum.
    Quantised,
    /// The value is zero, not finite, or beyond what the hardware can do.
    Implausible,
    /// The first measurement, repeated last, came out different.
    Drift,
    /// The tool's own cost is a visible part of the value.
    Overhead,
    /// The system throttles or shares what was measured (cpu quota, swap in use, …).
    System,
}

/// One reason for doubt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Its kind.
    pub code: ReasonCode,
    /// In words, with numbers.
    pub text: String,
}

/// A grade with its reasons; `trusted` has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The grade.
    pub grade: Grade,
    /// Every reason, in the order found.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// No doubt yet.
    pub fn trusted() -> Self {
        Self { grade: Grade::Trusted, reasons: Vec::new() }
    }

    /// Adds a reason for doubt.
    pub fn suspect(&mut self, code: ReasonCode, text: impl Into<String>) {
        self.add(Grade::Suspect, code, text.into());
    }

    /// Adds a reason for which there is no number.
    pub fn invalid(&mut self, code: ReasonCode, text: impl Into<String>) {
        self.add(Grade::Invalid, code, text.into());
    }

    /// The worst of two verdicts, with the reasons of both, each said once.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for reason in &other.reasons {
            self.add(other.grade, reason.code, reason.text.clone());
        }
        self.grade = self.grade.max(other.grade);
        self
    }

    fn add(&mut self, grade: Grade, code: ReasonCode, text: String) {
        self.grade = self.grade.max(grade);
        let reason = Reason { code, text };
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
        verdict.suspect(ReasonCode::Disturbed, "a");
        verdict.invalid(ReasonCode::WrongNode, "b");
        verdict.suspect(ReasonCode::Disturbed, "a");
        assert_eq!(verdict.grade, Grade::Invalid);
        assert_eq!(verdict.reasons.len(), 2);
        assert_eq!(Verdict::trusted().and(&verdict), verdict);
    }
}
