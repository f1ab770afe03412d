//! `tiermark scale`.

use tiermark_model::{Exit, Machine, Request};
use tiermark_probes::scale::ScaleParams;

use crate::args::{ScaleArgs, Simulation, effort};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &ScaleArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let requests = |machine: &Machine, seed| requests(args, machine, seed).map(measure::asked);
    measure::run(&Job { title: "scale", args: &args.run, simulation, requests: &requests, share_time: false })
}

/// The requests to the probe.
pub(crate) fn requests(args: &ScaleArgs, machine: &Machine, seed: u64) -> Result<Vec<Request>, Failure> {
    let params = ScaleParams { ops: args.op.clone() };
    let params = serde_json::to_value(params).map_err(Failure::tool)?;
    let effort = effort(args.quick, args.full);
    let scope = measure::scope(&args.run.place, machine)?;
    Ok(super::request("scale", &args.run.place, effort, &scope, seed, params))
}
