//! `tiermark mlp`.

use clap::Args;
use tiermark_model::Machine;
use tiermark_probes::mlp::{self, MlpParams};

use super::command::{Experiment, Params, ProbeCommand, params};
use crate::args::PlaceArgs;

pub(super) const ROW: ProbeCommand = ProbeCommand { ..ProbeCommand::of::<MlpArgs>(&mlp::PROBE) };

/// Arguments of `mlp`.
#[derive(Debug, Args)]
struct MlpArgs {
    /// Independent chains followed at once, 1 to 32 [default: 1 to 32 in 14 steps]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = crate::parse::within::<u8>(1..=32))]
    chains: Vec<u8>,
}

impl Experiment for MlpArgs {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        params(MlpParams { chains: self.chains.clone() })
    }
}
