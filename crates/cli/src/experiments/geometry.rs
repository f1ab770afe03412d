//! `tiermark geometry`.

use clap::Args;
use tiermark_model::Machine;
use tiermark_probes::geometry;

use super::command::{Experiment, Params, ProbeCommand, params};
use crate::args::PlaceArgs;

pub(super) const ROW: ProbeCommand =
    ProbeCommand { examples: EXAMPLES, ..ProbeCommand::of::<GeometryArgs>(&geometry::PROBE) };

const EXAMPLES: &str = "\
Examples:
  tiermark geometry
  tiermark geometry --pages 2M       (reserved huge pages: ways of L2 too)
  tiermark geometry --cpus 0,1,64    (who of these shares what with the chaser)
A tilde stands before sizes that are bounded, not exact; --verbose shows the bounds and every step.";

/// Arguments of `geometry`.
#[derive(Debug, Args)]
struct GeometryArgs {}

impl Experiment for GeometryArgs {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        params(())
    }
}
