//! Journals as files.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tiermark_history::lines::{Damaged, Lines};
use tiermark_model::Refusal;
use tiermark_model::messages::undo as messages;

use super::{Change, JournalHeader, SCHEMA};

/// A line behind the head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// This is about to be changed.
    Change(Change),
    /// The change of that index was taken back.
    Undone(usize),
}

/// The content of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) head: JournalHeader,
    pub(crate) changes: Vec<Change>,
    /// Of each change, whether it was taken back.
    pub(crate) undone: Vec<bool>,
}

impl Noted {
    pub(super) fn new(head: JournalHeader) -> Self {
        Self { head, changes: Vec::new(), undone: Vec::new() }
    }

    /// Changes that are not taken back, each with its index.
    pub(crate) fn left(&self) -> impl DoubleEndedIterator<Item = (usize, &Change)> {
        self.changes.iter().enumerate().filter(|(index, _)| !self.undone[*index])
    }
}

/// Whether a journal's writer died before its head was whole: nothing was changed then.
pub(crate) fn never_began(path: &Path) -> bool {
    Lines::read(path).is_ok_and(|lines| lines.bytes() == 0)
}

/// [`JournalHeader::sequence`] of the journal at this path; 0 if its head cannot be read.
pub(super) fn sequence(path: &Path) -> u64 {
    let head = Lines::read(path).ok().and_then(|lines| serde_json::from_slice::<JournalHeader>(lines.head()).ok());
    head.map_or(0, |head| head.sequence)
}

pub(super) fn malformed(path: &Path, why: &str) -> Refusal {
    messages::journal_malformed(&path.display().to_string(), why)
}

/// Reads the lines of a journal. Any damaged one is an error: to take back the other changes, and not this one, may do
/// harm.
///
/// # Errors
/// A message that names the mistake.
pub(super) fn parse(lines: &Lines) -> Result<Noted, String> {
    let head = serde_json::from_slice::<JournalHeader>(lines.head());
    let head = head.map_err(|why| format!("its first line cannot be parsed: {why}"))?;
    if head.schema != SCHEMA {
        return Err(format!("its schema is '{}', and this version reads {SCHEMA}", head.schema));
    }
    let mut noted = Noted::new(head);
    let take = |line: Line| {
        match line {
            Line::Change(change) => {
                change.check().map_err(|refusal| refusal.to_string())?;
                noted.changes.push(change);
                noted.undone.push(false);
            }
            Line::Undone(index) => {
                let undone = noted.undone.get_mut(index);
                *undone.ok_or_else(|| format!("it takes back change {index}, which the journal does not have"))? = true;
            }
        }
        Ok(())
    };
    lines.each(Damaged::Ends, take).map_err(|damaged| format!("its {damaged}"))?;
    Ok(noted)
}
