//! Saved documents, found by what a user calls them: runs of probes, of tenants, and of load.

mod unfinished;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tiermark_history::{Entry, MAX_DOCUMENT_BYTES, Store, data_fits, malformed, parse, to_utf8};
use tiermark_model::capacity::{CAPACITY_SCHEMA, Capacity};
use tiermark_model::load::{LOAD_SCHEMA, LoadRun};
use tiermark_model::messages::documents as says;
use tiermark_model::{Exit, FromJson, Run, RunKind};
use tiermark_report::redact::{Pseudonyms, redact, redact_capacity, redact_load};
use tiermark_session::Adopted;

use crate::environment;
use crate::output::{Failure, json, tell};
use crate::sanitise;
use unfinished::not_finished;
pub(crate) use unfinished::{is_under_way, journal_text, journals, tell_of_newer, without_document};

/// Standard input as the subject of a refusal.
const STDIN: &str = "standard input";

/// A saved document.
pub(crate) enum SavedDocument {
    /// A run of probes. One that was killed is concluded.
    Run(Box<Run>),
    /// Another document.
    Other(Kept),
}

impl SavedDocument {
    /// The document of a file, of an id or its beginning, the newest for `last`, or that on standard input for `-`.
    ///
    /// # Errors
    /// A [`Failure`] of usage where no such document exists or it cannot be read.
    pub(crate) fn load(reference: &str) -> Result<Self, Failure> {
        let store = environment::store();
        if reference == "-" {
            let bytes = stdin()?;
            return match Kept::parse(&bytes, STDIN)? {
                Some(kept) => Ok(Self::Other(kept)),
                None => Ok(Self::Run(concluded(parse(&bytes, STDIN).map_err(Failure::usage)?, &store))),
            };
        }
        adopt(&store, false);
        match Kept::find(reference, &store)? {
            Some(kept) => Ok(Self::Other(kept)),
            None => Self::of_probes(reference).map(Self::Run),
        }
    }

    /// The same with pseudonyms.
    pub(crate) fn redacted(self, names: Pseudonyms) -> Self {
        match self {
            Self::Run(run) => Self::Run(Box::new(redact(&run, names))),
            Self::Other(kept) => Self::Other(kept.redacted(names)),
        }
    }

    /// The run of probes of an id or its beginning, a file, or the newest for `last`.
    fn of_probes(reference: &str) -> Result<Box<Run>, Failure> {
        let store = environment::store();
        adopt(&store, false);
        // Every error in loading a run is an error of usage, as for a document from standard input.
        Ok(concluded(store.load(reference).map_err(Failure::usage)?, &store))
    }
}

/// Makes documents of the journals of killed runs, and says so once.
pub(crate) fn adopt(store: &Store, quiet: bool) {
    for adopted in tiermark_session::adopt(store).into_iter().filter(|_| !quiet) {
        match adopted {
            Adopted::Saved { id, notice } => {
                notice.iter().for_each(|refusal| tell(format_args!("tiermark: warning: {refusal}")));
                tell(format_args!(
                    "tiermark: note: run {id} was killed; its results so far are saved: `tiermark show {id}`"
                ));
            }
            Adopted::Unused { journal, why, notice } => {
                notice.iter().for_each(|refusal| tell(format_args!("tiermark: warning: {refusal}")));
                tell(format_args!("tiermark: note: the journal {} was not used: {why}", journal.display()));
            }
        }
    }
}

/// A run with the end that a killed one lacks.
fn concluded(run: Run, store: &Store) -> Box<Run> {
    let (run, notice) = tiermark_session::concluded(run, store);
    notice.iter().for_each(|refusal| tell(format_args!("tiermark: warning: {refusal}")));
    Box::new(run)
}

fn stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    // One byte more than the limit lets the parser say that it is too much.
    std::io::stdin().lock().take(MAX_DOCUMENT_BYTES + 1).read_to_end(&mut bytes).map_err(Failure::tool)?;
    Ok(to_utf8(bytes))
}

/// A document that is no run of probes.
pub(crate) enum Kept {
    /// How many tenants fit.
    Capacity(Box<Capacity>),
    /// Load on servers.
    Load(Box<LoadRun>),
}

