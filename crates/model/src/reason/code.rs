//! Kinds of reasons.

use serde::{Deserialize, Serialize};

use super::Reason;

/// Kind of a doubt; stable names for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// Too many windows were disturbed (preempted, stolen, stalled).
    Disturbed,
    /// The interval did not reach its target.
    Imprecise,
    /// Too few samples.
    TooFew,
    /// The windows do not pile up at the edge.
    NotSharp,
    /// The edge was not reached often enough.
    NotReproduced,
    /// Values change in one direction within visits: caches or translations were not in a steady state.
    NotSettled,
    /// This machine has shown a better figure before.
    BelowRecord,
    /// Figures of the run that mean the same differ.
    Contradicted,
    /// The core's clock moved.
    Frequency,
    /// Pages were not on the requested node.
    WrongNode,
    /// Placement could not be proven.
    Unproven,
    /// Pages did not have the requested size.
    PageSize,
    /// Page faults inside the window.
    Faults,
    /// A worker ran on another cpu than its own.
    Migrated,
    /// The samples are multiples of the clock's quantum.
    Quantised,
    /// The value is zero, not finite, or more than the hardware can do.
    Implausible,
    /// The machine changed while it was measured.
    Drift,
    /// The tool's own cost is a visible part of the value.
    Overhead,
    /// The system throttles or shares the measured resource (swap in use, …).
    System,
}

impl Reason {
    /// Kind of the doubt.
    pub fn code(&self) -> ReasonCode {
        match self {
            Self::Refused { .. } | Self::Broken { .. } | Self::CachesAnswer { .. } => ReasonCode::System,
            Self::Nothing { .. } | Self::Evicted | Self::MostlyInterrupted { .. } | Self::Stalled { .. } => {
                ReasonCode::Disturbed
            }
            Self::Impossible { .. }
            | Self::BelowCycle { .. }
            | Self::TooFast { .. }
            | Self::AbovePeak { .. }
            | Self::StillRising { .. }
            | Self::NoPlateau { .. } => ReasonCode::Implausible,
            Self::NotResolved { .. } | Self::TooWide { .. } | Self::NotOneStep { .. } | Self::AnotherLine { .. } => {
                ReasonCode::Imprecise
            }
            Self::Quantised { .. } | Self::CoarseClock { .. } => ReasonCode::Quantised,
            Self::Elsewhere { .. } | Self::Dealt { .. } => ReasonCode::WrongNode,
            Self::PlaceUnseen { .. } => ReasonCode::Unproven,
            Self::OtherPages { .. } | Self::PagesUnseen { .. } => ReasonCode::PageSize,
            Self::Migrated { .. } => ReasonCode::Migrated,
            Self::MajorFaults { .. } | Self::MinorFaults { .. } => ReasonCode::Faults,
            Self::Overhead { .. } => ReasonCode::Overhead,
            Self::TooFew { .. } | Self::FewPoints { .. } => ReasonCode::TooFew,
            Self::NotSharp { .. } | Self::NoClock | Self::Scattered { .. } => ReasonCode::NotSharp,
            Self::NotReproduced { .. } => ReasonCode::NotReproduced,
            Self::NotSettled { .. } => ReasonCode::NotSettled,
            Self::BelowRecord { .. } => ReasonCode::BelowRecord,
            Self::Disagrees { .. } | Self::IdleAboveLoaded { .. } => ReasonCode::Contradicted,
            Self::Pairs { .. } => ReasonCode::Imprecise,
        }
    }

    /// Whether the estimates gave it, so that other estimates of the same windows give it anew.
    pub fn is_of_estimate(&self) -> bool {
        matches!(
            self,
            Self::TooFew { .. }
                | Self::NotSharp { .. }
                | Self::NoClock
                | Self::NotReproduced { .. }
                | Self::NotSettled { .. }
                | Self::Scattered { .. }
                | Self::BelowRecord { .. }
                | Self::Disagrees { .. }
                | Self::IdleAboveLoaded { .. }
        )
    }
}
