//! For fuzzing: an index whose files hold anything.

use std::{fs, io};

use super::files::{FIGURES, Files, HEADS};
use crate::store::Store;

/// Writes the two files beside a store, and reads them as an index of so many documents does: the number of runs whose
/// figures are found.
///
/// # Errors
/// The system's, where a file cannot be written.
pub fn read_index(store: &Store, [heads, figures]: [&[u8]; 2], documents: usize) -> io::Result<usize> {
    let directory = store.directory().and_then(|runs| runs.parent()).ok_or(io::ErrorKind::NotFound)?;
    fs::write(directory.join(HEADS), heads)?;
    fs::write(directory.join(FIGURES), figures)?;
    let files = Files::beside(store).ok_or(io::ErrorKind::NotFound)?;
    Ok(files.heads(documents).0.values().filter(|head| files.details(head).is_some()).count())
}
