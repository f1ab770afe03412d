//! The options of commands as data. Help, man pages and completions are made from these definitions.

pub(crate) mod capacity;
mod common;
pub(crate) mod compare;
mod counters;
pub(crate) mod fleet;
pub(crate) mod history;
pub(crate) mod load;
mod plan_settings;
pub(crate) mod show;
pub(crate) mod system;
pub(crate) mod watch;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use tiermark_model::Bytes;

use crate::parse;
pub(crate) use capacity::CapacityArgs;
pub(crate) use common::{ColorChoice, LabelArgs, PlaceArgs, RunArgs, Units, View, ViewArgs};
pub(crate) use compare::{BaselineArgs, CheckArgs, CompareArgs, ExplainArgs};
pub(crate) use counters::{CounterArgs, CounterUse, CountingArgs};
pub(crate) use fleet::FleetArgs;
pub(crate) use history::HistoryArgs;
pub(crate) use load::LoadArgs;
pub(crate) use plan_settings::PlanSettings;
pub(crate) use show::{ReportArgs, RerunArgs, ShowArgs};
pub(crate) use system::{DoctorArgs, SelftestArgs, TuneArgs};
pub(crate) use watch::WatchArgs;

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
    /// Bytes written to simulated memory for each byte that another socket writes; with it, traffic is counted
    #[arg(long, value_name = "FACTOR", global = true, hide = true)]
    pub(crate) sim_counters: Option<f64>,
    /// GB/s that one simulated socket sends to another, one way
    #[arg(long, value_name = "GBS", global = true, hide = true)]
    pub(crate) sim_link: Option<f64>,
    /// Utilisation of the simulated memory from which its latency rises steeply
    #[arg(long, value_name = "SHARE", global = true, hide = true)]
    pub(crate) sim_knee: Option<f64>,
    /// Share of its rate that the simulated memory loses under too much pressure
    #[arg(long, value_name = "SHARE", global = true, hide = true)]
    pub(crate) sim_overload: Option<f64>,
    /// Data caches that the simulated machine really has, whatever it declares: 48K/12,1280K/20 are levels 1 and 2 and
    /// their ways
    #[arg(
        long, value_name = "LIST", global = true, hide = true, value_delimiter = ',', value_parser = parse::sim_cache,
    )]
    pub(crate) sim_caches: Vec<(Bytes, u32)>,
    /// Traffic of the simulated memory as its counters see it, second by second: GB/s, or GB/s:PERCENT of reads
    #[arg(
        long, value_name = "LIST", global = true, hide = true, value_delimiter = ',',
        value_parser = parse::sim_traffic,
    )]
    pub(crate) sim_traffic: Vec<(f64, f64)>,
    /// Bytes that come together from the simulated memory
    #[arg(long, value_name = "BYTES", global = true, hide = true)]
    pub(crate) sim_pair: Option<u64>,
    /// Milliseconds after which neighbours have evicted half of the touched lines from the simulated last-level cache
    #[arg(long, value_name = "MS", global = true, hide = true)]
    pub(crate) sim_half_life: Option<f64>,
    /// Uses after which the simulated last-level cache keeps a line
    #[arg(long, value_name = "N", global = true, hide = true)]
    pub(crate) sim_kept_from_use: Option<u8>,
    /// A simulated neighbour: 30-60:2 doubles the latency of memory from second 30 to second 60
    #[arg(long, value_name = "FROM-UNTIL:FACTOR", global = true, hide = true, value_parser = parse::sim_visitor)]
    pub(crate) sim_visitor: Option<(f64, f64, f64)>,
    /// Relative scatter of simulated runs: each tier and kind of work has a factor of its own, by the seed
    #[arg(long, value_name = "SHARE", global = true, hide = true)]
    pub(crate) sim_run_noise: Option<f64>,
    /// Clocks of the simulated cores, GHz: 2.8:3.2:0.1 changes in steps of 0.1
    #[arg(long, value_name = "LOW:HIGH:STEP", global = true, hide = true, value_parser = parse::sim_clock)]
    pub(crate) sim_clock: Option<(f64, f64, f64)>,
    /// How much longer simulated work takes when a visit begins, and after how many ms all but 1/e of the excess is
    /// gone: 0.5:2
    #[arg(long, value_name = "EXCESS:MS", global = true, hide = true, value_parser = parse::sim_warmth)]
    pub(crate) sim_warmth: Option<(f64, f64)>,
    /// Relative scatter of simulated visits, with one peak and nothing piled up at its fast end
    #[arg(long, value_name = "SHARE", global = true, hide = true)]
    pub(crate) sim_hump: Option<f64>,
    /// Interruptions of the simulated cpus: number a second, median length in µs, arrangement (periodic, bursty or
    /// random), and long ones a second: 18000:2.3:periodic:30
    #[arg(long, value_name = "RATE:US:HOW:LONG", global = true, hide = true)]
    pub(crate) sim_interruptions: Option<tiermark_sim::Interruptions>,
    /// Seconds after which the simulated host has let go of most of the memory that is not used
    #[arg(long, value_name = "SECONDS", global = true, hide = true, value_parser = parse::above_zero)]
    pub(crate) sim_left_alone: Option<f64>,
    /// GB/s of first touch by each thread of a simulated machine whose host takes back what is freed
    #[arg(long, value_name = "GBS", global = true, hide = true, value_parser = parse::above_zero)]
    pub(crate) sim_first_touch: Option<f64>,
    /// Rates of simulated stores to memory, GB/s: writes through and around the cache, copies through and around it, as
    /// in 9.6:25.3:14:20
    #[arg(long, value_name = "GBS:GBS:GBS:GBS", global = true, hide = true)]
    pub(crate) sim_stores: Option<tiermark_sim::StoreRates>,
    /// Faults of the simulated memory: 0x1000.3:stuck1, 0x8.0:rests@10, 0x8.0:flips@20, 0x8.0:once, line:20,
    /// poisoned:0x2000
    #[arg(long, value_name = "LIST", global = true, hide = true, value_delimiter = ',')]
    pub(crate) sim_fault: Vec<tiermark_sim::SimFault>,
    /// Seconds after which a soak makes the simulated machine hot, and the share of its rates that it then loses
    #[arg(long, value_name = "SECONDS:SHARE", global = true, hide = true, value_parser = parse::sim_hot)]
    pub(crate) sim_hot: Option<(f64, f64)>,
    /// As --sim-hump, in the last-level cache and in memory alone
    #[arg(long, value_name = "SHARE", global = true, hide = true)]
    pub(crate) sim_shared_hump: Option<f64>,
    /// How much longer what stays in the caches of a simulated core takes because of its other hardware thread
    #[arg(long, value_name = "SHARE", global = true, hide = true)]
    pub(crate) sim_sibling: Option<f64>,
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
    #[command(flatten)]
    pub(crate) settings: PlanSettings,
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

