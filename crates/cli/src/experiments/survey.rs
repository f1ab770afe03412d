//! `tiermark survey`.

use clap::Args;
use tiermark_model::Machine;
use tiermark_probes::survey;

use super::command::{Experiment, Params, ProbeCommand, params};
use crate::args::PlaceArgs;

pub(super) const ROW: ProbeCommand = ProbeCommand {
    quick: "The points of the ladder only, in at most 15 seconds",
    full: "Dense curves and more repetitions, some minutes",
    ..ProbeCommand::of::<SurveyArgs>(&survey::PROBE)
};

/// Arguments of `survey`.
#[derive(Debug, Args)]
struct SurveyArgs {}

impl Experiment for SurveyArgs {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        params(())
    }
}
