//! Loading a run by what the command line calls it: a document, or the journal of a run that was killed.

use std::path::{Path, PathBuf};

use tiermark_model::messages::documents as says;
use tiermark_model::{Refusal, Run};

use crate::document::read_file;
use crate::journal::is_abandoned;
use crate::recover::recover;
use crate::store::{Entry, Store};

impl Store {
    /// Loads a run by path, id, the beginning of an id that fits only one, or `last`. A file named `last` is reached as
    /// `./last`.
    ///
    /// A killed run is read from its journal: it comes with `complete: false` and without findings.
    ///
    /// # Errors
    /// A [`Refusal`] that says what there is instead.
    pub fn load(&self, reference: &str) -> Result<Run, Refusal> {
        let directory = self.directory().map(|directory| directory.display().to_string());
        if reference == "last" {
            return match self.newest() {
                Some(entry) => read_any(&entry.path),
                None => Err(says::no_last_run(directory.as_deref())),
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
            [] if path.is_dir() => read_any(path),
            [] => {
                let newest: Vec<String> = entries.iter().rev().take(3).map(|entry| entry.id.clone()).collect();
                Err(says::run_unknown(reference, directory.as_deref(), &newest))
            }
            several => {
                let ids: Vec<String> = several.iter().take(8).map(|entry| entry.id.clone()).collect();
                Err(says::run_ambiguous(reference, &ids))
            }
        }
    }

    /// Journals whose writer is gone: runs that were killed. [`recover`] reads them.
    pub fn orphans(&self) -> Vec<PathBuf> {
        self.files("journal")
            .unwrap_or_default()
            .into_iter()
            .map(|e| e.path)
            .filter(|path| is_abandoned(path))
            .collect()
    }

    /// The newest run: saved, or killed and only in its journal. A run that still goes on is not the last one.
    fn newest(&self) -> Option<Entry> {
        let mut entries = self.files("json").unwrap_or_default();
        let journals = self.files("journal").unwrap_or_default();
        entries.extend(journals.into_iter().filter(|journal| is_abandoned(&journal.path)));
        entries.into_iter().max_by(|a, b| a.order().cmp(&b.order()))
    }
}

/// Reads a document, or recovers a journal.
fn read_any(path: &Path) -> Result<Run, Refusal> {
    if path.extension().is_some_and(|e| e == "journal") { recover(path) } else { read_file(path) }
}
