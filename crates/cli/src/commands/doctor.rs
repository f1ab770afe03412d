//! `tiermark doctor`: what keeps measurements on this machine from being trusted.

use std::time::Duration;

use tiermark_model::{DOCTOR_SCHEMA, Exit, Health, Interrupted};
use tiermark_tune::doctor::{CheckInput, checkup, watch};
use tiermark_undo::pending;

use crate::args::{DoctorArgs, Simulation};
use crate::output::{Failure, show};
use crate::{environment, target};

/// Time that other work and steal are watched: a hundred ticks of the usual accounting, so that one percent shows.
const WATCHED: Duration = Duration::from_secs(1);

/// Runs the command.
pub(crate) fn run(args: &DoctorArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let (root, machine) = target::described(args.root.as_deref(), simulation)?;
    let live = root.is_live();
    let busy = if live { watch(&root, &machine.allowed_cpus, WATCHED) } else { None };
    let seen = if live { tiermark_host::interruptions(&machine) } else { Vec::new() };
    let interrupted = Interrupted::of(&seen);
    let state = environment::state().filter(|_| live);
    let held = state.map(|state| pending(&state, &root)).unwrap_or_default();
    let checkup = checkup(&CheckInput { root: &root, machine: &machine, busy, interrupted, held: &held });
    show(&checkup, args.json, DOCTOR_SCHEMA, &args.view, tiermark_report::listings::doctor)?;
    Ok(if checkup.count(Health::Problem) > 0 { Exit::Regression } else { Exit::Done })
}
