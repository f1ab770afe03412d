//! A file to swap to, made for it and removed with it.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, FallocateFlags, access, fallocate, statfs, statvfs};
use tiermark_machine::{Root, disk_of};
use tiermark_model::messages::tiers as messages;
use tiermark_model::{Bytes, Refusal};
use tiermark_undo::Change;

use super::ActiveTier;
use crate::system::System;

/// File systems that have no disk: tmpfs and ramfs (linux/magic.h).
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];
/// File systems that take no ordinary swap file (btrfs: only without copy-on-write), by the kernel's numbers of them.
const NO_SWAP: [(u32, &str); 3] = [(0x794c_7630, "overlayfs"), (0x9123_683e, "btrfs"), (0x2fc1_2fc1, "ZFS")];
/// Bytes of the file system that stay free.
const SPARE: u64 = 1 << 30;

/// Where the file goes, if it can: there is such a place, which may be written to, and it has room.
pub(super) fn preflight(path: &str, size: u64, word: &str) -> Result<PathBuf, Refusal> {
    let place = place(path, word)?;
    let dir = place.parent().unwrap_or(Path::new("/"));
    access(dir, Access::WRITE_OK)
        .map_err(|why| messages::directory_denied(path, &dir.display().to_string(), &why.to_string()))?;
    room(path, dir, size)?;
    Ok(place)
}

/// Makes a file in a directory, or one of a name that is free, and swaps to it.
pub(super) fn activate(path: &str, size: u64, priority: u16, system: &mut System) -> Result<ActiveTier, Refusal> {
    let place = preflight(path, size, system.word())?;
    let text = place.display().to_string();
    system.note([Change::swap_file(text.trim_start_matches('/'), system.root())])?;
    make(&place, size).map_err(|why| messages::directory_failed(path, &why.to_string()))?;
    system.swap_on(&text, priority, None)?;
    Ok(ActiveTier {
        devices: disk(system.root(), &place).into_iter().collect(),
        areas: vec![text],
        room: size,
        ..ActiveTier::default()
    })
}

/// The path of the swap file: a name of its own in a directory, or the path itself, if nothing is there and its name
/// contains `tiermark`.
fn place(path: &str, word: &str) -> Result<PathBuf, Refusal> {
    let asked = Path::new(path);
    let name = asked.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match fs::symlink_metadata(asked) {
        Ok(_) if asked.is_dir() => Ok(real(path, asked)?.join(format!("tiermark-{word}.swap"))),
        Ok(_) => Err(messages::file_exists(path)),
        Err(why) if why.kind() == io::ErrorKind::NotFound && name.contains("tiermark") => {
            Ok(real(path, asked.parent().unwrap_or(Path::new("/")))?.join(name))
        }
        Err(why) if why.kind() == io::ErrorKind::NotFound => Err(messages::swap_path_missing(path)),
        Err(why) => Err(messages::directory_failed(path, &why.to_string())),
    }
}

/// A directory by the name that the kernel gives it: by another one the area would not be found again in /proc/swaps.
fn real(path: &str, dir: &Path) -> Result<PathBuf, Refusal> {
    fs::canonicalize(dir).map_err(|why| messages::directory_failed(path, &why.to_string()))
}

fn room(path: &str, dir: &Path, size: u64) -> Result<(), Refusal> {
    let kind = statfs(dir).map_err(|why| messages::directory_failed(path, &why.to_string()))?.f_type;
    if IN_MEMORY.contains(&(kind as u32)) {
        return Err(messages::directory_in_memory(path));
    }
    if let Some((_, name)) = NO_SWAP.iter().find(|(number, _)| *number == kind as u32) {
        return Err(messages::file_system_cannot_swap(path, name));
    }
    let about = statvfs(dir).map_err(|why| messages::directory_failed(path, &why.to_string()))?;
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    if size.saturating_add(SPARE) <= free {
        return Ok(());
    }
    Err(messages::disk_full(path, Bytes(free), Bytes(SPARE), Bytes(size)))
}

fn make(place: &Path, size: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(place)?;
    // A file with holes is refused by swapon: it has no blocks to write to.
    Ok(fallocate(&file, FallocateFlags::empty(), 0, size)?)
}

/// The disk below a file; `None` where the file system has none, as tmpfs.
fn disk(root: &Root, place: &Path) -> Option<String> {
    let id = fs::metadata(place).ok()?.dev();
    let (major, minor) = (rustix::fs::major(id), rustix::fs::minor(id));
    let link = root.on_disk(&format!("sys/dev/block/{major}:{minor}")).ok()??;
    disk_of(root, fs::canonicalize(link).ok()?.file_name()?.to_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_others_stay_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).display().to_string();
        fs::write(at("there-tiermark"), "somebody's").unwrap();
        assert_eq!(place(&at(""), "7").unwrap(), dir.path().join("tiermark-7.swap"));
        assert_eq!(place(&at("tiermark.swap"), "7").unwrap(), dir.path().join("tiermark.swap"));
        for (name, code) in
            [("there-tiermark", "file_exists"), ("new", "swap_path_missing"), ("no/tiermark", "directory_failed")]
        {
            assert_eq!(place(&at(name), "7").unwrap_err().code, code, "{name}");
        }
        // By the name that the kernel will give it.
        std::os::unix::fs::symlink(dir.path(), at("link")).unwrap();
        assert_eq!(place(&at("link"), "7").unwrap(), dir.path().join("tiermark-7.swap"));
        make(Path::new(&at("tiermark.swap")), 8192).unwrap();
        assert_eq!(fs::metadata(at("tiermark.swap")).unwrap().len(), 8192);
        assert!(make(Path::new(&at("there-tiermark")), 8192).is_err());
    }

    #[test]
    fn disks_are_not_filled() {
        let dir = tempfile::tempdir().unwrap();
        let refused = room("/x", dir.path(), u64::MAX / 2).unwrap_err();
        assert_eq!(refused.code, messages::codes::disk_full);
    }

    #[test]
    fn a_look_says_where_the_file_would_go_and_makes_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().display().to_string();
        // A disk in memory, or one that is full, is refused for that.
        if let Ok(place) = preflight(&path, 1, "7") {
            assert_eq!(place, dir.path().join("tiermark-7.swap"));
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(preflight("/proc", 1, "7").is_err(), "nobody makes files there");
    }
}
