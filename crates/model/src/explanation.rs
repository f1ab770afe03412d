//! A run explained: what limited its rates, what its accesses cost, and what is wrong with its machine, as data.

use serde::{Deserialize, Serialize};

use crate::comparison::ComparedRun;
use crate::counters::CounterSourceId;
use crate::refusal::Note;

/// Schema of a run explained ([`Explanation`]).
pub const EXPLANATION_SCHEMA: &str = "tiermark/explanation/1";

/// A run explained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The run.
    pub run: ComparedRun,
    /// The source of counters that the explanations use; `None` if the run has no counts, or none that can be trusted.
    pub counters: Option<CounterSourceId>,
    /// What was found: problems first, then by importance.
    pub found: Vec<Explained>,
    /// Names of the rules that were judged and found nothing.
    pub clear: Vec<String>,
    /// Rules that could not be judged.
    pub unjudged: Vec<UnjudgedRule>,
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explained {
    /// Name of the rule.
    pub rule: String,
    /// Whether something is wrong.
    pub kind: ExplainedKind,
    /// What was found, in a sentence without numbers.
    pub found: String,
    /// What the sentence rests on.
    pub confidence: Confidence,
    /// The place where it is most pronounced; `None` for the whole machine.
    pub place: Option<String>,
    /// The numbers of that place.
    pub numbers: Vec<ExplainedNumber>,
    /// Some of the other places where it was found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// How many other places there are.
    #[serde(default)]
    pub others: u64,
    /// What to try.
    pub advice: String,
    /// Where the limits of the rule come from.
    pub source: String,
}

/// Whether something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExplainedKind {
    /// Something costs performance that the machine could have.
    Problem,
    /// How memory works: any healthy machine may show it.
    Lesson,
}

/// What a conclusion rests on, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Hardware counters counted the traffic.
    Counted,
    /// Measured rates and times, without counters.
    Measured,
    /// The system reports it.
    Reported,
    /// A bound or an indirect sign: there may be another cause.
    Hint,
}

/// A number that a rule used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedNumber {
    /// Its name in the rule; `other.` stands before a number of the place that this one is compared with.
    pub name: String,
    /// What it is.
    pub what: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: ExplainedUnit,
    /// Ids of the steps that it rests on; empty for a number of the system.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
}

/// Unit of a number that a rule used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExplainedUnit {
    /// Nanoseconds.
    Ns,
    /// Bytes per second.
    BytesPerSecond,
    /// Transfers per second.
    TransfersPerSecond,
    /// A part of a whole, 1 for all of it.
    Share,
    /// A count or a ratio.
    Number,
}

/// A rule that could not be judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnjudgedRule {
    /// Name of the rule.
    pub rule: String,
    /// Why.
    pub why: Note,
}

impl Explanation {
    /// Everything of one kind.
    pub fn of(&self, kind: ExplainedKind) -> impl Iterator<Item = &Explained> {
        self.found.iter().filter(move |found| found.kind == kind)
    }

    /// Whether no rule could be judged.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty() && self.clear.is_empty()
    }
}
