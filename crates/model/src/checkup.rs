//! Results of a check-up of a machine, as data.

use std::fmt;

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

/// Figures that a problem may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Affected {
    /// Every figure.
    All,
    /// What all cores do together.
    AllCores,
    /// Latencies and rates of memory.
    Memory,
    /// Rates of memory.
    MemoryRates,
}

impl fmt::Display for Affected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "all figures",
            Self::AllCores => "figures of several threads",
            Self::Memory => "latencies and rates of DRAM",
            Self::MemoryRates => "rates of DRAM",
        })
    }
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
    /// The figures that a problem may change; `None` if it is no problem, and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affects: Option<Affected>,
    /// Why it matters.
    pub why: String,
    /// The command that cures it: printed, never run.
    pub cure: Option<String>,
    /// Whether it is a setting that `tune` changes: it says nothing of the machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_setting: bool,
}

impl CheckRow {
    /// The value, and the figures that it may change: `hpet; affects all figures`.
    #[must_use]
    pub fn found(&self) -> String {
        self.affects.map_or_else(|| self.value.clone(), |figures| format!("{}; affects {figures}", self.value))
    }
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
