//! Options of the command at hand that were meant by another name.

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use tiermark_capacity::scenario::reference;
use tiermark_engine::Probe;

use crate::names::near;

/// Names that other programs have for the file of the results.
const OUTPUT: [&str; 4] = ["-o", "--output", "--out", "--file"];
/// Options with which commands write files.
const FILES: [&str; 3] = ["json", "html", "record"];

/// Names that other programs have for an option, the option, and what it does: the first one that a command has is its
/// tip.
const OTHER_NAMES: [(&[&str], &str, &str); 12] = [
    (&["-n"], "interval", "--interval TIME is the time between samples; --samples COUNT ends it after so many"),
    (&["--records"], "keys", "--keys N is the number of records of each server"),
    (&LIMIT, "level", "--level 'p99 < 10ms' sets a limit of the service level (repeatable)"),
    (&SERVER, "target", "--target HOST:PORT names the server"),
    (&TIME, "duration", "--duration SECONDS is the length of the measurement"),
    (&TIME, "max-time", "--max-time SECONDS limits the time of the run"),
    (&TIME, "samples", "--samples COUNT ends it after so many samples, one each --interval (1 s)"),
    (&COUNT, "samples", "--samples COUNT ends it after so many samples, one each --interval (1 s)"),
    (&["--arrivals"], "set", "--set load.arrival=VALUE sets how requests are spread in time"),
    (&["--pipeline-depth", "-P"], "set", "--set load.pipeline=N sets the maximum number of requests in flight"),
    (&["--gets-brief"], "set", "--set load.brief-mix=true draws GETs and SETs as the published test does"),
    (&["--value-compress"], "set", "--set tenant.compressibility=VALUE sets how well values compress"),
];
const TIME: [&str; 5] = ["--duration", "--time", "--runtime", "--timeout", "--seconds"];
const COUNT: [&str; 2] = ["--count", "--iterations"];
const LIMIT: [&str; 6] = ["--limit", "--limits", "--slo", "--sla", "--latency", "--p99"];
const SERVER: [&str; 5] = ["--host", "--hostname", "--server", "--port", "--socket"];

/// The command that the arguments name: the innermost one.
pub(super) fn named<'a>(cli: &'a Command, arguments: &[&str]) -> &'a Command {
    arguments.iter().fold(cli, |found, word| found.find_subcommand(word).unwrap_or(found))
}

/// What an option of another program is here; `None` if the command has nothing like it.
pub(super) fn other_name(argument: &str, command: &Command) -> Option<String> {
    let name = argument.split('=').next().unwrap_or(argument);
    if OUTPUT.contains(&name) {
        return Some(files(command));
    }
    let fits = |(names, option, _): &&(&[&str], &str, &str)| names.contains(&name) && find(command, option).is_some();
    OTHER_NAMES.iter().find(fits).map(|(.., tip)| (*tip).to_owned()).or_else(|| key_of_file(name, command))
}

/// An option of experiments, given to a whole plan.
pub(super) fn of_a_plan(argument: &str, command: &Command, cli: &Command) -> Option<String> {
    let name = long_name(argument).filter(|_| command.get_name() == "run")?;
    let has = |probe: &Probe| cli.find_subcommand(probe.id).is_some_and(|command| find(command, name).is_some());
    tiermark_probes::all().iter().any(|probe| has(probe)).then(|| {
        format!(
        "each experiment of a plan has its own --{name}: `tiermark plan show PLAN --toml > mine.toml` writes a copy to \
         change, `tiermark run mine.toml` runs it"
    )
    })
}

/// The other commands that have an option.
pub(super) fn of_others(argument: &str, cli: &Command) -> Option<String> {
    /// As many say what the option is about.
    const NAMED: usize = 3;
    let name = long_name(argument)?;
    let have = cli.get_subcommands().filter(|command| !command.is_hide_set() && find(command, name).is_some());
    let have: Vec<String> = have.map(|command| format!("`tiermark {} --{name}`", command.get_name())).collect();
    let more = have.len().saturating_sub(NAMED);
    let shown = have.into_iter().take(NAMED).reduce(|all, one| format!("{all}, {one}"))?;
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!("other commands have it: {shown}{more}"))
}

fn long_name(argument: &str) -> Option<&str> {
    argument.split('=').next()?.strip_prefix("--")
}

/// How to set a key of a scenario that has no option.
fn key_of_file(name: &str, command: &Command) -> Option<String> {
    let key = find(command, "scenario")
        .and_then(|_| reference().into_iter().find(|row| format!("--{}", row.name) == name))?;
    let table = if key.table.is_empty() { String::new() } else { format!("{}.", key.table) };
    Some(format!("--set {table}{}=VALUE sets this key of the scenario; `tiermark help scenario` lists all", key.name))
}

/// Where the results of a command go.
fn files(command: &Command) -> String {
    let written = FILES.iter().filter_map(|name| find(command, name)).filter(|arg| arg.get_action().takes_values());
    let named =
        |arg: &Arg| Some(format!("--{}{}FILE", arg.get_long()?, if arg.is_require_equals_set() { '=' } else { ' ' }));
    let (always, written): (Vec<&Arg>, Vec<&Arg>) = written.partition(|arg| !arg.get_default_values().is_empty());
    // A command that always writes a file prints no text.
    if let Some(option) = always.iter().find_map(|arg| named(arg)) {
        return format!("the file is named by {option}");
    }
    let options: Vec<String> = written.iter().filter_map(|arg| named(arg)).collect();
    let written =
        if options.is_empty() { String::new() } else { format!("; files are written by {}", options.join(" and ")) };
    format!("the text goes to standard output: > FILE keeps it{written}")
}

/// An option that help shows.
fn find<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| arg.get_long() == Some(name) && !arg.is_hide_set())
}

/// clap also suggests names that no help shows: such a suggestion gives way to the nearest name that is shown, if one
/// is near.
pub(super) fn leave_hidden_out(error: &mut clap::Error, cli: &Command, arguments: &[&str]) {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let Some((word, option)) = text(ContextKind::InvalidArg).zip(text(ContextKind::SuggestedArg)) else { return };
    let elsewhere = text(ContextKind::SuggestedSubcommand).and_then(|name| cli.find_subcommand(name));
    let command = elsewhere.unwrap_or_else(|| named(cli, arguments));
    if find(command, option.trim_start_matches('-')).is_some() {
        return;
    }
    error.remove(ContextKind::SuggestedArg);
    let shown: Vec<&str> = command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long).collect();
    match near(word.trim_start_matches('-'), &shown) {
        Some(name) => error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{name}"))),
        None => error.remove(ContextKind::SuggestedSubcommand),
    };
}
