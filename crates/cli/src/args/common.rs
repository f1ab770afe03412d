//! Options that commands have in common: how things are shown, where and how hard to measure, where results go.

use clap::{Args, ValueEnum};
use tiermark_model::{FileMemory, IdSet, Numbering, PageKind, Run, RunLabels, labels_by_key};

use super::CountingArgs;
use crate::layouts::{Layout, layouts};
use crate::output::Failure;
use crate::parse::{self, MostMemory, NodeChoice};
use crate::start::{StartArgs, WaitArgs};

/// When colours are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The unit of bandwidth on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Units {
    /// GB/s, powers of 1000
    Si,
    /// GiB/s, powers of 1024
    Iec,
    /// GB/s, and GiB/s in brackets
    Both,
}

/// How things are shown.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "View")]
pub(crate) struct View {
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto", hide_short_help = true)]
    pub(crate) color: ColorChoice,
    /// Columns to fill, at least 40 [default: the terminal's; in a pipe COLUMNS, else 80]
    #[arg(long, value_name = "COLUMNS", value_parser = parse::within::<u16>(40..=u64::MAX), hide_short_help = true)]
    pub(crate) width: Option<u16>,
    /// Use ASCII characters only
    #[arg(long, hide_short_help = true)]
    pub(crate) ascii: bool,
    /// Unit of bandwidth on screen; documents always hold bytes per second
    #[arg(long, value_name = "UNITS", default_value = "si", hide_short_help = true)]
    pub(crate) units: Units,
    /// Show more: steps, rules, all reasons (repeatable)
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// Options of commands that only show.
#[derive(Debug, Clone, Args)]
pub(crate) struct ViewArgs {
    #[command(flatten)]
    pub(crate) view: View,
}

/// Options of every command that measures.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) result: ResultArgs,
    #[command(flatten)]
    pub(crate) view: View,
}

impl RunArgs {
    /// The first option that prints something else than a report on standard output.
    pub(crate) fn printed(&self) -> Option<&'static str> {
        let result = &self.result;
        let to_stdout = |place: &Option<String>| place.as_deref() == Some("-");
        let options = [
            ("dry-run", self.place.control.dry_run),
            ("json", result.document() == Some("-")),
            ("jsonl", to_stdout(&result.jsonl)),
            ("html", to_stdout(&result.html)),
            ("format", !result.format.is_text()),
        ];
        options.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }
}

/// Where and how hard to measure.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Measuring")]
pub(crate) struct PlaceArgs {
    /// Cpus to use: 0-3,8, node:1, socket:0, !2 [default: all]
    ///
    /// Also core:5, llc:2 (those that share a last-level cache) and all; !2 leaves cpu 2 out. Default: all that this
    /// process may use.
    #[arg(long, value_name = "SELECTOR", value_parser = parse::cpus)]
    pub(crate) cpus: Option<String>,
    /// Count the numbers in --cpus as hwloc's logical indexes
    ///
    /// Logical indexes count from 0, core after core, the hardware threads of a core one after the other. Results
    /// always have the numbers of the operating system.
    #[arg(long, requires = "cpus", hide_short_help = true)]
    pub(crate) logical: bool,
    /// Only cpus of these NUMA nodes, as in 0-1,3
    #[arg(long, value_name = "NODES", value_parser = parse::nodes)]
    pub(crate) cpu_node: Option<IdSet>,
    /// NUMA node of the memory: its number, far, or each
    ///
    /// far is the node with memory that is farthest from the cpus. each measures every pair: the cpus of each node with
    /// the memory of each node. `matrix` takes several nodes, as in 0,2. Default: the node that is nearest to each
    /// thread.
    #[arg(long, value_name = "NODE", value_parser = parse::mem_node)]
    pub(crate) mem_node: Option<NodeChoice>,
    /// Page sizes: base, thp, 2M, 1G; one or several
    ///
    /// Several are compared: everything is measured once with each. Default: thp where the system has it; `tlb` and
    /// `granularity` use all available sizes.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::page)]
    pub(crate) pages: Vec<PageKind>,
    /// Memory of a file: file:PATH to read only, dir:DIRECTORY for a new one
    ///
    /// file:PATH maps a file that exists, or a DAX device; its contents stay as they are, so that only operations that
    /// read can have it. dir:DIRECTORY makes a new file without a name, of which nothing is left. With tmpfs, hugetlbfs
    /// and persistent memory the file's pages are memory of that kind.
    #[arg(
        long, value_name = "SOURCE", conflicts_with = "mem_node", value_parser = parse::memory, hide_short_help = true,
    )]
    pub(crate) memory: Option<FileMemory>,
    /// Map the memory of --memory to read only once it is filled
    #[arg(long, requires = "memory", hide_short_help = true)]
    pub(crate) read_only: bool,
    /// Most memory to use [default: half of the free; scan, soak: nine tenths]
    ///
    /// A size, or a share of the free memory, as in 25%. At most nine tenths of the free memory, on each node and in
    /// the control group.
    #[arg(long, value_name = "SIZE", value_parser = parse::most_memory, hide_short_help = true)]
    pub(crate) max_mem: Option<MostMemory>,
    /// Longest time of the run: seconds, or 2m
    ///
    /// Headline figures are measured first; the report lists the steps that were skipped.
    #[arg(long, value_name = "SECONDS", value_parser = parse::seconds)]
    pub(crate) max_time: Option<f64>,
    /// Time to measure each point, instead of until it is precise
    ///
    /// The sum of its visits, which are spread over the run; making its memory takes longer than that. Points that only
    /// draw a curve get as much.
    #[arg(long, value_name = "SECONDS", value_parser = parse::seconds, hide_short_help = true)]
    pub(crate) seconds: Option<f64>,
    /// Wanted half-width of the 95 % interval, in percent of the value
    #[arg(long, value_name = "PERCENT", value_parser = parse::percent, hide_short_help = true)]
    pub(crate) precision: Option<f64>,
    #[command(flatten)]
    pub(crate) control: ControlArgs,
}