#[derive(Deserialize)]
struct Head {
    schema: Option<String>,
}

impl Kept {
    /// The same with pseudonyms.
    pub(crate) fn redacted(self, names: Pseudonyms) -> Self {
        match self {
            Self::Capacity(run) => Self::Capacity(Box::new(redact_capacity(&run, names))),
            Self::Load(run) => Self::Load(Box::new(redact_load(&run, names))),
        }
    }

    /// The document as JSON.
    ///
    /// # Errors
    /// As for [`json`].
    pub(crate) fn json(&self) -> Result<String, Failure> {
        match self {
            Self::Capacity(run) => json(run),
            Self::Load(run) => json(run),
        }
    }

    /// The document in these bytes; `None` where they are of another kind, or of none.
    pub(crate) fn parse(bytes: &[u8], from: &str) -> Result<Option<Self>, Failure> {
        let schema = serde_json::from_slice::<Head>(bytes).ok().and_then(|head| head.schema);
        let wrong = |error: serde_json::Error| Failure::usage(malformed(&error, from));
        let is_kept = matches!(schema.as_deref(), Some(CAPACITY_SCHEMA | LOAD_SCHEMA));
        if is_kept && !data_fits(bytes) {
            return Err(Failure::usage(says::document_too_heavy(from)));
        }
        Ok(match schema.as_deref() {
            Some(CAPACITY_SCHEMA) => Some(Self::Capacity(FromJson::from_json(bytes).map(Box::new).map_err(wrong)?)),
            Some(LOAD_SCHEMA) => Some(Self::Load(FromJson::from_json(bytes).map(Box::new).map_err(wrong)?)),
            _ => None,
        })
    }

    /// A reference that is not a run of probes: a file, or a saved run of tenants or of load by its id, the beginning
    /// of it, or `last`.
    pub(crate) fn find(reference: &str, runs: &Store) -> Result<Option<Self>, Failure> {
        let path = Path::new(reference);
        if reference != "last" && (reference.contains('/') || path.is_file()) {
            return if is_under_way(path) { Err(not_finished(path)) } else { Self::read(path) };
        }
        let of_probes = runs.list()?;
        let ended: Vec<Entry> = others()?.into_iter().map(|(_, entry)| entry).collect();
        if reference == "last" {
            let newest = ended.last().filter(|own| of_probes.last().is_none_or(|other| other.order() < own.order()));
            tell_of_newer(newest.or(of_probes.last()));
            return newest.map_or(Ok(None), |own| Self::read(&own.path));
        }
        let left = without_document().into_iter().map(|(_, journal)| journal);
        let named = |entries: Vec<Entry>| entries.into_iter().map(|entry| (entry.id, entry.path));
        let probes = of_probes.len();
        let all = named(of_probes).chain(named(ended)).chain(named(left.collect())).enumerate();
        let begins = |(_, (id, _)): &(usize, (String, PathBuf))| !reference.is_empty() && id.starts_with(reference);
        let found: Vec<(usize, (String, PathBuf))> = all.filter(begins).collect();
        let exact = found.iter().find(|(_, (id, _))| id == reference);
        match (exact, found.as_slice()) {
            (Some((at, (_, path))), _) | (None, [(at, (_, path))]) => match *at >= probes {
                false => Ok(None),
                true if is_under_way(path) => Err(not_finished(path)),
                true => Self::read(path),
            },
            // The store of probe runs reports its own ambiguous references.
            (None, several) if several.iter().all(|(at, _)| *at < probes) => Ok(None),
            (None, several) => {
                let ids: Vec<String> = several.iter().map(|(_, (id, _))| id.clone()).collect();
                Err(Failure::usage(says::run_ambiguous(reference, &ids)))
            }
        }
    }

    /// The document in a file.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, Failure> {
        let mut bytes = Vec::new();
        // A file that cannot be read is reported by the search for a run of probes.
        match File::open(path).and_then(|file| file.take(MAX_DOCUMENT_BYTES).read_to_end(&mut bytes)) {
            Ok(_) => Self::parse(&to_utf8(bytes), &format!("'{}'", path.display())),
            Err(_) => Ok(None),
        }
    }
}

