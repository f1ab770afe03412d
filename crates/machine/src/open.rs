//! Files that are read again and again: kept open on the running system, where opening one costs as much as a short
//! read.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::Root;
use crate::root::MAX_FILE_BYTES;

/// Bytes that a read asks for beyond what the buffer has: most files fit the first read.
const STEP: usize = 8 << 10;

/// A file below a root that is read repeatedly.
#[derive(Debug)]
pub struct OpenFile {
    root: Root,
    path: String,
    file: Option<File>,
    buffer: Vec<u8>,
}

impl OpenFile {
    /// A file that may be missing, now or later.
    pub fn new(root: &Root, path: impl Into<String>) -> Self {
        Self { root: root.clone(), path: path.into(), file: None, buffer: Vec::new() }
    }

    /// Its path below the root.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The text that the file has now; `None` where it is missing or cannot be read. Bytes that are not UTF-8 make it
    /// unreadable: the kernel writes none.
    pub fn text(&mut self) -> Option<&str> {
        if !self.root.is_live() {
            self.buffer = self.root.read_bytes(&self.path).ok().flatten()?;
        } else if !self.read_open() {
            // The file of a node or device that went away and came back is another one.
            self.file = File::open(format!("/{}", self.path.trim_start_matches('/'))).ok();
            if !self.read_open() {
                return None;
            }
        }
        std::str::from_utf8(&self.buffer).ok()
    }

    /// Reads the open file from its beginning, which makes the kernel write it anew.
    fn read_open(&mut self) -> bool {
        let Some(file) = &self.file else { return false };
        let mut length = 0;
        loop {
            if self.buffer.len() < length + STEP {
                self.buffer.resize(length + STEP, 0);
            }
            match file.read_at(&mut self.buffer[length..], length as u64) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.file = None;
                    return false;
                }
            }
            if length as u64 > MAX_FILE_BYTES {
                return false;
            }
        }
        self.buffer.truncate(length);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_anew_each_time() {
        let mut uptime = OpenFile::new(&Root::live(), "proc/uptime");
        let first = uptime.text().unwrap().to_owned();
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert_ne!(uptime.text(), Some(first.as_str()));
        let mut stat = OpenFile::new(&Root::live(), "proc/vmstat");
        assert!(stat.text().unwrap().ends_with('\n') && stat.text().unwrap().contains("pgfault"));
        assert_eq!(OpenFile::new(&Root::live(), "proc/no/such/file").text(), None);
        let root = Root::from_files("test", [("a", "1")]);
        assert_eq!((OpenFile::new(&root, "a").text(), OpenFile::new(&root, "b").text()), (Some("1"), None));
    }
}