/// Actions of `plan`.
#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// List the built-in plans
    List(ViewArgs),
    /// Show the steps of a plan, as commands
    #[command(
        after_long_help = "Examples:\n  tiermark plan show full\n  tiermark plan show hierarchy --toml > mine.toml"
    )]
    Show {
        /// A built-in plan or a TOML file
        plan: String,
        /// Print the file itself, to copy and change
        #[arg(long)]
        toml: bool,
        #[command(flatten)]
        view: View,
    },
    /// List the keys of a plan file and their values
    Keys,
    /// Look for mistakes in a plan file, and for what this machine lacks
    #[command(after_long_help = "Examples:\n  tiermark plan check mine.toml")]
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
    /// The kind of document whose schema to print
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
    /// Events of a run: the lines of --jsonl
    Events,
    /// Schema of `machine --json`
    Machine,
    /// Schema of `doctor --json`
    Doctor,
    /// Schema of `tune --json`
    Tune,
    /// Schema of `tune --apply --json` and `--restore --json`
    TuneChanges,
    /// Schema of `list --json`
    List,
    /// Schema of `check --json`
    Check,
    /// Schema of `check RUN RUN … --json`, of several runs
    Checks,
    /// Schema of `explain --json`
    Explanation,
    /// Schema of `explain --rules --json`
    ExplainRules,
    /// Schema of `compare --json`
    Compare,
    /// Schema of `fleet --json`
    Fleet,
    /// Schema of what stands in place of the document of a host that failed
    FailedHost,
    /// Schema of `history --json`
    History,
    /// Schema of `watch --json`
    Watch,
    /// Schema of the first line of `watch --record`; the others are samples
    WatchRecording,
    /// Schema of `watch --curve RUN --curve-json FILE`
    Placed,
}

/// The lists that `list` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listing {
    /// Saved runs of all kinds, in runs, capacity and load below ~/.local/share/tiermark or $TIERMARK_HOME
    Runs,
    /// Saved runs of capacity, also unfinished ones, in ~/.local/share/tiermark/capacity or $TIERMARK_HOME/capacity
    Capacity,
    /// Probes: everything that can be measured
    Probes,
    /// Timed loops, and why some cannot run here
    Kernels,
    /// Primitives of the operating system: how each is measured, and why some cannot be measured here
    Primitives,
    /// Sources of counters of memory traffic, and why some cannot be opened here
    Counters,
    /// Commands
    Commands,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// The list to print [default: the names of all lists]
    pub(crate) what: Option<Listing>,
    /// Print the list as JSON, with its schema
    #[arg(long)]
    pub(crate) json: bool,
    /// With counters, probes or primitives: a captured machine (a directory or a tar archive) instead of this one
    #[arg(long, value_name = "TREE")]
    pub(crate) root: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) counters: CounterArgs,
    #[command(flatten)]
    pub(crate) view: View,
}

/// Arguments of `help`.
#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// A command, a page (numbers, runs, counters, json), a word of the glossary, a tool (mlc) or its option (-X), or a
    /// primitive of the operating system
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
    /// The directory, which is created if it does not exist; write ./latency for one with the name of a command
    pub(crate) directory: PathBuf,
}
