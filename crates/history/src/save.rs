//! Writing a document whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use tiermark_model::messages::{documents, load as says};
use tiermark_model::{Refusal, Run};

use crate::document::{name_of, parse};
use crate::lines::write_whole;
use crate::store::Store;

/// A saved document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedPlace {
    /// Path of the document.
    pub path: PathBuf,
    /// Whether the store finds it by its id; elsewhere it is shown by its path.
    pub by_id: bool,
    /// A problem with saving or reading back, to be shown once.
    pub notice: Option<Refusal>,
}

impl Store {
    /// Saves a run as `<id>.json`, whole or not at all: in the store, else in the current directory, else for temporary
    /// files.
    ///
    /// # Errors
    /// A [`Refusal`] when no place took it; nothing half-written remains.
    pub fn save(&self, run: &Run) -> Result<SavedPlace, Refusal> {
        let bytes = serde_json::to_vec(run).map_err(|error| {
            documents::no_place_for_run(&[(self.directory_or_cwd().display().to_string(), error.to_string())])
        })?;
        let saved = self.save_as(&run.id, &bytes)?;
        Ok(SavedPlace { notice: saved.notice.or_else(|| unreadable(&bytes, &saved.path)), ..saved })
    }

    /// Saves a document of any kind in the same way.
    ///
    /// # Errors
    /// A [`Refusal`] when no place took it; nothing half-written remains.
    pub fn save_as(&self, id: &str, bytes: &[u8]) -> Result<SavedPlace, Refusal> {
        let mut attempts: Vec<(String, String)> = Vec::new();
        for (directory, name) in self.places_for(id, "json") {
            match write_whole(&directory, &name, |file| file.write_all(bytes).and_then(|()| file.write_all(b"\n"))) {
                Ok(path) => {
                    let elsewhere = |(first, error): &(String, String)| {
                        says::saved_elsewhere(first, error, &path.display().to_string())
                    };
                    let by_id = self.directory() == Some(directory.as_path());
                    return Ok(SavedPlace { notice: attempts.first().map(elsewhere), by_id, path });
                }
                Err(error) => attempts.push((directory.display().to_string(), error.to_string())),
            }
        }
        Err(documents::no_place_for_run(&attempts))
    }
}

/// A document that cannot be read back (a number that is not finite is written as null) is worth a word while the run
/// is at hand.
fn unreadable(bytes: &[u8], path: &Path) -> Option<Refusal> {
    let refusal = parse(bytes, &name_of(path)).err()?;
    Some(says::saved_unreadable(&refusal.to_string()))
}
