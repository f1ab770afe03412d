//! Writing files: noted first, written, read again, and all taken back where one does not work.

use std::io;

use tiermark_model::{Deed, Fate, Refusal};

use crate::hands::Hands;
use crate::journal::{Change, Journal};
use crate::restore;
use crate::syntax::Syntax;

/// One file that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnobChange {
    /// What people call the knob.
    pub name: String,
    /// The file, below the root.
    pub path: String,
    /// Its form.
    pub syntax: Syntax,
    /// The value now.
    pub old: String,
    /// The value it is to have.
    pub new: String,
}

/// What became of a set of changes.
#[derive(Debug)]
pub struct Applied {
    /// Each change, and where one failed, each that was taken back.
    pub deeds: Vec<Deed>,
    /// Why not all of them could be made; all are taken back then, as far as the deeds say so.
    pub refused: Option<Refusal>,
}

/// Makes changes. All are noted before the first is made; after the first that fails, those made are taken back.
///
/// # Errors
/// A [`Refusal`] where nothing was changed at all: a file cannot be written, or the journal.
pub fn apply(changes: &[KnobChange], hands: &mut dyn Hands, journal: &mut Journal) -> Result<Applied, Refusal> {
    for change in changes {
        hands.may_write(&change.path).map_err(|why| refusal(change, &why))?;
    }
    let first = journal.changes.len();
    let noted = |c: &KnobChange| Change::Knob {
        path: c.path.clone(),
        syntax: c.syntax,
        old: c.old.clone(),
        new: c.new.clone(),
    };
    journal.note(changes.iter().map(noted).collect())?;
    let mut deeds = Vec::new();
    for change in changes {
        match write(change, hands) {
            Ok(()) => deeds.push(deed(change, Fate::Done, None)),
            Err(refused) => {
                deeds.push(deed(change, Fate::Failed, Some(refused.why.clone())));
                deeds.extend(restore::knobs(journal, first.., hands, false));
                return Ok(Applied { deeds, refused: Some(refused) });
            }
        }
    }
    Ok(Applied { deeds, refused: None })
}

fn deed(change: &KnobChange, fate: Fate, why: Option<String>) -> Deed {
    let what = format!("/{}", change.path);
    Deed { what, from: Some(change.old.clone()), to: Some(change.new.clone()), fate, why }
}

/// Writes one value and reads it again.
fn write(change: &KnobChange, hands: &mut dyn Hands) -> Result<(), Refusal> {
    hands.write(&change.path, &change.new).map_err(|why| refusal(change, &why))?;
    let text = hands.root().read(&change.path).ok().flatten();
    let now = text.as_deref().and_then(|text| change.syntax.parse(text));
    match now {
        Some(now) if change.syntax.same(&now.value, &change.new) => Ok(()),
        now => {
            let now = now.map_or_else(|| "nothing that makes sense".to_owned(), |reading| reading.value);
            Err(Refusal::new(
                format!("{}: {} instead of {}", change.name, change.new, change.old),
                format!("the kernel took the value and says {now} when it is read again"),
                "leave this knob out with --only, or see the kernel's log (dmesg)",
            ))
        }
    }
}

/// What the system says to a write, with what to do about it.
fn refusal(change: &KnobChange, why: &io::Error) -> Refusal {
    let cure = match why.kind() {
        io::ErrorKind::PermissionDenied => "run as root: sudo tiermark tune --apply",
        io::ErrorKind::ReadOnlyFilesystem => {
            "a container shows it read-only: run on the host, or in a privileged container"
        }
        _ => "leave this knob out with --only, or see the kernel's log (dmesg)",
    };
    Refusal::new(
        format!("{}: {} instead of {}", change.name, change.new, change.old),
        format!("/{}: {why}", change.path),
        cure,
    )
}
