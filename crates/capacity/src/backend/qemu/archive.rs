//! The first file system of a guest: a cpio archive ("newc"), which the guest's kernel unpacks.

use std::collections::BTreeSet;
use std::io::{self, Write};

use cpio::newc::{Builder, ModeFileType, trailer};

/// An archive that grows. Every entry is owned by root and changed in 1970, so that the same files make the same
/// archive.
#[derive(Debug, Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    directories: BTreeSet<String>,
}

impl Archive {
    /// Adds a directory and its parents, once each. The path begins at the root.
    ///
    /// # Errors
    /// As [`Archive::file`].
    pub(super) fn directory(&mut self, path: &str) -> io::Result<()> {
        let path = path.trim_matches('/');
        if path.is_empty() || !self.directories.insert(path.to_owned()) {
            return Ok(());
        }
        self.add(path, &[], |entry| entry.mode(0o755).set_mode_file_type(ModeFileType::Directory).nlink(2))
    }

    /// Adds a file with these permissions, and its parent directories.
    ///
    /// # Errors
    /// The file is larger than 4 GiB, which the format cannot hold.
    pub(super) fn file(&mut self, path: &str, permissions: u32, content: &[u8]) -> io::Result<()> {
        self.add(path, content, |entry| entry.mode(permissions).set_mode_file_type(ModeFileType::Regular))
    }

    /// Adds a character device that root alone may use, and its parent directories.
    ///
    /// # Errors
    /// As [`Archive::file`].
    pub(super) fn character_device(&mut self, path: &str, major: u32, minor: u32) -> io::Result<()> {
        let device = |entry: Builder| entry.mode(0o600).rdev_major(major).rdev_minor(minor);
        self.add(path, &[], |entry| device(entry).set_mode_file_type(ModeFileType::Char))
    }

    /// The bytes of the archive, with its end.
    ///
    /// # Errors
    /// As [`Archive::file`].
    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        trailer(self.bytes)
    }

    fn add(&mut self, path: &str, content: &[u8], about: impl FnOnce(Builder) -> Builder) -> io::Result<()> {
        let size = u32::try_from(content.len())
            .map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, format!("{path} is larger than 4 GiB")))?;
        let path = path.trim_matches('/');
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.directory(parent)?;
        }
        let mut writer = about(Builder::new(path)).write(&mut self.bytes, size);
        writer.write_all(content)?;
        writer.finish().map(drop)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::print_stderr, reason = "a test that is skipped says why")]

    use std::process::{Command, Stdio};

    use super::*;

    fn some() -> Vec<u8> {
        let mut archive = Archive::default();
        archive.file("/init", 0o755, b"#!/bin/sh\n").unwrap();
        archive.file("/lib/x86/libc.so", 0o644, &[7; 1000]).unwrap();
        archive.file("/lib/x86/empty", 0o600, b"").unwrap();
        archive.directory("/lib").unwrap();
        archive.directory("/run/").unwrap();
        archive.character_device("/dev/console", 5, 1).unwrap();
        archive.finish().unwrap()
    }

    #[test]
    fn the_same_files_make_the_same_archive() {
        assert_eq!(some(), some());
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
