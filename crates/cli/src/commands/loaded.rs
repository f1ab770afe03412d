//! `tiermark loaded`.

use tiermark_model::{Exit, Machine, Request};
use tiermark_probes::loaded::LoadedParams;

use crate::args::{LoadedArgs, Simulation, effort};
use crate::measure::{self, Export, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &LoadedArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let result = &args.run.result;
    let to_stdout = [&args.csv, &result.json, &result.jsonl].into_iter().filter(|p| p.as_deref() == Some("-")).count();
    if to_stdout > 1 {
        return Err(Failure::usage("--csv, --json and --jsonl cannot share standard output; give all but one a file"));
    }
    let requests = |machine: &Machine, seed| requests(args, machine, seed).map(measure::asked);
    let job = Job { title: "loaded", args: &args.run, simulation, requests: &requests, share_time: false };
    let export = args.csv.as_deref().map(|place| Export { place, text: &tiermark_report::mess });
    measure::run_with(&job, export.as_slice())
}

/// What it asks.
pub(crate) fn requests(args: &LoadedArgs, machine: &Machine, seed: u64) -> Result<Vec<Request>, Failure> {
    let params = LoadedParams { mixes: args.mix.clone(), target_ns: args.target_ns };
    let params = serde_json::to_value(params).map_err(Failure::tool)?;
    let effort = effort(args.quick, args.full);
    let scope = measure::scope(&args.run.place, machine)?;
    Ok(vec![super::request("loaded", &args.run.place, effort, &scope, seed, params)])
}
