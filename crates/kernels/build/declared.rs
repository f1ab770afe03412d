//! What the files of `kernels/` declare: instruction sets with their words, kernels with their loops, and mistakes.

use std::collections::BTreeMap;
use std::fmt;

/// What is wrong in a file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// The file, as it was named when it was parsed.
    pub(crate) file: String,
    /// The line, from 1; 0 where a line is missing.
    pub(crate) line: usize,
    /// What is wrong with it and what would be right.
    pub(crate) what: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.what),
            line => write!(f, "{}:{line}: {}", self.file, self.what),
        }
    }
}

/// What a word does to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Reads a stream.
    Reads,
    /// Reads a stream and combines it with the result of the word before.
    Combines,
    /// Writes a stream by ordinary stores.
    Writes,
    /// Writes a stream by non-temporal stores.
    WritesNt,
    /// Changes nothing; once for each line ahead of the loop's other words.
    Hints,
}

impl Class {
    const ALL: [(&'static str, Self); 5] = [
        ("reads", Self::Reads),
        ("combines", Self::Combines),
        ("writes", Self::Writes),
        ("writes-nt", Self::WritesNt),
        ("hints", Self::Hints),
    ];

    /// The class that a line's key stands for.
    pub(crate) fn named(key: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == key).map(|(_, class)| *class)
    }

    /// Whether the word loads from memory.
    pub(crate) fn is_read(self) -> bool {
        matches!(self, Self::Reads | Self::Combines)
    }

    /// Whether the word stores to memory.
    pub(crate) fn is_write(self) -> bool {
        matches!(self, Self::Writes | Self::WritesNt)
    }
}

/// A value and the line it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct At<T> {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The value.
    pub(crate) value: T,
}

/// A word of a loop and its instructions in one instruction set.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    /// What it does to memory.
    pub(crate) class: Class,
    /// Its name.
    pub(crate) name: String,
    /// Its instructions, with `<…>` for what differs between two uses.
    pub(crate) instructions: At<Vec<String>>,
}

/// One line of a loop: a word, the stream it is about, and how many bytes ahead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The word's name.
    pub(crate) word: String,
    /// 0 is `dst`, 1 `src`, 2 `src2`.
    pub(crate) stream: usize,
    /// Bytes ahead of where the loop is; not 0 for hints only.
    pub(crate) ahead: u32,
}

/// Names of the streams, in the order of their arguments.
pub(crate) const STREAMS: [&str; 3] = ["dst", "src", "src2"];

/// Ways through memory.
pub(crate) const WALKS: [&str; 5] = ["sequential", "two-pages", "two-halves", "lines", "random"];

/// A way through memory as one instruction set has it.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    /// One of [`WALKS`].
    pub(crate) name: String,
    /// The macro (portable: the function) that has the loops around the body.
    pub(crate) frame: String,
    /// Bytes of each stream in one iteration.
    pub(crate) bytes: u32,
}

/// An instruction set: its words and registers.
#[derive(Debug, Clone)]
pub(crate) struct Set {
    /// The file it was read from.
    pub(crate) file: String,
    /// The file's stem: its name in kernels' ids.
    pub(crate) name: String,
    /// Ways through memory.
    pub(crate) walks: Vec<Walk>,
    /// Its words.
    pub(crate) words: Vec<Word>,
    /// Values of the keys that stand once.
    pub(crate) rows: BTreeMap<String, At<String>>,
}

/// Keys of a set's file with one value: those that must be there, then those that may.
pub(crate) const SET_KEYS: [&[&str]; 2] = [
    &["arch", "isa", "width", "order", "streams", "address", "sum", "value"],
    &[
        "needs",
        "note",
        "note-nt",
        "line",
        "access",
        "lanes",
        "rest",
        "rest-lanes",
        "x",
        "zero",
        "spread",
        "merge",
        "result",
        "leave",
        "nothing",
    ],
];

impl Set {
    /// A key's value; empty where there is none.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.rows.get(key).map_or("", |row| &row.value)
    }

    /// The words of a key's value.
    pub(crate) fn list(&self, key: &str) -> Vec<&str> {
        self.text(key).split_whitespace().collect()
    }

    /// The numbers among the words of a key's value.
    pub(crate) fn numbers(&self, key: &str) -> Vec<u32> {
        self.list(key).iter().filter_map(|word| word.parse().ok()).collect()
    }

    /// A key's number; `default` where there is none.
    pub(crate) fn number(&self, key: &str, default: u32) -> u32 {
        self.numbers(key).first().copied().unwrap_or(default)
    }

    /// A key's instructions and the line they stand in.
    pub(crate) fn instructions(&self, key: &str) -> At<Vec<String>> {
        let none = At { line: 0, value: Vec::new() };
        self.rows.get(key).map_or(none, |row| At { line: row.line, value: instructions(&row.value) })
    }
}

/// A kernel as its file declares it, for every instruction set it names.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    /// The file it was read from.
    pub(crate) file: String,
    /// Operation, and after a `-` the variant.
    pub(crate) name: At<String>,
    /// One line for people.
    pub(crate) about: String,
    /// Names of the instruction sets.
    pub(crate) sets: At<Vec<String>>,
    /// One of [`WALKS`].
    pub(crate) walk: At<String>,
    /// Features of the cpu besides those of the set.
    pub(crate) needs: Vec<String>,
    /// The kernel that adds up what this one only loads.
    pub(crate) checked_by: Option<At<String>>,
    /// Bytes of each line that are read or written.
    pub(crate) visits: At<u32>,
    /// Instruction set and bytes of each stream in one iteration, where they are not the set's.
    pub(crate) bytes: Vec<At<(String, u32)>>,
    /// Words of its own.
    pub(crate) words: Vec<Word>,
    /// The loop.
    pub(crate) body: Vec<Statement>,
}

impl Kernel {
    /// What the name says before the first `-`.
    pub(crate) fn operation(&self) -> &str {
        self.name.value.split('-').next().unwrap_or_default()
    }

    /// What the name says from the first `-` on.
    pub(crate) fn variant(&self) -> &str {
        &self.name.value[self.operation().len()..]
    }

    /// A mistake in this file.
    pub(crate) fn mistake(&self, line: usize, what: impl Into<String>) -> Mistake {
        Mistake { file: self.file.clone(), line, what: what.into() }
    }
}

/// The instructions of one line: separated by `;`.
pub(crate) fn instructions(text: &str) -> Vec<String> {
    text.split(';').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect()
}
