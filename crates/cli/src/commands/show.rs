//! `tiermark show`: a saved run again, or another document that this program wrote.

use std::io::Read;
use std::path::Path;

use tiermark_exports::TenantRows;
use tiermark_history::MAX_DOCUMENT_BYTES;
use tiermark_model::load::LoadRun;
use tiermark_model::{Exit, Run};
use tiermark_page::{Page, Style, markdown, terminal};
use tiermark_session::{Reanalysed, reanalyse_saved};

use crate::args::{Format, ShowArgs};
use crate::output::{self, Failure, detail, print, rendered, report, style, tell, tell_doubts};
use crate::pseudonyms::pseudonyms;
use crate::saved::{Kept, SavedDocument, run_of_probes};

/// Runs the command.
pub(crate) fn run(args: &ShowArgs) -> Result<Exit, Failure> {
    match args.runs.as_slice() {
        [csv] if csv.ends_with(".csv") => curves(args, csv),
        [name] => one(args, name),
        several => other(args, &several.join(" "), &Kept::Load(Box::new(merged(several)?))),
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
            SavedDocument::Other(kept) => return other(args, name, &kept),
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
    print(&report(&run, args.format, &args.view))?;
    tell_doubts(&run, args.format);
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
    let is_of_probes = matches!(args.format, Format::Mlc | Format::Stream | Format::Pairs);
    args.reanalyse || is_of_probes || args.part.view.is_some()
}

/// Curves of latency over bandwidth from a file, measured by any tool.
fn curves(args: &ShowArgs, name: &str) -> Result<Exit, Failure> {
    if args.json || args.redact || args.reanalyse || args.part.view.is_some() {
        return Err(Failure::usage(format!("'{name}' holds curves, not a run: there is no document to show")));
    }
    let mut text = Vec::new();
    let file = std::fs::File::open(name).map_err(|e| Failure::usage(format!("'{name}': {e}")))?;
    file.take(MAX_DOCUMENT_BYTES).read_to_end(&mut text).map_err(Failure::tool)?;
    let points = tiermark_exports::read_mess(&String::from_utf8_lossy(&text))
        .map_err(|e| Failure::usage(format!("'{name}' is not a file of curves: {e}")))?;
    let title = format!("Latency over bandwidth, ns, from {name}");
    let text = rendered(&args.view, |style| tiermark_report::loaded_curves(&title, &points, style));
    print(&text).map(|()| Exit::Done)
}

/// A document of tenants or of load, as its command showed it.
fn other(args: &ShowArgs, name: &str, kept: &Kept) -> Result<Exit, Failure> {
    if needs_probes(args) {
        let options =
            format!("--reanalyse, --format mlc, stream and pairs, {}", tiermark_report::run_view_options(", "));
        return Err(Failure::usage(format!(
            "'{name}' is a run of tenants or of load, and {options} are of other runs; --json prints its document, \
             --format csv its numbers, -v each trial with its reasons"
        )));
    }
    let (style, detail) = (style(&args.view), detail(&args.view));
    let text = match kept {
        Kept::Capacity(run) => {
            let run =
                if args.redact { &tiermark_report::redact::redact_capacity(run, pseudonyms()) } else { run.as_ref() };
            let page = || tiermark_report::tenant_views::capacity(run, detail);
            if args.json {
                output::json(run)?
            } else {
                laid_out(&TenantRows::of_capacity(run), args.format, &page, &style)
            }
        }
        Kept::Load(run) => {
            let run = if args.redact { &tiermark_report::redact::redact_load(run, pseudonyms()) } else { run.as_ref() };
            let page = || tiermark_report::tenant_views::load(run, detail);
            if args.json { output::json(run)? } else { laid_out(&TenantRows::of_load(run), args.format, &page, &style) }
        }
    };
    print(&text).map(|()| Exit::Done)
}

/// A run of tenants or of load in a layout; `page` makes the report.
fn laid_out(rows: &TenantRows<'_>, format: Format, page: &dyn Fn() -> Page, style: &Style) -> String {
    match format {
        Format::Csv => rows.csv(),
        Format::JsonRows => rows.json_rows(),
        Format::Openmetrics => rows.openmetrics(),
        Format::Markdown => markdown(&page(), style),
        Format::Text | Format::Mlc | Format::Stream | Format::Pairs => terminal(&page(), style),
    }
}
