//! `tiermark granularity`.

use clap::Args;
use tiermark_model::Machine;
use tiermark_probes::granularity::{self, GranularityParams};

use super::command::{Experiment, Params, ProbeCommand, params};
use crate::args::PlaceArgs;

pub(super) const ROW: ProbeCommand = ProbeCommand::of::<GranularityArgs>(&granularity::PROBE);

/// Arguments of `granularity`.
#[derive(Debug, Args)]
struct GranularityArgs {}

impl Experiment for GranularityArgs {
    fn params(&self, place: &PlaceArgs, _machine: &Machine) -> Params {
        params(GranularityParams { pages: place.compared_pages() })
    }
}
