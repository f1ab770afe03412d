//! `tiermark show`: a saved run again.

use std::io::Read;

use tiermark_history::{MAX_DOCUMENT_BYTES, parse};
use tiermark_model::{Exit, Run};

use crate::args::ShowArgs;
use crate::output::{Failure, print, report, style, tell_doubts};
use crate::{orphans, shell};

/// Runs the command.
pub(crate) fn run(args: &ShowArgs) -> Result<Exit, Failure> {
    if args.run.ends_with(".csv") {
        return curves(args);
    }
    let run = if args.run == "-" { from_stdin()? } else { from_store(&args.run)? };
    let mut run = orphans::concluded(run);
    if args.redact {
        run = tiermark_report::redact(&run);
    }
    if args.json {
        return print(&tiermark_report::json(&run)).map(|()| Exit::Done);
    }
    print(&report(&run, args.format, &args.view))?;
    tell_doubts(&run, args.format);
    Ok(Exit::Done)
}

/// Curves of latency over bandwidth from a file, whoever measured them.
fn curves(args: &ShowArgs) -> Result<Exit, Failure> {
    if args.json || args.redact {
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

fn from_stdin() -> Result<Run, Failure> {
    let mut bytes = Vec::new();
    // One byte more than the limit lets the parser say that it is too much.
    std::io::stdin().lock().take(MAX_DOCUMENT_BYTES + 1).read_to_end(&mut bytes).map_err(Failure::tool)?;
    parse(&bytes).map_err(|e| Failure::usage(format!("standard input: {e}")))
}

fn from_store(reference: &str) -> Result<Run, Failure> {
    let store = shell::store();
    orphans::adopt(&store, false);
    // Whatever is wrong with what was named, it is the same mistake, and as it is from standard input.
    store.load(reference).map_err(Failure::usage)
}
