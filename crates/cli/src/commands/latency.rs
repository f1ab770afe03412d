//! `tiermark latency`.

use tiermark_model::{Exit, Scope};
use tiermark_probes::latency::LatencyParams;

use crate::args::{LatencyArgs, Simulation, effort};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &LatencyArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let params = LatencyParams {
        sizes: args.sizes.clone(),
        layouts: args.layout.clone(),
        pages: args.pages.clone(),
        chains: args.chains.clone(),
    };
    let params = serde_json::to_value(params).map_err(Failure::tool)?;
    let effort = effort(args.quick, args.full);
    let requests =
        |scope: &Scope, seed| vec![super::request("latency", &args.run.place, effort, scope, seed, params.clone())];
    measure::run(&Job { title: "latency", args: &args.run, simulation, requests: &requests })
}
