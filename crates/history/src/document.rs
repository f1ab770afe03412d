//! Reading run documents: every released version, nothing else, and never a panic.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use tiermark_model::{RUN_SCHEMA, Run};

use crate::weigh::weigh;

/// Every schema this program reads. A released version is never taken off this list.
pub const SCHEMAS: [&str; 2] = [RUN_SCHEMA, crate::migrate::RUN_1];

/// Larger documents are refused, so that a wrong file cannot eat the machine's memory.
///
/// A full survey of 2,048 cpus stays below 64 MiB; this leaves four times that.
pub const MAX_DOCUMENT_BYTES: u64 = 256 << 20;

/// Where a document came from, for error texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file with this path.
    File(PathBuf),
    /// Bytes without a name, such as standard input.
    Bytes,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "run document '{}'", path.display()),
            Self::Bytes => f.write_str("run document"),
        }
    }
}

/// Why bytes are not a run document this program can read.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The file cannot be opened or read.
    #[error("{from} cannot be read: {why}; check the path and its permissions")]
    Io {
        /// Where the document came from.
        from: Source,
        /// The system's answer.
        #[source]
        why: std::io::Error,
    },
    /// Larger than [`MAX_DOCUMENT_BYTES`].
    #[error("{from} is larger than {} MiB, which no tiermark run is; give a file that tiermark wrote", MAX_DOCUMENT_BYTES >> 20)]
    TooLarge {
        /// Where the document came from.
        from: Source,
    },
    /// Its free data would take more memory than any run's.
    #[error("{from} holds more data than any tiermark run of its size; give a file that tiermark wrote")]
    TooMuchData {
        /// Where the document came from.
        from: Source,
    },
    /// Not JSON, cut short, or a field that has the wrong type or is missing.
    #[error("{from}, line {line}, column {column}: {why}; give a complete file that tiermark wrote")]
    Malformed {
        /// Where the document came from.
        from: Source,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// Description of the mistake.
        why: String,
    },
    /// JSON, but of another kind or of a version this program does not know.
    #[error("{from}: {}; this tiermark reads {}", found_schema(.found), SCHEMAS.join(", "))]
    OtherSchema {
        /// Where the document came from.
        from: Source,
        /// The schema it names; `None` if it names none.
        found: Option<String>,
    },
}

fn found_schema(found: &Option<String>) -> String {
    match found {
        Some(schema) if schema.starts_with("tiermark/run/") => {
            format!("its schema is '{schema}', written by a newer tiermark; update tiermark")
        }
        Some(schema) => format!("its schema is '{schema}', not a tiermark run"),
        None => "it names no schema, so it is not a tiermark run".to_owned(),
    }
}

/// Documents of the first version are read as free data: 40 times their length in memory. Those of full surveys took 1 MiB.
const MAX_FIRST_BYTES: u64 = 16 << 20;
/// Free data may take so many times the length of its document, as typed data does, and so many bytes anyway.
const FREE_TIMES: u64 = 8;
const FREE_ANYWAY: u64 = 16 << 20;

/// Reads a run document of any released version; fields it does not know are ignored.
///
/// # Errors
/// A [`DocumentError`] with position for anything else.
pub fn parse(bytes: &[u8]) -> Result<Run, DocumentError> {
    parse_from(bytes, Source::Bytes)
}

/// Reads a document file.
pub(crate) fn read_file(path: &Path) -> Result<Run, DocumentError> {
    let from = || Source::File(path.to_owned());
    let mut bytes = Vec::new();
    File::open(path)
        // One byte more than the limit separates "at the limit" from "beyond it", also for pipes and devices.
        .and_then(|file| file.take(MAX_DOCUMENT_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|why| DocumentError::Io { from: from(), why })?;
    parse_from(&bytes, from())
}

pub(crate) fn parse_from(bytes: &[u8], from: Source) -> Result<Run, DocumentError> {
    if bytes.len() as u64 > MAX_DOCUMENT_BYTES {
        return Err(DocumentError::TooLarge { from });
    }
    // The schema is checked first: a field error in a newer document would only mislead.
    let head = weigh(bytes).map_err(|error| malformed(&error, from.clone()))?;
    let length = bytes.len() as u64;
    match head.schema.as_deref() {
        Some(RUN_SCHEMA) if head.free_bytes > most_free(length) => Err(DocumentError::TooMuchData { from }),
        Some(RUN_SCHEMA) => serde_json::from_slice(bytes).map_err(|error| malformed(&error, from)),
        Some(crate::migrate::RUN_1) if length > MAX_FIRST_BYTES => Err(DocumentError::TooMuchData { from }),
        Some(crate::migrate::RUN_1) => {
            let old = serde_json::from_slice(bytes).map_err(|error| malformed(&error, from.clone()))?;
            serde_json::from_value(crate::migrate::from_1(old)).map_err(|error| malformed(&error, from))
        }
        found => Err(DocumentError::OtherSchema { found: found.map(printable), from }),
    }
}

/// Bytes that the free data of a document of this length may take.
fn most_free(length: u64) -> u64 {
    FREE_ANYWAY + FREE_TIMES * length
}

/// Whether the free data of a document of any kind takes no more memory than that of its size may.
pub fn data_fits(bytes: &[u8]) -> bool {
    // The reader of the document refuses text that is not JSON.
    weigh(bytes).map_or(true, |found| found.free_bytes <= most_free(bytes.len() as u64))
}

fn malformed(error: &serde_json::Error, from: Source) -> DocumentError {
    let text = error.to_string();
    // serde_json ends its texts with the position, which is reported apart.
    let why = text.rsplit_once(" at line ").map_or(text.as_str(), |(why, _)| why);
    DocumentError::Malformed { from, line: error.line(), column: error.column(), why: printable(why) }
}

/// Text from a file, fit for a terminal: no control characters, not endless.
fn printable(text: &str) -> String {
    const LONGEST: usize = 200;
    text.chars().take(LONGEST).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
