//! The directory of saved runs: its path and its contents.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tiermark_model::Refusal;
use tiermark_model::messages::load as says;

/// What the environment says about places to write; the caller reads it, so that tests need not change it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// Value of `TIERMARK_HOME`.
    pub tiermark_home: Option<PathBuf>,
    /// Value of `XDG_DATA_HOME`.
    pub xdg_data_home: Option<PathBuf>,
    /// Value of `HOME`.
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
    /// Id of the run.
    pub id: String,
    /// File of the run.
    pub path: PathBuf,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// When it was saved.
    pub saved: Option<SystemTime>,
}

impl Entry {
    /// When the run began, as its id says; else when the file was saved. A copied or restored store has new times of
    /// files.
    pub fn when(&self) -> Option<SystemTime> {
        begun(&self.id).or(self.saved)
    }

    /// What runs are sorted by. An id has only the second of the start: of runs that began within one, the one saved
    /// later is newer.
    pub fn order(&self) -> impl Ord + '_ {
        (self.when(), self.saved, &self.id)
    }
}

/// The time that an id begins with: `20261125T141209`, in UTC.
fn begun(id: &str) -> Option<SystemTime> {
    let (day, time) = id.get(..15)?.split_once('T')?;
    let number = |text: &str, from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let is_number = day.len() == 8 && day.bytes().chain(time.bytes()).all(|byte| byte.is_ascii_digit());
    let (year, month, date) = (number(day, 0, 4)?, number(day, 4, 6)?, number(day, 6, 8)?);
    let seconds = number(time, 0, 2)? * 3600 + number(time, 2, 4)? * 60 + number(time, 4, 6)?;
    if !is_number || !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&date) {
        return None;
    }
    // Days from civil date: years begin in March, so that the leap day is the last (Hinnant 2013).
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + date - 1;
    /// 1970-01-01, counted so.
    const EPOCH: u64 = 719_468;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(days.checked_sub(EPOCH)? * 86_400 + seconds))
}

impl Store {
    /// The store of a user: `$TIERMARK_HOME/runs`, else `$XDG_DATA_HOME/tiermark/runs`, else
    /// `~/.local/share/tiermark/runs`.
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

    /// The store of another kind of run, in a directory beside this one.
    pub fn beside(&self, name: &str) -> Self {
        let directory = self.directory.as_deref().and_then(Path::parent).map(|data| data.join(name));
        Self { directory, fallbacks: self.fallbacks.clone() }
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

    /// Runs in the directory and in those directly below it, oldest first: an archive may have a folder for each day.
    /// The notes of hosts that failed (`NAME.failed.json`) are left out.
    ///
    /// # Errors
    /// A [`Refusal`] if a directory cannot be read.
    pub(crate) fn list_below(&self) -> Result<Vec<Entry>, Refusal> {
        let mut entries = self.list()?;
        let listing = self.directory.as_ref().and_then(|directory| fs::read_dir(directory).ok());
        for below in listing.into_iter().flatten().flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
            entries.extend(Self::at(below).list()?);
        }
        entries.retain(|entry| !entry.id.ends_with(".failed"));
        entries.sort_by(|a, b| a.order().cmp(&b.order()));
        Ok(entries)
    }

    /// Files of the store with an extension, oldest first.
    ///
    /// # Errors
    /// A [`Refusal`] if the directory is there and cannot be read.
    pub fn files(&self, extension: &str) -> Result<Vec<Entry>, Refusal> {
        let Some(directory) = &self.directory else { return Ok(Vec::new()) };
        let listing = match fs::read_dir(directory) {
            Ok(listing) => listing,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => {
                return Err(says::runs_unreadable(&directory.display().to_string(), &error.to_string()));
            }
        };
        let mut entries: Vec<Entry> = listing.flatten().filter_map(|file| entry(&file.path(), extension)).collect();
        entries.sort_by(|a, b| a.order().cmp(&b.order()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_when_its_run_began() {
        let seconds = |id: &str| Some(begun(id)?.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs());
        assert_eq!(seconds("19700101T000000-0"), Some(0));
        assert_eq!(seconds("20000229T000001-0"), Some(951_782_401));
        assert_eq!(seconds("20261125T141209-76e1cd"), Some(1_795_615_929));
        for other in ["", "mine", "20261325T141209", "2026112x T141209", "2026-11-25T14:12:09", "€0261125T1412091"] {
            assert_eq!(seconds(other), None, "{other}");
        }
    }
}
