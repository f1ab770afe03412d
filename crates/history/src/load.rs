//! Loading a run by what the command line calls it: a document, or the journal of a run that was killed.

use std::path::{Path, PathBuf};

use tiermark_model::Run;

use crate::document::{DocumentError, read_file};
use crate::journal::abandoned;
use crate::recover::recover;
use crate::store::{Entry, Store};

/// Why a run could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The document or journal cannot be read.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// No run of that name.
    #[error("no run '{reference}': it is neither a file nor an id in {}; {}", place(.directory), newest(.known))]
    NotFound {
        /// The reference that the user gave.
        reference: String,
        /// The store.
        directory: PathBuf,
        /// The newest ids there.
        known: Vec<String>,
    },
    /// The store is empty or absent.
    #[error("there is no last run: no run is saved in {}; run `tiermark survey` first, or give a file", place(.directory))]
    Empty {
        /// The store.
        directory: PathBuf,
    },
    /// Several ids begin so.
    #[error("'{reference}' is the beginning of several runs: {}; give more of the id", .matches.join(", "))]
    Ambiguous {
        /// The reference that the user gave.
        reference: String,
        /// The ids that begin so.
        matches: Vec<String>,
    },
}

/// The directory of runs, or why there is none.
fn place(directory: &Path) -> String {
    match directory.as_os_str().is_empty() {
        true => "any directory of runs (none of TIERMARK_HOME, XDG_DATA_HOME and HOME is set)".to_owned(),
        false => directory.display().to_string(),
    }
}

fn newest(ids: &[String]) -> String {
    if ids.is_empty() { "no run is saved there".to_owned() } else { format!("the newest are {}", ids.join(", ")) }
}

impl Store {
    /// Loads a run by path, id, the beginning of an id that fits only one, or `last`. A file named `last` is reached as `./last`.
    ///
    /// A killed run is read from its journal: it comes with `complete: false` and without findings.
    ///
    /// # Errors
    /// A [`LoadError`] that says what there is instead.
    pub fn load(&self, reference: &str) -> Result<Run, LoadError> {
        let directory = self.directory().unwrap_or(Path::new("")).to_owned();
        if reference == "last" {
            return match self.newest() {
                Some(entry) => read_any(&entry.path),
                None => Err(LoadError::Empty { directory }),
            };
        }
        let path = Path::new(reference);
        if reference.contains('/') || path.is_file() {
            return read_any(path);
        }
        let mut entries = self.files("json").unwrap_or_default();
        // A run that was killed has only a journal.
        let journals = self.files("journal").unwrap_or_default();
        entries.extend(journals.into_iter().filter(|j| !entries.iter().any(|e| e.id == j.id)).collect::<Vec<_>>());
        if let Some(entry) = entries.iter().find(|e| e.id == reference) {
            return read_any(&entry.path);
        }
        let matches: Vec<&Entry> =
            entries.iter().filter(|e| !reference.is_empty() && e.id.starts_with(reference)).collect();
        match matches.as_slice() {
            [entry] => read_any(&entry.path),
            [] => Err(LoadError::NotFound {
                reference: reference.to_owned(),
                directory,
                known: entries.iter().rev().take(3).map(|e| e.id.clone()).collect(),
            }),
            several => Err(LoadError::Ambiguous {
                reference: reference.to_owned(),
                matches: several.iter().take(8).map(|e| e.id.clone()).collect(),
            }),
        }
    }

    /// Journals whose writer is gone: runs that were killed. [`recover`] reads them.
    pub fn orphans(&self) -> Vec<PathBuf> {
        self.files("journal").unwrap_or_default().into_iter().map(|e| e.path).filter(|path| abandoned(path)).collect()
    }

    /// The newest run: saved, or killed and only in its journal. A run that still goes on is not the last one.
    fn newest(&self) -> Option<Entry> {
        let mut entries = self.files("json").unwrap_or_default();
        let journals = self.files("journal").unwrap_or_default();
        entries.extend(journals.into_iter().filter(|journal| abandoned(&journal.path)));
        entries.into_iter().max_by(|a, b| (a.saved, &a.id).cmp(&(b.saved, &b.id)))
    }
}

/// Reads a document, or recovers a journal.
fn read_any(path: &Path) -> Result<Run, LoadError> {
    if path.extension().is_some_and(|e| e == "journal") { Ok(recover(path)?) } else { Ok(read_file(path)?) }
}
