//! A run judged against expectations, as data.

use serde::{Deserialize, Serialize};

use crate::checkup::CheckRow;
use crate::comparison::ComparedRun;
use crate::exit::Exit;
use crate::machine::Contradiction;
use crate::refusal::Note;
use crate::run_labels::RunLabels;

/// Schema of a run judged against expectations ([`Check`]).
pub const CHECK_SCHEMA: &str = "tiermark/check/1";

/// A run judged against expectations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// The conclusion.
    pub verdict: CheckVerdict,
    /// The run.
    pub run: ComparedRun,
    /// Labels that its user gave, such as a serial number.
    #[serde(default, skip_serializing_if = "RunLabels::is_empty")]
    pub labels: RunLabels,
    /// The file of the expectations, or `auto` for the built-in rules of thumb.
    pub expectations: String,
    /// SHA-256 of that file, in hexadecimal, as `sha256sum` prints it.
    pub sha256: String,
    /// Every expectation, in the order of the file.
    pub results: Vec<CheckResult>,
    /// Whether no run passes that is not complete, or in which an expectation could not be judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Facts of the machine of which two views exclude each other: what is judged by them rests on the view that is
    /// used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<Contradiction>,
    /// Latencies and read rates of L3 and memory that no expectation limits: the machine may be slow in them and pass.
    /// Names of figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlimited: Vec<String>,
    /// Settings of the system that cost performance or make it vary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<CheckRow>,
}

/// Schema of several runs judged against the same expectations ([`Checks`]).
pub const CHECKS_SCHEMA: &str = "tiermark/checks/1";

/// Several runs judged against the same expectations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Checks {
    /// The file of the expectations, or `auto` for the built-in rules of thumb.
    pub expectations: String,
    /// The runs, in the order given.
    pub runs: Vec<CheckedRun>,
}

/// One of several runs that are judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedRun {
    /// Its name on the command line.
    pub name: String,
    /// The conclusion.
    pub verdict: CheckVerdict,
    /// The judgement; `None` if the document cannot be read.
    pub check: Option<Check>,
    /// Why the document cannot be read; `None` if it can.
    pub problem: Option<String>,
}

/// The conclusion of a run that is judged, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// No expectation failed.
    Passed,
    /// No expectation failed, but a required one could not be judged.
    Incomplete,
    /// Too little was judged: not the least of the figures that are expected, or nothing.
    NotJudged,
    /// The document cannot be read.
    Unreadable,
    /// An expectation failed.
    Failed,
}

impl CheckVerdict {
    /// Its words in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Incomplete => "incomplete",
            Self::NotJudged => "not judged",
            Self::Unreadable => "unreadable",
            Self::Failed => "failed",
        }
    }

    /// The word that a report begins with.
    pub fn headline(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Incomplete | Self::NotJudged | Self::Unreadable => "NOT JUDGED",
            Self::Failed => "FAILED",
        }
    }

    /// The exit code of a run with this conclusion.
    pub fn exit(self) -> Exit {
        match self {
            Self::Passed => Exit::Done,
            Self::Incomplete | Self::NotJudged => Exit::Partial,
            Self::Unreadable => Exit::Refused,
            Self::Failed => Exit::Regression,
        }
    }
}

impl Checks {
    /// The worst conclusion of any run.
    pub fn verdict(&self) -> CheckVerdict {
        self.runs.iter().map(|run| run.verdict).max().unwrap_or(CheckVerdict::NotJudged)
    }
}

/// An expectation with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckResult {
    /// The expectation as it was written.
    pub that: String,
    /// The result over all places.
    pub outcome: CheckOutcome,
    /// The place with the worst result: of those that failed, else of those that a bound leaves open, else of those
    /// that passed. `None` if no place has a value.
    pub worst: Option<CheckedValue>,
    /// Places (nodes, pairs of nodes, memory modules) that passed.
    pub passed: u64,
    /// Places that failed.
    pub failed: u64,
    /// Places that could not be judged.
    pub unjudged: u64,
    /// Whether the expectation names a figure that a run measures: an expectation of facts alone, such as settings or
    /// memory modules, says nothing of what the machine can do.
    #[serde(default)]
    pub measured: bool,
    /// What it says of memory: a verdict needs one judged expectation of each that its expectations name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MemoryFigure>,
    /// Whether no run passes in which this is not judged: its file requires it, and the machine is what it needs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// Both texts, of an expectation that compares texts; `None` of numbers and if a text is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<CheckedTexts>,
    /// Why places could not be judged, each reason once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Note>,
    /// Why the expectation matters, from its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Where the limit comes from, from its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// What memory does: without it, nothing is known of what the machine can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MemoryFigure {
    /// A latency of memory.
    Latency,
    /// A bandwidth of memory.
    Bandwidth,
}

impl MemoryFigure {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Latency, Self::Bandwidth];

    /// Its words in reports: `latency`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Bandwidth => "bandwidth",
        }
    }
}

/// The result of an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    /// Every place passed.
    Passed,
    /// No place failed, and at least one could not be judged.
    Unjudged,
    /// At least one place failed.
    Failed,
}

