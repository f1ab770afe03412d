//! Runs kept under names that a user gave, to compare others with.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use tiermark_model::messages::documents as says;
use tiermark_model::{Refusal, Run};

use crate::document::{MAX_DOCUMENT_BYTES, name_of, parse, read_bytes};
use crate::lines::write_whole;
use crate::store::{Entry, Store};

/// Characters of a name at most.
const LONGEST: usize = 64;

/// The directory of baselines. Each is a file of copies of run documents, one a line, so that they stay when the runs
/// are deleted. Earlier versions kept one run, which is a file of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Baselines {
    directory: Option<PathBuf>,
}

impl Baselines {
    /// The baselines beside the runs of a store.
    pub fn beside(store: &Store) -> Self {
        Self { directory: store.directory().and_then(Path::parent).map(|data| data.join("baselines")) }
    }

    /// Keeps copies of runs under a name, all or none. A baseline of that name is replaced.
    ///
    /// # Errors
    /// A [`Refusal`] for a name that is no file's, or where the copies cannot be written or would be too large.
    pub fn set(&self, name: &str, runs: &[Run]) -> Result<PathBuf, Refusal> {
        let file = file_of(name)?;
        let failed = |error: &str| says::baseline_not_kept(name, error);
        let directory = self.directory.as_deref().ok_or_else(|| failed("the environment names no directory for it"))?;
        let mut bytes = Vec::new();
        for run in runs {
            serde_json::to_writer(&mut bytes, run).map_err(|error| failed(&error.to_string()))?;
            bytes.push(b'\n');
        }
        if bytes.len() as u64 > MAX_DOCUMENT_BYTES {
            return Err(failed("its runs are larger than 256 MiB together"));
        }
        write_whole(directory, &file, |file| file.write_all(&bytes)).map_err(|error| failed(&error.to_string()))
    }

    /// All baselines, the oldest first; the id of each is its name.
    ///
    /// # Errors
    /// A [`Refusal`] if the directory is there and cannot be read.
    pub fn list(&self) -> Result<Vec<Entry>, Refusal> {
        self.directory.as_ref().map_or_else(|| Ok(Vec::new()), |directory| Store::at(directory).list())
    }

    /// The runs of a name, in the order in which they were added; at least one.
    ///
    /// # Errors
    /// A [`Refusal`] where there is none, or one of its documents cannot be read.
    pub fn load_all(&self, name: &str) -> Result<Vec<Run>, Refusal> {
        let path = self.path(name)?;
        if !path.is_file() {
            return Err(self.unknown(name));
        }
        let from = name_of(&path);
        let bytes = read_bytes(&path)?;
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        // A document that someone laid out over several lines is one run.
        let is_whole = |line: &&[u8]| line.starts_with(b"{") && line.ends_with(b"}");
        if lines.len() < 2 || !lines.iter().all(is_whole) {
            return Ok(vec![parse(&bytes, &from)?]);
        }
        lines.into_iter().map(|line| parse(line, &from)).collect()
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
