//! The journal of changes: what is about to be changed, on disk before it is.
//!
//! A journal is a file of lines, JSON each: a head, then changes and what was taken back of them. A change is on disk (fsync) before
//! [`Journal::note`] returns, so that whoever dies later, by SIGKILL too, leaves a note of everything that may have been done. The
//! file goes away when all of it is taken back. It holds a lock while its writer lives, and one lock keeps two programs from changing
//! the system at once.

mod change;
mod file;
mod place;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tiermark_machine::Root;
use tiermark_model::{HeldChanges, Refusal};

pub use change::Change;
pub(crate) use file::{Line, read};
use file::{create, parse_head};
pub use place::{StateDir, StatePlaces};

use crate::stat::start_ticks;

/// The form of journals; readers take every released one.
const SCHEMA: &str = "tiermark/changes/1";

/// Who changes what, since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
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

impl Head {
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
    root.read("proc/sys/kernel/random/boot_id")
        .ok()
        .flatten()
        .map(|id| id.trim().to_owned())
        .filter(|id| !id.is_empty())
}

/// The open journal of this process.
#[derive(Debug)]
pub struct Journal {
    pub(crate) path: PathBuf,
    pub(crate) head: Head,
    pub(crate) changes: Vec<Change>,
    pub(crate) undone: Vec<bool>,
    file: File,
    /// Held as long as the journal is open.
    _lock: File,
}

impl Journal {
    /// Begins a journal. Nothing else that changes the system can begin one before this one is closed.
    ///
    /// # Errors
    /// A [`Refusal`] where another is at work, or the state directory cannot be written.
    pub fn create(state: &StateDir, head: Head) -> Result<Self, Refusal> {
        let lock = state.lock(&head.what)?;
        let stamp: String = head.started.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = format!("{stamp}-{}.changes", head.pid);
        let (path, file) = create(state, &name, &head)?;
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was noted.
    pub fn changes(&self) -> &[Change] {
        &self.changes
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
    pub(crate) fn reopen(path: &Path, lock: File) -> Result<Self, Refusal> {
        let parsed = read(path)?;
        let open = std::fs::OpenOptions::new().append(true).open(path);
        let mut file = open.map_err(|why| unwritten(path, &why.to_string()))?;
        if parsed.torn {
            // The half line of a dying writer ends here, or what is noted now would become part of it.
            let _ = file.write_all(b"\n");
        }
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

fn unwritten(path: &Path, why: &str) -> Refusal {
    Refusal::new(
        format!("the journal {}", path.display()),
        format!("it cannot be written: {why}; nothing is changed without it"),
        "free space there, or set TIERMARK_HOME to a directory that can be written",
    )
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
                });
            }
        };
        let at_work = boot_id(root).is_some_and(|boot| boot == parsed.head.boot)
            && start_ticks(root, parsed.head.pid) == Some(parsed.head.start_ticks);
        let left = parsed.changes.iter().zip(&parsed.undone).filter(|(_, undone)| !**undone);
        let changes: Vec<String> = left.map(|(change, _)| change.to_string()).collect();
        (!changes.is_empty()).then(|| HeldChanges {
            journal: path.display().to_string(),
            what: parsed.head.what,
            started: parsed.head.started,
            pid: parsed.head.pid,
            at_work,
            changes,
        })
    };
    state.journals().into_iter().filter_map(held).collect()
}
