//! `tiermark matrix`.

use tiermark_model::{Exit, Scope};

use crate::args::{MatrixArgs, Simulation};
use crate::measure::{self, Export, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &MatrixArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let params = serde_json::to_value(args.params()).map_err(Failure::tool)?;
    let effort = args.effort();
    let requests =
        |scope: &Scope, seed| vec![super::request("matrix", &args.run.place, effort, scope, seed, params.clone())];
    let job = Job { title: "matrix", args: &args.run, simulation, requests: &requests };
    let export = args.hmat.as_deref().map(|place| Export { place, text: &tiermark_report::hmat });
    measure::run_with(&job, export.as_slice())
}
