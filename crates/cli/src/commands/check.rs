//! `tiermark check`: a saved run judged by expectations.

use std::path::Path;

use tiermark_config::text_of;
use tiermark_expect::{AUTO, Entry, check, figures, read};
use tiermark_model::{CHECK_SCHEMA, Check, CheckOutcome, Exit};

use crate::args::compare::CheckArgs;
use crate::kept::run_of_probes;
use crate::output::{Failure, complain, document, print, style};

/// The name of the built-in rules.
const BUILT_IN: &str = "auto";

/// Runs the command.
pub(crate) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    if args.rules {
        return print(AUTO.trim_end()).map(|()| Exit::Done);
    }
    if args.run.ends_with(".toml") {
        return Err(Failure::usage(format!("'{0}' is no run: a file of expectations is --expect {0}", args.run)));
    }
    // Mistakes of the file are found before a document of megabytes is read.
    let entries = expectations(&args.expect)?;
    let run = run_of_probes(&args.run)?;
    if args.list {
        return print(&tiermark_report::named_figures(&figures(&run), &style(&args.view))).map(|()| Exit::Done);
    }
    let found = check(&args.run, &run, &args.expect, &entries);
    let text =
        if args.json { document(CHECK_SCHEMA, &found)? } else { tiermark_report::check(&found, &style(&args.view)) };
    let exit = exit(&found, args.strict);
    match print(&text) {
        // A reader that closed the pipe has not seen all of it, and the result is as it was.
        Ok(()) | Err(Failure::BrokenPipe) => Ok(exit),
        Err(failure) => Err(failure),
    }
}

/// The built-in rules, or those of a file.
fn expectations(name: &str) -> Result<Vec<Entry>, Failure> {
    let text = match name {
        BUILT_IN => AUTO.to_owned(),
        file => text_of(Path::new(file)).map_err(|error| {
            Failure::usage(format!("--expect '{file}': {error}; name a readable file, or use --expect {BUILT_IN}"))
        })?,
    };
    read(&text)
        .map_err(|mistakes| Failure::Mistakes(mistakes.iter().map(|mistake| format!("{name}: {mistake}")).collect()))
}

fn exit(found: &Check, strict: bool) -> Exit {
    let count = |outcome| found.count(outcome);
    match (count(CheckOutcome::Failed), count(CheckOutcome::Passed)) {
        (1.., _) => Exit::Regression,
        (0, 1..) if strict && (count(CheckOutcome::Unjudged) > 0 || !found.run.complete) => Exit::Partial,
        (0, 1..) => Exit::Done,
        (0, 0) => {
            complain(
                "no expectation could be judged: measure the figures that they name (`tiermark survey`, `tiermark matrix`)",
            );
            Exit::Refused
        }
    }
}
