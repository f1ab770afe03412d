//! `tiermark latency`.

use tiermark_model::{Exit, Machine, Request};
use tiermark_probes::latency::LatencyParams;

use crate::args::{LatencyArgs, Simulation, effort};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &LatencyArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let requests = |machine: &Machine, seed| requests(args, machine, seed).map(measure::asked);
    measure::run(&Job { title: "latency", args: &args.run, simulation, requests: &requests, share_time: false })
}

/// The requests to the probe.
pub(crate) fn requests(args: &LatencyArgs, machine: &Machine, seed: u64) -> Result<Vec<Request>, Failure> {
    let params = LatencyParams {
        sizes: args.sizes.clone(),
        layouts: args.layout.clone(),
        pages: args.run.place.compared_pages(),
        chains: args.chains.clone(),
    };
    let params = serde_json::to_value(params).map_err(Failure::tool)?;
    let effort = effort(args.quick, args.full);
    let scope = measure::scope(&args.run.place, machine)?;
    Ok(super::request("latency", &args.run.place, effort, &scope, seed, params))
}
