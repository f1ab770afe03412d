//! `tiermark residency`.

use tiermark_model::{Exit, Machine, Request};
use tiermark_probes::residency::ResidencyParams;

use crate::args::{ResidencyArgs, Simulation};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &ResidencyArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let requests = |machine: &Machine, seed| requests(args, machine, seed).map(measure::asked);
    measure::run(&Job { title: "residency", args: &args.run, simulation, requests: &requests, share_time: false })
}

/// The requests to the probe.
pub(crate) fn requests(args: &ResidencyArgs, machine: &Machine, seed: u64) -> Result<Vec<Request>, Failure> {
    let params =
        serde_json::to_value(ResidencyParams { sizes: args.sizes.clone(), brief: false }).map_err(Failure::tool)?;
    let scope = measure::scope(&args.run.place, machine)?;
    Ok(super::request("residency", &args.run.place, args.how.effort(), &scope, seed, params))
}
