//! The files of a fleet: documents of hosts, what stands in their place, and others.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Deserialize;
use tiermark_compare::fleet::{Gathered, HostRecord};
use tiermark_history::{MAX_DOCUMENT_BYTES, malformed, parse_results, to_utf8};
use tiermark_model::messages::documents as says;
use tiermark_model::{Bytes, FAILED_HOST_SCHEMA, FailedHost, HostFailure, Refusal, Run};
use tiermark_report::redact::{GONE, Pseudonyms, redact};

use crate::output::{Failure, tell};

/// Folders within folders that are searched.
const DEEPEST: usize = 4;
/// Files of a fleet at most: a wrong folder must not be read for hours.
const MOST_FILES: usize = 200_000;
/// Documents that are in memory at once, for each thread.
const AT_ONCE: usize = 8;
/// Bytes of the last lines of standard error that are kept.
const TAIL: u64 = 2000;
/// Bytes in which a document names its schema.
const START: usize = 200;
/// Files beside a document that hold the standard error of its host.
const STDERR: [&str; 2] = ["err", "stderr"];
/// What is in the beginning of a run.
const OF_A_RUN: &str = "\"tiermark/run/";

/// What a file holds.
pub(crate) enum Found {
    /// The run of a host.
    Host(Box<HostRecord>),
    /// What stands in place of it.
    Failed(FailedHost),
    /// Something else.
    Other(Refusal),
}

impl Found {
    /// The same; a failure that does not say when it was has the time of its file.
    fn at(self, modified: Option<String>) -> Self {
        match self {
            Self::Failed(failed) => Self::Failed(FailedHost { at: failed.at.clone().or(modified), ..failed }),
            other => other,
        }
    }

    /// Adds it to the hosts.
    pub(crate) fn into(self, gathered: &mut Gathered) {
        match self {
            Self::Host(record) => gathered.add(*record),
            Self::Failed(failed) => gathered.add_failed(failed),
            Self::Other(refusal) => gathered.add_unread(refusal),
        }
    }
}

/// Reads all documents below some paths, and the standard error of hosts that are expected and have none. With `names`,
/// hosts have pseudonyms, and what they said is left out. Documents are
/// read by several threads, a few at a time, and handed on in the order of their names.
///
/// # Errors
/// A [`Failure`] of usage for a path that cannot be read.
pub(super) fn read(
    paths: &[PathBuf],
    expected: &[String],
    names: Option<Pseudonyms>,
    mut found: impl FnMut(Found),
) -> Result<(), Failure> {
    let files = files(paths)?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut progress = Progress::new(files.len());
    for some in files.chunks(threads * AT_ONCE) {
        let each = some.len().div_ceil(threads);
        let read = thread::scope(|scope| {
            let parts: Vec<_> = some
                .chunks(each)
                .map(|part| scope.spawn(|| part.iter().map(|file| read_one(file, names)).collect()))
                .collect();
            // A thread that panics has nothing to hand on; the panic goes on here.
            let joined = |part: thread::ScopedJoinHandle<'_, Vec<Found>>| {
                part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            parts.into_iter().flat_map(joined).collect::<Vec<Found>>()
        });
        progress.read(read.len());
        read.into_iter().for_each(&mut found);
    }
    let folders: Vec<&PathBuf> = paths.iter().filter(|path| path.is_dir()).collect();
    // A row of a failure is called NAME.failed.json.
    let named = |file: &PathBuf| stem(file).trim_end_matches(".failed").to_owned();
    let stems: HashSet<String> = files.iter().map(named).collect();
    for host in expected.iter().filter(|host| !stems.contains(*host)) {
        let message = folders.iter().find_map(|folder| standard_error(&folder.join(safe(host)?)));
        message.into_iter().for_each(|message| found(Found::Failed(failed(host, message, names))));
    }
    Ok(())
}

/// A name as that of a file in a folder; `None` of one that leads elsewhere.
fn safe(host: &str) -> Option<&str> {
    (!host.contains('/') && host != "." && host != "..").then_some(host)
}

/// The files of some paths: of a folder, all that end in `.json`.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        let there = fs::metadata(path).map_err(|error| {
            Failure::usage(says::document_unreadable(&format!("'{}'", path.display()), &error.to_string()))
        })?;
        if there.is_dir() {
            within(path, DEEPEST, &mut all)?;
        } else {
            all.push(path.clone());
        }
    }
    Ok(all)
}

fn within(folder: &Path, deep: usize, all: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let unreadable = |error| Failure::usage(format!("'{}' cannot be read: {error}", folder.display()));
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(unreadable)?;
    paths.sort();
    for path in paths {
        if all.len() >= MOST_FILES {
            return Err(Failure::usage(format!("'{}' has more than {MOST_FILES} documents", folder.display())));
        }
        // A link to a folder may lead back to this one.
        let is_link = path.is_symlink();
        if path.is_dir() && !is_link && deep > 0 {
            within(&path, deep - 1, all)?;
        } else if path.extension().is_some_and(|end| end == "json") && path.is_file() && !is_output(&path) {
            all.push(path);
        }
    }
    Ok(())
}

