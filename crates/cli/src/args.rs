//! The command line as data. Help, man pages and completions are made from these definitions.

mod capacity;
mod common;
mod groups;
mod ladder;
mod load;
mod loads;
mod matrix;
mod shapes;
mod show;
mod system;

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Effects, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use tiermark_model::{Bytes, Effort, PingOp};
use tiermark_probes::c2c::Sample;
use tiermark_probes::matrix::Policy;

use crate::parse;
pub(crate) use capacity::CapacityArgs;
pub(crate) use common::{ColorChoice, Format, NodeChoice, PlaceArgs, RunArgs, Units, View, ViewArgs};
pub(crate) use groups::{command, overview};
use ladder::{BANDWIDTH_EXAMPLES, LATENCY_EXAMPLES};
pub(crate) use ladder::{BandwidthArgs, LatencyArgs, SurveyArgs};
pub(crate) use load::LoadArgs;
use loads::{LOADED_EXAMPLES, SCALE_EXAMPLES};
pub(crate) use loads::{LoadedArgs, ScaleArgs};
pub(crate) use matrix::{MatrixArgs, OrUsual};
pub(crate) use shapes::{How, MlpArgs, OsArgs, ResidencyArgs, ShapeArgs};
pub(crate) use show::ShowArgs;
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
    /// Measure every tier: size, latency and bandwidth, in a minute
    Survey(SurveyArgs),
    /// Time of one dependent access, by size, layout, page size
    #[command(after_long_help = LATENCY_EXAMPLES)]
    Latency(LatencyArgs),
    /// Bytes a second, by size, operation, kernel, threads
    #[command(after_long_help = BANDWIDTH_EXAMPLES)]
    Bandwidth(BandwidthArgs),
    /// Latency while other cores read or write at a rising rate
    #[command(alias = "loaded", after_long_help = LOADED_EXAMPLES)]
    LoadedLatency(LoadedArgs),
    /// Bandwidth of a node as threads are added, and its limit
    #[command(after_long_help = SCALE_EXAMPLES)]
    Scale(ScaleArgs),
    /// Latency and bandwidth from each node's cpus to each memory
    #[command(after_long_help = matrix::EXAMPLES)]
    Matrix(Box<MatrixArgs>),
    /// Line, size, ways and sets of each cache, and who shares it
    #[command(after_long_help = shapes::GEOMETRY_EXAMPLES)]
    Geometry(ShapeArgs),
    /// Entries of each data TLB, and the cost of misses and walks
    #[command(after_long_help = shapes::TLB_EXAMPLES)]
    Tlb(ShapeArgs),
    /// Cache misses that one core keeps in flight, by tier
    Mlp(MlpArgs),
    /// Bandwidth that small and random accesses waste
    Granularity(ShapeArgs),
    /// How much a busy neighbour slows memory accesses
    Background(ShapeArgs),
    /// How long the shared cache keeps what was touched
    #[command(after_long_help = shapes::RESIDENCY_EXAMPLES)]
    Residency(ResidencyArgs),
    /// Time of a cache line from core to core, and contention
    #[command(after_long_help = C2C_EXAMPLES)]
    C2c(C2cArgs),
    /// System calls, processes, switches, pipes, page faults
    #[command(after_long_help = shapes::OS_EXAMPLES)]
    Os(OsArgs),
    /// Send requests to Redis servers and measure their latency
    #[command(after_long_help = load::EXAMPLES)]
    Load(Box<LoadArgs>),
    /// How many Redis tenants fit before their latency target breaks
    #[command(after_long_help = capacity::EXAMPLES)]
    Capacity(Box<CapacityArgs>),
    /// Run a plan: several experiments in a file
    #[command(after_long_help = RUN_EXAMPLES)]
    Run(PlanRunArgs),
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

const C2C_EXAMPLES: &str = "\
Without options: all pairs, or a sample of each relation where there is no time for all, then transfers, homes and contention.
Examples:
  tiermark c2c
  tiermark c2c --cpus 0-15 --op cas,flag,one-way
  tiermark c2c --sample 100 --max-time 2m       (100 pairs of each relation)
  tiermark c2c --cpus node:0,node:1 --mem-node 1
Numbers of cas and flag are round trips; tools that print one-way figures divide them by two.";

impl Command {
    /// Where and how hard it measures, of commands that measure.
    pub(crate) fn place_mut(&mut self) -> Option<&mut PlaceArgs> {
        match self {
            Self::Latency(args) => Some(&mut args.run.place),
            Self::Bandwidth(args) => Some(&mut args.run.place),
            Self::LoadedLatency(args) => Some(&mut args.run.place),
            Self::Scale(args) => Some(&mut args.run.place),
            Self::Matrix(args) => Some(&mut args.run.place),
            Self::C2c(args) => Some(&mut args.run.place),
            Self::Os(args) => Some(&mut args.run.place),
            Self::Geometry(args) | Self::Background(args) | Self::Tlb(args) | Self::Granularity(args) => {
                Some(&mut args.run.place)
            }
            Self::Mlp(args) => Some(&mut args.run.place),
            Self::Residency(args) => Some(&mut args.run.place),
            _ => None,
        }
    }

    /// Nodes with memory without which there is nothing to measure.
    pub(crate) fn nodes_needed(&mut self) -> usize {
        // A policy spreads memory over nodes, which one alone does not have.
        let pairs = matches!(self, Self::Matrix(args) if args.policy.iter().any(|policy| *policy != Policy::Bind));
        let of_place = self.place_mut().and_then(|place| place.mem_node.as_ref()).map_or(1, |choice| match choice {
            NodeChoice::Far => 2,
            NodeChoice::These(nodes) => nodes.len(),
        });
        of_place.max(if pairs { 2 } else { 1 })
    }
}

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

/// The effort of two flags that exclude each other.
pub(crate) fn effort(quick: bool, full: bool) -> Effort {
    match (quick, full) {
        (true, _) => Effort::Quick,
        (_, true) => Effort::Full,
        _ => Effort::Standard,
    }
}

/// Arguments of `c2c`.
#[derive(Debug, Args)]
pub(crate) struct C2cArgs {
    /// How turns are passed: cas, flag, one-way [default: cas]
    ///
    /// Between all pairs. Without the option the others are measured for one pair of each relation.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::ping)]
    pub(crate) op: Vec<PingOp>,
    /// Pairs of each relation, or all [default: as time allows]
    #[arg(long, value_name = "PAIRS", value_parser = parse::sample)]
    pub(crate) sample: Option<Sample>,
    #[command(flatten)]
    pub(crate) how: How,
    #[command(flatten)]
    pub(crate) run: RunArgs,
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
