//! A run explained: what limited its rates, what its accesses cost, and what is wrong with its machine, as data.

use serde::{Deserialize, Serialize};

use crate::comparison::ComparedRun;
use crate::counters::CounterSourceId;
use crate::refusal::Note;

/// Schema of a run explained ([`Explanation`]).
pub const EXPLANATION_SCHEMA: &str = "tiermark/explanation/1";
/// Schema of the rules that explain runs ([`ExplainRules`]).
pub const EXPLAIN_RULES_SCHEMA: &str = "tiermark/explain-rules/1";

/// A run explained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The run.
    pub run: ComparedRun,
    /// The source of counters that the explanations use; `None` if the run has no counts, or none that can be trusted.
    pub counters: Option<CounterSourceId>,
    /// Why the counts that the run has are not used; `None` if they are, or if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts_unused: Option<Note>,
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
    /// The command whose run has the numbers that are missing; `None` if no run of this machine would have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// The rules that explain runs, in the order in which findings are reported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainRules {
    /// The rules. Those of one name are alternatives: the first that finds something is reported.
    pub rules: Vec<ExplainRule>,
}

/// A rule that explains runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainRule {
    /// Its name.
    pub name: String,
    /// Whether something is wrong if it finds something.
    pub kind: ExplainedKind,
    /// What it finds, in a sentence.
    pub finds: String,
    /// What it looks at, in words; `None` for a fact that the system reports.
    pub looks_at: Option<String>,
    /// Whether it finds something where its limit does not hold, and not where all hold.
    pub expects: bool,
    /// Its limits, in the language of expectations.
    pub limits: Vec<String>,
    /// Whether only hardware counters have its numbers.
    pub needs_counters: bool,
    /// The command whose run has its numbers; `None` for what the system reports or every run has.
    pub command: Option<String>,
    /// What its conclusion rests on at best; `None` for what its numbers rest on.
    pub at_best: Option<Confidence>,
    /// What to try.
    pub advice: String,
    /// What to try where every core is in use already; `None` for the same.
    pub advice_if_full: Option<String>,
    /// Where its limits come from.
    pub source: String,
}

impl Explanation {
    /// Everything of one kind.
    pub fn of(&self, kind: ExplainedKind) -> impl Iterator<Item = &Explained> {
        self.found.iter().filter(move |found| found.kind == kind)
    }

    /// Rules that were judged, whatever they found.
    pub fn judged(&self) -> usize {
        self.found.len() + self.clear.len()
    }

    /// The commands that would let rules be judged, each with their number: those of most rules first.
    pub fn commands(&self) -> Vec<(&str, usize)> {
        let mut commands: Vec<(&str, usize)> = Vec::new();
        for command in self.unjudged.iter().filter_map(|one| one.command.as_deref()) {
            match commands.iter_mut().find(|(known, _)| *known == command) {
                Some((_, rules)) => *rules += 1,
                None => commands.push((command, 1)),
            }
        }
        // Stable: of as many, the one of the more important rules is first.
        commands.sort_by_key(|(_, rules)| std::cmp::Reverse(*rules));
        commands
    }

    /// Whether no rule could be judged.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty() && self.clear.is_empty()
    }
}
