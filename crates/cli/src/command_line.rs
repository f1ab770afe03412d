//! The commands. Commands of one probe are in the catalogue of experiments, the others here.

mod groups;

use clap::builder::styling::{AnsiColor, Effects, Styles};
use clap::{Parser, Subcommand};

use crate::args::{
    self, BaselineArgs, CapacityArgs, CheckArgs, CompareArgs, CompletionsArgs, DoctorArgs, ExplainArgs, FleetArgs,
    HelpArgs, HistoryArgs, ListArgs, LoadArgs, MachineArgs, ManArgs, PlanArgs, PlanRunArgs, ReportArgs, RerunArgs,
    SchemaArgs, SelftestArgs, ShowArgs, Simulation, TuneArgs, WatchArgs,
};
use crate::experiments::Measure;
pub(crate) use groups::{command, command_here, described, overview};
use tiermark_model::Exit;
use tiermark_page::wrap;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .usage(AnsiColor::Green.on_default().effects(Effects::BOLD))
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

const SIZES: &str = "\
Sizes: 64, 32K, 2M, 1G (K is 1024, kB is 1000). Cpus: 0-3,8, node:1, socket:0,
core:5, llc:2, all, !2.
Every command that measures takes --simulate TREE: a model of another machine
answers, and nothing is measured. TREE is synth:sockets=2,cores=16,smt=2,mem=64G
or what `tiermark machine --capture` wrote on that machine.
Reports are for people and may change; programs read --json.
Exit codes:";

/// What `--help` ends with.
fn after() -> String {
    const COLUMNS: usize = 78;
    let rows = Exit::table().into_iter().map(|(codes, meaning)| wrap(&format!("{codes}  {meaning}"), COLUMNS));
    let rows = rows.map(|lines| format!("\n  {}", lines.join("\n     ")));
    SIZES.to_owned() + &rows.collect::<String>()
}

/// Measures every tier of a Linux server's memory, with a verdict on every number.
#[derive(Debug, Parser)]
#[command(name = "tiermark", disable_version_flag = true, disable_help_subcommand = true, styles = STYLES)]
#[command(subcommand_negates_reqs = true, after_long_help = after(), max_term_width = 100)]
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

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// An experiment with one probe
    #[command(flatten)]
    Measure(Box<Measure>),
    /// Send requests to Redis servers and measure their latency
    #[command(after_long_help = args::load::EXAMPLES)]
    Load(Box<LoadArgs>),
    /// How many Redis tenants fit before their latency target breaks
    #[command(after_long_help = args::capacity::EXAMPLES)]
    Capacity(Box<CapacityArgs>),
    /// Run a plan: several experiments in a file
    #[command(after_long_help = RUN_EXAMPLES)]
    Run(Box<PlanRunArgs>),
    /// List, show or check plans
    #[command(after_long_help = PLAN_EXAMPLES)]
    Plan(PlanArgs),
    /// Cpus, caches, nodes, DIMMs and settings that matter
    Machine(MachineArgs),
    /// Memory pressure, nodes, swap and migrations, live
    #[command(after_long_help = args::watch::EXAMPLES)]
    Watch(WatchArgs),
    /// Compare settings with a profile, change and restore them
    #[command(after_long_help = args::system::TUNE_EXAMPLES)]
    Tune(TuneArgs),
    /// Settings and programs that disturb measurements, with cures
    #[command(after_long_help = args::system::DOCTOR_EXITS)]
    Doctor(DoctorArgs),
    /// Show a saved run or a document again
    Show(ShowArgs),
    /// Write saved runs as an HTML page
    #[command(after_long_help = args::show::REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Compare saved runs: what became better or worse
    #[command(after_long_help = args::compare::EXAMPLES)]
    Compare(CompareArgs),
    /// Judge a saved run by expectations: pass or fail
    #[command(after_long_help = args::compare::CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Explain a saved run: what limits it, what costs, what is wrong
    #[command(after_long_help = args::compare::EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Runs of many hosts: which is not like its peers, and why
    #[command(after_long_help = args::fleet::EXAMPLES)]
    Fleet(FleetArgs),
    /// Keep runs under names, to compare later runs with them
    Baseline(BaselineArgs),
    /// Saved runs of this machine over time: trends, changes of level
    #[command(after_long_help = args::history::EXAMPLES)]
    History(HistoryArgs),
    /// Measure again what a saved run measured
    #[command(after_long_help = args::show::RERUN_EXAMPLES)]
    Rerun(RerunArgs),
    /// List runs, probes, kernels, primitives or commands
    List(ListArgs),
    /// Print the JSON Schema of the documents
    Schema(SchemaArgs),
    /// Check kernels, the clock and the tool's own cost here
    #[command(after_long_help = args::system::SELFTEST_EXITS)]
    Selftest(SelftestArgs),
    /// Explain a command, a word, or a command of another tool
    Help(HelpArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Write man pages of all commands into a directory
    Man(ManArgs),
}

const PLAN_EXAMPLES: &str = "\
Examples:
  tiermark plan list
  tiermark plan show hierarchy --toml > mine.toml
  tiermark plan check mine.toml";

const RUN_EXAMPLES: &str = "\
Examples:
  tiermark plan list
  tiermark plan show numa-latency
  tiermark run numa-latency --dry-run
  tiermark plan show hierarchy --toml > mine.toml; tiermark plan check mine.toml; tiermark run mine.toml
Options given here hold for every experiment that does not set its own; --max-time is for all of them together, shared out as
they are expected to take. A part that the machine lacks (another node, say) is refused and the rest runs: exit code 5, with
--allow-partial 0.";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn definitions_hold_together() {
        Cli::command().debug_assert();
    }
}
