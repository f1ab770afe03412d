//! `tiermark check`: a run, saved or measured now, judged by expectations.

use std::collections::BTreeSet;
use std::path::Path;

use clap::FromArgMatches;
use clap::error::ErrorKind;
use tiermark_expect::{AUTO, BUILT_IN, Entry, check, figures, read};
use tiermark_history::config::text_of;
use tiermark_model::{CHECK_SCHEMA, CHECKS_SCHEMA, Check, CheckResult, CheckVerdict, CheckedRun, Checks, Exit, Run};

use crate::args::Simulation;
use crate::args::compare::CheckArgs;
use crate::command_line::{Cli, Command, command_here};
use crate::measure::Ended;
use crate::output::{Failure, complain, print, rendered, show, whoever_reads};
use crate::saved::run_of_probes;

/// Runs the command.
pub(crate) fn run(args: &CheckArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    if args.rules {
        return print(AUTO.trim_end()).map(|()| Exit::Done);
    }
    if let Some(file) = args.runs.iter().find(|run| run.ends_with(".toml")) {
        return Err(Failure::usage(format!("'{file}' is no run: a file of expectations is --expect {file}")));
    }
    // Mistakes of the file are found before a document of megabytes is read, and before anything is measured.
    let entries = expectations(&args.expect)?;
    if args.survey {
        return measured(args, &entries, simulation);
    }
    if simulation.simulate.is_some() {
        let cure = "a saved run has its own machine: leave --simulate out, or measure that machine with --run";
        return Err(Failure::usage(format!("--simulate is for `check --run`; {cure}")));
    }
    let [name] = args.runs.as_slice() else { return several(args, &entries) };
    let run = run_of_probes(name)?;
    if args.list {
        let figures = figures(&run);
        let text = rendered(&args.view, |_| tiermark_report::judgements::named_figures(&figures));
        return print(&text).map(|()| Exit::Done);
    }
    judged(args, name, &run, &entries)
}

/// Measures a survey and judges it. Parts that it lacks are expectations that are not judged: the exit code is that of
/// the judgement, unless the survey failed or was stopped.
fn measured(args: &CheckArgs, entries: &[Entry], simulation: &Simulation) -> Result<Exit, Failure> {
    let Ended { exit, run } = survey(&args.options, simulation)?;
    let Some(run) = run.filter(|run| run.observations().any(|seen| seen.value.is_some())) else { return Ok(exit) };
    let verdict = judged(args, &run.id, &run, entries)?;
    Ok(if matches!(exit, Exit::Done | Exit::Partial | Exit::Noisy) { verdict } else { exit })
}

/// A survey with these options, without its report.
fn survey(options: &[String], simulation: &Simulation) -> Result<Ended, Failure> {
    let words = ["tiermark", "survey"].into_iter().chain(options.iter().map(String::as_str));
    let parsed = command_here().try_get_matches_from(words).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = parsed.map_err(|error| {
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            return not_judged("help");
        }
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        Failure::usage(format!("options of the survey, behind --: {first} (`tiermark survey --help` lists them)"))
    })?;
    match cli.command {
        Some(Command::Measure(survey)) => match survey.run.printed() {
            Some(option) => Err(not_judged(option)),
            // As any option of the survey, it may stand behind `--` too.
            None if cli.simulation.simulate.is_some() => survey.conduct(&cli.simulation, false),
            None => survey.conduct(simulation, false),
        },
        _ => Err(Failure::tool("a survey is a command that measures")),
    }
}

/// An option of the survey with which standard output would hold something else than the judgement.
fn not_judged(option: &str) -> Failure {
    Failure::usage(format!(
        "`check --run` prints the judgement, not what --{option} behind -- prints: give a file \
         (--json=FILE), or type `tiermark survey --{option}`"
    ))
}

/// Judges a run and prints the result.
fn judged(args: &CheckArgs, name: &str, run: &Run, entries: &[Entry]) -> Result<Exit, Failure> {
    let found = Check { strict: args.strict, ..check(name, run, &args.expect, entries) };
    let verdict = found.verdict();
    if !found.results.iter().any(CheckResult::is_judged) {
        complain("no expectation could be judged: the report gives the reason for each");
    } else if let Some(missing) = missing(&found).filter(|_| verdict.exit() == Exit::Partial) {
        complain(&missing);
    }
    whoever_reads(show(&found, args.json, CHECK_SCHEMA, &args.view, tiermark_report::judgements::check), verdict.exit())
}

/// Judges several runs and prints a row for each, also for those that cannot be read.
fn several(args: &CheckArgs, entries: &[Entry]) -> Result<Exit, Failure> {
    if args.list {
        return Err(Failure::usage("--list shows the figures of one run: name one"));
    }
    let one = |name: &String| match run_of_probes(name) {
        Ok(run) => {
            let check = Check { strict: args.strict, ..check(name, &run, &args.expect, entries) };
            CheckedRun { name: name.clone(), verdict: check.verdict(), check: Some(check), problem: None }
        }
        Err(failure) => {
            let problem = Some(failure.to_string());
            CheckedRun { name: name.clone(), verdict: CheckVerdict::Unreadable, check: None, problem }
        }
    };
    let found = Checks { expectations: args.expect.clone(), runs: args.runs.iter().map(one).collect() };
    let exit = found.verdict().exit();
    whoever_reads(show(&found, args.json, CHECKS_SCHEMA, &args.view, tiermark_report::judgements::checks), exit)
}

/// The built-in rules, or those of a file.
fn expectations(name: &str) -> Result<Vec<Entry>, Failure> {
    let text = match name {
        BUILT_IN => AUTO.to_owned(),
        file => text_of(Path::new(file)).map_err(|error| {
            Failure::usage(format!("--expect '{file}': {error}; name a readable file, or use --expect {BUILT_IN}"))
        })?,
    };
    read(&text)
        .map_err(|mistakes| Failure::Mistakes(mistakes.iter().map(|mistake| format!("{name}: {mistake}")).collect()))
}

/// What keeps the run from passing, with a few reasons; `None` of a run that passes.
fn missing(found: &Check) -> Option<String> {
    const NAMED: usize = 3;
    let first = found.missing().next()?;
    let what = tiermark_report::judgements::too_little(found)
        .unwrap_or_else(|| format!("{} could not be judged, and no run passes without it", first.that));
    let all: BTreeSet<&str> =
        found.missing().flat_map(|result| &result.reasons).map(|note| note.text.as_str()).collect();
    let more = if all.len() > NAMED { "; …" } else { "" };
    let why = all.into_iter().take(NAMED).collect::<Vec<_>>().join("; ");
    Some(format!("{what}: {why}{more}"))
}
