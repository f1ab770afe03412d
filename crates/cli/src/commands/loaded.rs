//! `tiermark loaded-latency`.

use tiermark_model::{Exit, Machine, Request};
use tiermark_probes::loaded::LoadedParams;

use crate::args::{LoadedArgs, Simulation, effort};
use crate::measure::{self, Export, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &LoadedArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let requests = |machine: &Machine, seed| requests(args, machine, seed).map(measure::asked);
    let job = Job { title: "loaded-latency", args: &args.run, simulation, requests: &requests, share_time: false };
    let export = args.csv.as_deref().map(|place| Export {
        option: "csv",
        place,
        text: &tiermark_report::mess,
        doubts: tiermark_report::mess_doubts,
    });
    measure::run_with(&job, export.as_slice())
}

/// The requests to the probe.
pub(crate) fn requests(args: &LoadedArgs, machine: &Machine, seed: u64) -> Result<Vec<Request>, Failure> {
    let params = LoadedParams { mixes: args.mix.clone(), target_ns: args.target_ns };
    let params = serde_json::to_value(params).map_err(Failure::tool)?;
    let effort = effort(args.quick, args.full);
    let scope = measure::scope(&args.run.place, machine)?;
    Ok(super::request("loaded-latency", &args.run.place, effort, &scope, seed, params))
}
