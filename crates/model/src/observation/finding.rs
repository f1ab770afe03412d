//! What a probe concludes.

use serde::{Deserialize, Serialize};

use super::{Interval, PerCycle, Typical, ValueKind};
use crate::labels::Labels;
use crate::quantity::Quantity;
use crate::refusal::{Code, Note};
use crate::units::{RateUnit, Unit};
use crate::verdict::Verdict;

/// What a probe concludes from its observations: one number with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The quantity that the number is of.
    #[serde(rename = "metric")]
    pub quantity: Quantity,
    /// What it was measured on: tier, operation, threads.
    pub labels: Labels,
    /// The number in the base unit; `None` when invalid or not measured.
    pub value: Option<f64>,
    /// Base unit of value and interval.
    pub unit: Unit,
    /// Its interval, where it has one.
    pub interval: Option<Interval>,
    /// The number per cycle of the core, as of the observation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_cycle: Option<PerCycle>,
    /// Which statistic of the visits the number is; `None` of what was computed from several observations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ValueKind>,
    /// What a program got during the run: the median visit and the spread of visits, as of the observation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typical: Option<Typical>,
    /// The best that was sustained, as of the observation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<f64>,
    /// Samples behind it.
    pub samples: u64,
    /// How far it can be trusted.
    pub verdict: Verdict,
    /// Ids of the steps it rests on.
    pub evidence: Vec<String>,
    /// Remarks on the number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

impl Finding {
    /// A number without an interval, evidence and notes, that nothing speaks against.
    pub fn new(quantity: Quantity, labels: Labels, value: Option<f64>, unit: Unit) -> Self {
        let (interval, per_cycle, kind, typical, best) = (None, None, None, None, None);
        let (samples, verdict, evidence, notes) = (0, Verdict::trusted(), Vec::new(), Vec::new());
        Self {
            quantity,
            labels,
            value,
            unit,
            interval,
            per_cycle,
            kind,
            typical,
            best,
            samples,
            verdict,
            evidence,
            notes,
        }
    }

    /// The number with these notes after those it has.
    #[must_use]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = Note>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// The note with this code, where it has one.
    pub fn noted(&self, code: &Code) -> Option<&Note> {
        self.notes.iter().find(|note| note.code == *code)
    }

    /// Its notes in one line, with rates in a unit; `None` where it has none.
    pub fn note(&self, unit: RateUnit) -> Option<String> {
        (!self.notes.is_empty()).then(|| Note::joined(&self.notes, unit))
    }
}
