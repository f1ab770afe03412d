//! `tiermark show`: a saved run again, or another document that this program wrote.

use std::io::Read;
use std::path::Path;

use tiermark_history::{MAX_DOCUMENT_BYTES, to_utf8};
use tiermark_model::load::LoadRun;
use tiermark_model::{Exit, Run};
use tiermark_session::{Reanalysed, reanalyse_saved};

use crate::args::ShowArgs;
use crate::layouts::LaidOut;
use crate::output::{self, Failure, print, rendered, tell};
use crate::pseudonyms::pseudonyms;
use crate::saved::{Kept, SavedDocument, run_of_probes};

/// Runs the command.
pub(crate) fn run(args: &ShowArgs) -> Result<Exit, Failure> {
    match args.runs.as_slice() {
        [csv] if csv.ends_with(".csv") => curves(args, csv),
        [name] => one(args, name),
        several => other(args, &several.join(" "), Kept::Load(Box::new(merged(several)?))),
    }
}

/// The loads of several clients as one.
fn merged(names: &[String]) -> Result<LoadRun, Failure> {
    let load = |name: &String| match SavedDocument::load(name)? {
        SavedDocument::Other(Kept::Load(run)) => {
            // As of a fleet: without a label the file's name is the host's.
            let stem = Path::new(name).file_stem().map_or(name.clone(), |stem| stem.to_string_lossy().into_owned());
            Ok((stem, *run))
        }
        _ => Err(Failure::usage(format!(
            "'{name}' is not a run of load: show has one report, and merges only loads of several clients; `tiermark \
             report RUN RUN` shows runs side by side, `tiermark compare RUN RUN` compares them"
        ))),
    };
    let runs = names.iter().map(load).collect::<Result<Vec<_>, Failure>>()?;
    tiermark_load::merged(&runs, std::env::args().collect()).map_err(Failure::usage)
}

fn one(args: &ShowArgs, name: &str) -> Result<Exit, Failure> {
    let mut run = match (name, needs_probes(args)) {
        // The last run that has what is asked for.
        ("last", true) => run_of_probes("last")?,
        (name, _) => match SavedDocument::load(name)? {
            SavedDocument::Run(run) => *run,
            SavedDocument::Other(kept) => return other(args, name, kept),
        },
    };
    if args.reanalyse {
        run = estimated_again(run, args.view.verbose > 0);
    }
    if args.redact {
        run = tiermark_report::redact::redact(&run, pseudonyms());
    }
    if args.json {
        return print(&output::json(&run)?).map(|()| Exit::Done);
    }
    if let Some(view) = args.part.view {
        let text = rendered(&args.view, |style| tiermark_report::run_view(&run, view, style));
        return print(&text).map(|()| Exit::Done);
    }
    print(&args.format.show(&run, &args.view))?;
    args.format.tell_doubts(&run);
    Ok(Exit::Done)
}

/// A run with every estimate made again. Says what could not be made again, and how much differs; with `verbose` it names
/// what differs.
fn estimated_again(run: Run, verbose: bool) -> Run {
    const WHY: &str = "has no windows, or a probe that this version does not have";
    let Reanalysed { run, kept, changes } = match reanalyse_saved(run) {
        Ok(again) => again,
        Err(saved) => {
            tell(format_args!("tiermark: note: the run {WHY}: it is shown as it was saved"));
            return *saved;
        }
    };
    if kept > 0 {
        let all = run.experiments.len();
        tell(format_args!("tiermark: note: {kept} of {all} experiments are shown as they were saved: each {WHY}"));
    }
    let all = run.observations().count();
    match changes.len() {
        0 => tell(format_args!("tiermark: note: all {all} numbers are as they were saved")),
        n => {
            let more = if verbose { ":" } else { "; -v names them" };
            tell(format_args!("tiermark: note: {n} of {all} numbers differ from those saved{more}"));
        }
    }
    changes.iter().filter(|_| verbose).for_each(|change| tell(format_args!("  {change}")));
    run
}

/// Whether options apply to runs of probes alone.
fn needs_probes(args: &ShowArgs) -> bool {
    args.reanalyse || Kept::layout(args.format.name).is_none() || args.part.view.is_some()
}

/// Curves of latency over bandwidth from a file, measured by any tool.
fn curves(args: &ShowArgs, name: &str) -> Result<Exit, Failure> {
    if args.json || args.redact || args.reanalyse || args.part.view.is_some() {
        return Err(Failure::usage(format!("'{name}' holds curves, not a run: there is no document to show")));
    }
    let mut text = Vec::new();
    let file = std::fs::File::open(name).map_err(|e| Failure::usage(format!("'{name}': {e}")))?;
    file.take(MAX_DOCUMENT_BYTES).read_to_end(&mut text).map_err(Failure::tool)?;
    let points = tiermark_exports::read_mess(&String::from_utf8_lossy(&to_utf8(text)))
        .map_err(|e| Failure::usage(format!("'{name}' is not a file of curves: {e}")))?;
    let title = format!("Latency over bandwidth, ns, from {name}");
    let text = rendered(&args.view, |style| tiermark_report::loaded_curves(&title, &points, style));
    print(&text).map(|()| Exit::Done)
}

/// A document of tenants or of load, as its command showed it.
fn other(args: &ShowArgs, name: &str, kept: Kept) -> Result<Exit, Failure> {
    let layout = Kept::layout(args.format.name).filter(|_| !needs_probes(args));
    let Some(layout) = layout else {
        let others = Run::LAYOUTS.iter().filter(|layout| Kept::layout(layout.name).is_none());
        let formats: String = others.map(|layout| format!("--format {}, ", layout.name)).collect();
        let views = tiermark_report::run_view_options(", ");
        return Err(Failure::usage(format!(
            "'{name}' is a run of tenants or of load, and --reanalyse, {formats}{views} are of other runs; --json \
             prints its document, --format csv its numbers, -v each trial with its reasons"
        )));
    };
    let kept = if args.redact { kept.redacted(pseudonyms()) } else { kept };
    let text = if args.json { kept.json()? } else { layout.show(&kept, &args.view) };
    print(&text).map(|()| Exit::Done)
}
