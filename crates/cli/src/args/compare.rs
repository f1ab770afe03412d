//! The options of `compare`, `check` and `baseline`.

use clap::{Args, Subcommand};
use tiermark_model::{Check, Comparison};

use super::{View, ViewArgs};
use tiermark_probes::soak::Level;

use crate::layouts::{Layout, layouts};
use crate::parse;

pub(crate) const EXAMPLES: &str = "\
Examples:
  tiermark compare before.json after.json
  tiermark baseline set good
  tiermark survey && tiermark baseline add good
  tiermark survey && tiermark compare --baseline good --fail-over 5%
  tiermark compare before.json after.json --fail-over 5%
  tiermark compare small.json large.json --machines
  tiermark compare before.json after.json --html changes.html
Exit codes: 0 compared, 2 bad usage, 3 a number is worse by more than --fail-over,
5 --fail-over cannot judge (nothing comparable, other machines, numbers missing),
or one of more than two documents cannot be read.";

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Two or more runs: `last`, an id or its beginning, a file, or -; each is compared with the first
    #[arg(value_name = "RUN", required_unless_present = "baseline")]
    pub(crate) runs: Vec<String>,
    /// Compare `last`, or the named runs, with what `tiermark baseline set NAME` keeps
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Compare different machines: tiers by their role, whatever their sizes, and rates by core and socket
    #[arg(long)]
    pub(crate) machines: bool,
    /// Treat changes up to this percentage as no change [default: 3%, or --fail-over if that is less]
    #[arg(long, value_name = "PERCENT", value_parser = parse::percent)]
    pub(crate) threshold: Option<f64>,
    /// Exit with code 3 if a number is worse by more than this
    #[arg(long, value_name = "PERCENT", value_parser = parse::percent)]
    pub(crate) fail_over: Option<f64>,
    /// Layout of the report
    #[arg(
        long, value_name = "FORMAT", default_value = "text", value_parser = layouts::<Comparison>(), conflicts_with = "json",
    )]
    pub(crate) format: &'static Layout<Comparison>,
    /// Print the comparison as JSON, with its schema
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write the comparison as a page for a browser
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<String>,
    /// Replace host names by pseudonyms, and leave out other names of machines and owner, and those given to the runs
    #[arg(long)]
    pub(crate) redact: bool,
    #[command(flatten)]
    pub(crate) view: View,
}

pub(crate) const CHECK_EXAMPLES: &str = "\
An expectation is, for example: latency.dram.remote / latency.dram.local <= 2.2
A file has a table [[expect]] for each, with that = \"...\"; why and source are
optional. `tiermark help check` explains the file.
`tiermark check --rules > mine.toml` writes the built-in rules, to change.
Examples:
  sudo tiermark check --run --soak quick
  tiermark check --run --expect server.toml -- --force --full
  tiermark check last --expect server.toml --html server.html
  tiermark check rack7/*.json --expect server.toml
  tiermark check --list
Exit codes: 0 PASSED, 2 bad usage, 3 FAILED, 4 the run could not be read or
measured, 5 NOT JUDGED: no memory latency, no memory bandwidth, or not every
required expectation could be judged (--strict: not every expectation). Of
several runs the worst: 3, else 4, else 5.";

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The runs: `last`, an id or its beginning, a file, or -; of several, the worst decides the exit code
    #[arg(value_name = "RUN", default_value = "last", conflicts_with = "survey")]
    pub(crate) runs: Vec<String>,
    /// Measure first: a survey, which is saved and judged; its options follow behind --
    #[arg(long = "run", conflicts_with_all = ["list", "rules"])]
    pub(crate) survey: bool,
    /// Then soak the memory: quick (a minute), standard (an hour) or long (eight hours)
    #[arg(long, value_name = "LEVEL", requires = "survey")]
    pub(crate) soak: Option<Level>,
    /// Options of the survey: -- --force --quick
    #[arg(value_name = "OPTION", last = true, requires = "survey")]
    pub(crate) options: Vec<String>,
    /// A TOML file of expectations, or `auto`: built-in rules of thumb
    #[arg(long, value_name = "FILE|auto", default_value = "auto")]
    pub(crate) expect: String,
    /// Exit with code 5 if any expectation could not be judged, or the run is not complete
    #[arg(long, conflicts_with_all = ["list", "rules"])]
    pub(crate) strict: bool,
    /// List the names that expectations can use, with their values in this run
    #[arg(long, conflicts_with_all = ["json", "rules"])]
    pub(crate) list: bool,
    /// Print the built-in rules, to copy and change
    #[arg(long, conflicts_with = "json")]
    pub(crate) rules: bool,
    /// Layout of the report
    #[arg(
        long, value_name = "FORMAT", default_value = "text", value_parser = layouts::<Check>(),
        conflicts_with_all = ["json", "list", "rules"],
    )]
    pub(crate) format: &'static Layout<Check>,
    /// Print the results as JSON, with their schema
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write a page to print and sign
    #[arg(long, value_name = "FILE", conflicts_with_all = ["list", "rules"])]
    pub(crate) html: Option<String>,
    #[command(flatten)]
    pub(crate) view: View,
}

/// Examples of `explain`.
pub(crate) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  tiermark matrix && tiermark explain
  sudo tiermark capacity --scenario mini && tiermark explain
  tiermark explain last -v
  tiermark explain run.json --json
  tiermark explain --rules
  tiermark explain --rules limit-link
`tiermark help explain` describes what is looked for.
Exit codes: 0 judged, whatever was found, 2 bad usage or no such run, 4 no rule could
be judged.";

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The run: `last`, an id or its beginning, a file, or - [default: the newest that has figures to explain]
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Print the rules, or the one of this name: limits, their sources, what to try
    #[arg(long, value_name = "NAME", num_args = 0..=1, conflicts_with = "run")]
    pub(crate) rules: Option<Option<String>>,
    /// Print the explanations, or the rules, as JSON, with their schema
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) view: View,
}

/// Arguments of `baseline`.
#[derive(Debug, Args)]
pub(crate) struct BaselineArgs {
    /// What to do
    #[command(subcommand)]
    pub(crate) command: BaselineCommand,
}

/// Actions of `baseline`.
#[derive(Debug, Subcommand)]
pub(crate) enum BaselineCommand {
    /// Keep copies of runs under a name; an earlier baseline of that name is replaced
    Set {
        /// Letters, digits, `-`, `_` and `.`
        name: String,
        /// `last`, ids of saved runs or their beginnings, files, or -; several are compared by their mean
        #[arg(value_name = "RUN", default_value = "last")]
        runs: Vec<String>,
    },
    /// Add runs of the same machine to a baseline: `compare` uses the mean of all
    Add {
        /// The baseline's name; one that does not exist is made
        name: String,
        /// `last`, ids of saved runs or their beginnings, files, or -
        #[arg(value_name = "RUN", default_value = "last")]
        runs: Vec<String>,
    },
    /// List the baselines
    List {
        /// Print the list as JSON, with its schema
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        view: ViewArgs,
    },
    /// Delete a baseline
    Remove {
        /// Its name
        name: String,
    },
}
