//! `tiermark background`.

use tiermark_model::{Exit, Scope};

use crate::args::{ShapeArgs, Simulation};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &ShapeArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let params = serde_json::Value::Null;
    let effort = args.how.effort();
    let requests =
        |scope: &Scope, seed| vec![super::request("background", &args.run.place, effort, scope, seed, params.clone())];
    measure::run(&Job { title: "background", args: &args.run, simulation, requests: &requests })
}
