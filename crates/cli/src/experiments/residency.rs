//! `tiermark residency`.

use clap::Args;
use tiermark_model::{Bytes, Machine};
use tiermark_probes::residency::{self, ResidencyParams};

use super::command::{Experiment, Params, ProbeCommand, params};
use crate::args::PlaceArgs;
use crate::parse;

pub(super) const ROW: ProbeCommand =
    ProbeCommand { examples: EXAMPLES, ..ProbeCommand::of::<ResidencyArgs>(&residency::PROBE) };

const EXAMPLES: &str = "\
Examples:
  tiermark residency
  tiermark residency --sizes 3M,7M,15M --full
  tiermark residency --cpus 8             (the cache of another group of cores)
Without --sizes, the ranges are 1/8, 1/4 and 1/2 of the last-level cache. Each range must be larger than twice the private caches of
the core.";

/// Arguments of `residency`.
#[derive(Debug, Args)]
struct ResidencyArgs {
    /// Ranges to touch, as in 4M,16M [default: parts of the last-level cache]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::size)]
    sizes: Vec<Bytes>,
}

impl Experiment for ResidencyArgs {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        params(ResidencyParams { sizes: self.sizes.clone(), brief: false })
    }
}
