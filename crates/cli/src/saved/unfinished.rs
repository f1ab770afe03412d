//! Runs of tenants and of load that go on, or were killed: they have a journal and no document.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use tiermark_history::lines::{Damaged, Lines};
use tiermark_history::{Entry, is_abandoned};
use tiermark_model::load::LOAD_SCHEMA;
use tiermark_model::messages::documents as says;
use tiermark_model::{RunKind, WATCH_RECORDING_SCHEMA};

use crate::environment;
use crate::output::{Failure, tell};

/// Whether a file is named as one of a run that goes on, or was killed.
pub(crate) fn is_under_way(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Journals of runs of tenants, oldest first. One of a run with an end has its document beside it.
pub(crate) fn journals() -> Vec<Entry> {
    // A directory that cannot be read is reported by the search for documents.
    environment::capacity_runs().files("jsonl").unwrap_or_default()
}

/// Journals of runs that have no document, oldest first: each run goes on, or was killed.
pub(crate) fn without_document() -> Vec<(RunKind, Entry)> {
    let of_load = environment::load_runs().files("jsonl").unwrap_or_default();
    let kinds = [(RunKind::Capacity, journals()), (RunKind::Load, of_load)];
    let mut left: Vec<(RunKind, Entry)> =
        kinds.into_iter().flat_map(|(kind, all)| all.into_iter().map(move |one| (kind, one))).collect();
    left.retain(|(_, journal)| !journal.path.with_extension("json").exists());
    left.sort_by(|(_, a), (_, b)| a.order().cmp(&b.order()));
    left
}

/// What the first line of a file tells of the others.
#[derive(Default, Deserialize)]
struct FirstLine {
    schema: Option<String>,
    run_header: Option<Header>,
}

#[derive(Deserialize)]
struct Header {
    scenario: Option<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

impl FirstLine {
    fn of(path: &Path) -> Self {
        let read = |lines: Lines| serde_json::from_slice(lines.head()).ok();
        Lines::read(path).ok().and_then(read).unwrap_or_default()
    }
}

/// The command and the scenario of a run that has a journal.
pub(crate) fn journal_text(journal: &Path) -> String {
    let scenario = FirstLine::of(journal).run_header.and_then(|header| header.scenario);
    scenario.map_or_else(|| "capacity".to_owned(), |scenario| format!("capacity {}", scenario.name))
}

/// Why a file of lines is no run: it is one of `capacity` that has not ended, or of something else.
pub(super) fn not_finished(path: &Path) -> Failure {
    let FirstLine { schema, run_header } = FirstLine::of(path);
    let (name, quoted) = (path.display().to_string(), environment::quoted(path));
    Failure::usage(match (schema.as_deref(), run_header) {
        (Some(LOAD_SCHEMA), _) => says::load_run_unfinished(&name),
        (Some(WATCH_RECORDING_SCHEMA), _) => says::recording_is_no_run(&name, &quoted),
        (_, Some(_)) => says::capacity_run_unfinished(&name, &quoted),
        _ => says::lines_are_no_run(&name),
    })
}

/// A line of a journal, where it is one of a trial.
#[derive(Deserialize)]
struct TrialLine {
    probe: Option<IgnoredAny>,
}

/// Says that a run of tenants or of load, newer than the newest document, has no document: it still runs, or was
/// killed.
pub(crate) fn tell_of_newer(newest: Option<&Entry>) {
    let is_newer = |(_, left): &(RunKind, Entry)| newest.is_none_or(|newest| newest.order() < left.order());
    let Some((kind, left)) = without_document().pop().filter(is_newer) else { return };
    let is_load = kind == RunKind::Load;
    let note = if !is_abandoned(&left.path) {
        says::newest_run_under_way(&left.id, if is_load { "load" } else { "capacity" })
    } else if is_load {
        says::newest_load_killed(&left.id)
    } else {
        let mut trials = 0;
        if let Ok(lines) = Lines::read(&left.path) {
            // Only lines of trials have the field.
            let _ = lines.each(Damaged::Alone, |line: TrialLine| {
                trials += u64::from(line.probe.is_some());
                Ok(())
            });
        }
        says::newest_run_killed(&left.id, trials, &environment::quoted(&left.path))
    };
    let shown = newest.map_or_else(String::new, |newest| format!("; the newest run with a document is {}", newest.id));
    tell(format_args!("tiermark: note: {note}{shown}"));
}
