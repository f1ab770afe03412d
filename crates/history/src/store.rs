//! The directory of saved runs: where it is, what is in it, and how a run is named on the command line.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tiermark_model::messages::load as says;
use tiermark_model::{Refusal, Run};

use crate::document::{DocumentError, read_file};
use crate::journal::abandoned;
use crate::recover::recover;

/// What the environment says about places to write; the caller reads it, so that tests need not change it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// `TIERMARK_HOME`.
    pub tiermark_home: Option<PathBuf>,
    /// `XDG_DATA_HOME`.
    pub xdg_data_home: Option<PathBuf>,
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// The current directory.
    pub current: Option<PathBuf>,
    /// `TMPDIR`, or the system's directory for temporary files.
    pub temporary: Option<PathBuf>,
}

/// The directory of saved runs, and where to save when it cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    directory: Option<PathBuf>,
    fallbacks: Vec<PathBuf>,
}

/// A run in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// Its file.
    pub path: PathBuf,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// When it was saved.
    pub saved: Option<SystemTime>,
}

/// Why a run could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The document or journal cannot be read.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// No run of that name.
    #[error("no run '{reference}': it is neither a file nor an id in {}; {}", place(.directory), newest(.known))]
    NotFound {
        /// What was asked for.
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
        /// What was asked for.
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
    /// The store of a user: `$TIERMARK_HOME/runs`, else `$XDG_DATA_HOME/tiermark/runs`, else `~/.local/share/tiermark/runs`.
    pub fn new(places: &Places) -> Self {
        let set = |path: &Option<PathBuf>| path.clone().filter(|p| !p.as_os_str().is_empty());
        let directory = set(&places.tiermark_home)
            .map(|home| home.join("runs"))
            // The XDG base directory specification says to ignore a relative path.
            .or_else(|| set(&places.xdg_data_home).filter(|p| p.is_absolute()).map(|data| data.join("tiermark/runs")))
            .or_else(|| set(&places.home).map(|home| home.join(".local/share/tiermark/runs")));
        let fallbacks = [set(&places.current), set(&places.temporary)].into_iter().flatten().collect();
        Self { directory, fallbacks }
    }

    /// A store in one directory, without fallbacks.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: Some(directory.into()), fallbacks: Vec::new() }
    }

    /// The store's directory; `None` when the environment names none.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Runs in the store, oldest first.
    ///
    /// # Errors
    /// A [`Refusal`] if the directory is there and cannot be read.
    pub fn list(&self) -> Result<Vec<Entry>, Refusal> {
        self.files("json")
    }

    /// Loads a run by path, id, the beginning of an id that fits only one, or `last`. A file named `last` is reached as `./last`.
    ///
    /// A killed run is read from its journal: it comes with `complete: false` and without findings.
    ///
    /// # Errors
    /// A [`LoadError`] that says what there is instead.
    pub fn load(&self, reference: &str) -> Result<Run, LoadError> {
        let directory = self.directory.clone().unwrap_or_default();
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

    /// The newest run: saved, or killed and only in its journal. A run that still goes on is not the last one.
    fn newest(&self) -> Option<Entry> {
        let mut entries = self.files("json").unwrap_or_default();
        let journals = self.files("journal").unwrap_or_default();
        entries.extend(journals.into_iter().filter(|journal| abandoned(&journal.path)));
        entries.into_iter().max_by(|a, b| (a.saved, &a.id).cmp(&(b.saved, &b.id)))
    }

    /// Files of the store with an extension, oldest first.
    pub(crate) fn files(&self, extension: &str) -> Result<Vec<Entry>, Refusal> {
        let Some(directory) = &self.directory else { return Ok(Vec::new()) };
        let listing = match fs::read_dir(directory) {
            Ok(listing) => listing,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                return Err(says::runs_unreadable(&directory.display().to_string(), &error.to_string()));
            }
        };
        let mut entries: Vec<Entry> = listing.flatten().filter_map(|file| entry(&file.path(), extension)).collect();
        entries.sort_by(|a, b| (a.saved, &a.id).cmp(&(b.saved, &b.id)));
        Ok(entries)
    }

    /// Directory and file name for each place a document may go, best first.
    pub(crate) fn places_for(&self, id: &str, extension: &str) -> Vec<(PathBuf, String)> {
        let id = file_stem(id);
        let fallbacks = self.fallbacks.iter().map(|dir| (dir.clone(), format!("tiermark-{id}.{extension}")));
        self.directory.iter().map(|dir| (dir.clone(), format!("{id}.{extension}"))).chain(fallbacks).collect()
    }

    pub(crate) fn directory_or_cwd(&self) -> PathBuf {
        self.directory.clone().unwrap_or_else(|| PathBuf::from("."))
    }
}

fn entry(path: &Path, extension: &str) -> Option<Entry> {
    let id = path.file_stem()?.to_str()?;
    if path.extension()?.to_str()? != extension || id.starts_with('.') {
        return None;
    }
    let metadata = path.metadata().ok().filter(fs::Metadata::is_file)?;
    Some(Entry { id: id.to_owned(), path: path.to_owned(), bytes: metadata.len(), saved: metadata.modified().ok() })
}

/// Reads a document, or recovers a journal.
fn read_any(path: &Path) -> Result<Run, LoadError> {
    if path.extension().is_some_and(|e| e == "journal") { Ok(recover(path)?) } else { Ok(read_file(path)?) }
}

/// An id as a file name: a document from elsewhere must not choose where it is written.
fn file_stem(id: &str) -> String {
    const LONGEST: usize = 100;
    let stem: String = id
        .chars()
        .take(LONGEST)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' })
        .collect();
    if stem.is_empty() { "run".to_owned() } else { stem }
}
