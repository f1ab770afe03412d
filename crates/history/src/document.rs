//! Reading run documents: those of this version, nothing else, and never a panic.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::de::IgnoredAny;
use tiermark_model::messages::documents as says;
use tiermark_model::{Bytes, FromJson, RUN_SCHEMA, Refusal, Run, RunResults};

use crate::encoding::to_utf8;
use crate::store::Store;
use crate::weigh::{heaviest, weigh};

/// Schemas of every version begin so; their number follows.
const FAMILY: &str = "tiermark/run/";

/// Larger documents are refused, so that a wrong file cannot eat the machine's memory.
///
/// A full survey of 2,048 cpus stays below 64 MiB; this leaves four times that.
pub const MAX_DOCUMENT_BYTES: u64 = 256 << 20;

/// Free data may take so many times the length of its document, as typed data does, and so many bytes anyway.
const FREE_TIMES: u64 = 8;
const FREE_ANYWAY: u64 = 16 << 20;

/// Reads a run document; fields it does not know are ignored.
///
/// # Errors
/// A [`Refusal`] with position for anything else; `from` is its subject.
pub fn parse(bytes: &[u8], from: &str) -> Result<Run, Refusal> {
    read_as::<Run>(bytes, from)
}

/// Reads the results of a run document, as [`parse`] does: what [`RunResults`] has of it.
///
/// # Errors
/// As for [`parse`].
pub fn parse_results(bytes: &[u8], from: &str) -> Result<Run, Refusal> {
    read_as::<RunResults>(bytes, from)
}

fn read_as<T: FromJson + Into<Run>>(bytes: &[u8], from: &str) -> Result<Run, Refusal> {
    if bytes.len() as u64 > MAX_DOCUMENT_BYTES {
        return Err(says::document_too_large(from, Bytes(MAX_DOCUMENT_BYTES)));
    }
    // Most documents are within this cheap bound, and are parsed once.
    if heaviest(bytes) <= most_free(bytes.len() as u64)
        && let Ok(run) = T::from_json(bytes).map(T::into)
        && run.schema == RUN_SCHEMA
    {
        return Ok(run);
    }
    // The schema is checked first: a field error in a newer document would only mislead.
    let head = match weigh(bytes) {
        Ok(head) => head,
        Err(error) => {
            // What is a document has a refusal of its own, such as of a newer version.
            let alone = among_others(bytes);
            return alone.map_or_else(|| Err(no_json(bytes, &error, from)), |document| read_as::<T>(document, from));
        }
    };
    let length = bytes.len() as u64;
    match head.schema.as_deref() {
        Some(RUN_SCHEMA) if head.free_bytes > most_free(length) => Err(says::document_too_heavy(from)),
        Some(RUN_SCHEMA) => T::from_json(bytes).map(T::into).map_err(|error| malformed(&error, from)),
        Some(unknown) if unknown.starts_with(FAMILY) => {
            let refusal = if is_older(unknown) { says::document_older } else { says::document_newer };
            Err(refusal(from, &printable(unknown), RUN_SCHEMA))
        }
        Some(other) => Err(says::document_of_others(from, &printable(other), RUN_SCHEMA)),
        None => Err(says::document_without_schema(from, RUN_SCHEMA)),
    }
}

/// The document among what a terminal, a container's log or the notes of the program put before and after it; `None`
/// where there is no more than the document.
fn among_others(bytes: &[u8]) -> Option<&[u8]> {
    let begins = |at: &usize| bytes[*at] == b'{' && bytes[at + 1..].trim_ascii_start().starts_with(b"\"schema\"");
    let begin = (0..bytes.len()).find(begins)?;
    let mut values = serde_json::Deserializer::from_slice(&bytes[begin..]).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    let end = begin + values.byte_offset();
    // Of two documents, nobody knows which one is meant.
    let is_alone = !(end..bytes.len()).any(|at| bytes[at] == b'{' && begins(&at));
    Some(&bytes[begin..end]).filter(|document| is_alone && document.len() < bytes.len())
}

/// The refusal of what is no JSON, by what it is instead.
fn no_json(bytes: &[u8], error: &serde_json::Error, from: &str) -> Refusal {
    const PACKED: [(&[u8], &str); 4] = [
        (&[0x1f, 0x8b], "gunzip"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "unzstd"),
        (&[0xfd, b'7', b'z'], "unxz"),
        (b"BZh", "bunzip2"),
    ];
    match PACKED.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        Some((_, unpack)) => says::document_compressed(from, unpack),
        None if bytes.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace()) => says::document_empty(from),
        None => malformed(error, from),
    }
}

/// Whether a schema of runs is older than the one that this program reads.
fn is_older(schema: &str) -> bool {
    let number = |schema: &str| schema.strip_prefix(FAMILY)?.parse::<u64>().ok();
    number(schema).zip(number(RUN_SCHEMA)).is_some_and(|(this, known)| this < known)
}

/// The name of a document's file in refusals.
pub(crate) fn name_of(path: &Path) -> String {
    format!("run document '{}'", path.display())
}

/// Reads a document file.
pub(crate) fn read_file(path: &Path) -> Result<Run, Refusal> {
    parse(&read_bytes(path)?, &name_of(path))
}

/// The bytes of a file that is not much larger than a document may be.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Refusal> {
    if path.is_dir() {
        let newest = Store::at(path).list().unwrap_or_default().pop().map(|entry| entry.path.display().to_string());
        return Err(says::document_is_directory(&name_of(path), newest.as_deref()));
    }
    let mut bytes = Vec::new();
    File::open(path)
        // One byte more than the limit separates "at the limit" from "beyond it", also for pipes and devices.
        .and_then(|file| file.take(MAX_DOCUMENT_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| says::document_unreadable(&name_of(path), &error.to_string()))?;
    Ok(to_utf8(bytes))
}

/// Bytes that the free data of a document of this length may take.
fn most_free(length: u64) -> u64 {
    FREE_ANYWAY + FREE_TIMES * length
}

/// Whether the free data of a document of any kind takes no more memory than that of its size may.
pub fn data_fits(bytes: &[u8]) -> bool {
    // The reader of the document refuses text that is not JSON.
    let most = most_free(bytes.len() as u64);
    heaviest(bytes) <= most || weigh(bytes).map_or(true, |found| found.free_bytes <= most)
}

/// The refusal of a document that is not JSON, or whose fields are not those of its schema.
pub fn malformed(error: &serde_json::Error, from: &str) -> Refusal {
    let (line, column, text) = (error.line(), error.column(), error.to_string());
    // The position, which is reported apart, would be said twice.
    let problem = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    says::document_malformed(from, line, column, &printable(problem))
}

/// Text from a file, fit for a terminal: no control characters, not endless.
fn printable(text: &str) -> String {
    const LONGEST: usize = 200;
    text.chars().take(LONGEST).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
