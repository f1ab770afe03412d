//! Options of `survey`: what its run ends with.

use clap::Args;
use serde_json::json;
use tiermark_model::{Machine, Request};
use tiermark_probes::soak::Level;
use tiermark_probes::{soak, survey};

use super::command::{Experiment, Params, ProbeCommand, params};
use crate::args::PlaceArgs;

/// The options.
#[derive(Debug, Args)]
struct SurveyOptions {
    /// Then soak the memory: quick (a minute), standard (an hour) or long (eight hours)
    #[arg(long, value_name = "LEVEL")]
    soak: Option<Level>,
}

impl Experiment for SurveyOptions {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        params(())
    }

    fn then(&self, request: &Request) -> Option<Request> {
        let level = self.soak?;
        let mut scope = request.scope.clone();
        scope.max_seconds = None;
        let (probe, params) = (soak::PROBE.id.to_owned(), json!({ "level": level }));
        Some(Request { probe, params, scope, ..request.clone() })
    }
}

pub(super) const ROW: ProbeCommand = ProbeCommand {
    quick: "The points of the ladder only, in at most 15 seconds",
    full: "Dense curves and more repetitions, some minutes",
    ..ProbeCommand::with::<SurveyOptions>(&survey::PROBE)
};
