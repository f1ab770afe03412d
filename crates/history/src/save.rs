//! Writing a document whole or not at all.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tiermark_lines::write_whole;
use tiermark_model::messages::load as says;
use tiermark_model::{Refusal, Run};

use crate::document::{DocumentError, Source, parse_from};
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

/// One place that could not take the document.
#[derive(Debug)]
pub struct Attempt {
    /// The directory of saved runs.
    pub directory: PathBuf,
    /// The system's answer.
    pub why: io::Error,
}

/// No place took the document.
#[derive(Debug)]
pub struct SaveError {
    /// Every place tried, in order.
    pub attempts: Vec<Attempt>,
}

/// The cure when nothing can be written.
const CURE: &str =
    "free space or set TIERMARK_HOME to a directory that can be written; --json=- prints the document instead";

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the run could not be saved: ")?;
        for (i, attempt) in self.attempts.iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            write!(f, "{separator}{}: {}", attempt.directory.display(), attempt.why)?;
        }
        write!(f, "; {CURE}")
    }
}

impl std::error::Error for SaveError {}

impl Store {
    /// Saves a run as `<id>.json`, whole or not at all: in the store, else in the current directory, else for temporary files.
    ///
    /// # Errors
    /// A [`SaveError`] when no place took it; nothing half-written remains.
    pub fn save(&self, run: &Run) -> Result<SavedPlace, SaveError> {
        let bytes = serde_json::to_vec(run).map_err(|why| SaveError {
            attempts: vec![Attempt { directory: self.directory_or_cwd(), why: io::Error::other(why) }],
        })?;
        let mut attempts = Vec::new();
        for (directory, name) in self.places_for(&run.id, "json") {
            match write_whole(&directory, &name, |file| file.write_all(&bytes).and_then(|()| file.write_all(b"\n"))) {
                Ok(path) => {
                    let notice = attempts.first().map(|first: &Attempt| elsewhere(first, &path));
                    let by_id = self.directory() == Some(directory.as_path());
                    return Ok(SavedPlace { notice: notice.or_else(|| unreadable(&bytes, &path)), by_id, path });
                }
                Err(why) => attempts.push(Attempt { directory, why }),
            }
        }
        Err(SaveError { attempts })
    }
}

fn elsewhere(first: &Attempt, path: &Path) -> Refusal {
    says::saved_elsewhere(&first.directory.display().to_string(), &first.why.to_string(), &path.display().to_string())
}

/// A document that cannot be read back (a number that is not finite is written as null) is worth a word while the run is at hand.
fn unreadable(bytes: &[u8], path: &Path) -> Option<Refusal> {
    let why: DocumentError = parse_from(bytes, Source::File(path.to_owned())).err()?;
    Some(says::saved_unreadable(&why.to_string()))
}
