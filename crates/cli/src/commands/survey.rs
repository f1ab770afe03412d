//! `tiermark survey`: the whole ladder.

use tiermark_model::{Exit, Machine};
use tiermark_probes::survey;

use crate::args::{Simulation, SurveyArgs};
use crate::measure::{self, Job};
use crate::output::Failure;

/// Runs the command.
pub(crate) fn run(args: &SurveyArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let requests = |machine: &Machine, seed| {
        let scope = measure::scope(&args.run.place, machine)?;
        let request = survey::request(args.effort(), scope, args.run.place.precision, seed);
        Ok(measure::asked(measure::by_page(&request, &args.run.place)))
    };
    measure::run(&Job { title: "survey", args: &args.run, simulation, requests: &requests, share_time: false })
}
