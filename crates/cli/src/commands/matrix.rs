//! `tiermark matrix`.

use tiermark_model::{Exit, Machine, Request};
use tiermark_probes::matrix::Origin;

use crate::args::{MatrixArgs, Simulation};
use crate::measure::{self, Export, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &MatrixArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    if args.hmat.is_some() && args.from != Origin::Node {
        return Err(Failure::usage("--hmat lists pairs of nodes; leave out --from, or --hmat"));
    }
    let requests = |machine: &Machine, seed| requests(args, machine, seed).map(measure::asked);
    let job = Job { title: "matrix", args: &args.run, simulation, requests: &requests, share_time: false };
    let export = args.hmat.as_deref().map(|place| Export {
        option: "hmat",
        place,
        text: &tiermark_report::hmat,
        doubts: |_| None,
    });
    measure::run_with(&job, export.as_slice())
}

/// The requests to the probe.
pub(crate) fn requests(args: &MatrixArgs, machine: &Machine, seed: u64) -> Result<Vec<Request>, Failure> {
    let place = args.around();
    let scope = measure::scope(&place, machine)?;
    let mut requests = Vec::new();
    for params in args.params() {
        let params = serde_json::to_value(params).map_err(Failure::tool)?;
        requests.extend(super::request("matrix", &place, args.effort(), &scope, seed, params));
    }
    Ok(requests)
}
