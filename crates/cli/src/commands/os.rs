//! `tiermark os`.

use tiermark_model::{Exit, Machine, PrimitiveInfo, Request, Sweep};
use tiermark_probes::os::OsParams;

use crate::args::{Format, OsArgs, Simulation};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command. What would be taken without effect is a mistake here; in a plan, whose options are for all its experiments, it is none.
pub(crate) fn run(args: &OsArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    if args.run.result.format == Format::Mlc {
        return Err(Failure::usage(
            "--format mlc has no block for what the operating system takes; leave it out, or take the document with --json",
        ));
    }
    let requests = |machine: &Machine, seed| {
        takes_page(args, machine)?;
        requests(args, machine, seed).map(measure::asked)
    };
    measure::run(&Job { title: "os", args: &args.run, simulation, requests: &requests, share_time: false })
}

/// What it asks.
pub(crate) fn requests(args: &OsArgs, machine: &Machine, seed: u64) -> Result<Vec<Request>, Failure> {
    let params = serde_json::to_value(OsParams { only: args.only.clone() }).map_err(Failure::tool)?;
    let scope = measure::scope(&args.run.place, machine)?;
    Ok(vec![super::request("os", &args.run.place, args.how.effort(), &scope, seed, params)])
}

/// That a page size asked for is one of something.
fn takes_page(args: &OsArgs, machine: &Machine) -> Result<(), Failure> {
    let Some(page) = args.run.place.page else { return Ok(()) };
    let all = tiermark_host::primitives(machine);
    let by_page = |info: &&PrimitiveInfo| info.sweeps.iter().any(|sweep| matches!(sweep, Sweep::Pages(_)));
    let asked = |info: &&PrimitiveInfo| {
        args.only.is_empty() || args.only.iter().any(|name| *name == info.id.0 || *name == info.group.name())
    };
    if all.iter().filter(asked).any(|info| by_page(&info)) {
        return Ok(());
    }
    let names: Vec<&str> = all.iter().filter(by_page).map(|info| info.id.0.as_str()).collect();
    Err(Failure::usage(format!(
        "--page {page}: nothing of {} is measured by page size; leave it out, or ask for some that are: {}",
        args.only.join(", "),
        names.join(", ")
    )))
}
