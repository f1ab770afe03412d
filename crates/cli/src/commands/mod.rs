//! One file a command, except commands of one probe (`experiments`).

mod baseline;
mod capacity;
mod check;
mod compare;
mod completions;
mod doctor;
mod explain;
pub(crate) mod fleet;
mod help;
mod history;
mod list;
pub(crate) mod load;
mod machine;
mod man;
mod plan;
mod report;
mod rerun;
mod run;
mod scatter;
mod schema;
mod selftest;
mod show;
mod tune;
pub(crate) mod watch;

use tiermark_model::Exit;

use crate::command_line::{Cli, Command, overview};
use crate::output::{Failure, json, print};
use crate::version;

/// Runs what the command line says.
///
/// # Errors
/// A [`Failure`] for whatever keeps it from a result.
pub(crate) fn run(cli: &Cli) -> Result<Exit, Failure> {
    if cli.version {
        let tool = version::tool();
        let text = if cli.json { json(&tool)? } else { version::line() };
        return print(&text).map(|()| Exit::Done);
    }
    let simulation = &cli.simulation;
    match &cli.command {
        Some(Command::Measure(measure)) => measure.run(simulation),
        Some(Command::Load(args)) => load::run(args),
        Some(Command::Capacity(args)) => capacity::run(args, simulation),
        Some(Command::Run(args)) => run::run(args, simulation),
        Some(Command::Plan(args)) => plan::run(args, simulation),
        Some(Command::Machine(args)) => machine::run(args, simulation),
        Some(Command::Watch(args)) => watch::run(args, simulation),
        Some(Command::Tune(args)) => tune::run(args, simulation),
        Some(Command::Doctor(args)) => doctor::run(args, simulation),
        Some(Command::Show(args)) => show::run(args),
        Some(Command::Report(args)) => report::run(args),
        Some(Command::Compare(args)) => compare::run(args),
        Some(Command::Check(args)) => check::run(args, simulation),
        Some(Command::Explain(args)) => explain::run(args),
        Some(Command::Fleet(args)) => fleet::run(args),
        Some(Command::Baseline(args)) => baseline::run(args),
        Some(Command::History(args)) => history::run(args, simulation),
        Some(Command::Rerun(args)) => rerun::run(args, simulation),
        Some(Command::List(args)) => list::run(args, simulation),
        Some(Command::Schema(args)) => schema::run(args),
        Some(Command::Selftest(args)) => selftest::run(args),
        Some(Command::Help(args)) => help::run(args, simulation),
        Some(Command::Completions(args)) => completions::run(args),
        Some(Command::Man(args)) => man::run(args),
        None => print(&overview()).map(|()| Exit::Done),
    }
}
