//! The options of `show` and `rerun`.

use clap::Args;
use tiermark_report::RunView;

use super::common::{ControlArgs, ResultArgs};
use super::{Format, PlaceArgs, RunArgs, View};

/// Arguments of `show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A file, the id of a saved run (in $TIERMARK_HOME/runs, where set; of tenants in $TIERMARK_HOME/capacity) or its beginning, `last`,
    /// or - for standard input; a file whose name ends in .csv holds curves in the layout of the Mess benchmark
    #[arg(value_name = "RUN", default_value = "last")]
    pub(crate) run: String,
    /// Layout of the report
    #[arg(long, value_name = "FORMAT", default_value = "text", conflicts_with = "json")]
    pub(crate) format: Format,
    /// Print the document instead of the report
    #[arg(long)]
    pub(crate) json: bool,
    /// Leave out names that identify the machine and its owner
    #[arg(long)]
    pub(crate) redact: bool,
    /// Make every estimate again from the saved windows, with the methods of this version; -v names what differs
    #[arg(long)]
    pub(crate) reanalyse: bool,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    #[command(flatten)]
    pub(crate) view: View,
}

/// One part of a saved run, larger than the report has it.
#[derive(Debug, Clone, Copy, Args)]
#[group(multiple = false, conflicts_with_all = ["json", "format"])]
pub(crate) struct PartArgs {
    /// Show why figures are not trusted and what would help, and the states of the machine
    #[arg(long)]
    pub(crate) why: bool,
    /// Show the curves by size, large, with their points
    #[arg(long)]
    pub(crate) curves: bool,
    /// Show the tails of latency
    #[arg(long)]
    pub(crate) tails: bool,
    /// Show which kernels the figures are of, and how they compare with the default ones
    #[arg(long)]
    pub(crate) kernels: bool,
}

impl PartArgs {
    /// The chosen part; `None` for the report.
    pub(crate) fn view(self) -> Option<RunView> {
        let parts = [
            (self.why, RunView::Why),
            (self.curves, RunView::Curves),
            (self.tails, RunView::Tails),
            (self.kernels, RunView::Kernels),
        ];
        parts.into_iter().find_map(|(asked, view)| asked.then_some(view))
    }
}

pub(crate) const RERUN_EXAMPLES: &str = "\
Every request of the document is made again, with its options and its seed. Cpus, nodes and page sizes are those of the document:
parts that this machine does not have are refused, the rest is measured (exit code 5; with --allow-partial 0).
Examples:
  tiermark rerun last
  tiermark rerun before.json --json=after.json
  tiermark rerun last --dry-run
  tiermark rerun last --seed 7";

/// Arguments of `rerun`.
#[derive(Debug, Args)]
pub(crate) struct RerunArgs {
    /// A file, the id of a saved run or its beginning, `last`, or - for standard input
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) control: ControlArgs,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    #[command(flatten)]
    pub(crate) view: View,
}

impl RerunArgs {
    /// The arguments of a run that says of no place: those are in its requests.
    pub(crate) fn run_args(&self) -> RunArgs {
        let place = PlaceArgs { control: self.control.clone(), ..PlaceArgs::default() };
        RunArgs { place, result: self.result.clone(), view: self.view.clone() }
    }
}
