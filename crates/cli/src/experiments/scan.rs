//! `tiermark scan`.

use clap::Args;
use tiermark_model::{Bytes, Machine};
use tiermark_probes::scan::{self, ScanParams};

use super::command::{Experiment, Params, ProbeCommand, params};
use crate::args::PlaceArgs;
use crate::parse;

pub(super) const ROW: ProbeCommand = ProbeCommand { examples: EXAMPLES, ..ProbeCommand::of::<ScanArgs>(&scan::PROBE) };

const EXAMPLES: &str = "\
Takes nine tenths of the free memory, so that most of it is seen; --max-mem takes less. As root, the report has the physical addresses.
Examples:
  tiermark scan
  tiermark scan --max-mem 16G --quick
  tiermark scan --mem-node 1 --chunk 256M";

/// Arguments of `scan`.
#[derive(Debug, Args)]
struct ScanArgs {
    /// Bytes of a region [default: 1G, or four times the caches of a cpu]
    #[arg(long, value_name = "SIZE", value_parser = parse::chunk)]
    chunk: Option<Bytes>,
}

impl Experiment for ScanArgs {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        params(ScanParams { chunk: self.chunk })
    }
}
