//! Journals as files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tiermark_model::Refusal;
use tiermark_model::messages::undo as messages;

use super::{Change, JournalHeader, SCHEMA, StateDir, unwritten};

/// A thousand tenants with ten changes each take some 2 MB.
const MOST_BYTES: u64 = 64 << 20;
/// Permission of the group and of everybody to write.
const OTHERS_WRITE: u32 = 0o022;

/// A line behind the head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// This is about to be changed.
    Change(Change),
    /// The change of that index was taken back.
    Undone(usize),
}

/// The content of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub(crate) head: JournalHeader,
    pub(crate) changes: Vec<Change>,
    pub(crate) undone: Vec<bool>,
    /// Bytes of its whole lines: its writer died in what comes after them.
    pub(crate) whole: u64,
}

/// Begins a file with its head, on disk when this returns.
pub(super) fn create(state: &StateDir, name: &str, head: &JournalHeader) -> Result<(PathBuf, File), Refusal> {
    let path = state.path().join(name);
    let begin = || -> io::Result<File> {
        let mut file = OpenOptions::new().append(true).create_new(true).mode(0o644).open(&path)?;
        let mut line = serde_json::to_string(head)?;
        line.push('\n');
        file.write_all(line.as_bytes())?;
        file.sync_all()?;
        // The name is durable once its directory is.
        File::open(state.path())?.sync_all()?;
        Ok(file)
    };
    begin().map(|file| (path.clone(), file)).map_err(|why| {
        if why.kind() != io::ErrorKind::AlreadyExists {
            let _ = fs::remove_file(&path);
        }
        unwritten(&path, &why.to_string())
    })
}

/// Reads a journal from its file.
///
/// # Errors
/// A [`Refusal`] that names the file.
pub(crate) fn read(path: &Path) -> Result<Parsed, Refusal> {
    let refuse = |why: String| malformed(path, &why);
    let mut text = Vec::new();
    let file = File::open(path).map_err(|why| refuse(why.to_string()))?;
    file.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(|why| refuse(why.to_string()))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(refuse(format!("it is larger than {MOST_BYTES} bytes, as no journal is")));
    }
    // Only what ends in a line's end is looked at: after a loss of power the rest may be anything.
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    text.truncate(whole);
    parse(&String::from_utf8_lossy(&text)).map(|parsed| Parsed { whole: whole as u64, ..parsed }).map_err(refuse)
}

fn malformed(path: &Path, why: &str) -> Refusal {
    messages::journal_malformed(&path.display().to_string(), why)
}

/// Whether what it says may be done, with this user's rights: only what this user wrote, and nobody else could.
///
/// # Errors
/// A [`Refusal`] that names the file.
pub(super) fn check_owner(path: &Path) -> Result<(), Refusal> {
    let about = fs::symlink_metadata(path).map_err(|why| malformed(path, &why.to_string()))?;
    let own = about.is_file() && about.uid() == rustix::process::geteuid().as_raw() && about.mode() & OTHERS_WRITE == 0;
    if own { Ok(()) } else { Err(messages::journal_of_others(&path.display().to_string())) }
}

pub(super) fn parse_head(line: &str) -> Option<JournalHeader> {
    serde_json::from_str(line).ok()
}

/// Reads a journal's text. A last line without an end is a writer's that died in it: what it was to note was not done.
///
/// # Errors
/// A message: what is wrong with it.
pub(super) fn parse(text: &str) -> Result<Parsed, String> {
    let mut lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n') && !line.trim().is_empty());
    let head: JournalHeader = match lines.next() {
        // Nothing was changed before the head was whole.
        None => return Err("it is empty: its writer died before anything was changed".to_owned()),
        Some(line) => serde_json::from_str(line).map_err(|why| format!("its first line makes no sense: {why}"))?,
    };
    if head.schema != SCHEMA {
        return Err(format!("it is of the form '{}', and this program knows {SCHEMA}", head.schema));
    }
    let (mut changes, mut undone) = (Vec::new(), Vec::new());
    for (at, line) in lines.enumerate() {
        match serde_json::from_str(line) {
            Ok(Line::Change(change)) => {
                change.check().map_err(|refusal| refusal.to_string())?;
                changes.push(change);
                undone.push(false);
            }
            Ok(Line::Undone(index)) if index < undone.len() => undone[index] = true,
            Ok(Line::Undone(index)) => return Err(format!("it takes back change {index}, which it does not have")),
            Err(why) => return Err(format!("its line {} makes no sense: {why}", at + 2)),
        }
    }
    Ok(Parsed { head, changes, undone, whole: text.len() as u64 })
}
