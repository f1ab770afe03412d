//! `tiermark bandwidth`.

use tiermark_model::{Exit, Scope};
use tiermark_probes::bandwidth::BandwidthParams;

use crate::args::{BandwidthArgs, Simulation, effort};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &BandwidthArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let params = BandwidthParams {
        sizes: args.sizes.clone(),
        ops: args.op.clone(),
        threads: args.threads.clone(),
        data: args.data,
    };
    let params = serde_json::to_value(params).map_err(Failure::tool)?;
    let effort = effort(args.quick, args.full);
    let requests =
        |scope: &Scope, seed| vec![super::request("bandwidth", &args.run.place, effort, scope, seed, params.clone())];
    measure::run(&Job { title: "bandwidth", args: &args.run, simulation, requests: &requests })
}