/// A value beside its limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedValue {
    /// The place; `None` for the whole machine.
    pub place: Option<String>,
    /// The left side of the expectation.
    pub value: f64,
    /// Whether the value is exact or a bound.
    pub value_is: Known,
    /// The comparison that the value must satisfy.
    pub comparator: Comparator,
    /// The right side of the expectation.
    pub limit: f64,
    /// Whether the limit is exact or a bound.
    pub limit_is: Known,
    /// Unit of both.
    pub unit: CheckUnit,
    /// Distance from the limit as a share of it: negative if the expectation fails. `None` if the limit is 0.
    pub margin: Option<f64>,
}

/// A text beside the one that it is compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckedTexts {
    /// The left side of the expectation.
    pub value: String,
    /// The comparison: `same` or `other`.
    pub comparator: Comparator,
    /// The right side of the expectation.
    pub limit: String,
}

/// Whether a number is exact or a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// The number itself.
    Exactly,
    /// The true number is this or larger.
    AtLeast,
    /// The true number is this or smaller.
    AtMost,
}

/// The comparison of a value with its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Comparator {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `==`
    Same,
    /// `!=`
    Other,
}

/// Unit of the numbers of an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckUnit {
    /// Nanoseconds.
    Ns,
    /// Bytes per second.
    BytesPerSecond,
    /// Transfers per second of a memory module.
    TransfersPerSecond,
    /// Bytes.
    Bytes,
    /// Cycles per second.
    Hz,
    /// A count or a ratio.
    Number,
    /// No number: a text, such as a version.
    Text,
}

/// A figure of a run that an expectation can name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedFigure {
    /// The name: `read.dram.all`.
    pub name: String,
    /// The place; `None` for the whole machine.
    pub place: Option<String>,
    /// The number or the text; else why it is not known.
    pub value: Result<NamedValue, Note>,
    /// Its unit.
    pub unit: CheckUnit,
}

/// What a name of expectations stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum NamedValue {
    /// A number, and whether it is exact or a bound.
    Number(f64, Known),
    /// A text.
    Text(String),
}

impl CheckResult {
    /// Whether it was judged at any place.
    pub fn is_judged(&self) -> bool {
        self.passed > 0 || self.failed > 0
    }
}

impl Check {
    /// With its conclusion, which follows from the results.
    #[must_use]
    pub fn concluded(self) -> Self {
        Self { verdict: self.conclusion(), ..self }
    }

    fn conclusion(&self) -> CheckVerdict {
        let is_whole = self.count(CheckOutcome::Unjudged) == 0 && self.run.complete;
        if self.count(CheckOutcome::Failed) > 0 {
            CheckVerdict::Failed
        } else if self.lacks_figures() || !self.results.iter().any(CheckResult::is_judged) {
            CheckVerdict::NotJudged
        } else if self.missing().next().is_some() || self.strict && !is_whole {
            CheckVerdict::Incomplete
        } else {
            CheckVerdict::Passed
        }
    }

    /// Figures of memory that expectations name, but of which no expectation was judged. An expectation counts as
    /// judged only if all of its places were.
    pub fn unjudged_memory(&self) -> impl Iterator<Item = MemoryFigure> {
        MemoryFigure::ALL
            .into_iter()
            .filter(|figure| lacks(self.results.iter().filter(|result| result.memory.contains(figure))))
    }

    /// Whether too little is known of what the machine can do: nothing of what expectations name of memory, or of
    /// figures at all, was judged as a whole.
    pub fn lacks_figures(&self) -> bool {
        self.unjudged_memory().next().is_some() || self.has_no_figure()
    }

    fn has_no_figure(&self) -> bool {
        lacks(self.results.iter().filter(|result| result.measured))
    }

    /// Expectations without which a run does not pass, and which could not be judged: those that are required, and
    /// those that would make up the least that a verdict needs.
    pub fn missing(&self) -> impl Iterator<Item = &CheckResult> {
        let (memory, has_none) = (self.unjudged_memory().collect::<Vec<_>>(), self.has_no_figure());
        let is_needed = move |result: &&CheckResult| {
            let is_of_memory = result.memory.iter().any(|figure| memory.contains(figure));
            result.required || is_of_memory || (result.measured && has_none)
        };
        self.results.iter().filter(|result| result.outcome == CheckOutcome::Unjudged).filter(is_needed)
    }

    /// How many expectations have this result.
    pub fn count(&self, outcome: CheckOutcome) -> usize {
        self.results.iter().filter(|result| result.outcome == outcome).count()
    }
}

/// Whether there are such expectations, and none was judged as a whole.
fn lacks<'a>(mut results: impl Iterator<Item = &'a CheckResult>) -> bool {
    let is_unjudged = |result: &CheckResult| result.outcome == CheckOutcome::Unjudged;
    results.next().is_some_and(|first| is_unjudged(first) && results.all(is_unjudged))
}

impl Comparator {
    /// Whether it is `==` or `!=`.
    pub fn is_of_identity(self) -> bool {
        matches!(self, Self::Same | Self::Other)
    }

    /// Its sign as it is written: `<=`.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Same => "==",
            Self::Other => "!=",
        }
    }
}
