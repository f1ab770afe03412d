//! The journal of changes: each change is on disk before it is made.
//!
//! A journal is a file of JSON lines: a head, then changes, and which of them were taken back. A change is on disk
//! (fsync) before [`Journal::note`] returns, so that a program that is killed, even by SIGKILL, has recorded everything
//! that it may have done. The file is removed once all changes are taken back. The writer holds a lock on the file, and
//! one lock for the system keeps two programs from changing it at once.

mod change;
mod file;
mod state_dir;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tiermark_history::lines::{Appender, Lines, Survives};
use tiermark_machine::{Root, start_ticks};
use tiermark_model::messages::undo as messages;
use tiermark_model::{HeldChanges, Refusal};

pub use change::Change;
pub(crate) use change::mount_of;
pub(crate) use file::never_began;
use file::{Line, Noted, malformed, parse, sequence};
pub use state_dir::{Lock, StateDir, StatePlaces};

/// The form of journals; readers take every released one.
const SCHEMA: &str = "tiermark/changes/1";

/// Which program makes the changes, since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// `tiermark/changes/1`.
    pub schema: String,
    /// Its place in the order of the journals: those with a larger number were begun later, whatever the clock said. 0
    /// in journals of versions without numbers, which are ordered by their time.
    #[serde(default)]
    pub sequence: u64,
    /// The machine's id (`/etc/machine-id`); `None` where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The kernel's id of this boot: a reboot undoes all volatile changes.
    pub boot: String,
    /// The process that makes the changes.
    pub pid: u32,
    /// When that process started, in ticks since the system did.
    pub start_ticks: u64,
    /// When the journal was begun, RFC 3339.
    pub started: String,
    /// Command that makes the changes (`tiermark tune --apply --profile latency`).
    pub what: String,
}

impl JournalHeader {
    /// The head of a journal of this process.
    pub fn new(root: &Root, what: impl Into<String>, started: impl Into<String>) -> Self {
        let pid = std::process::id();
        Self {
            schema: SCHEMA.to_owned(),
            sequence: 0,
            machine: machine_id(root),
            boot: boot_id(root).unwrap_or_default(),
            pid,
            start_ticks: start_ticks(root, pid).unwrap_or_default(),
            started: started.into(),
            what: what.into(),
        }
    }
}

/// The id of this machine, where it has one.
fn machine_id(root: &Root) -> Option<String> {
    root.word("etc/machine-id").filter(|id| !id.is_empty())
}

/// The id of this boot; `None` where the kernel does not report it.
pub(crate) fn boot_id(root: &Root) -> Option<String> {
    root.word("proc/sys/kernel/random/boot_id")
}