/// How a run is carried out and judged, whatever it measures.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Measuring")]
pub(crate) struct ControlArgs {
    /// Seed of every random choice [default: from the clock; the document records it]
    #[arg(long, value_name = "NUMBER", value_parser = parse::whole::<u64>, hide_short_help = true)]
    pub(crate) seed: Option<u64>,
    /// Lower the priority by this much (0 to 19)
    #[arg(long, value_name = "N", value_parser = parse::within::<i32>(0..=19), hide_short_help = true)]
    pub(crate) nice: Option<i32>,
    /// Exit with 6 when a number is neither trusted nor shared, or a capability less precise than wanted
    #[arg(long, hide_short_help = true)]
    pub(crate) strict: bool,
    /// Exit with 0 instead of 5 when numbers are missing or withheld
    #[arg(long, hide_short_help = true)]
    pub(crate) allow_partial: bool,
    /// Measure although other work keeps more than half of the cpus busy
    #[arg(long, hide_short_help = true)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) waiting: WaitArgs,
    #[command(flatten)]
    pub(crate) counting: CountingArgs,
    #[command(flatten)]
    pub(crate) start: StartArgs,
    /// Print the plan and measure nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl PlaceArgs {
    /// How the numbers in the selector of cpus count.
    pub(crate) fn numbering(&self) -> Numbering {
        if self.logical { Numbering::Logical } else { Numbering::Os }
    }

    /// The page sizes, where there are several to compare.
    pub(crate) fn compared_pages(&self) -> Vec<PageKind> {
        if self.pages.len() > 1 { self.pages.clone() } else { Vec::new() }
    }
}

/// Where results go.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Results")]
pub(crate) struct ResultArgs {
    /// Write the document as JSON [default: to standard output]
    ///
    /// --json=full adds the time of each block (up to 3 MB a step) and writes to standard output; the saved run has
    /// the times too. For a file of that name: --json=./full.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    json: Option<String>,
    #[command(flatten)]
    pub(crate) labels: LabelArgs,
    /// Write the report as an HTML page: one file that needs no network
    ///
    /// `tiermark report` writes one from saved runs.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) html: Option<String>,
    /// Write events as they happen, one JSON object a line, to standard output (-) or a file
    #[arg(
        long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-",
        hide_short_help = true,
    )]
    pub(crate) jsonl: Option<String>,
    /// Layout of the report on standard output
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = layouts::<Run>(), hide_short_help = true)]
    pub(crate) format: &'static Layout<Run>,
    /// Do not save the run, nor its best figures in the machine's record
    #[arg(long, hide_short_help = true)]
    pub(crate) no_save: bool,
    /// Neither compare results with the machine's record nor update it
    ///
    /// The record holds the best figures of all runs of this machine.
    #[arg(long, hide_short_help = true)]
    pub(crate) no_record: bool,
    /// Show only results and errors, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Show no progress
    #[arg(long, hide_short_help = true)]
    pub(crate) no_progress: bool,
}

/// The value of `--json` that is no file: all that there is, on standard output.
const FULL: &str = "full";

impl ResultArgs {
    /// Where the document goes: a file, or `-` for standard output.
    pub(crate) fn document(&self) -> Option<&str> {
        self.json.as_deref().map(|place| if place == FULL { "-" } else { place })
    }

    /// Whether the document has the time of each block.
    pub(crate) fn keeps_blocks(&self) -> bool {
        self.json.as_deref() == Some(FULL)
    }
}

/// The option of every command that measures which says whose the document is.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Results")]
pub(crate) struct LabelArgs {
    /// Labels of the document: host=node07,rack=3 (repeatable)
    ///
    /// The document keeps them. The label host names the host wherever its name is shown; without it, that is the
    /// system's host name. A key has letters, digits, '_', '-' and '.'; a value has no comma.
    #[arg(
        long = "label", value_name = "KEY=VALUE", value_delimiter = ',', value_parser = parse::label,
        hide_short_help = true,
    )]
    labels: Vec<(String, String)>,
}

impl LabelArgs {
    /// The labels by key.
    ///
    /// # Errors
    /// A [`Failure`] of usage for a key that is given twice.
    pub(crate) fn by_key(&self) -> Result<RunLabels, Failure> {
        labels_by_key(self.labels.iter().cloned()).map_err(Failure::usage)
    }
}
