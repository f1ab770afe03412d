//! `tiermark machine`: what this machine is.

use std::path::Path;

use tiermark_machine::{Root, capture};
use tiermark_model::{Exit, MACHINE_SCHEMA};
use tiermark_system::live_facts;

use crate::args::{MachineArgs, Simulation};
use crate::output::{Destination, Failure, show, tell};
use crate::target;

/// Runs the command.
pub(crate) fn run(args: &MachineArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    if let Some(file) = &args.capture {
        return write_capture(file);
    }
    let (_, machine) = target::described(args.root.as_deref(), simulation)?;
    show(&machine, args.json, MACHINE_SCHEMA, &args.view, tiermark_report::machine).map(|()| Exit::Done)
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
