//! "Cannot be measured here" as a value.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that cannot be done here: what, why, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refusal {
    /// What was asked for.
    pub what: String,
    /// Why it cannot be had.
    pub why: String,
    /// What would make it possible; a command where there is one.
    pub cure: String,
}

impl Refusal {
    /// Makes a refusal.
    pub fn new(what: impl Into<String>, why: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), cure: cure.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)?;
        if !self.cure.is_empty() {
            write!(f, " ({})", self.cure)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}
