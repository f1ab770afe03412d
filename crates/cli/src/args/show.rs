//! The options of `show`.

use clap::Args;
use tiermark_report::RunView;

use super::{Format, View};

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
    /// Leave out what names the machine and its owner
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
    /// The part asked for; `None` for the report.
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
