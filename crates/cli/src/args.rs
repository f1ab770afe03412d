//! The command line as data. Help, man pages and completions are made from these definitions.

mod capacity;
mod common;
mod groups;
mod load;
mod show;
mod system;

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Effects, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use tiermark_model::Bytes;

use crate::experiments::Measure;
use crate::parse;
pub(crate) use capacity::CapacityArgs;
pub(crate) use common::{ColorChoice, Format, NodeChoice, PlaceArgs, RunArgs, Units, View, ViewArgs};
pub(crate) use groups::{command, overview};
pub(crate) use load::LoadArgs;
pub(crate) use show::{RerunArgs, ShowArgs};
pub(crate) use system::{DoctorArgs, TuneArgs};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .usage(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

const AFTER: &str = "\
Sizes: 64, 32K, 2M, 1G (K is 1024, kB is 1000). Cpus: 0-3,8, node:1, socket:0,
core:5, llc:2, all, !2.
Exit codes: 0 done, 1 failure, 2 bad usage, 3 problem found (doctor), 4 nothing
asked for can be measured here, 5 partial, 6 not trusted (--strict), 129, 130,
143 stopped by a signal.
Reports are for people and may change; programs read --json.";

/// Measures every tier of a Linux server's memory, with a verdict on every number.
#[derive(Debug, Parser)]
#[command(name = "tiermark", disable_version_flag = true, disable_help_subcommand = true, styles = STYLES)]
#[command(subcommand_negates_reqs = true, after_long_help = AFTER, max_term_width = 100)]
pub(crate) struct Cli {
    /// Print the version, git revision, target, compiler and C library
    #[arg(short = 'V', long)]
    pub(crate) version: bool,
    /// With --version: as JSON
    #[arg(hide_short_help = true, long, requires = "version")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) simulation: Simulation,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// An experiment: it asks one probe
    #[command(flatten)]
    Measure(Box<Measure>),
    /// Send requests to Redis servers and measure their latency
    #[command(after_long_help = load::EXAMPLES)]
    Load(Box<LoadArgs>),
    /// How many Redis tenants fit before their latency target breaks
    #[command(after_long_help = capacity::EXAMPLES)]
    Capacity(Box<CapacityArgs>),
    /// Run a plan: several experiments in a file
    #[command(after_long_help = RUN_EXAMPLES)]
    Run(Box<PlanRunArgs>),
    /// List, show or check plans
    Plan(PlanArgs),
    /// Cpus, caches, nodes, DIMMs and settings that matter
    Machine(MachineArgs),
    /// Compare settings with a profile, change and restore them
    #[command(after_long_help = system::TUNE_EXAMPLES)]
    Tune(TuneArgs),
    /// What disturbs measurements on this machine, with cures
    #[command(after_long_help = system::DOCTOR_EXITS)]
    Doctor(DoctorArgs),
    /// Show a saved run or a document again
    Show(ShowArgs),
    /// Measure again what a saved run measured
    #[command(after_long_help = show::RERUN_EXAMPLES)]
    Rerun(RerunArgs),
    /// List runs, probes, kernels, primitives or commands
    List(ListArgs),
    /// Print the JSON Schema of the documents
    Schema(SchemaArgs),
    /// Check kernels, the clock and the tool's own cost here
    Selftest(ViewArgs),
    /// Explain a command, a word, or a command of another tool
    Help(HelpArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Write man pages of all commands into a directory
    Man(ManArgs),
}

const RUN_EXAMPLES: &str = "\
Examples:
  tiermark plan list
  tiermark plan show numa-latency
  tiermark run numa-latency --dry-run
  tiermark plan show hierarchy --toml > mine.toml; tiermark plan check mine.toml; tiermark run mine.toml
Options given here hold for every experiment that does not set its own; --max-time is for all of them together, shared out as
they are expected to take. A part that the machine lacks (another node, say) is refused and the rest runs: exit code 5, with
--allow-partial 0.";

/// A machine that is not there: for tests and demonstrations.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Simulation {
    /// Run on a simulated machine: a captured tree, or synth:sockets=2,cores=16,smt=2
    #[arg(long, value_name = "TREE", global = true, hide = true)]
    pub(crate) simulate: Option<String>,
    /// Relative scatter of the simulated machine's memory
    #[arg(long, value_name = "RATIO", global = true, hide = true)]
    pub(crate) sim_noise: Option<f64>,
    /// Time slices that other work takes from each simulated thread, per second
    #[arg(long, value_name = "RATE", global = true, hide = true)]
    pub(crate) sim_busy: Option<f64>,
    /// Simulated seconds after which the simulated user stops the run
    #[arg(long, value_name = "SECONDS", global = true, hide = true)]
    pub(crate) sim_stop: Option<f64>,
    /// GB/s that each simulated node's memory gives
    #[arg(long, value_name = "GBS", global = true, hide = true)]
    pub(crate) sim_memory: Option<f64>,
    /// GB/s that one simulated socket sends to another, one way
    #[arg(long, value_name = "GBS", global = true, hide = true)]
    pub(crate) sim_link: Option<f64>,
    /// Utilisation of the simulated memory from which its latency rises steeply
    #[arg(long, value_name = "SHARE", global = true, hide = true)]
    pub(crate) sim_knee: Option<f64>,
    /// Share of its rate that the simulated memory loses under too much pressure
    #[arg(long, value_name = "SHARE", global = true, hide = true)]
    pub(crate) sim_overload: Option<f64>,
    /// Data caches that the simulated machine really has, whatever it declares: 48K/12,1280K/20 are levels 1 and 2 and their ways
    #[arg(long, value_name = "LIST", global = true, hide = true, value_delimiter = ',', value_parser = parse::sim_cache)]
    pub(crate) sim_caches: Vec<(Bytes, u32)>,
    /// Bytes that come together from the simulated memory
    #[arg(long, value_name = "BYTES", global = true, hide = true)]
    pub(crate) sim_pair: Option<u64>,
    /// Milliseconds after which neighbours have replaced half of what was touched in the simulated last-level cache
    #[arg(long, value_name = "MS", global = true, hide = true)]
    pub(crate) sim_half_life: Option<f64>,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct PlanRunArgs {
    /// A built-in plan (`tiermark plan list`) or a TOML file
    #[arg(value_name = "PLAN")]
    pub(crate) plan: String,
    /// Write the curves of `loaded-latency` as CSV
    ///
    /// The layout is that of the Mess benchmark; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<String>,
    /// Write the pairs of nodes of `matrix` as CSV
    ///
    /// Beside those of the firmware (HMAT); - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) hmat: Option<String>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: PlanCommand,
}

/// What `plan` does.
#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// List the built-in plans
    List(ViewArgs),
    /// Show the steps of a plan, as commands
    Show {
        /// A built-in plan or a TOML file
        plan: String,
        /// Print the file itself, to copy and change
        #[arg(long)]
        toml: bool,
        #[command(flatten)]
        view: View,
    },
    /// List the keys of a plan file, with what they take
    Keys,
    /// Look for mistakes in a plan file, and for what this machine lacks
    Check {
        /// A TOML file or a built-in plan
        plan: String,
    },
}

/// Arguments of `machine`.
#[derive(Debug, Args)]
pub(crate) struct MachineArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Read a captured machine (a directory or a tar archive) instead of this one
    #[arg(long, value_name = "TREE", conflicts_with = "capture")]
    pub(crate) root: Option<PathBuf>,
    /// Write what can be read of this machine to a .tar.gz, without serial numbers and host name
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) capture: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) view: View,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// Of which documents
    #[arg(value_name = "DOCUMENT", default_value = "run")]
    pub(crate) of: Document,
}

/// Kinds of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Document {
    /// Runs of probes
    Run,
    /// Searches for the number of tenants
    Capacity,
    /// Load on servers
    Load,
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listing {
    /// Saved runs: those in $TIERMARK_HOME/runs, where that is set
    Runs,
    /// Saved runs of capacity: those in $TIERMARK_HOME/capacity, where that is set
    Capacity,
    /// What can be measured
    Probes,
    /// Timed loops, and why some cannot run here
    Kernels,
    /// What of the operating system is measured, how, and why some cannot be measured here
    Primitives,
    /// Commands
    Commands,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list; without it, what there is to list
    pub(crate) what: Option<Listing>,
    /// Print the list as JSON: its schema, what it lists, and the items
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: View,
}

/// Arguments of `help`.
#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// A command, a page (numbers, runs), a word of the glossary, a tool (mlc) or a primitive of the operating system
    pub(crate) topic: Vec<String>,
    #[command(flatten)]
    pub(crate) view: View,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The directory
    pub(crate) directory: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn definitions_hold_together() {
        Cli::command().debug_assert();
    }
}
