//! A file by its name, whatever file has the name.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file that another program writes. If that program, or one that rotates files, puts another file in its place, or
/// empties it, the next read goes on at the beginning of the new one.
#[derive(Debug)]
pub struct Followed {
    path: PathBuf,
    file: File,
}

impl Followed {
    /// Opens a file.
    ///
    /// # Errors
    /// What keeps it from being opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: File::open(path)? })
    }

    /// Whether the file begins anew. A name that no file has, or none that can be opened, may get one later.
    fn begins_anew(&mut self) -> io::Result<bool> {
        let Ok(named) = self.path.metadata() else { return Ok(false) };
        let own = self.file.metadata()?;
        if (named.dev(), named.ino()) != (own.dev(), own.ino()) {
            let Ok(file) = File::open(&self.path) else { return Ok(false) };
            self.file = file;
            return Ok(true);
        }
        // Devices and pipes have no length and no position.
        let is_shorter = own.is_file() && own.len() < self.file.stream_position()?;
        if is_shorter {
            self.file.rewind()?;
        }
        Ok(is_shorter)
    }
}

impl Read for Followed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(into)?;
        if read > 0 || into.is_empty() || !self.begins_anew()? {
            return Ok(read);
        }
        // The last line of the old file has no end: it is no part of the first line of the new one.
        into[0] = b'\n';
        Ok(1 + self.file.read(&mut into[1..])?)
    }
}