/// The open journal of this process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    pub(crate) noted: Noted,
    lines: Appender,
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

    /// Begins one of several journals of a program that holds the lock itself, so that nothing else begins one between
    /// them.
    ///
    /// # Errors
    /// A [`Refusal`] where the state directory cannot be written.
    pub fn create_under(lock: &Lock, state: &StateDir, mut head: JournalHeader) -> Result<Self, Refusal> {
        let lock = lock.share(&head.what)?;
        let stamp: String = head.started.chars().filter(char::is_ascii_alphanumeric).collect();
        let last = state.journals().iter().map(|path| sequence(path)).max().unwrap_or_default();
        head.sequence = last.saturating_add(1);
        let path = state.path().join(format!("{stamp}-{}-{:04}.changes", head.pid, head.sequence));
        let lines = Appender::create(&path, Survives::PowerLoss, &head).map_err(|why| unwritten(&path, &why))?;
        Ok(Self { path, noted: Noted::new(head), lines, _lock: lock })
    }

    /// Notes changes that are about to be made. When this returns they are on disk, and may be made.
    ///
    /// # Errors
    /// A [`Refusal`]: they are not on disk, and must not be made.
    pub fn note(&mut self, changes: Vec<Change>) -> Result<(), Refusal> {
        for change in &changes {
            change.check()?;
        }
        // Changes are known by their place in the file, where after a failure none of these is.
        let lines: Vec<Line> = changes.iter().cloned().map(Line::Change).collect();
        self.lines.append(&lines).map_err(|why| unwritten(&self.path, &why))?;
        self.noted.undone.resize(self.noted.undone.len() + changes.len(), false);
        self.noted.changes.extend(changes);
        Ok(())
    }

    /// Notes that a change was taken back. One that is noted twice does no harm, so a failure to note it does none
    /// either.
    pub(crate) fn note_undone(&mut self, index: usize) {
        self.noted.undone[index] = true;
        let _ = self.lines.append(&[Line::Undone(index)]);
    }

    /// Removes the entry of a change that was not made after all: the present state is not this program's.
    pub fn withdraw(&mut self, change: &Change) {
        let noted = self.noted.left().rfind(|(_, noted)| *noted == change).map(|(index, _)| index);
        if let Some(index) = noted {
            self.note_undone(index);
        }
    }

    /// The journal's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Changes in the journal that are not taken back.
    pub fn left_to_do(&self) -> impl Iterator<Item = &Change> {
        self.noted.left().map(|(_, change)| change)
    }

    /// Leaves the changes as they are: [`restore_all`](crate::restore_all) takes them back, today or in a year. An
    /// empty journal goes away.
    pub fn keep(self) {
        self.close();
    }

    /// Removes the file if it lists no change that has to be taken back.
    pub(crate) fn close(self) {
        if self.noted.left().next().is_none() {
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// Opens the journal of a program that has ended.
    ///
    /// # Errors
    /// A [`Refusal`] where it cannot be read or makes no sense.
    pub(crate) fn reopen(path: &Path, root: &Root, lock: Lock) -> Result<Self, Refusal> {
        // Only a regular file is a journal, no link, pipe or directory.
        if !std::fs::symlink_metadata(path).is_ok_and(|about| about.is_file()) {
            return Err(messages::journal_of_others(&path.display().to_string()));
        }
        let (lines, text) = Appender::open(path, Survives::PowerLoss).map_err(|why| match why.kind() {
            // The lock of the system may be another one, as in containers that share a directory.
            io::ErrorKind::WouldBlock => messages::journal_in_use(&path.display().to_string()),
            io::ErrorKind::FileTooLarge => malformed(path, &why.to_string()),
            _ => unwritten(path, &why),
        })?;
        if !lines.is_private().map_err(|why| unwritten(path, &why))? {
            return Err(messages::journal_of_others(&path.display().to_string()));
        }
        let noted = parse(&text).map_err(|why| malformed(path, &why))?;
        if is_foreign(&noted.head, root) {
            return Err(messages::journal_of_another_machine(&path.display().to_string()));
        }
        Ok(Self { path: path.to_owned(), noted, lines, _lock: lock })
    }
}

/// Whether a journal is of another machine, as in a directory that several share, or an image that was copied. One with
/// an id is foreign to a machine without: another boot there says nothing about what is left.
fn is_foreign(head: &JournalHeader, root: &Root) -> bool {
    head.machine.is_some() && head.machine != machine_id(root)
}

/// Whether any journal notes a change of that name ([`Change::is_called`]).
pub fn is_noted(state: &StateDir, name: &str) -> bool {
    let noted = |path: &PathBuf| Lines::read(path).map_err(|why| why.to_string()).and_then(|lines| parse(&lines)).ok();
    let journals = state.journals();
    journals.iter().filter_map(noted).any(|noted| noted.left().any(|(_, change)| change.is_called(name)))
}

fn unwritten(path: &Path, why: &io::Error) -> Refusal {
    messages::journal_unwritable(&path.display().to_string(), &why.to_string())
}

/// Changes that were made and not taken back, oldest first.
pub fn pending(state: &StateDir, root: &Root) -> Vec<HeldChanges> {
    state.journals().iter().filter_map(|path| held(path, root)).collect()
}

/// The changes of a journal, or the problem that it has; `None` if nothing has to be taken back.
fn held(path: &Path, root: &Root) -> Option<HeldChanges> {
    let lines = Lines::read(path).map_err(|why| why.to_string());
    let head = |lines: &Lines| serde_json::from_slice::<JournalHeader>(lines.head()).ok();
    let head = lines.as_ref().ok().and_then(head);
    if lines.as_ref().is_ok_and(|lines| lines.bytes() == 0) {
        return None;
    }
    let (changes, swaps, commands, at_work) = match lines.and_then(|lines| parse(&lines)) {
        Ok(noted) if is_foreign(&noted.head, root) => {
            (vec!["it lists changes of another machine".to_owned()], Vec::new(), Vec::new(), false)
        }
        Ok(noted) => {
            let at_work = boot_id(root).is_some_and(|boot| boot == noted.head.boot)
                && start_ticks(root, noted.head.pid) == Some(noted.head.start_ticks);
            let swaps = noted.left().filter_map(|(_, change)| change.swap_area()).collect();
            let commands = noted.left().filter_map(|(_, change)| change.command()).collect();
            let mut changes: Vec<String> = Vec::new();
            for change in noted.left().map(|(_, change)| change.to_string()) {
                // A device is noted before it is made and when it is known.
                if !changes.contains(&change) {
                    changes.push(change);
                }
            }
            (changes, swaps, commands, at_work)
        }
        Err(why) => (vec![why], Vec::new(), Vec::new(), false),
    };
    let (what, started, pid) =
        head.map_or_else(|| ("unknown".to_owned(), String::new(), 0), |head| (head.what, head.started, head.pid));
    let journal = path.display().to_string();
    (!changes.is_empty()).then_some(HeldChanges { journal, what, started, pid, at_work, changes, swaps, commands })
}
