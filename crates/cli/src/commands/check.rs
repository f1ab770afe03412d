//! `tiermark check`: a run, saved or measured now, judged by expectations.

use std::collections::BTreeSet;
use std::path::Path;

use clap::FromArgMatches;
use clap::error::ErrorKind;
use tiermark_expect::{AUTO, BUILT_IN, Expectations, check, figures};
use tiermark_history::config::text_of;
use tiermark_model::{CHECK_SCHEMA, CHECKS_SCHEMA, Check, CheckResult, CheckVerdict, CheckedRun, Checks, Exit, Run};
use tiermark_report::html::{Sheet, html};

use super::report::open_page;
use crate::args::Simulation;
use crate::args::compare::CheckArgs;
use crate::command_line::{Cli, Command, command_here};
use crate::layouts::LaidOut;
use crate::measure::Ended;
use crate::output::{Destination, Failure, complain, detail, document, print, rendered, style, whoever_reads};
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
    let expected = expectations(&args.expect)?;
    if args.survey {
        return measured(args, &expected, simulation);
    }
    if simulation.simulate.is_some() {
        let cure = "a saved run has its own machine: leave --simulate out, or measure that machine with --run";
        return Err(Failure::usage(format!("--simulate is for `check --run`; {cure}")));
    }
    let [name] = args.runs.as_slice() else { return several(args, &expected) };
    let run = run_of_probes(name).map_err(unreadable)?;
    if args.list {
        let figures = figures(&run);
        let text = rendered(&args.view, |_| tiermark_report::judgements::named_figures(&figures));
        return print(&text).map(|()| Exit::Done);
    }
    judged(args, name, &run, &expected)
}

/// A run that cannot be read cannot be judged: of one run as of several, that is no bad usage.
fn unreadable(failure: Failure) -> Failure {
    match failure {
        Failure::Exit(Exit::Usage, text) => Failure::Exit(Exit::Refused, text),
        other => other,
    }
}

/// Measures a survey and judges it. Parts that it lacks are expectations that are not judged: the exit code is that of
/// the judgement, unless the survey failed or was stopped.
fn measured(args: &CheckArgs, expected: &Expectations, simulation: &Simulation) -> Result<Exit, Failure> {
    let soak = args.soak.iter().flat_map(|level| ["--soak".to_owned(), level.to_string()]);
    let options: Vec<String> = soak.chain(args.options.iter().cloned()).collect();
    let Ended { exit, run } = survey(&options, simulation)?;
    let Some(run) = run.filter(|run| run.observations().any(|seen| seen.value.is_some())) else { return Ok(exit) };
    let verdict = judged(args, &run.id, &run, expected)?;
    Ok(if matches!(exit, Exit::Done | Exit::Partial | Exit::Noisy | Exit::Regression) { verdict } else { exit })
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
fn judged(args: &CheckArgs, name: &str, run: &Run, expected: &Expectations) -> Result<Exit, Failure> {
    let found = check(name, run, expected, args.strict);
    let exit = found.verdict.exit();
    if !found.results.iter().any(CheckResult::is_judged) {
        complain("no expectation could be judged: the report gives the reason for each");
    } else if let Some(missing) = missing(&found).filter(|_| exit == Exit::Partial) {
        complain(&missing);
    }
    if write_page(args, [&found], &[])? {
        return Ok(exit);
    }
    let text = if args.json { document(CHECK_SCHEMA, &found)? } else { args.format.show(&found, &args.view) };
    whoever_reads(print(&text), exit)
}

/// Judges several runs and prints a row for each, also for those that cannot be read.
fn several(args: &CheckArgs, expected: &Expectations) -> Result<Exit, Failure> {
    if args.list {
        return Err(Failure::usage("--list shows the figures of one run: name one"));
    }
    let one = |name: &String| match run_of_probes(name) {
        Ok(run) => {
            let check = check(name, &run, expected, args.strict);
            CheckedRun { name: name.clone(), verdict: check.verdict, check: Some(check), problem: None }
        }
        Err(failure) => {
            let problem = Some(failure.to_string());
            CheckedRun { name: name.clone(), verdict: CheckVerdict::Unreadable, check: None, problem }
        }
    };
    let found = Checks { expectations: args.expect.clone(), runs: args.runs.iter().map(one).collect() };
    let exit = found.verdict().exit();
    let unread = |run: &CheckedRun| Some(format!("{}: {}", run.name, run.problem.as_ref()?));
    let unread: Vec<String> = found.runs.iter().filter_map(unread).collect();
    if write_page(args, found.runs.iter().filter_map(|run| run.check.as_ref()), &unread)? {
        return Ok(exit);
    }
    let layout = Checks::layout(args.format.name).unwrap_or(&Checks::LAYOUTS[0]);
    let text = if args.json { document(CHECKS_SCHEMA, &found)? } else { layout.show(&found, &args.view) };
    whoever_reads(print(&text), exit)
}

/// Writes the page, where one is asked for: whether it is on standard output. `unread`: a line for each document that
/// could not be read.
fn write_page<'a>(
    args: &CheckArgs,
    checks: impl IntoIterator<Item = &'a Check>,
    unread: &[String],
) -> Result<bool, Failure> {
    let Some(place) = &args.html else { return Ok(false) };
    let page = open_page(place)?;
    let is_stdout = matches!(page, Destination::Stdout);
    let sheets: Vec<Sheet<'_>> = checks.into_iter().map(Sheet::Checked).collect();
    page.write(&html(&sheets, unread, detail(&args.view), &style(&args.view)))?;
    Ok(is_stdout)
}

/// The built-in rules, or those of a file.
fn expectations(name: &str) -> Result<Expectations, Failure> {
    let text = match name {
        BUILT_IN => AUTO.to_owned(),
        file => text_of(Path::new(file)).map_err(|error| {
            Failure::usage(format!("--expect '{file}': {error}; name a readable file, or use --expect {BUILT_IN}"))
        })?,
    };
    Expectations::read(name, &text)
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
