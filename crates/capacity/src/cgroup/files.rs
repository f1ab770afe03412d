//! The files of control groups, which read and write like others and follow rules of their own.
//!
//! [`Files`] is no [`SystemWriter`](tiermark_undo::SystemWriter): that takes changes back, by signals, swapoff and
//! commands too, and makes nothing. These are the four calls that a made-up kernel has to answer in tests of groups.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Files and directories below a root; every path is relative to it.
pub trait Files {
    /// Makes a directory whose parent is there.
    ///
    /// # Errors
    /// The system's error; an existing group is one.
    fn make(&self, directory: &str) -> io::Result<()>;

    /// Writes to a file that is there, in one call.
    ///
    /// # Errors
    /// The system's error.
    fn write(&self, path: &str, text: &str) -> io::Result<()>;

    /// The text of a file.
    ///
    /// # Errors
    /// The system's error.
    fn read(&self, path: &str) -> io::Result<String>;

    /// Removes a directory that nothing is in.
    ///
    /// # Errors
    /// The system's error.
    fn remove(&self, directory: &str) -> io::Result<()>;
}

/// The running system.
#[derive(Debug, Clone, Copy)]
pub struct Disk;

fn real(path: &str) -> PathBuf {
    Path::new("/").join(path)
}

impl Files for Disk {
    fn make(&self, directory: &str) -> io::Result<()> {
        fs::create_dir(real(directory))
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        // Never made anew: a file that the kernel does not offer is one that it does not know.
        fs::OpenOptions::new().write(true).open(real(path))?.write_all(text.as_bytes())
    }

    fn read(&self, path: &str) -> io::Result<String> {
        fs::read_to_string(real(path))
    }

    fn remove(&self, directory: &str) -> io::Result<()> {
        fs::remove_dir(real(directory))
    }
}
