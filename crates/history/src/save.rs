//! Writing a document whole or not at all.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tiermark_model::messages::load as says;
use tiermark_model::{Refusal, Run};

use crate::document::{DocumentError, Source, parse_from};
use crate::store::Store;

/// A saved document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// Where it is.
    pub path: PathBuf,
    /// Whether the store finds it by its id; elsewhere it is shown by its path.
    pub by_id: bool,
    /// What did not go as planned, when it is not in the store or will not read back: to be shown once.
    pub notice: Option<Refusal>,
}

/// One place that could not take the document.
#[derive(Debug)]
pub struct Attempt {
    /// The directory.
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

/// What helps when nothing can be written.
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
    pub fn save(&self, run: &Run) -> Result<Saved, SaveError> {
        let bytes = serde_json::to_vec(run).map_err(|why| SaveError {
            attempts: vec![Attempt { directory: self.directory_or_cwd(), why: io::Error::other(why) }],
        })?;
        let mut attempts = Vec::new();
        for (directory, name) in self.places_for(&run.id, "json") {
            match write_whole(&directory, &name, |file| file.write_all(&bytes).and_then(|()| file.write_all(b"\n"))) {
                Ok(path) => {
                    let notice = attempts.first().map(|first: &Attempt| elsewhere(first, &path));
                    let by_id = self.directory() == Some(directory.as_path());
                    return Ok(Saved { notice: notice.or_else(|| unreadable(&bytes, &path)), by_id, path });
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

/// Writes `directory/name` through a temporary file beside it, so that a reader sees all of it or nothing.
///
/// # Errors
/// Whatever the system answers; the temporary file is gone then.
pub(crate) fn write_whole(
    directory: &Path,
    name: &str,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    remove_stale(directory);
    let path = directory.join(name);
    let temporary = temporary_beside(directory, name);
    let written = File::create_new(&temporary)
        .and_then(|mut file| {
            fill(&mut file)?;
            // Without this a crash of the machine after the rename could leave an empty file of the final name.
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, &path));
    if let Err(why) = written {
        let _ = fs::remove_file(&temporary);
        return Err(why);
    }
    // The rename itself is durable once the directory is; some filesystems cannot do that, and the data is safe by then.
    let _ = File::open(directory).and_then(|dir| dir.sync_all());
    Ok(path)
}

const TEMPORARY: &str = ".tiermark-tmp";

/// The path of a file under construction: hidden, and unlike that of any other process. A leftover of an earlier process of the same number
/// is removed.
pub(crate) fn temporary_beside(directory: &Path, name: &str) -> PathBuf {
    let path = directory.join(format!(".{name}.{}{TEMPORARY}", std::process::id()));
    let _ = fs::remove_file(&path);
    path
}

/// Removes what a killed process left half-written. An hour is far beyond any save that still runs.
fn remove_stale(directory: &Path) {
    const STALE: Duration = Duration::from_secs(3600);
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|n| n.starts_with('.') && n.ends_with(TEMPORARY));
        let old =
            || entry.metadata().and_then(|m| m.modified()).is_ok_and(|t| t.elapsed().is_ok_and(|age| age > STALE));
        if ours && old() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_disk_that_fills_leaves_nothing_and_spares_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        write_whole(dir.path(), "a.json", |file| file.write_all(b"old")).unwrap();
        let error = write_whole(dir.path(), "a.json", |file| {
            file.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        })
        .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(names(dir.path()), ["a.json"]);
        assert_eq!(fs::read(dir.path().join("a.json")).unwrap(), b"old");
    }

    #[test]
    fn leftovers_of_a_killed_process_are_removed_after_an_hour() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join(format!(".x.json.1{TEMPORARY}"));
        let file = File::create(&old).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_secs(7200)).unwrap();
        File::create(dir.path().join(format!(".y.json.2{TEMPORARY}"))).unwrap();
        write_whole(dir.path(), "a.json", |_| Ok(())).unwrap();
        assert_eq!(names(dir.path()), [format!(".y.json.2{TEMPORARY}"), "a.json".to_owned()]);
    }
}
