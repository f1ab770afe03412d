//! The options of `fleet`.

use std::path::PathBuf;

use clap::Args;
use tiermark_model::Fleet;

use super::View;
use crate::layouts::{Layout, layouts};
use crate::parse;

pub(crate) const EXAMPLES: &str = "\
Examples:
  for h in $(cat hosts); do
    ssh -n $h tiermark survey --quick --wait=10m --json -q \\
      >rack7/$h.json 2>rack7/$h.err &
  done; wait
  tiermark fleet rack7/ --hosts hosts
  tiermark fleet rack7/ --html rack7.html
  tiermark fleet rack7/ --limits > rack7.toml   # for `check --expect`
  tiermark fleet new/ --before old/
  tiermark fleet rack7/ --format hosts --most 5%          # to look at, or to drain
  tiermark fleet rack7/ --format hosts --sure --most 5%   # to drain without a look
`tiermark help fleet` explains how hosts are judged.
Exit codes: 0 all alike, 2 bad usage, 3 a host is odd or (--before) the median
host is worse, 7 a host failed, 5 a host is missing or not judged, two
machines have one name, or a file was not read, 4 no file could be read.";

/// Arguments of `fleet`.
#[derive(Debug, Args)]
pub(crate) struct FleetArgs {
    /// Folders of documents (`*.json`), or documents; of several of a host the newest counts
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// File with the names of all hosts, one a line, with or without domain: those without a document are missing
    #[arg(long, value_name = "FILE")]
    pub(crate) hosts: Option<PathBuf>,
    /// Compare each host with its document in here, then the hosts by their changes
    #[arg(long, value_name = "PATH")]
    pub(crate) before: Vec<PathBuf>,
    /// With --before: exit with code 3 if the median host is worse by more than this [default: 5%]
    #[arg(long, value_name = "PERCENT", requires = "before", value_parser = parse::percent)]
    pub(crate) fail_over: Option<f64>,
    /// Layout of the result
    #[arg(
        long, value_name = "FORMAT", default_value = "text", value_parser = layouts::<Fleet>(), conflicts_with = "json",
    )]
    pub(crate) format: &'static Layout<Fleet>,
    /// With --format hosts: only hosts with a sure cause: reported by the system, or confirmed by statistics
    #[arg(long, requires = "format")]
    pub(crate) sure: bool,
    /// With --format hosts: at most this share of the measured hosts, the worst first, and at least one
    #[arg(long, value_name = "PERCENT", requires = "format", value_parser = parse::percent)]
    pub(crate) most: Option<f64>,
    /// A host is odd above this number of corrected memory errors a day [default: 10]
    #[arg(long, value_name = "N")]
    pub(crate) errors_a_day: Option<u32>,
    /// A host is odd if its cores are throttled for heat more often than this a day, on average [default: 24]
    #[arg(long, value_name = "N")]
    pub(crate) throttles_a_day: Option<u32>,
    /// Print the result as JSON, with its schema
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the result as a page for a browser
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<String>,
    /// Print what the hosts of the largest kind have in common as expectations for `check --expect`
    #[arg(long, conflicts_with_all = ["json", "format", "before"])]
    pub(crate) limits: bool,
    /// Replace host names by pseudonyms, and leave out what failed hosts said
    #[arg(long)]
    pub(crate) redact: bool,
    #[command(flatten)]
    pub(crate) view: View,
}
