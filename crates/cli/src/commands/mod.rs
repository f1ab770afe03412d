//! One file a command.

mod background;
mod bandwidth;
mod c2c;
mod capacity;
mod completions;
mod doctor;
mod geometry;
mod granularity;
mod help;
mod latency;
mod list;
mod load;
mod loaded;
mod machine;
mod man;
mod matrix;
mod mlp;
mod os;
mod plan;
mod residency;
mod run;
mod scale;
mod schema;
mod selftest;
mod show;
mod survey;
mod tlb;
mod tune;

use serde_json::Value;
use tiermark_model::{Effort, Exit, Machine, Request, Scope};

use crate::args::{Cli, Command, PlaceArgs, overview};
use crate::measure;
use crate::output::{Failure, print};
use crate::version;

/// Runs what the command line says.
///
/// # Errors
/// A [`Failure`] for whatever keeps it from a result.
pub(crate) fn run(cli: &Cli) -> Result<Exit, Failure> {
    if cli.version {
        let tool = version::tool();
        let text = if cli.json { serde_json::to_string_pretty(&tool).map_err(Failure::tool)? } else { version::line() };
        return print(&text).map(|()| Exit::Done);
    }
    let simulation = &cli.simulation;
    match &cli.command {
        Some(Command::Survey(args)) => survey::run(args, simulation),
        Some(Command::Latency(args)) => latency::run(args, simulation),
        Some(Command::Bandwidth(args)) => bandwidth::run(args, simulation),
        Some(Command::LoadedLatency(args)) => loaded::run(args, simulation),
        Some(Command::Scale(args)) => scale::run(args, simulation),
        Some(Command::Matrix(args)) => matrix::run(args, simulation),
        Some(Command::Geometry(args)) => geometry::run(args, simulation),
        Some(Command::Tlb(args)) => tlb::run(args, simulation),
        Some(Command::Mlp(args)) => mlp::run(args, simulation),
        Some(Command::Granularity(args)) => granularity::run(args, simulation),
        Some(Command::Background(args)) => background::run(args, simulation),
        Some(Command::Residency(args)) => residency::run(args, simulation),
        Some(Command::Os(args)) => os::run(args, simulation),
        Some(Command::C2c(args)) => c2c::run(args, simulation),
        Some(Command::Load(args)) => load::run(args),
        Some(Command::Capacity(args)) => capacity::run(args, simulation),
        Some(Command::Run(args)) => run::run(args, simulation),
        Some(Command::Plan(args)) => plan::run(args, simulation),
        Some(Command::Machine(args)) => machine::run(args, simulation),
        Some(Command::Tune(args)) => tune::run(args, simulation),
        Some(Command::Doctor(args)) => doctor::run(args, simulation),
        Some(Command::Show(args)) => show::run(args),
        Some(Command::List(args)) => list::run(args, simulation),
        Some(Command::Schema(args)) => schema::run(args),
        Some(Command::Selftest(args)) => selftest::run(args),
        Some(Command::Help(args)) => help::run(args, simulation),
        Some(Command::Completions(args)) => completions::run(args),
        Some(Command::Man(args)) => man::run(args),
        None => print(&overview()).map(|()| Exit::Done),
    }
}

/// What a command that measures asks: an experiment of a plan.
///
/// # Errors
/// A [`Failure`] for a command that measures nothing, or options that this machine cannot meet.
fn requests(command: &Command, machine: &Machine, seed: u64) -> Result<Vec<Request>, Failure> {
    match command {
        Command::Latency(args) => latency::requests(args, machine, seed),
        Command::Bandwidth(args) => bandwidth::requests(args, machine, seed),
        Command::LoadedLatency(args) => loaded::requests(args, machine, seed),
        Command::Scale(args) => scale::requests(args, machine, seed),
        Command::Matrix(args) => matrix::requests(args, machine, seed),
        Command::Geometry(args) => geometry::requests(args, machine, seed),
        Command::Tlb(args) => tlb::requests(args, machine, seed),
        Command::Mlp(args) => mlp::requests(args, machine, seed),
        Command::Granularity(args) => granularity::requests(args, machine, seed),
        Command::Background(args) => background::requests(args, machine, seed),
        Command::Residency(args) => residency::requests(args, machine, seed),
        Command::Os(args) => os::requests(args, machine, seed),
        Command::C2c(args) => c2c::requests(args, machine, seed),
        _ => Err(Failure::usage("an experiment of a plan measures something: name a probe")),
    }
}

/// The requests to one probe: one, or one for each page size where there are several and the probe does not compare them itself.
fn request(probe: &str, place: &PlaceArgs, effort: Effort, scope: &Scope, seed: u64, params: Value) -> Vec<Request> {
    let request = Request {
        probe: probe.to_owned(),
        scope: scope.clone(),
        effort,
        precision: place.precision,
        seed,
        params,
        part: None,
    };
    // A probe that compares page sizes has them among its parameters.
    if request.params.get("pages").is_some() { vec![request] } else { measure::by_page(&request, place) }
}
