//! What a check-up of a machine found, as data.

use serde::{Deserialize, Serialize};

/// What one check says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should be.
    Ok,
    /// This system does not tell, or has no such thing.
    NotHere,
    /// It changes what numbers mean: know it.
    Note,
    /// Numbers measured so cannot be trusted, or cannot be compared.
    Problem,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckRow {
    /// What was looked at.
    pub name: String,
    /// The group it belongs to.
    pub group: String,
    /// What was found.
    pub value: String,
    /// What that means.
    pub health: Health,
    /// Why it matters.
    pub why: String,
    /// The command that cures it: printed, never run.
    pub cure: Option<String>,
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
