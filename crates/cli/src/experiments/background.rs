//! `tiermark background`.

use clap::Args;
use tiermark_model::Machine;
use tiermark_probes::background;

use super::command::{Experiment, Params, ProbeCommand, params};
use crate::args::PlaceArgs;

pub(super) const ROW: ProbeCommand = ProbeCommand::of::<BackgroundArgs>(&background::PROBE);

/// Arguments of `background`.
#[derive(Debug, Args)]
struct BackgroundArgs {}

impl Experiment for BackgroundArgs {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        params(())
    }
}
