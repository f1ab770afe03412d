//! The options of `history`.

use clap::Args;

use super::View;
use crate::parse;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tiermark history
  tiermark history --since 30d
  tiermark history latency DRAM
  tiermark history read L3 one --json
Exit codes: 0 shown, 2 bad usage.";

/// Runs that are listed without `--limit`.
const LISTED: usize = 20;

/// Arguments of `history`.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Show one figure run by run: words of its name, as in latency DRAM
    #[arg(value_name = "FIGURE")]
    pub(crate) figure: Vec<String>,
    /// Only runs since then: 7d (also h, w), a day (2026-11-01), or a run
    #[arg(long, value_name = "WHEN", value_parser = parse::since)]
    pub(crate) since: Option<parse::Since>,
    /// List so many runs, or all
    #[arg(long, value_name = "RUNS", default_value_t = Limit(Some(LISTED)), value_parser = limit)]
    pub(crate) limit: Limit,
    /// List the runs of all machines, without figures
    #[arg(long, conflicts_with = "figure")]
    pub(crate) all: bool,
    /// Make the index of the saved runs again from their documents
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Print the history as JSON, with its schema
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: View,
}

/// How many runs are listed; `None` for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) Option<usize>);

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(runs) => write!(f, "{runs}"),
            None => f.write_str("all"),
        }
    }
}

fn limit(text: &str) -> Result<Limit, String> {
    if text == "all" {
        return Ok(Limit(None));
    }
    parse::within(1..=u64::MAX)(text).map(|runs| Limit(Some(runs))).map_err(|why| format!("{why}, or `all`"))
}
