//! The two files of the index: heads of runs, and their figures.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::head::{Details, Place, RunHead};
use crate::lines::{Appender, Damaged, Lines, Survives, write_whole};
use crate::store::Store;

/// The version is in the names: an earlier or later program has an index of its own. It rises with every change of what
/// the lines hold or how they are derived from documents.
pub(super) const HEADS: &str = "index-6.jsonl";
pub(super) const FIGURES: &str = "figures-6.jsonl";
const SCHEMA: &str = "tiermark/index/6";

/// Bytes of a head: they take 600; documents with eleven texts of 100 odd characters may take more, and are read again.
const LONGEST_HEAD: u64 = 2 << 10;
/// Bytes of heads that are read whatever the number of documents: an index of runs that were deleted since.
const HEADS_ANYWAY: u64 = 4 << 20;
/// Bytes of the figures of a run: 400 figures of 2 KiB.
const MOST_FIGURES: u64 = 1 << 20;

/// The first line of both files.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Title {
    schema: String,
}

impl Title {
    fn ours() -> Self {
        Self { schema: SCHEMA.to_owned() }
    }

    fn is_of(line: &[u8]) -> bool {
        serde_json::from_slice::<Self>(line).is_ok_and(|title| title == Self::ours())
    }
}

/// What a file of heads holds.
struct Found {
    heads: HashMap<String, RunHead>,
    /// Heads in the file, several of one document among them.
    lines: usize,
    /// Whether all of it is what this program writes.
    is_sound: bool,
}

impl Found {
    fn none(is_sound: bool) -> Self {
        Self { heads: HashMap::new(), lines: 0, is_sound }
    }
}

/// Reads heads; of two lines of one document, the later one.
fn found(lines: &Lines, length: u64) -> Found {
    if !Title::is_of(lines.head()) {
        return Found::none(false);
    }
    let mut found = Found::none(lines.bytes() == length);
    let read = lines.each(Damaged::Alone, |head: RunHead| {
        found.lines += 1;
        found.heads.insert(head.stamp.file.clone(), head);
        Ok(())
    });
    found.is_sound &= read.is_ok();
    found
}

/// Where an index is.
pub(super) struct Files {
    directory: PathBuf,
}

impl Files {
    /// The index of a store, beside its runs; `None` where there is no directory for it.
    pub(super) fn beside(store: &Store) -> Option<Self> {
        store.directory().and_then(Path::parent).map(|directory| Self { directory: directory.to_owned() })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Heads by the names of their documents, the number of lines, and whether the file is whole. A file that is larger
    /// than an index of so many documents can be is not read.
    pub(super) fn heads(&self, documents: usize) -> (HashMap<String, RunHead>, usize, bool) {
        let most = HEADS_ANYWAY + LONGEST_HEAD * documents as u64;
        let read = || {
            let path = self.path(HEADS);
            let about = fs::metadata(&path)?;
            // A device or a pipe would not end.
            if !about.is_file() || about.len() > most {
                return Ok(Found::none(false));
            }
            Lines::read(&path).map(|lines| found(&lines, about.len()))
        };
        let Found { heads, lines, is_sound } =
            read().unwrap_or_else(|error: io::Error| Found::none(error.kind() == ErrorKind::NotFound));
        let figures = fs::metadata(self.path(FIGURES)).map_or(0, |about| about.len());
        let end = |head: &RunHead| head.place.map_or(0, |place| place.offset.saturating_add(place.length));
        if heads.values().any(|head| end(head) > figures) {
            // Without its figures every trend would read the documents again.
            return (HashMap::new(), lines, false);
        }
        (heads, lines, is_sound)
    }

    /// The figures of a run; `None` where they are not where its head says.
    pub(super) fn details(&self, head: &RunHead) -> Option<Details> {
        let place = head.place.filter(|place| place.length <= MOST_FIGURES)?;
        let path = self.path(FIGURES);
        // A pipe would have this wait for its writer.
        fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let mut file = File::open(path).ok()?;
        file.seek(SeekFrom::Start(place.offset)).ok()?;
        let mut line = Vec::new();
        file.take(place.length).read_to_end(&mut line).ok()?;
        serde_json::from_slice(&line).ok()
    }

    pub(super) fn remove(&self) {
        for name in [HEADS, FIGURES] {
            // One that is not there is what is wanted, and one that cannot be removed is not trusted anyway.
            let _ = fs::remove_file(self.path(name));
        }
    }
}

/// Writes an index. Holds the lock of its heads.
pub(super) struct Writer {
    directory: PathBuf,
    heads: Appender,
    figures: Appender,
}

impl Writer {
    /// Opens the files, and makes those that are missing; `None` where that cannot be, or another process writes them.
    pub(super) fn open(files: &Files) -> Option<Self> {
        let opened = |name: &str| {
            let path = files.path(name);
            let (appender, lines) = match Appender::create(&path, Survives::Kill, &Title::ours()) {
                Ok(created) => return Some(created),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_file() => {
                    Appender::open(&path, Survives::Kill).ok()?
                }
                Err(_) => return None,
            };
            // A file that begins as none of ours is begun anew.
            if Title::is_of(lines.head()) {
                return Some(appender);
            }
            fs::remove_file(&path).ok()?;
            Appender::create(&path, Survives::Kill, &Title::ours()).ok()
        };
        let heads = opened(HEADS)?;
        Some(Self { directory: files.directory.clone(), heads, figures: opened(FIGURES)? })
    }

    /// Appends a run: first its figures, then its head, which says where they are.
    pub(super) fn append(&mut self, head: &mut RunHead, details: &Details) -> io::Result<()> {
        let offset = self.figures.length();
        self.figures.append(&[details])?;
        let length = self.figures.length() - offset;
        head.place = (length <= MOST_FIGURES).then_some(Place { offset, length });
        self.heads.append(&[&*head])
    }

    /// Writes both files anew, with the lines of these runs only. A reader that has the old heads and the new figures
    /// finds other runs' figures there, and reads the documents.
    pub(super) fn replace(self, heads: &mut [RunHead]) -> io::Result<()> {
        let files = Files { directory: self.directory.clone() };
        write_whole(&self.directory, FIGURES, |file| {
            let mut offset = write_line(file, &Title::ours())?;
            for head in heads.iter_mut() {
                let details = files.details(head).filter(|details| details.stamp == head.stamp);
                head.place = match details {
                    Some(details) => {
                        let length = write_line(file, &details)?;
                        let place = Place { offset, length };
                        offset += length;
                        Some(place)
                    }
                    None => None,
                };
            }
            Ok(())
        })?;
        write_whole(&self.directory, HEADS, |file| {
            write_line(file, &Title::ours())?;
            heads.iter().try_for_each(|head| write_line(file, head).map(drop))
        })
        .map(drop)
    }
}

/// Writes a line; its length.
fn write_line(file: &mut File, line: &impl Serialize) -> io::Result<u64> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)?;
    Ok(text.len() as u64)
}
