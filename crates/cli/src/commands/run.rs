//! `tiermark run`: a plan, from its first experiment to its last.

use tiermark_model::{Exit, Machine, Request};

use crate::args::{PlaceArgs, PlanRunArgs, Simulation};
use crate::measure::{self, Job};
use crate::output::Failure;
use crate::plans;

/// Runs the command.
pub(crate) fn run(args: &PlanRunArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let mut plan = plans::load(&args.plan)?;
    for experiment in &mut plan.experiments {
        if let Some(place) = experiment.command.place_mut() {
            inherit(place, &args.run.place);
        }
    }
    let requests = |machine: &Machine, seed: u64| -> Result<Vec<Request>, Failure> {
        let each = plan.experiments.iter().map(|e| super::requests(&e.command, machine, seed));
        Ok(each.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    };
    measure::run(&Job { title: &plan.name, args: &args.run, simulation, requests: &requests, share_time: true })
}

/// What an experiment does not say is as the whole run was told.
fn inherit(own: &mut PlaceArgs, run: &PlaceArgs) {
    own.cpus = own.cpus.take().or_else(|| run.cpus.clone());
    own.mem_node = own.mem_node.or(run.mem_node);
    own.page = own.page.or(run.page);
    own.max_mem = own.max_mem.or(run.max_mem);
    own.precision = own.precision.or(run.precision);
}
