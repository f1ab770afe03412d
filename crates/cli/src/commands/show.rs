//! `tiermark show`: a saved run again.

use std::io::{ErrorKind, Read};

use tiermark_history::{DocumentError, LoadError, MAX_DOCUMENT_BYTES, parse};
use tiermark_model::{Exit, Run};

use crate::args::ShowArgs;
use crate::output::{Failure, print, style};
use crate::{orphans, shell};

/// Runs the command.
pub(crate) fn run(args: &ShowArgs) -> Result<Exit, Failure> {
    let run = if args.run == "-" { from_stdin()? } else { from_store(&args.run)? };
    let mut run = orphans::concluded(run);
    if args.redact {
        run = tiermark_report::redact(&run);
    }
    let text = if args.json { tiermark_report::json(&run) } else { tiermark_report::run(&run, &style(&args.view)) };
    print(&text).map(|()| Exit::Done)
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
    store.load(reference).map_err(|error| match error {
        // No such file and no such run are the same mistake.
        LoadError::Document(DocumentError::Io { ref why, .. }) if why.kind() == ErrorKind::NotFound => {
            Failure::usage(error)
        }
        LoadError::Document(e) => Failure::tool(e),
        other => Failure::usage(other),
    })
}
