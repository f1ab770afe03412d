//! Conditions of a measurement that differ between two numbers of one role: they are compared, and what differs is said
//! beside them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::labels::{Key, Label, LabelSet, Labels};
use crate::span::Span;

/// A condition of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The size of the pages.
    Pages,
    /// The layout of the chains.
    Layout,
    /// How many threads the role has: all cores may be another number.
    Threads,
    /// The kernel of the operation.
    Kernel,
}

impl Condition {
    /// Those that are labels of a number, whatever its run chose.
    pub const OF_LABELS: [Self; 3] = [Self::Pages, Self::Layout, Self::Threads];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Layout => "layout",
            Self::Threads => "threads",
            Self::Kernel => "kernel",
        }
    }

    /// Its label.
    pub fn label(self) -> LabelSet {
        LabelSet::of(self.key())
    }

    fn key(self) -> Key {
        match self {
            Self::Pages => Key::Page,
            Self::Layout => Key::Layout,
            Self::Threads => Key::Threads,
            Self::Kernel => Key::Kernel,
        }
    }

    /// Whether it is no part of what a number of these labels is of: a number of threads is, unless it is that of a
    /// role.
    pub fn is_beside(self, labels: &Labels) -> bool {
        self != Self::Threads || matches!(labels.span(), Some(Span::One | Span::All))
    }
}

/// A condition that differs between two numbers of one role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConditionDifference {
    /// The condition.
    pub condition: Condition,
    /// In the first run.
    pub first: String,
    /// In the other run.
    pub other: String,
}

impl ConditionDifference {
    /// The conditions in which labels differ that both name.
    pub fn of_labels(first: &Labels, other: &Labels) -> Vec<Self> {
        let one = |condition: Condition| {
            let (first, other) = (first.label(condition.key())?, other.label(condition.key())?);
            (first != other).then(|| Self { condition, first: text(first), other: text(other) })
        };
        Condition::OF_LABELS.into_iter().filter_map(one).collect()
    }
}

fn text(label: &Label) -> String {
    match label {
        Label::Whole(number) => number.to_string(),
        Label::Text(text) => text.clone(),
    }
}

/// `pages: thp → base`.
impl fmt::Display for ConditionDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} → {}", self.condition.name(), self.first, self.other)
    }
}