/// Whether a file is where standard output goes: `tiermark fleet rack7/ --json > rack7/fleet.json`.
fn is_output(path: &Path) -> bool {
    let (file, output) = (fs::metadata(path), fs::metadata("/dev/stdout"));
    file.ok().zip(output.ok()).is_some_and(|(a, b)| (a.dev(), a.ino()) == (b.dev(), b.ino()))
}

/// What a file holds.
fn read_one(file: &Path, names: Option<Pseudonyms>) -> Found {
    let subject = subject(file, names);
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(MAX_DOCUMENT_BYTES + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => Found::Other(says::document_unreadable(&subject, &error.to_string())),
        Ok(_) if bytes.len() as u64 > MAX_DOCUMENT_BYTES => {
            Found::Other(says::document_too_large(&subject, Bytes(MAX_DOCUMENT_BYTES)))
        }
        Ok(_) => of_bytes(file, &to_utf8(bytes), names).at(modified(file)),
    }
}

fn subject(file: &Path, names: Option<Pseudonyms>) -> String {
    if names.is_some() { GONE.to_owned() } else { format!("'{}'", file.display()) }
}

/// What the contents of a file are.
pub(crate) fn of_bytes(file: &Path, bytes: &[u8], names: Option<Pseudonyms>) -> Found {
    let (stem, subject) = (stem(file), subject(file, names));
    let message = |otherwise: String| standard_error(&file.with_extension("")).unwrap_or(otherwise);
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(START)]);
    if start.trim().is_empty() {
        // The shell makes the file of a command before the command fails.
        return Found::Failed(failed(&stem, message("its document is empty".to_owned()), names));
    }
    if start.contains(FAILED_HOST_SCHEMA) {
        let row = serde_json::from_slice::<FailedHost>(bytes).map(|row| redacted(row, names));
        return row.map_or_else(|error| Found::Other(malformed(&error, &subject)), Found::Failed);
    }
    match parse_results(bytes, &subject) {
        Ok(run) => Found::Host(Box::new(host(file, &stem, &run, names))),
        // Cut short: the host did not end its run, or its line was lost.
        Err(refusal) if start.contains(OF_A_RUN) && is_cut(bytes) => {
            Found::Failed(failed(&stem, message(refusal.to_string()), names))
        }
        Err(refusal) => Found::Other(refusal),
    }
}

/// The record of a run.
fn host(file: &Path, stem: &str, run: &Run, names: Option<Pseudonyms>) -> HostRecord {
    let day = run.started.parse::<Timestamp>().ok().map(|at| at.as_second() as f64 / 86_400.0);
    match names {
        None => HostRecord::of(&file.display().to_string(), stem, day, run),
        // A saved run is in a file of its own name, which is no name of a host.
        Some(names) => {
            let stem = if stem == run.id { stem.to_owned() } else { names.host(stem) };
            HostRecord::of(&run.id, &stem, day, &redact(run, names))
        }
    }
}

/// Whether a document ends before its end.
fn is_cut(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Any {}
    serde_json::from_slice::<Any>(bytes).is_err_and(|error| error.is_eof())
}

fn failed(host: &str, message: String, names: Option<Pseudonyms>) -> FailedHost {
    let row = FailedHost {
        schema: FAILED_HOST_SCHEMA.to_owned(),
        host: host.to_owned(),
        how: HostFailure::Failed,
        exit: None,
        message,
        at: None,
    };
    redacted(row, names)
}

fn redacted(row: FailedHost, names: Option<Pseudonyms>) -> FailedHost {
    match names {
        Some(names) => FailedHost { host: names.host(&row.host), message: GONE.to_owned(), ..row },
        None => row,
    }
}

/// When a file was changed last, as documents have times.
fn modified(file: &Path) -> Option<String> {
    let at = Timestamp::try_from(fs::metadata(file).ok()?.modified().ok()?).ok()?;
    Some(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// The name of a file without folder and ending.
fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The last lines of the standard error of a host; `None` where no file has it, or nothing is in it.
fn standard_error(without_ending: &Path) -> Option<String> {
    let file = |end: &&str| {
        // A name of a host has dots of its own.
        let mut name = without_ending.as_os_str().to_owned();
        name.push(".");
        name.push(end);
        File::open(name).ok()
    };
    let mut file = STDERR.iter().find_map(file)?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Says how many documents are read, once that takes long.
struct Progress {
    begun: Instant,
    next: Duration,
    read: usize,
    all: usize,
}

impl Progress {
    /// Silence before the first line, and between two.
    const SILENCE: Duration = Duration::from_secs(1);
    const BETWEEN: Duration = Duration::from_secs(5);

    fn new(all: usize) -> Self {
        Self { begun: Instant::now(), next: Self::SILENCE, read: 0, all }
    }

    fn read(&mut self, more: usize) {
        self.read += more;
        if self.begun.elapsed() >= self.next && self.read < self.all {
            self.next = self.begun.elapsed() + Self::BETWEEN;
            tell(format_args!("tiermark: note: {} of {} documents read", self.read, self.all));
        }
    }
}
