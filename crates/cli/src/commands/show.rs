//! `tiermark show`: a saved run again, or another document that this program wrote.

use std::io::Read;

use tiermark_history::{MAX_DOCUMENT_BYTES, parse};
use tiermark_model::Exit;

use super::load::shown;
use crate::args::{Format, ShowArgs};
use crate::kept::Kept;
use crate::output::{Failure, print, report, style, tell, tell_doubts};
use crate::{again, orphans, shell};

/// Runs the command.
pub(crate) fn run(args: &ShowArgs) -> Result<Exit, Failure> {
    if args.run.ends_with(".csv") {
        return curves(args);
    }
    let store = shell::store();
    let run = if args.run == "-" {
        let bytes = stdin()?;
        match Kept::parse(&bytes, "standard input")? {
            Some(kept) => return other(args, &kept),
            None => parse(&bytes).map_err(|e| Failure::usage(format!("standard input: {e}")))?,
        }
    } else {
        orphans::adopt(&store, false);
        match Kept::find(&args.run, &store)? {
            Some(kept) => return other(args, &kept),
            // Whatever is wrong with what was named, it is the same mistake, and as it is from standard input.
            None => store.load(&args.run).map_err(Failure::usage)?,
        }
    };
    let (mut run, notice) = orphans::concluded(run, &store);
    notice.iter().for_each(|refusal| tell(format_args!("tiermark: warning: {refusal}")));
    if args.reanalyse {
        run = again::reanalysed(run, args.view.verbose > 0);
    }
    if args.redact {
        run = tiermark_report::redact(&run);
    }
    if args.json {
        return print(&tiermark_report::json(&run)).map(|()| Exit::Done);
    }
    if let Some(view) = args.part.view() {
        return print(&tiermark_report::run_view(&run, view, &style(&args.view))).map(|()| Exit::Done);
    }
    print(&report(&run, args.format, &args.view))?;
    tell_doubts(&run, args.format);
    Ok(Exit::Done)
}

/// Curves of latency over bandwidth from a file, whoever measured them.
fn curves(args: &ShowArgs) -> Result<Exit, Failure> {
    if args.json || args.redact || args.reanalyse || args.part.view().is_some() {
        return Err(Failure::usage(format!("'{}' holds curves, not a run: it has no document", args.run)));
    }
    let mut text = Vec::new();
    let file = std::fs::File::open(&args.run).map_err(|e| Failure::usage(format!("'{}': {e}", args.run)))?;
    file.take(MAX_DOCUMENT_BYTES).read_to_end(&mut text).map_err(Failure::tool)?;
    let points = tiermark_report::read_mess(&String::from_utf8_lossy(&text))
        .map_err(|e| Failure::usage(format!("'{}' is not a file of curves: {e}", args.run)))?;
    let title = format!("Latency over bandwidth, ns, from {}", args.run);
    print(&tiermark_report::loaded_curves(&title, &points, &style(&args.view))).map(|()| Exit::Done)
}

/// A document of tenants or of load, as its command showed it.
fn other(args: &ShowArgs, kept: &Kept) -> Result<Exit, Failure> {
    if args.redact || args.reanalyse || args.format != Format::Text || args.part.view().is_some() {
        let options = "--redact, --reanalyse, --format, --why, --curves, --tails and --kernels";
        return Err(Failure::usage(format!("'{}' is not a run of probes: {options} are for those", args.run)));
    }
    let style = style(&args.view);
    let text = match (kept, args.json) {
        (Kept::Capacity(run), false) => tiermark_report::capacity(run, &style),
        (Kept::Capacity(run), true) => serde_json::to_string_pretty(run).map_err(Failure::tool)?,
        (Kept::Load(run), false) => tiermark_report::load(&shown::view(run), &style),
        (Kept::Load(run), true) => serde_json::to_string_pretty(run).map_err(Failure::tool)?,
    };
    print(&text).map(|()| Exit::Done)
}

fn stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    // One byte more than the limit lets the parser say that it is too much.
    std::io::stdin().lock().take(MAX_DOCUMENT_BYTES + 1).read_to_end(&mut bytes).map_err(Failure::tool)?;
    Ok(bytes)
}
