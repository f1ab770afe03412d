//! Runs kept under names that a user gave, to compare others with.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use tiermark_lines::write_whole;
use tiermark_model::messages::documents as says;
use tiermark_model::{Refusal, Run};

use crate::document::read_file;
use crate::store::{Entry, Store};

/// Characters of a name at most.
const LONGEST: usize = 64;

/// The directory of baselines. Each is a copy of a run document, so that it stays when the run is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baselines {
    directory: Option<PathBuf>,
}

impl Baselines {
    /// The baselines beside the runs of a store.
    pub fn beside(store: &Store) -> Self {
        Self { directory: store.directory().and_then(Path::parent).map(|data| data.join("baselines")) }
    }

    /// Keeps a copy of a run under a name, whole or not at all. A baseline of that name is replaced.
    ///
    /// # Errors
    /// A [`Refusal`] for a name that is no file's, or where the copy cannot be written.
    pub fn set(&self, name: &str, run: &Run) -> Result<PathBuf, Refusal> {
        let file = file_of(name)?;
        let failed = |error: &str| says::baseline_not_kept(name, error);
        let directory = self.directory.as_deref().ok_or_else(|| failed("the environment names no directory for it"))?;
        let bytes = serde_json::to_vec(run).map_err(|error| failed(&error.to_string()))?;
        write_whole(directory, &file, |file| file.write_all(&bytes).and_then(|()| file.write_all(b"\n")))
            .map_err(|error| failed(&error.to_string()))
    }

    /// All baselines, the oldest first; the id of each is its name.
    ///
    /// # Errors
    /// A [`Refusal`] if the directory is there and cannot be read.
    pub fn list(&self) -> Result<Vec<Entry>, Refusal> {
        self.directory.as_ref().map_or_else(|| Ok(Vec::new()), |directory| Store::at(directory).list())
    }

    /// The run of a name.
    ///
    /// # Errors
    /// A [`Refusal`] where there is none, or its document cannot be read.
    pub fn load(&self, name: &str) -> Result<Run, Refusal> {
        let path = self.path(name)?;
        if path.is_file() { read_file(&path) } else { Err(self.unknown(name)) }
    }

    /// Deletes a baseline.
    ///
    /// # Errors
    /// A [`Refusal`] where there is none, or its file cannot be deleted.
    pub fn remove(&self, name: &str) -> Result<(), Refusal> {
        fs::remove_file(self.path(name)?).map_err(|error| match error.kind() {
            ErrorKind::NotFound => self.unknown(name),
            _ => says::baseline_not_removed(name, &error.to_string()),
        })
    }

    fn path(&self, name: &str) -> Result<PathBuf, Refusal> {
        let file = file_of(name)?;
        self.directory.as_ref().map(|directory| directory.join(file)).ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> Refusal {
        let known: Vec<String> = self.list().unwrap_or_default().into_iter().map(|entry| entry.id).collect();
        says::baseline_unknown(name, &known)
    }
}

/// The file of a name, which cannot lie elsewhere, or be hidden.
fn file_of(name: &str) -> Result<String, Refusal> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = !name.is_empty() && name.len() <= LONGEST && !name.starts_with('.') && name.chars().all(is_plain);
    if is_name { Ok(format!("{name}.json")) } else { Err(says::baseline_name(name, LONGEST)) }
}
