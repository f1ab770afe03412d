//! `tiermark c2c`.

use tiermark_model::{Exit, Scope};
use tiermark_probes::c2c::C2cParams;

use crate::args::{C2cArgs, Simulation, effort};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &C2cArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let params = C2cParams { ops: args.op.clone(), sample: args.sample };
    let params = serde_json::to_value(params).map_err(Failure::tool)?;
    let effort = effort(args.quick, args.full);
    let requests =
        |scope: &Scope, seed| vec![super::request("c2c", &args.run.place, effort, scope, seed, params.clone())];
    measure::run(&Job { title: "c2c", args: &args.run, simulation, requests: &requests })
}
