//! `tiermark man`: man pages of all commands.

use clap::CommandFactory;
use tiermark_model::Exit;

use crate::args::{Cli, ManArgs};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &ManArgs) -> Result<Exit, Failure> {
    let fail = |e: std::io::Error| {
        Failure::tool(format!(
            "writing man pages to '{}': {e}; choose a directory that can be written",
            args.directory.display()
        ))
    };
    std::fs::create_dir_all(&args.directory).map_err(fail)?;
    clap_mangen::generate_to(Cli::command(), &args.directory).map_err(fail)?;
    Ok(Exit::Done)
}
