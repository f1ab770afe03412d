//! `tiermark completions`: completions of a shell.

use clap::CommandFactory;
use tiermark_model::Exit;

use crate::args::CompletionsArgs;
use crate::command_line::Cli;
use crate::output::{Failure, print};

/// Runs the command.
pub(crate) fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    // Into memory first: the generator takes a closed pipe for a defect.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tiermark", &mut script);
    print(&String::from_utf8_lossy(&script)).map(|()| Exit::Done)
}
