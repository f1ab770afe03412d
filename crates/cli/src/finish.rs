//! The end of a run: saved, written, printed, and its exit code.

use tiermark_history::{SavedPlace, Store};
use tiermark_model::{Exit, Refusal, Run};
use tiermark_session::Demands;

use crate::args::RunArgs;
use crate::environment;
use crate::layouts::Export;
use crate::output::{self, Destination, Failure, complain, complain_once, tell};
use crate::sinks::{JournalSink, Listeners};

/// Where a run goes, all opened before it began.
pub(crate) struct Sinks<'a> {
    /// The document as JSON.
    pub(crate) document: Option<Destination>,
    /// Other texts made of the run.
    pub(crate) exports: Vec<(Destination, Export<'a>)>,
    /// Whether to print the report, and to say on standard error what it lacks.
    pub(crate) report: bool,
    /// The sinks of the run's events.
    pub(crate) listeners: Listeners,
}

/// Saves, prints, and finds the exit code.
///
/// # Errors
/// A [`Failure`] when a requested file could not be written.
pub(crate) fn finish(
    args: &RunArgs,
    store: &Store,
    run: &Run,
    sinks: Sinks<'_>,
    stopped_by: Option<Exit>,
) -> Result<Exit, Failure> {
    let Listeners { journal, lines, .. } = sinks.listeners;
    let result = &args.result;
    let measured = run.observations().any(|o| o.value.is_some());
    let (saved, exit_of_saving) = if measured && !result.no_save {
        save(store, run, journal)
    } else {
        journal.into_iter().for_each(|JournalSink(journal)| journal.finish());
        (None, Exit::Done)
    };
    let demands = Demands { strict: args.place.control.strict, allow_partial: args.place.control.allow_partial };
    let exit = tiermark_session::exit(run, stopped_by, demands);
    if !measured {
        explain_nothing(run, stopped_by);
    }
    // A full disk loses the file, not the report: failures are reported after it.
    let mut to_stdout = [result.document(), result.jsonl.as_deref()].contains(&Some("-"));
    to_stdout |= sinks.exports.iter().any(|(place, _)| matches!(place, Destination::Stdout));
    let mut unwritten = vec![
        lines.and_then(|lines| lines.end(run)),
        sinks.document.and_then(|place| output::json(run).and_then(|text| place.write(&(text + "\n"))).err()),
    ];
    for (place, export) in sinks.exports {
        if let Some(doubts) = (export.layout.doubts)(run).filter(|_| !result.quiet) {
            tell(format_args!("tiermark: warning: --{} {}: {doubts}", export.layout.name, export.place));
        }
        unwritten.push(place.write(&export.layout.show(run, &args.view)).err());
    }
    if measured && sinks.report && !to_stdout {
        output::print(&result.format.show(run, &args.view))?;
        if !result.quiet {
            result.format.tell_doubts(run);
        }
    }
    if let Some(saved) = saved.filter(|_| !result.quiet) {
        let again = if saved.by_id { run.id.clone() } else { environment::quoted(&saved.path) };
        let path = saved.path.display().to_string();
        tell(saving_text(&path, &again, saved.by_id));
    }
    if exit == Exit::Partial && sinks.report && !result.quiet {
        tell(missing_text(tiermark_session::missing(run)));
    }
    if exit == Exit::Noisy && sinks.report && !result.quiet {
        let cure = if tiermark_session::imprecise(run) {
            "; allow more time (--max-time) or a wider interval (--precision)"
        } else {
            ""
        };
        tell(format_args!("tiermark: with --strict: not every number is trusted or shared, and precise{cure}"));
    }
    let exit = if exit == Exit::Done { exit_of_saving } else { exit };
    unwritten.into_iter().flatten().try_fold(exit, |_, failure| match failure {
        Failure::BrokenPipe => Err(failure),
        other => Ok(other.report()),
    })
}

/// Why the exit code is that of a part, and what makes it another.
fn missing_text(missing: usize) -> String {
    let parts = if missing == 1 { "1 part is" } else { &format!("{missing} parts are") };
    let code = Exit::Partial.code();
    format!("tiermark: {parts} missing: exit code {code}; --allow-partial makes it 0")
}

/// Where a run went, and what to do next, a line each.
fn saving_text(path: &str, reference: &str, is_last: bool) -> String {
    let (page, run) = if is_last { (String::new(), "last") } else { (format!(" {reference}"), reference) };
    format!("Saved as {path}\n`tiermark show {run}` · `tiermark report{page}` · `tiermark compare RUN {run}`")
}

/// Where a run went, and how to see it again.
pub(crate) fn place_text(path: &str, reference: &str, width: usize) -> String {
    let (saved, again) = (format!("Saved as {path};"), format!("`tiermark show {reference}` shows it again."));
    let gap = if saved.chars().count() + 1 + again.len() <= width { ' ' } else { '\n' };
    format!("{saved}{gap}{again}")
}

/// Saves a run; the journal is removed once the document is on disk.
fn save(store: &Store, run: &Run, journal: Option<JournalSink>) -> (Option<SavedPlace>, Exit) {
    let results = journal.as_ref().map_or_else(String::new, |JournalSink(journal)| {
        format!("; the results so far are in the journal {}", journal.path().display())
    });
    let (saved, exit) = saved_or_reported(store.save(run), &results);
    journal.into_iter().filter(|_| saved.is_some()).for_each(|JournalSink(journal)| journal.finish());
    (saved, exit)
}

/// What was saved, and the exit code of saving. Says what went wrong, and where results are all the same.
pub(crate) fn saved_or_reported(saved: Result<SavedPlace, Refusal>, results: &str) -> (Option<SavedPlace>, Exit) {
    match saved {
        Ok(saved) => {
            // `last` would be another run: --quiet does not hide it.
            saved.notice.iter().for_each(|refusal| tell(format_args!("tiermark: warning: {refusal}")));
            (Some(saved), Exit::Done)
        }
        Err(error) => {
            complain(&format!("{error}{results}"));
            (None, Exit::Failure)
        }
    }
}

/// Says why there is no number at all, each reason once.
fn explain_nothing(run: &Run, stopped_by: Option<Exit>) {
    if stopped_by.is_some() {
        tell("tiermark: stopped before anything was measured");
        return;
    }
    let plans = run.experiments.iter().flat_map(|e| &e.plan.refused);
    complain_once(plans.chain(run.observations().filter_map(|o| o.refusal.as_ref())));
    for observation in run.observations().filter(|o| o.refusal.is_none()) {
        let reasons: Vec<String> = observation.verdict.reasons.iter().map(ToString::to_string).collect();
        complain(&format!("{}: {}", observation.step, reasons.join("; ")));
    }
}
