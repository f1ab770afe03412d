//! `tiermark os`.

use tiermark_model::{Exit, Machine, Request};
use tiermark_probes::os::OsParams;

use crate::args::{OsArgs, Simulation};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &OsArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let requests = |machine: &Machine, seed| requests(args, machine, seed).map(measure::asked);
    measure::run(&Job { title: "os", args: &args.run, simulation, requests: &requests, share_time: false })
}

/// What it asks.
pub(crate) fn requests(args: &OsArgs, machine: &Machine, seed: u64) -> Result<Vec<Request>, Failure> {
    let params = serde_json::to_value(OsParams { only: args.only.clone() }).map_err(Failure::tool)?;
    let scope = measure::scope(&args.run.place, machine)?;
    Ok(vec![super::request("os", &args.run.place, args.how.effort(), &scope, seed, params)])
}
