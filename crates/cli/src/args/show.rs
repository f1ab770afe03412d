//! The options of `show` and `rerun`.

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches};
use tiermark_model::Run;
use tiermark_report::{RUN_VIEWS, RunView};

use super::common::{ControlArgs, ResultArgs};
use super::{PlaceArgs, RunArgs, View};
use crate::layouts::{Layout, layouts};

/// Arguments of `show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// `last`, the id of a saved run or its beginning, a file, or - for standard input; several runs of load are merged
    ///
    /// `last` is the newest run, also of a simulated machine, which the report then says. `tiermark list runs` prints
    /// the ids. A file whose name ends in .csv holds curves in the layout of the Mess benchmark. Runs of load on several
    /// clients that started together (load --at, --histograms) are shown as one: percentiles are those of all requests.
    #[arg(value_name = "RUN", default_value = "last")]
    pub(crate) runs: Vec<String>,
    /// Layout of the report
    #[arg(
        long, value_name = "FORMAT", default_value = "text", value_parser = layouts::<Run>(), conflicts_with = "json",
    )]
    pub(crate) format: &'static Layout<Run>,
    /// Print the document instead of the report
    #[arg(long)]
    pub(crate) json: bool,
    /// Replace host names and labels by pseudonyms, and leave out other names of machine and owner
    ///
    /// A host has the same pseudonym in all documents and calls of this user: it is made with the key in
    /// pseudonyms.key beside the saved runs. Nobody without the key can find out or test a name.
    #[arg(long)]
    pub(crate) redact: bool,
    /// Estimate again from the saved windows, with the methods of this version; -v lists the differences
    #[arg(long)]
    pub(crate) reanalyse: bool,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    #[command(flatten)]
    pub(crate) view: View,
}

pub(crate) const REPORT_EXAMPLES: &str = "\
Examples:
  tiermark report
  tiermark report last --html report.html
  tiermark report before.json after.json --html both.html
  tiermark report last --redact --html share.html
Exit codes: 0 done, 2 bad usage, 5 of more than two documents, one cannot be read.";

/// Arguments of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// `last`, the id of a saved run or its beginning, a file, or - for standard input; several stand side by side
    ///
    /// `tiermark list runs` prints the ids.
    #[arg(value_name = "RUN", default_value = "last")]
    pub(crate) runs: Vec<String>,
    /// HTML page to write: one file that needs no network; - is standard output
    #[arg(long, value_name = "FILE", default_value = "tiermark.html")]
    pub(crate) html: String,
    /// Replace host names and labels by pseudonyms, and leave out other names of machine and owner
    ///
    /// As `tiermark show --redact` does.
    #[arg(long)]
    pub(crate) redact: bool,
    #[command(flatten)]
    pub(crate) view: View,
}

/// One part of a saved run, larger than the report has it: an option for each row of [`RUN_VIEWS`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartArgs {
    /// The part asked for; `None` for the report.
    pub(crate) view: Option<&'static RunView>,
}

impl Args for PartArgs {
    fn augment_args(command: Command) -> Command {
        let arg = |view: &'static RunView| {
            Arg::new(view.name).long(view.name).help(format!("Show {}", view.about)).action(ArgAction::SetTrue)
        };
        let one = ArgGroup::new("part").args(RUN_VIEWS.iter().map(|view| view.name));
        command.args(RUN_VIEWS.iter().map(arg)).group(one.multiple(false).conflicts_with_all(["json", "format"]))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for PartArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { view: RUN_VIEWS.iter().find(|view| matches.get_flag(view.name)) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

pub(crate) const RERUN_EXAMPLES: &str = "\
Measures every request of the document again, with the same options and the same seed, on the same cpus, nodes and page sizes.
Requests that need a part which this machine lacks are refused, the others are measured (exit code 5; with --allow-partial 0).
Examples:
  tiermark rerun last
  tiermark rerun before.json --json=after.json
  tiermark rerun last --dry-run
  tiermark rerun last --seed 7";

/// Arguments of `rerun`.
#[derive(Debug, Args)]
pub(crate) struct RerunArgs {
    /// `last`, the id of a saved run or its beginning, a file, or - for standard input
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
