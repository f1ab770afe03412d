//! The system as a run changes it: each change is noted on disk before it is made, and all of them are taken back
//! together.

use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::fs::{Access, access};
use tiermark_machine::{Root, own_memory_room};
use tiermark_model::messages::capacity::changes_left;
use tiermark_model::messages::tiers as messages;
use tiermark_model::{Bytes, ChangeRow, Refusal};
use tiermark_undo::{Change, Journal, JournalHeader, Lock, RootWriter, StateDir, SystemWriter, bounded};

/// Formatting and turning on a swap area writes little; a device that takes longer than this hangs.
const COMMAND_MOST: Duration = Duration::from_secs(60);

/// The running system, with a journal of the changes to it; without a journal nothing can be changed.
#[derive(Debug)]
pub struct System {
    /// Part of the names of everything that this run makes; no other run has the same.
    word: String,
    root: Root,
    writer: RootWriter,
    journal: Option<Journal>,
}

impl System {
    /// Begins to change the running system, by a program that holds the lock.
    ///
    /// # Errors
    /// A [`Refusal`] where no journal can be written.
    pub fn begin(state: &StateDir, lock: &Lock, what: &str, started: &str) -> Result<Self, Refusal> {
        let root = Root::live();
        let journal = Journal::create_under(lock, state, JournalHeader::new(&root, what, started))?;
        Ok(Self { word: word(), writer: RootWriter::new(root.clone()), root, journal: Some(journal) })
    }

    /// The running system, to be looked at only: any user may, also while another is at work.
    pub fn untouched() -> Self {
        let root = Root::live();
        Self { word: word(), writer: RootWriter::new(root.clone()), root, journal: None }
    }

    /// A word in the names of everything that this run makes.
    pub(crate) fn word(&self) -> &str {
        &self.word
    }

    /// The root that all files are read from.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The writer, and the journal that has to know before they do anything.
    ///
    /// # Errors
    /// A [`Refusal`] where nothing is to be changed.
    pub(crate) fn writer(&mut self) -> Result<(&mut RootWriter, &mut Journal), Refusal> {
        let journal = self.journal.as_mut().ok_or_else(messages::system_not_changed)?;
        Ok((&mut self.writer, journal))
    }

    /// Writes a change to the journal before it is made; a change that is in it already is not written twice.
    ///
    /// # Errors
    /// A [`Refusal`]: it must not be changed.
    pub fn note(&mut self, changes: impl IntoIterator<Item = Change>) -> Result<(), Refusal> {
        let (_, journal) = self.writer()?;
        let known: Vec<&Change> = journal.left_to_do().collect();
        let new: Vec<Change> = changes.into_iter().filter(|change| !known.contains(&change)).collect();
        if new.is_empty() { Ok(()) } else { journal.note(new) }
    }

    /// Takes a note back of what could not be made: it is not there, or not this program's.
    pub(crate) fn withdraw(&mut self, change: &Change) {
        if let Some(journal) = &mut self.journal {
            journal.withdraw(change);
        }
    }

    /// Writes to a file of the kernel, whose path is below the root.
    ///
    /// # Errors
    /// A [`Refusal`] with what the kernel says.
    pub(crate) fn write(&mut self, path: &str, text: &str) -> Result<(), Refusal> {
        let wrong = |error: std::io::Error| match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                messages::kernel_file_denied(path, text, &error.to_string())
            }
            _ => messages::kernel_file_refused(path, text, &error.to_string()),
        };
        self.writer.write(path, text).map_err(wrong)
    }

    /// Formats a swap area and turns it on. The area must be in the journal already. `priority` is above that of areas
    /// that are filled later; `uuid` is that of the header, drawn by mkswap where there is none.
    ///
    /// # Errors
    /// A [`Refusal`] with what the commands say.
    pub(crate) fn swap_on(&self, path: &str, priority: u16, uuid: Option<&str>) -> Result<(), Refusal> {
        let mut format = command("mkswap");
        format.args(["-L", LABEL]).args(uuid.iter().flat_map(|uuid| ["-U", *uuid])).arg(path);
        let mut on = command("swapon");
        on.args(["-p", &priority.to_string(), path]);
        for (command, what) in [(format, "formatting"), (on, "turning on")] {
            bounded(command, COMMAND_MOST).map_err(|why| messages::swap_area_failed(what, path, &why.text))?;
        }
        Ok(())
    }

    /// Takes everything back that was noted, in an order that kills no tenant.
    ///
    /// # Errors
    /// A [`Refusal`] that names what could not be; it stays noted.
    pub fn restore(mut self) -> Result<(), Refusal> {
        let Some(journal) = self.journal.take() else { return Ok(()) };
        all_taken_back(&journal.restore(&mut self.writer, false))
    }

    /// Runs the commands that stop tenants elsewhere, of those that were noted.
    ///
    /// # Errors
    /// A [`Refusal`] that names those that failed; they stay noted.
    pub(crate) fn stop_commanded(&mut self) -> Result<(), Refusal> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        all_taken_back(&journal.stop_commanded(&mut self.writer))
    }
}

