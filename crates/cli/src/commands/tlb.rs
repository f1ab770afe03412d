//! `tiermark tlb`.

use tiermark_model::{Exit, Scope};
use tiermark_probes::tlb::TlbParams;

use crate::args::{PagesArgs, Simulation};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &PagesArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let params = serde_json::to_value(TlbParams { pages: args.pages.clone() }).map_err(Failure::tool)?;
    let effort = args.how.effort();
    let requests =
        |scope: &Scope, seed| vec![super::request("tlb", &args.run.place, effort, scope, seed, params.clone())];
    measure::run(&Job { title: "tlb", args: &args.run, simulation, requests: &requests })
}
