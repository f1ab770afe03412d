//! Reading files and directories of the running system or of a captured directory.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::tree::Step;
use super::{DiscoverError, MAX_FILE_BYTES};

/// A directory with more names is refused: the largest known holds one entry a cpu.
const MAX_NAMES: usize = 200_000;
/// Directories looked at, level by level, in search of a wrapped root.
const MAX_WRAPPERS: usize = 64;

/// Absence in any of its forms: a missing file, a path through a file, a name the kernel cannot take.
fn absent(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidInput | ErrorKind::InvalidFilename
    )
}

fn io_error(rel: &str, source: std::io::Error) -> DiscoverError {
    DiscoverError::Io { path: rel.to_owned(), source }
}

pub(super) fn join(base: &Path, names: &[String]) -> PathBuf {
    names.iter().fold(base.to_path_buf(), |path, name| path.join(name))
}

/// Reads a regular file; anything else is absent, for a pipe would block for ever.
pub(super) fn read(rel: &str, path: &Path) -> Result<Option<Vec<u8>>, DiscoverError> {
    let result = fs::metadata(path).and_then(|metadata| {
        if !metadata.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        fs::File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    });
    match result {
        Ok(Some(bytes)) if bytes.len() as u64 > MAX_FILE_BYTES => {
            Err(DiscoverError::TooLarge { path: rel.to_owned(), limit: MAX_FILE_BYTES })
        }
        Ok(bytes) => Ok(bytes),
        Err(error) if absent(error.kind()) => Ok(None),
        Err(error) => Err(io_error(rel, error)),
    }
}

/// The names in a directory, sorted.
pub(super) fn list(rel: &str, path: &Path) -> Result<Vec<String>, DiscoverError> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if absent(error.kind()) => return Ok(Vec::new()),
        Err(error) => return Err(io_error(rel, error)),
    };
    let mut names: Vec<String> =
        entries.flatten().take(MAX_NAMES).filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    Ok(names)
}

/// Kind of the file at one path, without following a link.
pub(super) fn step(rel: &str, path: &Path) -> Result<Option<Step>, DiscoverError> {
    let result = fs::symlink_metadata(path).and_then(|metadata| {
        Ok(if metadata.is_dir() {
            Step::Dir
        } else if metadata.is_symlink() {
            Step::Link(fs::read_link(path)?.to_string_lossy().into_owned())
        } else {
            Step::File
        })
    });
    match result {
        Ok(step) => Ok(Some(step)),
        Err(error) if absent(error.kind()) => Ok(None),
        Err(error) => Err(io_error(rel, error)),
    }
}

/// The shallowest directory at or below a path that holds a machine.
pub(super) fn machine_root(path: &Path) -> Option<PathBuf> {
    let mut level = vec![path.to_path_buf()];
    while !level.is_empty() && level.len() <= MAX_WRAPPERS {
        if let Some(root) =
            level.iter().find(|dir| dir.join("sys/devices").is_dir() || dir.join("proc/cpuinfo").is_file())
        {
            return Some(root.clone());
        }
        if level[0].components().count() > path.components().count() + 2 {
            return None;
        }
        level = level
            .iter()
            .filter_map(|dir| fs::read_dir(dir).ok())
            .flat_map(|entries| entries.flatten().take(MAX_WRAPPERS))
            // A link could lead out of the tree, or back to its top.
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.path())
            .collect();
        level.sort_unstable();
    }
    None
}
