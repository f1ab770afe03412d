//! `tiermark survey`: the whole ladder.

use tiermark_model::{Exit, Machine, Request};
use tiermark_probes::survey;

use crate::args::{Simulation, SurveyArgs};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Share of the time allowed that latency gets; bandwidth has more steps. As in the efforts' own limits.
const LATENCY_SHARE: f64 = 0.4;

/// Runs the command.
pub(crate) fn run(args: &SurveyArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let requests = |machine: &Machine, seed| {
        let scope = measure::scope(&args.run.place, machine)?;
        let mut requests = survey::requests(args.effort(), &scope, args.run.place.precision, seed);
        requests.iter_mut().for_each(share_time);
        Ok(measure::asked(requests))
    };
    measure::run(&Job { title: "survey", args: &args.run, simulation, requests: &requests, share_time: false })
}

/// `--max-time` is for the whole survey.
fn share_time(request: &mut Request) {
    let share = if request.probe == "latency" { LATENCY_SHARE } else { 1.0 - LATENCY_SHARE };
    request.scope.max_seconds = request.scope.max_seconds.map(|seconds| seconds * share);
}
