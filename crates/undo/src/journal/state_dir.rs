//! Where journals are kept, and the lock.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tiermark_history::lines::{lock_soon, make_directory};
use tiermark_model::Refusal;
use tiermark_model::messages::undo as messages;

use super::file::sequence;

/// The lock of all programs that change the system, in any directory of journals. Only root can write there.
const SYSTEM_LOCK: &str = "/run/tiermark.lock";
/// Its mode: nobody else can hold it, and so keep changes from being taken back.
const OWN: u32 = 0o600;

/// What the environment says about places; the caller reads it, so that tests need not change it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatePlaces {
    /// Value of the environment variable `TIERMARK_STATE`.
    pub tiermark_state: Option<PathBuf>,
    /// Value of the environment variable `TIERMARK_HOME`.
    pub tiermark_home: Option<PathBuf>,
    /// `XDG_STATE_HOME`.
    pub xdg_state_home: Option<PathBuf>,
    /// Value of the environment variable `HOME`.
    pub home: Option<PathBuf>,
    /// Whether this process is root's.
    pub root: bool,
}

/// The directory of journals. It outlives reboots, unlike what most of its journals are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir {
    path: PathBuf,
    lock: PathBuf,
}

/// The lock of a program that changes the system, held until this value and all that share it are dropped.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// The same lock once more: free when both are gone.
    pub(crate) fn share(&self, what: &str) -> Result<Self, Refusal> {
        self.0.try_clone().map(Self).map_err(|why| messages::lock_not_shared(what, &why.to_string()))
    }
}

impl StateDir {
    /// `$TIERMARK_STATE`; else for root `/var/lib/tiermark`, even if root has a `TIERMARK_HOME`, so that any later root
    /// process finds the journals; else `$TIERMARK_HOME/state`, `$XDG_STATE_HOME/tiermark`, `~/.local/state/tiermark`.
    /// `None` if no variable is set.
    pub fn choose(places: &StatePlaces) -> Option<Self> {
        let set = |path: &Option<PathBuf>| path.clone().filter(|p| !p.as_os_str().is_empty());
        let path = set(&places.tiermark_state)
            .or_else(|| places.root.then(|| PathBuf::from("/var/lib/tiermark")))
            .or_else(|| set(&places.tiermark_home).map(|home| home.join("state")))
            .or_else(|| set(&places.xdg_state_home).filter(|p| p.is_absolute()).map(|dir| dir.join("tiermark")))
            .or_else(|| set(&places.home).map(|home| home.join(".local/state/tiermark")))?;
        let system = Path::new(SYSTEM_LOCK);
        let for_all = places.root && system.parent().is_some_and(Path::is_dir);
        let lock = if for_all { system.to_owned() } else { path.join("lock") };
        Some(Self { path, lock })
    }

    /// A directory of one's own, with a lock of its own: for trees that are not the running system.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { lock: path.join("lock"), path }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Journals there, oldest first.
    pub(crate) fn journals(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "changes")).collect();
        // Names begin with the time, which orders those of versions without numbers.
        found.sort_by_cached_key(|path| (sequence(path), path.clone()));
        found
    }

    /// Takes the lock of programs that change the system, or names its holder.
    ///
    /// # Errors
    /// A [`Refusal`] if another process holds the lock, or the directory cannot be written.
    pub fn hold(&self, what: &str) -> Result<Lock, Refusal> {
        let unusable = |path: &Path, why: std::io::Error| {
            messages::journal_directory_unwritable(what, &path.display().to_string(), &why.to_string())
        };
        make_directory(&self.path).map_err(|why| unusable(&self.path, why))?;
        let mut options = OpenOptions::new();
        // A link there would have this program write elsewhere.
        options.read(true).write(true).create(true).truncate(false).mode(OWN);
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
        let mut file = options.open(&self.lock).map_err(|why| unusable(&self.lock, why))?;
        // Whoever can read a file can lock it. Older versions made it readable for all; another's file stays as it is.
        let _ = file.set_permissions(Permissions::from_mode(OWN));
        match lock_soon(&file) {
            Ok(()) => {
                // Read only for the message of the next process that wants the lock.
                let _ = file.set_len(0).and_then(|()| write!(file, "{what}, process {}", std::process::id()));
                Ok(Lock(file))
            }
            Err(TryLockError::WouldBlock) => {
                let mut who = String::new();
                const MOST: u64 = 300;
                let _ = file.take(MOST).read_to_string(&mut who);
                let who = if who.is_empty() { "another tiermark".to_owned() } else { who };
                Err(messages::system_being_changed(what, &who))
            }
            Err(TryLockError::Error(why)) => Err(unusable(&self.lock, why)),
        }
    }
}

