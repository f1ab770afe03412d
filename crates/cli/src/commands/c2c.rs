//! `tiermark c2c`.

use tiermark_model::{Exit, Machine, Request};
use tiermark_probes::c2c::C2cParams;

use crate::args::{C2cArgs, Simulation};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &C2cArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let requests = |machine: &Machine, seed| requests(args, machine, seed).map(measure::asked);
    measure::run(&Job { title: "c2c", args: &args.run, simulation, requests: &requests, share_time: false })
}

/// The requests to the probe.
pub(crate) fn requests(args: &C2cArgs, machine: &Machine, seed: u64) -> Result<Vec<Request>, Failure> {
    let params = C2cParams { ops: args.op.clone(), sample: args.sample };
    let params = serde_json::to_value(params).map_err(Failure::tool)?;
    let effort = args.how.effort();
    let scope = measure::scope(&args.run.place, machine)?;
    Ok(super::request("c2c", &args.run.place, effort, &scope, seed, params))
}
