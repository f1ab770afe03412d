//! Runs of tenants that go on, or were killed: they have a journal and no document.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use tiermark_history::{Entry, is_abandoned};
use tiermark_lines::Lines;
use tiermark_model::WATCH_RECORDING_SCHEMA;
use tiermark_model::messages::documents as says;

use crate::output::{Failure, tell};
use crate::shell;

/// Whether a file is named as one of a capacity run that goes on, or was killed.
pub(super) fn is_under_way(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Journals of runs of tenants, oldest first. One of a run with an end has its document beside it.
pub(crate) fn journals() -> Vec<Entry> {
    // A directory that cannot be read is reported by the search for documents.
    shell::capacity_runs().files("jsonl").unwrap_or_default()
}

/// What the first line of a file tells of the others.
#[derive(Deserialize)]
struct FirstLine {
    schema: Option<String>,
    run_header: Option<IgnoredAny>,
}

/// Why a file of lines is no run: it is one of `capacity` that has not ended, or of something else.
pub(super) fn not_finished(path: &Path) -> Failure {
    let first = Lines::read(path).ok().and_then(|lines| serde_json::from_slice::<FirstLine>(lines.head()).ok());
    let (schema, header) = first.map_or((None, None), |first| (first.schema, first.run_header));
    let (name, quoted) = (path.display().to_string(), shell::quoted(path));
    Failure::usage(match (schema.as_deref(), header) {
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

/// Says that a run of tenants is newer than the newest document, and has none: it goes on, or it was killed.
pub(crate) fn tell_of_newer(newest: Option<&Entry>) {
    let unseen = journals().into_iter().rev().find(|left| !left.path.with_extension("json").exists());
    let Some(left) = unseen.filter(|left| newest.is_none_or(|newest| newest.order() < left.order())) else { return };
    let said = if is_abandoned(&left.path) {
        let lines = Lines::read(&left.path).ok();
        let is_trial =
            |(_, line): &(usize, serde_json::Result<TrialLine>)| matches!(line, Ok(line) if line.probe.is_some());
        let trials = lines.map_or(0, |lines| lines.rest().filter(is_trial).count());
        says::newest_run_killed(&left.id, trials as u64, &shell::quoted(&left.path))
    } else {
        says::newest_run_under_way(&left.id)
    };
    let shown = newest.map_or_else(String::new, |newest| format!("; the newest run with a document is {}", newest.id));
    tell(format_args!("tiermark: note: {said}{shown}"));
}
