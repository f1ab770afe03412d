//! What each command of one probe consists of: its row of the table, its options, and the parameters that they make.

use std::fmt::Debug;

use clap::{Arg, ArgMatches, Args, Command};
use serde::Serialize;
use serde_json::Value;
use tiermark_engine::Probe;
use tiermark_model::{Machine, Request, Run};
use tiermark_probes::Mix;

use crate::args::{PlaceArgs, RunArgs};
use crate::layouts::Layout;
use crate::output::Failure;
use crate::parse;

/// The line of `--help` about the hidden option `--simulate`.
const SIMULATED: &str =
    "--simulate TREE: use a model of another machine instead of measuring this one (`tiermark help synth`).";

type ReadOptions = fn(&ArgMatches) -> Result<Box<dyn Experiment>, clap::Error>;

/// A command of one probe. Id and summary of the probe are its name and its line in the help.
pub(super) struct ProbeCommand {
    pub(super) probe: &'static Probe,
    /// Text of `--help` below the options, before that on simulated machines; may be empty.
    pub(super) examples: &'static str,
    /// Descriptions of `--quick` and `--full`.
    pub(super) quick: &'static str,
    pub(super) full: &'static str,
    /// Adds the probe's own options to a command, and reads them.
    pub(super) define: fn(Command) -> Command,
    pub(super) read: ReadOptions,
}

impl ProbeCommand {
    /// A probe whose options are its parameters.
    pub(super) const fn of<P: Args + Serialize + Debug + 'static>(probe: &'static Probe) -> Self {
        Self::new(probe, P::augment_args, |matches| Ok(Box::new(OnlyParams(P::from_arg_matches(matches)?))))
    }

    /// A probe whose parameters are made of its options.
    pub(super) const fn with<E: Args + Experiment + 'static>(probe: &'static Probe) -> Self {
        Self::new(probe, E::augment_args, |matches| Ok(Box::new(E::from_arg_matches(matches)?)))
    }

    const fn new(probe: &'static Probe, define: fn(Command) -> Command, read: ReadOptions) -> Self {
        Self { probe, examples: "", quick: "Few repetitions", full: "Many repetitions", define, read }
    }

    pub(super) fn command(&self) -> Command {
        let probe = self.probe;
        let command = (self.define)(Command::new(probe.id)).mut_args(|arg| parsed(probe.id, arg));
        // An option that `mut_arg` changes becomes the last of those defined before.
        let command = How::augment_args(command);
        let command = command.mut_arg("quick", |arg| arg.help(self.quick)).mut_arg("full", |arg| arg.help(self.full));
        // The comments on arguments structs name the command too: its own line comes last.
        let command = RunArgs::augment_args(command).about(probe.summary).long_about(None);
        let texts = [self.examples, SIMULATED].into_iter().filter(|text| !text.is_empty());
        command.after_long_help(texts.collect::<Vec<_>>().join("\n"))
    }
}

/// Adds to an option what its probe does not know: parsers that need kernels or files, and options of the cli.
fn parsed(probe: &str, arg: Arg) -> Arg {
    match (probe, arg.get_id().as_str()) {
        ("bandwidth" | "scale", "ops") => arg.value_parser(parse::operation),
        ("matrix", "ops") => arg.value_parser(parse::matrix_operation),
        (_, "groups") => arg.value_parser(parse::traffic),
        (_, "neighbour") => arg.conflicts_with("csv"),
        _ => arg,
    }
}

/// Parameters of a probe, one value for each request.
pub(super) type Params = Result<Vec<Value>, serde_json::Error>;

/// Parameters of one request.
pub(super) fn params(params: impl Serialize) -> Params {
    Ok(vec![serde_json::to_value(params)?])
}

/// The options of one probe, and the parameters that they make.
pub(super) trait Experiment: Debug {
    /// The parameters of each request to the probe.
    ///
    /// # Errors
    /// That of a value which JSON does not have.
    fn params(&self, place: &PlaceArgs, machine: &Machine) -> Params;

    /// What the run ends with, after the last of its own requests.
    fn then(&self, _last: &Request) -> Option<Request> {
        None
    }

    /// Where to measure, as a scope of requests takes it.
    fn scope(&self, place: &PlaceArgs) -> PlaceArgs {
        place.clone()
    }

    /// Layouts that it can write beside the document, each with the file that its option names.
    fn exports(&self) -> Vec<(&'static Layout<Run>, Option<&str>)> {
        Vec::new()
    }

    /// The least number of nodes with memory that the probe needs with its options.
    fn nodes_needed(&self) -> usize {
        1
    }

    /// Refuses options that would have no effect. The options of a plan apply to all its experiments, so such options
    /// are allowed there: returns notes about them for the user.
    ///
    /// # Errors
    /// A [`Failure`] of usage.
    fn check(&self, _run: &RunArgs, _machine: &Machine) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }
}

/// Options that are the parameters.
#[derive(Debug)]
struct OnlyParams<P>(P);

impl<P: Serialize + Debug> Experiment for OnlyParams<P> {
    fn params(&self, _place: &PlaceArgs, _machine: &Machine) -> Params {
        params(&self.0)
    }
}

/// Operations and mixes, as a request has them.
pub(super) fn with_mixes(ops: &[String], mix: &[Mix]) -> Vec<String> {
    ops.iter().cloned().chain(mix.iter().map(ToString::to_string)).collect()
}

/// How far to go.
#[derive(Debug, Args)]
pub(super) struct How {
    #[arg(long, conflicts_with = "full")]
    pub(super) quick: bool,
    #[arg(long)]
    pub(super) full: bool,
}
