//! Programs of this machine.

use std::path::PathBuf;

use rustix::fs::{Access, access};

/// A program that may be run, by its path, or the first of that name where programs are looked for.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let runs = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(runs);
    }
    let places = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&places).map(|place| place.join(name)).find(runs)
}
