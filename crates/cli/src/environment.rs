//! The program's environment: places to write, time, id of a new run.

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::path::PathBuf;

use jiff::Timestamp;
use tiermark_history::{Places, Store};
use tiermark_undo::{StateDir, StatePlaces};

/// The store of saved runs, by the environment.
pub(crate) fn store() -> Store {
    let path = |name: &str| env::var_os(name).map(PathBuf::from);
    Store::new(&Places {
        tiermark_home: path("TIERMARK_HOME"),
        xdg_data_home: path("XDG_DATA_HOME"),
        home: path("HOME"),
        current: env::current_dir().ok(),
        temporary: Some(env::temp_dir()),
    })
}

/// The store of runs of tenants, by the environment.
pub(crate) fn capacity_runs() -> Store {
    store().beside("capacity")
}

/// The store of runs of load, by the environment.
pub(crate) fn load_runs() -> Store {
    store().beside("load")
}

/// The directory of journals of changes, by the environment; `None` where nothing names one.
pub(crate) fn state() -> Option<StateDir> {
    let path = |name: &str| env::var_os(name).map(PathBuf::from);
    StateDir::choose(&StatePlaces {
        tiermark_state: path("TIERMARK_STATE"),
        tiermark_home: path("TIERMARK_HOME"),
        xdg_state_home: path("XDG_STATE_HOME"),
        home: path("HOME"),
        root: rustix::process::geteuid().is_root(),
    })
}

/// A path as one word of a command line.
pub(crate) fn quoted(path: &Path) -> String {
    tiermark_model::shell_word(&path.display().to_string())
}

/// A random number that differs between processes: the standard library keys its hashes with the system's randomness.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// Start of a run, RFC 3339 in UTC to the second, and the id that follows from it.
pub(crate) fn started_and_id() -> (String, String) {
    let now = Timestamp::now();
    let started = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let id = format!("{}-{:06x}", now.strftime("%Y%m%dT%H%M%S"), random() & 0xff_ffff);
    (started, id)
}
