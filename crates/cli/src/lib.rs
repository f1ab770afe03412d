//! tiermark's command line: arguments become requests, requests run on a host, runs become documents and views.

#![forbid(unsafe_code)]

mod args;
mod command_line;
mod commands;
mod counters;
mod dry;
mod environment;
mod experiments;
mod finish;
mod glossary;
mod hints;
mod inventory;
mod layouts;
mod measure;
mod names;
mod other_tools;
mod output;
mod parse;
mod plans;
mod pseudonyms;
mod restoring;
mod sanitise;
mod saved;
mod scope;
mod signals;
mod sinks;
mod start;
mod target;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod version;

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use clap::FromArgMatches;
use clap::error::ErrorKind;
use tiermark_model::Exit;

use crate::output::Failure;

/// The program, with its arguments.
pub fn main() -> ExitCode {
    // First of all: the memory and the lifetime of such a process are measured.
    if let Some(code) = tiermark_host::reexec(std::env::args_os()) {
        return ExitCode::from(code);
    }
    if tiermark_capacity::guest::reexec(std::env::args_os()) {
        return ExitCode::SUCCESS;
    }
    install_panic_hook();
    ExitCode::from(undone_by_panic(run).code())
}

/// Runs what may change the system, and takes the changes back where a defect of the program ends it.
fn undone_by_panic(run: impl FnOnce() -> Exit) -> Exit {
    // Unwinding has given back locks and files of journals by then.
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        restoring::after_panic();
        Exit::Failure
    })
}

fn run() -> Exit {
    let parsed = hints::parse_with_topics(&std::env::args_os().collect::<Vec<_>>(), |arguments| {
        let matches = command_line::command_here().try_get_matches_from(arguments)?;
        command_line::Cli::from_arg_matches(&matches)
    });
    let cli = match parsed {
        Ok(cli) => cli,
        Err(mut error) => {
            if error.kind() == ErrorKind::DisplayHelp
                && let Some(meant) = hints::meant_by_h(&std::env::args_os().collect::<Vec<_>>())
            {
                error = meant;
            }
            hints::add(&mut error, &std::env::args_os().collect::<Vec<_>>());
            // A closed pipe behind --help is no failure.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Done };
        }
    };
    commands::run(&cli).unwrap_or_else(Failure::report)
}

/// A defect of the program is reported in one sentence; RUST_BACKTRACE=1 shows the details.
fn install_panic_hook() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|v| v != "0") {
            default(info);
        }
        let place = info.location().map_or_else(String::new, |l| format!(" at {}:{}", l.file(), l.line()));
        let what = info.payload_as_str().unwrap_or("no text").lines().next().unwrap_or_default().to_owned();
        output::complain(&format!(
            "internal error{place}: {what}; please report it with the command line (RUST_BACKTRACE=1 shows more)"
        ));
    }));
}
