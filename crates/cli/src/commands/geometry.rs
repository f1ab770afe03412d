//! `tiermark geometry`.

use tiermark_model::{Exit, Machine, Request};

use crate::args::{ShapeArgs, Simulation};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &ShapeArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let requests = |machine: &Machine, seed| requests(args, machine, seed).map(measure::asked);
    measure::run(&Job { title: "geometry", args: &args.run, simulation, requests: &requests, share_time: false })
}

/// The requests to the probe.
pub(crate) fn requests(args: &ShapeArgs, machine: &Machine, seed: u64) -> Result<Vec<Request>, Failure> {
    let params = serde_json::Value::Null;
    let scope = measure::scope(&args.run.place, machine)?;
    Ok(super::request("geometry", &args.run.place, args.how.effort(), &scope, seed, params))
}
