//! Writing back what files held before.

use std::ops::RangeFrom;

use tiermark_model::messages::undo as notes;
use tiermark_model::{ChangeOutcome, ChangeRow, Note};

use super::row::{row, system_error};
use crate::journal::{Change, Journal};
use crate::syntax::Syntax;
use crate::writer::SystemWriter;

/// Writes back the old values of the journal's knobs from an index on, the newest first. Then looks again: a queue's
/// scheduler, say, changes its length, which came back before it.
pub(crate) fn knobs(
    journal: &mut Journal,
    from: RangeFrom<usize>,
    writer: &mut dyn SystemWriter,
    force: bool,
) -> Vec<ChangeRow> {
    let left = journal.left(|change| matches!(change, Change::Knob { .. }).then(|| change.clone()));
    let left: Vec<(usize, Change)> = left.into_iter().filter(|(index, _)| from.contains(index)).collect();
    let mut rows: Vec<ChangeRow> = left.iter().map(|(_, change)| back(change, writer, force)).collect();
    for (at, (_, change)) in left.iter().enumerate() {
        // Of several changes of one file the oldest has the last word.
        let last = !left[at + 1..].iter().any(|(_, other)| same_file(other, change));
        if rows[at].outcome == ChangeOutcome::Done && last && !is_back(change, writer) {
            rows[at] = back(change, writer, true);
        }
    }
    for ((index, _), row) in left.iter().zip(&rows) {
        journal.settle(*index, row.outcome);
    }
    rows
}

fn same_file(a: &Change, b: &Change) -> bool {
    matches!((a, b), (Change::Knob { path: a, .. }, Change::Knob { path: b, .. }) if a == b)
}

/// The present value of a knob; `None` if its file does not exist.
fn now(path: &str, syntax: Syntax, writer: &dyn SystemWriter) -> Result<Option<String>, Note> {
    match writer.root().read(path) {
        Ok(None) => Ok(None),
        Ok(Some(text)) => match syntax.parse(&text) {
            Some(reading) => Ok(Some(reading.value)),
            None => Err(notes::value_unreadable()),
        },
        Err(why) => Err(notes::system_refused(&why.to_string())),
    }
}

fn is_back(change: &Change, writer: &dyn SystemWriter) -> bool {
    let Change::Knob { path, syntax, old, .. } = change else { return true };
    matches!(now(path, *syntax, writer), Ok(Some(value)) if syntax.same(&value, old))
}

fn back(change: &Change, writer: &mut dyn SystemWriter, force: bool) -> ChangeRow {
    let Change::Knob { path, syntax, old, new } = change else { return row(change, ChangeOutcome::Already, None) };
    let value = match now(path, *syntax, writer) {
        Ok(Some(value)) => value,
        Ok(None) => return row(change, ChangeOutcome::Gone, Some(notes::file_gone())),
        Err(why) => return row(change, ChangeOutcome::Failed, Some(why)),
    };
    if syntax.same(&value, old) {
        return row(change, ChangeOutcome::Already, None);
    }
    if !syntax.same(&value, new) && !force {
        return row(change, ChangeOutcome::Left, Some(notes::value_of_others(&value, old)));
    }
    if let Err(why) = writer.write(path, old) {
        return row(change, ChangeOutcome::Failed, Some(system_error(&why)));
    }
    match now(path, *syntax, writer) {
        Ok(Some(value)) if syntax.same(&value, old) => row(change, ChangeOutcome::Done, None),
        Ok(Some(value)) => row(change, ChangeOutcome::Failed, Some(notes::value_not_back(&value))),
        Ok(None) => row(change, ChangeOutcome::Gone, Some(notes::file_gone())),
        Err(why) => row(change, ChangeOutcome::Failed, Some(why)),
    }
}
