//! `tiermark bandwidth`.

use tiermark_model::{Exit, Machine, Request};
use tiermark_probes::bandwidth::BandwidthParams;

use crate::args::{BandwidthArgs, Simulation, effort};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &BandwidthArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let requests = |machine: &Machine, seed| requests(args, machine, seed).map(measure::asked);
    measure::run(&Job { title: "bandwidth", args: &args.run, simulation, requests: &requests, share_time: false })
}

/// The requests to the probe.
pub(crate) fn requests(args: &BandwidthArgs, machine: &Machine, seed: u64) -> Result<Vec<Request>, Failure> {
    let params = BandwidthParams {
        sizes: args.sizes.clone(),
        ops: args.op.iter().cloned().chain(args.mix.iter().map(ToString::to_string)).collect(),
        threads: args.threads.clone(),
        data: args.data,
    };
    let params = serde_json::to_value(params).map_err(Failure::tool)?;
    let effort = effort(args.quick, args.full);
    let scope = measure::scope(&args.run.place, machine)?;
    Ok(super::request("bandwidth", &args.run.place, effort, &scope, seed, params))
}
