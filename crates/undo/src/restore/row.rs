//! What becomes of noted changes: a row each for the reader, and the end of the note in the journal.

use std::io;
use std::time::Duration;

use tiermark_model::messages::undo as notes;
use tiermark_model::{ChangeOutcome, ChangeRow, Note};

use crate::journal::{Change, Journal};
use crate::writer::SystemWriter;

/// Time between two attempts at something that is busy: udev opens a new device for a moment, and a group stays busy
/// until its last process is reaped.
pub(super) const STEP: Duration = Duration::from_millis(50);

impl Journal {
    /// Changes not taken back yet, the newest first, of one kind.
    pub(super) fn left<T>(&self, mut pick: impl FnMut(&Change) -> Option<T>) -> Vec<(usize, T)> {
        self.noted.left().rev().filter_map(|(index, change)| Some((index, pick(change)?))).collect()
    }

    /// Notes what became of taking one back.
    pub(super) fn settle(&mut self, index: usize, outcome: ChangeOutcome) {
        if !matches!(outcome, ChangeOutcome::Failed | ChangeOutcome::Left) {
            self.note_undone(index);
        }
    }

    /// Takes back the changes of one kind, the newest first.
    pub(super) fn take_back(
        &mut self,
        is_of_kind: impl Fn(&Change) -> bool,
        mut one: impl FnMut(&Change) -> ChangeRow,
    ) -> Vec<ChangeRow> {
        let noted = self.left(|change| is_of_kind(change).then(|| change.clone()));
        let mut settled = |(index, change): (usize, Change)| {
            let done = one(&change);
            self.settle(index, done.outcome);
            done
        };
        noted.into_iter().map(&mut settled).collect()
    }
}

/// The row of a change that was taken back, or could not be.
pub(super) fn row(change: &Change, outcome: ChangeOutcome, why: Option<Note>) -> ChangeRow {
    let (from, to) = match change {
        Change::Knob { old, new, .. } => (Some(new.clone()), Some(old.clone())),
        _ => (None, None),
    };
    let what = match change {
        Change::Knob { path, .. } => format!("/{path}"),
        other => other.to_string(),
    };
    ChangeRow { what, from, to, outcome, why }
}

/// The system's answer, with a cure where there is one.
pub(super) fn system_error(why: &io::Error) -> Note {
    match why.kind() {
        io::ErrorKind::PermissionDenied => notes::restore_denied(&why.to_string()),
        _ => notes::system_refused(&why.to_string()),
    }
}

/// Tries something again while it is busy, at most so many times.
pub(super) fn while_busy<T>(
    times: u32,
    writer: &mut dyn SystemWriter,
    attempt: impl Fn(&mut dyn SystemWriter) -> io::Result<T>,
) -> io::Result<T> {
    for _ in 0..times {
        match attempt(writer) {
            Err(why) if why.kind() == io::ErrorKind::ResourceBusy => writer.wait(STEP),
            other => return other,
        }
    }
    attempt(writer)
}