#[cfg(test)]
mod tests {
    use tiermark_machine::Root;

    use super::*;
    use crate::{Asked, Journal, JournalHeader, RootWriter, restore_all};

    /// Whoever can open it can hold it for ever.
    #[test]
    fn nobody_else_can_hold_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path());
        let mode = || fs::metadata(&state.lock).unwrap().permissions().mode() & 0o777;
        drop(state.hold("a test").unwrap());
        assert_eq!(mode(), OWN);
        fs::set_permissions(&state.lock, Permissions::from_mode(0o644)).unwrap();
        drop(state.hold("a test").unwrap());
        assert_eq!(mode(), OWN, "that of an older version");
    }

    #[test]
    fn journals_are_where_the_next_one_looks_for_them() {
        let path = |text: &str| Some(PathBuf::from(text));
        let user = StatePlaces { home: path("/home/u"), ..StatePlaces::default() };
        let place = |places: &StatePlaces| StateDir::choose(places).map(|state| state.path().display().to_string());
        assert_eq!(place(&user).as_deref(), Some("/home/u/.local/state/tiermark"));
        let xdg = StatePlaces { xdg_state_home: path("/s"), ..user.clone() };
        assert_eq!(place(&xdg).as_deref(), Some("/s/tiermark"));
        let relative = StatePlaces { xdg_state_home: path("s"), ..user.clone() };
        assert_eq!(place(&relative), place(&user));
        // However one became root, and whatever home one kept.
        assert_eq!(place(&StatePlaces { root: true, ..xdg.clone() }).as_deref(), Some("/var/lib/tiermark"));
        let home = StatePlaces { tiermark_home: path("/t"), ..xdg };
        assert_eq!(place(&home).as_deref(), Some("/t/state"));
        let root = StatePlaces { root: true, ..home };
        assert_eq!(place(&root).as_deref(), Some("/var/lib/tiermark"), "one place, wherever runs are kept");
        let told = StatePlaces { tiermark_state: path("/s"), ..root };
        assert_eq!(place(&told).as_deref(), Some("/s"));
        let locks = [&told, &StatePlaces { tiermark_state: path("/other"), ..told.clone() }];
        let locks = locks.map(|places| StateDir::choose(places).map(|state| state.lock));
        assert_eq!(locks[0], locks[1], "one lock for the system");
        assert_eq!(place(&StatePlaces::default()), None);
    }

    fn head() -> JournalHeader {
        JournalHeader::new(&Root::from_files("test", [("proc/stat", "")]), "a test", "2026-11-21T12:00:00Z")
    }

    #[test]
    fn two_at_once_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path());
        let first = Journal::create(&state, head()).unwrap();
        let refusal = Journal::create(&state, head()).unwrap_err();
        assert_eq!(refusal.code, messages::codes::system_being_changed);
        assert!(refusal.text("holder").is_some_and(|who| who.starts_with("a test, process")), "{refusal}");
        let mut writer = RootWriter::new(Root::from_files("test", [("proc/stat", "")]));
        assert!(
            restore_all(&state, &mut writer, &Asked::default()).is_err(),
            "nor is anything taken back from under it"
        );
        first.keep();
        Journal::create(&state, head()).unwrap().keep();
    }

    #[test]
    fn a_state_directory_that_cannot_be_written_is_refused_with_a_cure() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("in-the-way"), "").unwrap();
        let state = StateDir::at(dir.path().join("in-the-way"));
        assert_eq!(Journal::create(&state, head()).unwrap_err().code, messages::codes::journal_directory_unwritable);
    }
}
