//! Writing files: noted first, written, read again, and all taken back where one does not work.

use std::io;

use tiermark_model::messages::undo as messages;
use tiermark_model::{ChangeOutcome, ChangeRow, Note, Refusal};

use crate::journal::{Change, Journal};
use crate::restore;
use crate::syntax::Syntax;
use crate::writer::SystemWriter;

/// One file that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnobChange {
    /// The knob's name (`vm.page-cluster`).
    pub name: String,
    /// The file, below the root.
    pub path: String,
    /// The form of the file.
    pub syntax: Syntax,
    /// The value before.
    pub old: String,
    /// The value to write.
    pub new: String,
}

/// The outcome of a set of changes.
#[derive(Debug)]
pub struct Applied {
    /// Each change, and where one failed, each that was taken back.
    pub rows: Vec<ChangeRow>,
    /// Why not all of them could be made; all are taken back then, as far as the rows say so.
    pub refused: Option<Refusal>,
}

/// Opens each file for writing, and changes nothing.
///
/// # Errors
/// A [`Refusal`] that names the first file that cannot be written.
pub fn may_write(changes: &[KnobChange], writer: &mut dyn SystemWriter) -> Result<(), Refusal> {
    changes.iter().try_for_each(|change| writer.may_write(&change.path).map_err(|why| refusal(change, &why)))
}

/// Makes changes. All are noted before the first is made; after the first that fails, those made are taken back.
///
/// # Errors
/// A [`Refusal`] where nothing was changed at all: a file cannot be written, or the journal.
pub fn apply(changes: &[KnobChange], writer: &mut dyn SystemWriter, journal: &mut Journal) -> Result<Applied, Refusal> {
    may_write(changes, writer)?;
    let first = journal.noted.changes.len();
    let noted = |c: &KnobChange| Change::Knob {
        path: c.path.clone(),
        syntax: c.syntax,
        old: c.old.clone(),
        new: c.new.clone(),
    };
    journal.note(changes.iter().map(noted).collect())?;
    let mut rows = Vec::new();
    for change in changes {
        match write(change, writer) {
            Ok(()) => rows.push(row(change, ChangeOutcome::Done, None)),
            Err(refused) => {
                rows.push(row(change, ChangeOutcome::Failed, Some(Note::from(&refused))));
                rows.extend(restore::knobs(journal, first.., writer, false));
                return Ok(Applied { rows, refused: Some(refused) });
            }
        }
    }
    Ok(Applied { rows, refused: None })
}

fn row(change: &KnobChange, outcome: ChangeOutcome, why: Option<Note>) -> ChangeRow {
    let what = format!("/{}", change.path);
    ChangeRow { what, from: Some(change.old.clone()), to: Some(change.new.clone()), outcome, why }
}

/// Writes one value and reads it again.
fn write(change: &KnobChange, writer: &mut dyn SystemWriter) -> Result<(), Refusal> {
    writer.write(&change.path, &change.new).map_err(|why| refusal(change, &why))?;
    let text = writer.root().text(&change.path);
    let now = text.as_deref().and_then(|text| change.syntax.parse(text));
    match now {
        Some(now) if change.syntax.same(&now.value, &change.new) => Ok(()),
        now => {
            let now = now.map(|reading| reading.value);
            Err(messages::knob_not_kept(&change.name, &change.new, &change.old, now.as_deref()))
        }
    }
}

/// The refusal of a write that failed, with a cure for its cause.
fn refusal(change: &KnobChange, why: &io::Error) -> Refusal {
    let refusal = match why.kind() {
        io::ErrorKind::PermissionDenied => messages::knob_denied,
        io::ErrorKind::ReadOnlyFilesystem => messages::knob_read_only,
        _ => messages::knob_refused,
    };
    refusal(&change.name, &change.new, &change.old, &change.path, &why.to_string())
}
