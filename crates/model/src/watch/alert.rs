//! Alerts: what was judged of a sample.

use serde::{Deserialize, Serialize};

use crate::check::CheckUnit;

/// An alert at one sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchAlert {
    /// The alert as it was given: `cpu.steal > 5 % for 30s`.
    pub alert: String,
    /// Whether its condition has held for as long as the alert says.
    pub alarm: bool,
    /// What changed with this sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<WatchAlertChange>,
    /// Seconds since the first sample in a row in which the condition held; `None` if it does not hold.
    pub held_seconds: Option<f64>,
    /// The left side, in its unit; `None` if one of its numbers is not reported.
    pub value: Option<f64>,
    /// The right side.
    pub limit: Option<f64>,
    /// Unit of both sides.
    pub unit: CheckUnit,
}

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WatchAlertChange {
    /// The alarm began.
    Raised,
    /// The alarm ended.
    Ended,
}
