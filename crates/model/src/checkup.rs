//! Results of a check-up of a machine, as data.

use serde::{Deserialize, Serialize};

/// Result of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should be.
    Ok,
    /// The system does not report this, or does not have it.
    NotHere,
    /// The setting changes what numbers mean: state it with the numbers.
    Note,
    /// Numbers measured so cannot be trusted, or cannot be compared.
    Problem,
}

/// A check of `doctor` with its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckRow {
    /// Name of the setting or state that was checked.
    pub name: String,
    /// The group it belongs to.
    pub group: String,
    /// The value found.
    pub value: String,
    /// How the value affects measurements.
    pub health: Health,
    /// Why it matters.
    pub why: String,
    /// The command that cures it: printed, never run.
    pub cure: Option<String>,
    /// Whether it is a setting that `tune` changes: it says nothing of the machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_setting: bool,
}

/// A check-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checkup {
    /// The machine, in a line.
    pub machine: String,
    /// Every check, grouped.
    pub checks: Vec<CheckRow>,
}

impl Checkup {
    /// How many checks say this.
    pub fn count(&self, health: Health) -> usize {
        self.checks.iter().filter(|check| check.health == health).count()
    }
}
