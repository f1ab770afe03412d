//! The journal of changes: what is about to be changed, on disk before it is.
//!
//! A journal is a file of lines, JSON each: a head, then changes and what was taken back of them. A change is on disk (fsync) before
//! [`Journal::note`] returns, so that whoever dies later, by SIGKILL too, leaves a note of everything that may have been done. The
//! file goes away when all of it is taken back. It holds a lock while its writer lives, and one lock keeps two programs from changing
//! the system at once.

mod change;
mod file;
mod state_dir;

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tiermark_machine::Root;
use tiermark_model::messages::undo as messages;
use tiermark_model::{HeldChanges, Refusal};

pub use change::Change;
pub(crate) use file::{Line, read};
use file::{check_owner, create, parse_head};
pub use state_dir::{Lock, StateDir, StatePlaces, lock_soon};

use tiermark_machine::start_ticks;

/// The form of journals; readers take every released one.
const SCHEMA: &str = "tiermark/changes/1";

/// Who changes what, since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// `tiermark/changes/1`.
    pub schema: String,
    /// The kernel's id of this boot: after another one, nothing volatile is left.
    pub boot: String,
    /// The process that makes the changes.
    pub pid: u32,
    /// When that process started, in ticks since the system did.
    pub start_ticks: u64,
    /// When the journal was begun, RFC 3339.
    pub started: String,
    /// What makes the changes (`tiermark tune --apply --profile latency`).
    pub what: String,
}

impl JournalHeader {
    /// The head of a journal of this process.
    pub fn new(root: &Root, what: impl Into<String>, started: impl Into<String>) -> Self {
        let pid = std::process::id();
        Self {
            schema: SCHEMA.to_owned(),
            boot: boot_id(root).unwrap_or_default(),
            pid,
            start_ticks: start_ticks(root, pid).unwrap_or_default(),
            started: started.into(),
            what: what.into(),
        }
    }
}

/// The id of this boot, where the kernel tells.
pub(crate) fn boot_id(root: &Root) -> Option<String> {
    root.word("proc/sys/kernel/random/boot_id")
}

/// The open journal of this process.
#[derive(Debug)]
pub struct Journal {
    pub(crate) path: PathBuf,
    pub(crate) head: JournalHeader,
    pub(crate) changes: Vec<Change>,
    pub(crate) undone: Vec<bool>,
    file: File,
    /// Held as long as the journal is open.
    _lock: Lock,
}

impl Journal {
    /// Begins a journal. Nothing else that changes the system can begin one before this one is closed.
    ///
    /// # Errors
    /// A [`Refusal`] where another is at work, or the state directory cannot be written.
    pub fn create(state: &StateDir, head: JournalHeader) -> Result<Self, Refusal> {
        let lock = state.hold(&head.what)?;
        Self::create_under(&lock, state, head)
    }

    /// Begins one of several journals of a program that holds the lock itself, so that nothing else begins one between them.
    ///
    /// # Errors
    /// A [`Refusal`] where the state directory cannot be written.
    pub fn create_under(lock: &Lock, state: &StateDir, head: JournalHeader) -> Result<Self, Refusal> {
        let lock = lock.share(&head.what)?;
        let stamp: String = head.started.chars().filter(char::is_ascii_alphanumeric).collect();
        // One that could not be taken back whole is still there when the next of the same run begins.
        let name = |number: u32| format!("{stamp}-{}-{number:04}.changes", head.pid);
        let free = (0..).map(name).find(|name| !state.path().join(name).exists()).unwrap_or_default();
        let (path, file) = create(state, &free, &head)?;
        own(&path, &file)?;
        Ok(Self { path, head, changes: Vec::new(), undone: Vec::new(), file, _lock: lock })
    }

    /// Notes changes that are about to be made. When this returns they are on disk, and may be made.
    ///
    /// # Errors
    /// A [`Refusal`]: they are not on disk, and must not be made.
    pub fn note(&mut self, changes: Vec<Change>) -> Result<(), Refusal> {
        for change in &changes {
            change.check()?;
        }
        let lines: Vec<Line> = changes.iter().cloned().map(Line::Change).collect();
        self.append(&lines)?;
        self.undone.resize(self.undone.len() + changes.len(), false);
        self.changes.extend(changes);
        Ok(())
    }

