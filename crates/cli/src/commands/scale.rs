//! `tiermark scale`.

use tiermark_model::{Exit, Scope};
use tiermark_probes::scale::ScaleParams;

use crate::args::{ScaleArgs, Simulation, effort};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &ScaleArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let params = ScaleParams { ops: args.op.clone() };
    let params = serde_json::to_value(params).map_err(Failure::tool)?;
    let effort = effort(args.quick, args.full);
    let requests =
        |scope: &Scope, seed| vec![super::request("scale", &args.run.place, effort, scope, seed, params.clone())];
    measure::run(&Job { title: "scale", args: &args.run, simulation, requests: &requests })
}
