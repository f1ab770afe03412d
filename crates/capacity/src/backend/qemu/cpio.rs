//! Archives of the form that kernels unpack as their first file system: cpio, "newc" (Documentation/driver-api/early-userspace/buffer-format).

use std::collections::BTreeSet;

/// Type bits of a mode.
const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const CHARACTER_DEVICE: u32 = 0o020_000;
/// Names and contents begin at multiples of it.
const ALIGN: usize = 4;
/// What ends an archive.
const TRAILER: &str = "TRAILER!!!";

/// An archive that grows.
#[derive(Debug, Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    entries: u32,
    directories: BTreeSet<String>,
}

/// What an entry's head says beside its name and size.
struct Entry {
    mode: u32,
    links: u32,
    /// Major and minor number, of devices.
    device: (u32, u32),
}

impl Archive {
    /// Adds a directory and those above it, once each. The path begins at the root.
    pub(super) fn directory(&mut self, path: &str) {
        let path = path.trim_matches('/');
        if path.is_empty() || self.directories.contains(path) {
            return;
        }
        if let Some((above, _)) = path.rsplit_once('/') {
            self.directory(above);
        }
        self.directories.insert(path.to_owned());
        self.entry(path, &Entry { mode: DIRECTORY | 0o755, links: 2, device: (0, 0) }, 0);
    }

    /// Adds a file with these permissions, and the directories above it.
    ///
    /// # Errors
    /// In words, where it is larger than the form can say.
    pub(super) fn file(&mut self, path: &str, permissions: u32, content: &[u8]) -> Result<(), String> {
        let size = u32::try_from(content.len()).map_err(|_| format!("{path} is larger than 4 GiB"))?;
        let path = self.above(path);
        self.entry(&path, &Entry { mode: FILE | permissions, links: 1, device: (0, 0) }, size);
        self.bytes.extend_from_slice(content);
        self.align();
        Ok(())
    }

    /// Adds a character device for root, and the directories above it.
    pub(super) fn character_device(&mut self, path: &str, major: u32, minor: u32) {
        let path = self.above(path);
        self.entry(&path, &Entry { mode: CHARACTER_DEVICE | 0o600, links: 1, device: (major, minor) }, 0);
    }

    /// The whole archive.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entries = 0;
        self.entry(TRAILER, &Entry { mode: 0, links: 1, device: (0, 0) }, 0);
        self.bytes
    }

    /// Makes the directories above a path, and tells it without its root.
    fn above(&mut self, path: &str) -> String {
        let path = path.trim_matches('/');
        if let Some((above, _)) = path.rsplit_once('/') {
            self.directory(above);
        }
        path.to_owned()
    }

    fn entry(&mut self, name: &str, entry: &Entry, size: u32) {
        // Owned by root, changed in 1970: the same files make the same archive.
        let (owner, group, changed, device) = (0, 0, 0, (0, 0));
        let length = name.len() as u32 + 1;
        let fields = [
            self.entries,
            entry.mode,
            owner,
            group,
            entry.links,
            changed,
            size,
            device.0,
            device.1,
            entry.device.0,
            entry.device.1,
            length,
            0,
        ];
        self.entries += 1;
        self.bytes.extend_from_slice(b"070701");
        fields.iter().for_each(|field| self.bytes.extend_from_slice(format!("{field:08X}").as_bytes()));
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGN), 0);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::print_stderr, reason = "a test that is skipped says why")]

    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    fn some() -> Vec<u8> {
        let mut archive = Archive::default();
        archive.file("/init", 0o755, b"#!/bin/sh\n").unwrap();
        archive.file("/lib/x86/libc.so", 0o644, &[7; 1000]).unwrap();
        archive.file("/lib/x86/empty", 0o600, b"").unwrap();
        archive.directory("/lib");
        archive.directory("/run/");
        archive.character_device("/dev/console", 5, 1);
        archive.finish()
    }

    #[test]
    fn an_archive_is_these_bytes() {
        let mut archive = Archive::default();
        archive.file("/a/b", 0o644, b"xyz").unwrap();
        let head = |inode, mode, links, size, name: usize| {
            let zero = "00000000";
            format!(
                "070701{inode:08X}{mode:08X}{zero}{zero}{links:08X}{zero}{size:08X}{zero}{zero}{zero}{zero}{name:08X}{zero}"
            )
        };
        let expected = [
            // 110 bytes of head and 2 of name make 112.
            head(0, 0o40755, 2, 0, 2) + "a\0",
            // 110 and 4, and 2 to the next multiple of 4.
            head(1, 0o100_644, 1, 3, 4) + "a/b\0\0\0" + "xyz\0",
            head(0, 0, 1, 0, 11) + "TRAILER!!!\0\0\0\0",
        ];
        assert_eq!(String::from_utf8(archive.finish()).unwrap(), expected.concat());
    }

    #[test]
    fn every_entry_begins_at_a_multiple_of_four_and_directories_come_first() {
        let bytes = some();
        let starts: Vec<usize> = (0..bytes.len() - 6).filter(|at| bytes[*at..].starts_with(b"070701")).collect();
        // init, lib, lib/x86, two files, run, dev, console, the trailer.
        assert_eq!(starts.len(), 9);
        assert!(starts.iter().all(|at| at.is_multiple_of(4)) && bytes.len().is_multiple_of(4));
        assert_eq!(some(), bytes);
    }

    #[test]
    fn cpio_lists_and_unpacks_it() {
        let dir = tempfile::tempdir().unwrap();
        let cpio = |arguments: &[&str]| {
            let mut command = Command::new("cpio");
            command
                .args(arguments)
                .current_dir(dir.path())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null());
            let mut child = command.spawn().ok()?;
            child.stdin.take().unwrap().write_all(&some()).unwrap();
            let out = child.wait_with_output().unwrap();
            assert!(out.status.success(), "{arguments:?}");
            Some(String::from_utf8(out.stdout).unwrap())
        };
        let Some(listed) = cpio(&["-t"]) else {
            assert!(std::env::var_os("CI").is_none(), "CI must not skip: no cpio");
            eprintln!("SKIPPED: needs cpio");
            return;
        };
        let names: Vec<&str> = listed.lines().collect();
        assert_eq!(names, ["init", "lib", "lib/x86", "lib/x86/libc.so", "lib/x86/empty", "run", "dev", "dev/console"]);
        let long = cpio(&["-tvn"]).unwrap();
        let console = long.lines().find(|line| line.ends_with("dev/console")).unwrap();
        let words: Vec<&str> = console.split_whitespace().collect();
        assert!(words[0] == "crw-------" && words[2..6] == ["0", "0", "5,", "1"], "{console}");
        // Making a device needs root.
        cpio(&["-id", "--quiet", "init", "lib/*"]).unwrap();
        assert_eq!(std::fs::read(dir.path().join("lib/x86/libc.so")).unwrap(), [7; 1000]);
        assert_eq!(std::fs::read(dir.path().join("init")).unwrap(), b"#!/bin/sh\n");
    }
}