    /// Notes that a change was taken back. One that is noted twice does no harm, so a failure to note it does none either.
    pub(crate) fn note_undone(&mut self, index: usize) {
        self.undone[index] = true;
        let _ = self.append(&[Line::Undone(index)]);
    }

    /// Takes a note back of a change that was not made after all: what is there now is not this program's.
    pub fn withdraw(&mut self, change: &Change) {
        let noted = (0..self.changes.len()).rfind(|index| !self.undone[*index] && self.changes[*index] == *change);
        if let Some(index) = noted {
            self.note_undone(index);
        }
    }

    fn append(&mut self, lines: &[Line]) -> Result<(), Refusal> {
        let mut text = String::new();
        for line in lines {
            text.push_str(&serde_json::to_string(line).map_err(|why| unwritten(&self.path, &why.to_string()))?);
            text.push('\n');
        }
        let length = self.file.metadata().map(|about| about.len());
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|why| {
            // Changes are known by their place in the file: what was not noted must not be there.
            let _ = length.and_then(|length| self.file.set_len(length));
            unwritten(&self.path, &why.to_string())
        })
    }

    /// The journal's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was noted and not taken back.
    pub fn left_to_do(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().zip(&self.undone).filter(|(_, undone)| !**undone).map(|(change, _)| change)
    }

    /// Leaves the changes as they are: [`restore_all`](crate::restore_all) takes them back, today or in a year. An empty journal goes away.
    pub fn keep(self) {
        self.close();
    }

    /// Removes the file where nothing of it is left to take back.
    pub(crate) fn close(self) {
        if self.undone.iter().all(|done| *done) {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Opens a journal that was left behind.
    ///
    /// # Errors
    /// A [`Refusal`] where it cannot be read or makes no sense.
    pub(crate) fn reopen(path: &Path, lock: Lock) -> Result<Self, Refusal> {
        check_owner(path)?;
        let parsed = read(path)?;
        let open = std::fs::OpenOptions::new().append(true).open(path);
        let file = open.map_err(|why| unwritten(path, &why.to_string()))?;
        own(path, &file)?;
        // What is noted now must not become part of a dying writer's half line.
        file.set_len(parsed.whole).map_err(|why| unwritten(path, &why.to_string()))?;
        Ok(Self {
            path: path.to_owned(),
            head: parsed.head,
            changes: parsed.changes,
            undone: parsed.undone,
            file,
            _lock: lock,
        })
    }
}

/// Holds a journal as long as its file is open: the lock of the system may be another one, as in containers that share a directory.
fn own(path: &Path, file: &File) -> Result<(), Refusal> {
    match lock_soon(file) {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(messages::journal_in_use(&path.display().to_string())),
        Err(TryLockError::Error(why)) => Err(unwritten(path, &why.to_string())),
    }
}

fn unwritten(path: &Path, why: &str) -> Refusal {
    messages::journal_unwritable(&path.display().to_string(), why)
}

/// Changes that were made and not taken back, oldest first.
pub fn pending(state: &StateDir, root: &Root) -> Vec<HeldChanges> {
    let held = |path: PathBuf| {
        let parsed = match read(&path) {
            Ok(parsed) => parsed,
            Err(refusal) => {
                let head = std::fs::read_to_string(&path).ok().and_then(|text| parse_head(text.lines().next()?));
                return Some(HeldChanges {
                    journal: path.display().to_string(),
                    what: head.as_ref().map_or_else(|| "unknown".to_owned(), |h| h.what.clone()),
                    started: head.as_ref().map(|h| h.started.clone()).unwrap_or_default(),
                    pid: head.as_ref().map_or(0, |h| h.pid),
                    at_work: false,
                    changes: vec![refusal.why],
                    swaps: Vec::new(),
                });
            }
        };
        let at_work = boot_id(root).is_some_and(|boot| boot == parsed.head.boot)
            && start_ticks(root, parsed.head.pid) == Some(parsed.head.start_ticks);
        let left =
            || parsed.changes.iter().zip(&parsed.undone).filter(|(_, undone)| !**undone).map(|(change, _)| change);
        let changes: Vec<String> = left().map(ToString::to_string).collect();
        let swaps = left().filter_map(Change::swap_area).collect();
        (!changes.is_empty()).then(|| HeldChanges {
            journal: path.display().to_string(),
            what: parsed.head.what,
            started: parsed.head.started,
            pid: parsed.head.pid,
            at_work,
            changes,
            swaps,
        })
    };
    state.journals().into_iter().filter_map(held).collect()
}
