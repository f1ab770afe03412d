//! `tiermark tlb`.

use clap::Args;
use tiermark_model::Machine;
use tiermark_probes::tlb::{self, TlbParams};

use super::command::{Experiment, Params, ProbeCommand, params};
use crate::args::PlaceArgs;

pub(super) const ROW: ProbeCommand = ProbeCommand { examples: EXAMPLES, ..ProbeCommand::of::<TlbArgs>(&tlb::PROBE) };

const EXAMPLES: &str = "\
Examples:
  tiermark tlb
  tiermark tlb --pages base,thp,2M,1G --full --max-mem 32G
Entries of large pages need much memory: where it ends first, they are at least (≥) those tried.";

/// Arguments of `tlb`.
#[derive(Debug, Args)]
struct TlbArgs {}

impl Experiment for TlbArgs {
    fn params(&self, place: &PlaceArgs, _machine: &Machine) -> Params {
        params(TlbParams { pages: place.compared_pages() })
    }
}
