//! `tiermark machine`: what this machine is.

use std::path::Path;

use tiermark_machine::{Root, capture};
use tiermark_model::{Exit, MACHINE_SCHEMA};
use tiermark_page::terminal;
use tiermark_system::live_facts;

use crate::args::{MachineArgs, Simulation};
use crate::output::{Destination, Failure, document, print, style, tell};
use crate::target;

/// Runs the command.
pub(crate) fn run(args: &MachineArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    if let Some(file) = &args.capture {
        return write_capture(file);
    }
    let tree = args.root.as_ref().map(|path| path.display().to_string()).or_else(|| simulation.simulate.clone());
    let machine = match tree {
        Some(tree) => target::captured_machine(&target::tree(&tree)?)?,
        None => target::this_machine()?,
    };
    let text = if args.json {
        document(MACHINE_SCHEMA, &machine)?
    } else {
        terminal(&tiermark_report::machine(&machine, &style(&args.view)), &style(&args.view))
    };
    print(&text).map(|()| Exit::Done)
}

/// Captures in memory first: a tree that cannot be read leaves no file.
fn write_capture(path: &Path) -> Result<Exit, Failure> {
    let place = Destination::open(&path.display().to_string())?;
    let mut archive = Vec::new();
    let summary = capture(&Root::live(), &live_facts(), &mut archive).map_err(Failure::tool)?;
    place.write_bytes(&archive)?;
    tell(format_args!(
        "tiermark: {} files, {} KiB; {}",
        summary.files,
        summary.bytes >> 10,
        summary.redacted.join("; ")
    ));
    Ok(Exit::Done)
}
