//! Writing lines.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::lines::{Lines, make_directory};

/// What a line survives from the moment in which [`Appender::append`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survives {
    /// The death of its writer, by SIGKILL too. Nothing waits for the disk, and a file system without locks will do.
    Kill,
    /// A loss of power: the line is on disk. The file must have a lock.
    PowerLoss,
}

/// What lines are written to: a file, or what fails where a test wants it to. Errors are the system's answers.
pub trait Storage: Write {
    /// Cuts off what is behind this many bytes.
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Returns when the data are on disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl Storage for File {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// A file of lines that this process writes. Its lock is held as long as this exists.
#[derive(Debug)]
pub struct Appender<S = File> {
    storage: S,
    survives: Survives,
    /// Bytes of the whole lines.
    length: u64,
    /// Whether something may be behind the whole lines, to be cut off before the next line is written.
    torn: bool,
}

impl Appender {
    /// Makes a file with its first line, and its directory where that is missing. Only its owner may read it: lines
    /// hold commands, and those may hold passwords.
    ///
    /// # Errors
    /// The system's answer, `AlreadyExists` for a file that is there; otherwise no file remains.
    pub fn create(path: &Path, survives: Survives, head: &impl Serialize) -> io::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        make_directory(directory)?;
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
        let begin = || {
            let locked = lock_soon(&file);
            let mut appender = Self::new(file, survives);
            appender.append(&[head])?;
            if survives == Survives::PowerLoss {
                locked?;
                // The name is durable once its directory is.
                File::open(directory)?.sync_all()?;
            }
            Ok(appender)
        };
        begin().inspect_err(|_| {
            let _ = fs::remove_file(path);
        })
    }

    /// Opens a file to go on with it, and reads what it holds. The file is not changed before a line is appended.
    ///
    /// # Errors
    /// The system's answer, `WouldBlock` where another process holds the lock; as [`Lines::read`].
    pub fn open(path: &Path, survives: Survives) -> io::Result<(Self, Lines)> {
        let file = OpenOptions::new().read(true).append(true).open(path)?;
        lock_soon(&file)?;
        let lines = Lines::of(&file)?;
        let torn = file.metadata()?.len() != lines.bytes();
        Ok((Self { length: lines.bytes(), torn, ..Self::new(file, survives) }, lines))
    }
}

impl Appender {
    /// Whether only this user and root can have written the file.
    ///
    /// # Errors
    /// The system's answer.
    pub fn is_private(&self) -> io::Result<bool> {
        /// Permission of the group and of everybody to write.
        const OTHERS_WRITE: u32 = 0o022;
        let about = self.storage.metadata()?;
        let own = about.uid() == 0 || about.uid() == rustix::process::geteuid().as_raw();
        Ok(own && about.is_file() && about.mode() & OTHERS_WRITE == 0)
    }
}

impl<S: Storage> Appender<S> {
    /// Begins behind nothing.
    pub fn new(storage: S, survives: Survives) -> Self {
        Self { storage, survives, length: 0, torn: false }
    }

    /// Bytes of all whole lines: the offset of the next line.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Appends lines, all or none of them, by one write.
    ///
    /// # Errors
    /// The system's answer, `StorageFull` if it took only a part. None of these lines is in the file then: what was
    /// written of them is cut off at once, and if this fails, before the next line.
    pub fn append<T: Serialize>(&mut self, lines: &[T]) -> io::Result<()> {
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, line)?;
            text.push(b'\n');
        }
        if self.torn {
            self.storage.cut(self.length)?;
        }
        let written = self.write(&text);
        self.torn = written.is_err() && self.storage.cut(self.length).is_err();
        self.length += if written.is_ok() { text.len() as u64 } else { 0 };
        written
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        let written = loop {
            match self.storage.write(text) {
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if written < text.len() {
            // A second write would only say why, and a kill between the two would tear the line.
            return Err(io::ErrorKind::StorageFull.into());
        }
        if self.survives == Survives::PowerLoss { self.storage.sync() } else { Ok(()) }
    }
}

/// A process that was just forked holds the locks of its parent until it becomes another program: so long one waits for
/// a lock.
const FORKING: Duration = Duration::from_secs(1);

/// Takes the lock of a file, and waits for it if a forked process is about to give it back.
///
/// # Errors
/// As [`File::try_lock`].
pub fn lock_soon(file: &File) -> Result<(), TryLockError> {
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if begun.elapsed() < FORKING => std::thread::sleep(FORKING / 50),
            other => return other,
        }
    }
}