/// Documents that were read by their names.
pub(crate) struct Readable<T> {
    pub(crate) documents: Vec<(String, T)>,
    /// Why others could not be read, a line each.
    pub(crate) left_out: Vec<String>,
}

impl<T> Readable<T> {
    /// `Exit::Partial` if a document is left out.
    pub(crate) fn exit(&self) -> Exit {
        if self.left_out.is_empty() { Exit::Done } else { Exit::Partial }
    }
}

/// Documents by their names. Of more than two, those that cannot be read are named on standard error and left out.
///
/// # Errors
/// A [`Failure`] of the first that cannot be read where at most two are named, and of usage where none is left.
pub(crate) fn readable<T>(names: &[String], load: impl Fn(&str) -> Result<T, Failure>) -> Result<Readable<T>, Failure> {
    const FEW: usize = 2;
    let mut read = Readable { documents: Vec::new(), left_out: Vec::new() };
    for name in names {
        match load(name) {
            Ok(document) => read.documents.push((name.clone(), document)),
            Err(failure) if names.len() <= FEW => return Err(failure),
            Err(failure) => {
                let why = sanitise::line(&failure.to_string());
                tell(format_args!("tiermark: warning: left out: {why}"));
                read.left_out.push(why.to_string());
            }
        }
    }
    if read.documents.is_empty() { Err(Failure::usage("none of the documents can be read")) } else { Ok(read) }
}

/// Saved documents of tenants and of load, oldest first.
///
/// # Errors
/// A [`Failure`] where their directory cannot be read.
fn others() -> Result<Vec<(RunKind, Entry)>, Failure> {
    let stores = [(RunKind::Capacity, environment::capacity_runs()), (RunKind::Load, environment::load_runs())];
    let mut all = Vec::new();
    for (kind, store) in stores {
        all.extend(store.list()?.into_iter().map(|entry| (kind, entry)));
    }
    all.sort_by(|(_, a), (_, b)| a.order().cmp(&b.order()));
    Ok(all)
}

/// Prints a note if a run of `capacity` or `load` is newer than `used`, the newest run of probes.
///
/// A directory that cannot be read has nothing to be named: the run that is used was read already.
fn tell_of_servers(used: &Run) {
    let of_probes = environment::store().list().unwrap_or_default();
    let is_newer = |own: &Entry| of_probes.last().is_none_or(|newest| newest.order() < own.order());
    let newest = others().unwrap_or_default().pop();
    if let Some((kind, newest)) = newest.filter(|(_, own)| is_newer(own)) {
        let what = if kind == RunKind::Load { "load" } else { "capacity" };
        tell(format_args!("tiermark: note: {}", says::newest_is_of_servers(&newest.id, what, &used.id)));
    }
}

/// All saved runs, newest first.
///
/// # Errors
/// A [`Failure`] where a directory of runs cannot be read.
pub(crate) fn all() -> Result<Vec<(RunKind, Entry)>, Failure> {
    let mut all = others()?;
    all.extend(environment::store().list()?.into_iter().map(|entry| (RunKind::Probes, entry)));
    all.sort_by(|(_, a), (_, b)| b.order().cmp(&a.order()));
    Ok(all)
}

/// A saved run of probes, by what a user calls it; `last` is the newest of these.
///
/// # Errors
/// A [`Failure`] of usage for what is no such run.
pub(crate) fn run_of_probes(name: &str) -> Result<Run, Failure> {
    if name == "last" {
        let run = SavedDocument::of_probes(name)?;
        tell_of_servers(&run);
        return Ok(*run);
    }
    match SavedDocument::load(name)? {
        SavedDocument::Run(run) => Ok(*run),
        SavedDocument::Other(_) => Err(Failure::usage(format!(
            "'{name}' is a run of capacity or load: give a run of probes (`tiermark list runs`); `tiermark report RUN \
             RUN` shows runs of capacity and load side by side, and `tiermark show RUN --format csv` has their numbers"
        ))),
    }
}
