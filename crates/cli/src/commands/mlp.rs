//! `tiermark mlp`.

use tiermark_model::{Exit, Scope};
use tiermark_probes::mlp::MlpParams;

use crate::args::{MlpArgs, Simulation};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &MlpArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let params = serde_json::to_value(MlpParams { chains: args.chains.clone() }).map_err(Failure::tool)?;
    let effort = args.how.effort();
    let requests =
        |scope: &Scope, seed| vec![super::request("mlp", &args.run.place, effort, scope, seed, params.clone())];
    measure::run(&Job { title: "mlp", args: &args.run, simulation, requests: &requests })
}