fn all_taken_back(rows: &[ChangeRow]) -> Result<(), Refusal> {
    let left: Vec<String> = rows.iter().filter(|row| row.stays()).map(ChangeRow::summary).collect();
    if left.is_empty() {
        return Ok(());
    }
    Err(changes_left(&left))
}

/// The process's number, for people, and a random one: in containers that share a file system processes share their
/// numbers too. The standard library keys its hashes with the system's randomness.
fn word() -> String {
    let pid = std::process::id();
    format!("{pid}-{:08x}", RandomState::new().hash_one(pid) as u32)
}

/// The label of swap areas that this program makes, by which it knows its own again.
pub(crate) const LABEL: &str = "tiermark";

/// A program of the system's administration, which may not be on an ordinary path.
fn tool(name: &str) -> Option<PathBuf> {
    let places = ["/sbin", "/usr/sbin"].map(|dir| format!("{dir}/{name}"));
    places.iter().map(PathBuf::from).find(|path| path.exists()).or_else(|| program(name))
}

fn command(name: &str) -> Command {
    Command::new(tool(name).unwrap_or_else(|| PathBuf::from(name)))
}

/// Refusals of the programs that swap areas are made with, where they are not there.
pub(crate) fn swap_tools() -> Vec<Refusal> {
    let lacks = [("mkswap", "util-linux"), ("swapon", "mount")].into_iter().filter(|(name, _)| tool(name).is_none());
    lacks.map(|(name, package)| messages::swap_tool_missing(name, package)).collect()
}

/// Memory that is available without swapping (`MemAvailable`), bytes.
///
/// # Errors
/// A [`Refusal`] where the kernel does not report it.
pub fn available(root: &Root) -> Result<u64, Refusal> {
    let bytes = crate::evidence::available(root).map_err(|why| messages::memory_unreadable(&why.to_string()))?;
    bytes.ok_or_else(messages::memory_not_reported)
}

/// Checks that `wanted` bytes leave a floor of the available memory free: of the machine's, and of the room below the
/// memory limit of this program's control group. Tenants have groups of their own outside of that one, but whoever set
/// the limit means all that the program starts.
///
/// # Errors
/// When they do not: the [`Refusal`] that `refuse` makes of the available memory, and the file of a limit that leaves
/// so little of it.
pub fn leave_floor(
    root: &Root,
    wanted: u64,
    floor: u64,
    refuse: impl FnOnce(Bytes, Option<&str>) -> Refusal,
) -> Result<(), Refusal> {
    let machine = available(root)?;
    let below = own_memory_room(root);
    let (available, limit) = match below.filter(|(left, _)| *left < machine) {
        Some((left, file)) => (left, Some(file)),
        None => (machine, None),
    };
    if wanted.saturating_add(floor) <= available { Ok(()) } else { Err(refuse(Bytes(available), limit.as_deref())) }
}

/// A program that may be run, by its path, or the first of that name where programs are looked for.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let runs = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(runs);
    }
    let places = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&places).map(|place| place.join(name)).find(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_left_alone() {
        let root = Root::from_files("test", [("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:    1000 kB\n")]);
        let asked = |wanted| {
            let short = |free, limit: Option<&str>| messages::memory_short(Bytes(wanted), free, limit, Bytes(24 << 10));
            leave_floor(&root, wanted, 24 << 10, short)
        };
        assert_eq!(asked(976 << 10), Ok(()));
        let refused = asked(977 << 10).unwrap_err();
        assert_eq!(refused.data["available"], 1000 << 10);
        assert!(asked(u64::MAX).is_err());
        assert!(available(&Root::from_files("test", [("proc/meminfo", "MemTotal: 9 kB\n")])).is_err());
    }
    #[test]
    fn a_limit_of_the_callers_group_counts_as_memory() {
        let root = |group: &'static str, limit: &'static str| {
            let mounts = "cgroup2 /cg cgroup2 rw 0 0\n";
            let files = [("proc/meminfo", "MemAvailable:    1000 kB\n"), ("proc/mounts", mounts)];
            let own = [("proc/self/cgroup", group), ("cg/a/memory.max", limit), ("cg/a/memory.current", "102400\n")];
            Root::from_files("test", files.into_iter().chain(own))
        };
        let asked = |root: &Root, wanted: u64| {
            let short = |free, limit: Option<&str>| messages::memory_short(Bytes(wanted), free, limit, Bytes(24 << 10));
            leave_floor(root, wanted, 24 << 10, short)
        };
        let limited = root("0::/a\n", "307200\n");
        assert_eq!(asked(&limited, 176 << 10), Ok(()));
        let refused = asked(&limited, 177 << 10).unwrap_err();
        assert!(
            refused.why.contains("200 KiB are available below") && refused.why.contains("(/cg/a/memory.max)"),
            "{refused:?}"
        );
        assert!(refused.cure.contains("run tiermark outside of that control group"), "{refused:?}");
        // Where the machine has less, or the group has no limit, it is the machine's.
        for unlimited in [root("0::/a\n", "max\n"), root("0::/a\n", "9999999999\n"), root("0::/\n", "307200\n")] {
            assert_eq!(asked(&unlimited, 976 << 10), Ok(()));
            assert!(!asked(&unlimited, 977 << 10).unwrap_err().why.contains("limit"));
        }
    }
}
