//! What the time of an experiment went into.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// The wall time of an experiment, seconds, by what it went into.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeSpent {
    /// All of it.
    pub whole: f64,
    /// Filling the memory that the steps share.
    pub filling: f64,
    /// How much was filled.
    pub filled: Bytes,
    /// Making the places of figures: chains, memory of their own, other threads and processes.
    pub placing: f64,
    /// Bringing caches and translations into their steady state before visits to figures.
    pub settling: f64,
    /// Comparing the kernels of figures.
    pub comparing: f64,
    /// Visits to figures, without what stands above.
    pub figures: f64,
    /// Points of curves by size, with all that they take.
    pub curves: f64,
    /// Waiting for another moment.
    pub waiting: f64,
}

impl TimeSpent {
    /// What visits to figures take besides themselves.
    pub fn beside_figures(&self) -> f64 {
        self.placing + self.settling + self.comparing
    }

    /// What is left of the whole: estimates, plans, what listeners do.
    pub fn other(&self) -> f64 {
        let known = self.filling + self.beside_figures() + self.figures + self.curves + self.waiting;
        (self.whole - known).max(0.0)
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            whole: self.whole + other.whole,
            filling: self.filling + other.filling,
            filled: Bytes(self.filled.0.saturating_add(other.filled.0)),
            placing: self.placing + other.placing,
            settling: self.settling + other.settling,
            comparing: self.comparing + other.comparing,
            figures: self.figures + other.figures,
            curves: self.curves + other.curves,
            waiting: self.waiting + other.waiting,
        }
    }
}
