//! `tiermark history`: the saved runs of this machine over time.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tiermark_compare::{OneRun, histories, run_figures};
use tiermark_history::{Index, MachineKey, RunHead, Store};
use tiermark_model::{Exit, FigureHistory, HISTORY_SCHEMA, History, HistoryRun, Quantity, Run, RunFigure, RunFigures};
use tiermark_page::terminal;
use tiermark_report::shown_grades;

use crate::args::Simulation;
use crate::args::history::{HistoryArgs, Since};
use crate::output::{Failure, detail, document, print, style, tell};
use crate::{environment, saved, target};

/// The newest runs with figures of tiers that the brief lines are made of: those of a survey
/// take half a millisecond in unoptimised code.
const MOST_BRIEF: usize = 100;
/// The newest runs that one figure is searched in.
const MOST_SEARCHED: usize = 2_000;
/// Names in a message.
const NAMED: usize = 8;

/// Runs the command.
pub(crate) fn run(args: &HistoryArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    if args.from.is_some() && args.host.is_none() && !args.figure.is_empty() {
        return Err(Failure::usage("--from: a figure is of one host; add --host NAME"));
    }
    let describe = |run: &Run| (shown_grades(run), run_figures(run));
    let store = match &args.from {
        Some(folder) => documents(folder)?,
        None => environment::store(),
    };
    let index = if args.from.is_some() {
        Index::of_folder(&store, &describe, progress("documents read"))?
    } else {
        saved::adopt(&store, false);
        if args.rebuild {
            Index::forget(&store);
        }
        Index::open(&store, &describe, progress("new run documents read; the next `tiermark history` is faster"))?
    };
    let whose = Whose::of(args, simulation)?;
    let chosen = Chosen::of(&index, args, &whose, simulation)?;
    let all_machines = matches!(whose, Whose::All);
    let figures = match (all_machines, args.figure.as_slice()) {
        (true, _) => Vec::new(),
        (false, []) => brief(&index, &chosen.runs),
        (false, names) => named(&index, &chosen.runs, names)?,
    };
    let listed = args.limit.0.unwrap_or(usize::MAX).min(chosen.runs.len());
    let found = History {
        all_machines,
        host: args.host.clone(),
        runs: chosen.runs[chosen.runs.len() - listed..].iter().map(|head| described(head)).collect(),
        total: chosen.runs.len() as u64,
        elsewhere: chosen.elsewhere,
        simulated: chosen.simulated,
        unnamed: chosen.unnamed,
        unreadable: chosen.unreadable.iter().map(|head| described(head)).collect(),
        figures,
    };
    let (style, detail) = (style(&args.view), detail(&args.view));
    let text = if args.json {
        document(HISTORY_SCHEMA, &found)?
    } else if found.runs.is_empty() {
        let text = nothing(&store, &found, args, simulation.simulate.is_some(), index.heads());
        format!("{text}\n\n{}", terminal(&tiermark_report::judgements::history_unreadable(&found, detail), &style))
            .trim_end()
            .to_owned()
    } else if args.figure.is_empty() {
        terminal(&tiermark_report::judgements::history(&found, detail), &style)
    } else {
        terminal(&tiermark_report::judgements::history_of_figures(&found, detail), &style)
    };
    print(&text).map(|()| Exit::Done)
}

/// The documents in a folder.
fn documents(folder: &Path) -> Result<Store, Failure> {
    match folder.is_dir() {
        true => Ok(Store::at(folder)),
        false => Err(Failure::usage(format!("--from '{}': it is no folder", folder.display()))),
    }
}

/// Says how many documents are read, once that takes long.
fn progress(what: &str) -> impl FnMut(usize, usize) {
    /// Silence before the first line, and between two.
    const SILENCE: Duration = Duration::from_secs(1);
    const BETWEEN: Duration = Duration::from_secs(5);
    let (begun, mut next) = (Instant::now(), SILENCE);
    move |read, unknown| {
        if begun.elapsed() >= next {
            next = begun.elapsed() + BETWEEN;
            tell(format_args!("tiermark: note: {read} of {unknown} {what}"));
        }
    }
}

/// Whose runs are listed.
enum Whose {
    /// Everybody's.
    All,
    /// This computer's, by its host name and processor.
    Here(MachineKey),
    /// Those of the host of this name.
    Host(String),
}

impl Whose {
    fn of(args: &HistoryArgs, simulation: &Simulation) -> Result<Self, Failure> {
        Ok(match &args.host {
            Some(host) => Self::Host(host.clone()),
            None if args.all || args.from.is_some() => Self::All,
            None => Self::Here(computer(simulation)?),
        })
    }
}

/// The runs of a history, oldest first.
struct Chosen<'a> {
    runs: Vec<&'a RunHead>,
    /// Runs of other machines.
    elsewhere: u64,
    /// Runs on simulated machines, or on others of them.
    simulated: u64,
    /// Runs whose documents have no host name.
    unnamed: u64,
    /// Runs whose documents cannot be read: they may be of any machine and time.
    unreadable: Vec<&'a RunHead>,
}

impl<'a> Chosen<'a> {
    fn of(index: &'a Index<'_>, args: &HistoryArgs, whose: &Whose, simulation: &Simulation) -> Result<Self, Failure> {
        let heads = index.heads();
        let since = args.since.as_ref().map(|since| begin(since, heads)).transpose()?.unwrap_or_default();
        let (unreadable, heads): (Vec<&RunHead>, Vec<&RunHead>) = heads.iter().partition(|head| head.problem.is_some());
        let mut chosen = Self { runs: Vec::new(), elsewhere: 0, simulated: 0, unnamed: 0, unreadable };
        for head in heads.into_iter().filter(|head| head.started >= since) {
            let is_as_real = match whose {
                // Two simulated machines may have one host name and one processor.
                Whose::Here(_) => head.simulated == simulation.simulate,
                Whose::All | Whose::Host(_) => head.simulated.is_some() == simulation.simulate.is_some(),
            };
            if !is_as_real {
                chosen.simulated += u64::from(head.simulated.is_some());
                continue;
            }
            let (is_theirs, is_named) = match whose {
                Whose::All => (true, true),
                Whose::Host(name) => (head.host.as_ref() == Some(name), head.host.is_some()),
                Whose::Here(here) => match &head.computer {
                    Some(computer) => (computer.is_same_computer(here), true),
                    None => (head.simulated.is_some(), false),
                },
            };
            match (is_theirs, is_named) {
                (true, _) => chosen.runs.push(head),
                (false, true) => chosen.elsewhere += 1,
                (false, false) => chosen.unnamed += 1,
            }
        }
        Ok(chosen)
    }
}

/// This computer as documents name it: by its host name, since they do not hold the machine's id.
fn computer(simulation: &Simulation) -> Result<MachineKey, Failure> {
    let (_, machine) = target::described(None, simulation)?;
    Ok(MachineKey::of(&machine, machine.system.hostname.as_deref().unwrap_or_default()))
}

/// The first moment of `--since`, in the form of the starts of runs.
fn begin(since: &Since, heads: &[RunHead]) -> Result<String, Failure> {
    let text = match since {
        Since::Seconds(ago) => {
            let now = Timestamp::now().as_second();
            let then = now.checked_sub_unsigned(*ago).and_then(|then| Timestamp::from_second(then).ok());
            start(then.unwrap_or(Timestamp::UNIX_EPOCH))
        }
        Since::Moment(moment) => start(*moment),
        Since::Run(id) => {
            let named: Vec<&RunHead> = heads.iter().filter(|head| head.id.starts_with(id.as_str())).collect();
            match named.as_slice() {
                [] => {
                    return Err(Failure::usage(format!(
                        "--since '{id}' is not a span (7d), a day (2026-11-01) or a saved run: `tiermark history \
                            --limit all` lists the runs"
                    )));
                }
                [first, ..] => first.started.clone(),
            }
        }
    };
    Ok(text)
}

/// A moment as documents have it.
fn start(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Figures of tiers over the newest runs that have any, and the rates of the newest soaks.
fn brief(index: &Index<'_>, runs: &[&RunHead]) -> Vec<FigureHistory> {
    let with_figures: Vec<&RunHead> = runs.iter().copied().filter(|head| head.headlines > 0).collect();
    let newest = &with_figures[with_figures.len().saturating_sub(MOST_BRIEF)..];
    let mut found = over(index, newest, |figure| figure.is_headline());
    let newest = &runs[runs.len().saturating_sub(MOST_BRIEF)..];
    found.extend(over(index, newest, |figure| matches!(figure.quantity, Quantity::SoakRead | Quantity::SoakWritten)));
    found
}

/// The figures of these names.
fn named(index: &Index<'_>, runs: &[&RunHead], names: &[String]) -> Result<Vec<FigureHistory>, Failure> {
    let newest = &runs[runs.len().saturating_sub(MOST_SEARCHED)..];
    let found = over(index, newest, |figure| figure.name.as_ref().is_some_and(|name| names.contains(name)));
    let has = |name: &&String| found.iter().any(|figure| figure.name.as_ref() == Some(*name));
    match names.iter().find(|name| !has(name)) {
        Some(missing) if !runs.is_empty() => {
            Err(Failure::usage(format!("none of these runs has {missing}; `tiermark check --list` shows the names")))
        }
        _ => Ok(found),
    }
}

/// The figures of some runs over time.
fn over(index: &Index<'_>, runs: &[&RunHead], is_asked: impl Fn(&RunFigure) -> bool) -> Vec<FigureHistory> {
    const DAY: f64 = 86_400.0;
    let second = |head: &RunHead| head.started.parse::<Timestamp>().ok().map(Timestamp::as_second);
    let first = runs.iter().find_map(|head| second(head)).unwrap_or_default();
    let day = |head: &RunHead| second(head).map(|second| (second - first) as f64 / DAY);
    // All figures of thousands of runs would take a gigabyte.
    let kept = |head: &RunHead| {
        let mut about: RunFigures = index.figures(head);
        about.figures.retain(&is_asked);
        about
    };
    let about: Vec<RunFigures> = runs.iter().map(|head| kept(head)).collect();
    let one = |(head, about)| {
        let head: &&RunHead = head;
        OneRun { id: &head.id, started: &head.started, day: day(head), about }
    };
    histories(&runs.iter().zip(&about).map(one).collect::<Vec<_>>(), |_| true)
}

fn described(head: &RunHead) -> HistoryRun {
    HistoryRun {
        id: head.id.clone(),
        started: head.started.clone(),
        seconds: head.seconds,
        title: head.title.clone(),
        complete: head.complete,
        simulated: head.simulated.clone(),
        host: head.host.clone(),
        cpu: head.cpu.clone(),
        version: head.version.clone(),
        grades: head.grades,
        problem: head.problem.clone(),
    }
}

/// What there is instead of a history.
fn nothing(store: &Store, found: &History, args: &HistoryArgs, simulated: bool, heads: &[RunHead]) -> String {
    if let Some(newest) = heads.iter().map(|head| &head.started).max().filter(|_| args.since.is_some()) {
        let owner = match &found.host {
            Some(host) => format!(" of host {host}"),
            None if found.all_machines => String::new(),
            None => " of this machine".to_owned(),
        };
        return format!("No run{owner} is that new: the newest run of all machines is of {newest}.");
    }
    let place = store.directory().map_or_else(|| "no directory".to_owned(), |d| d.display().to_string());
    let mut others = Vec::new();
    let hosts: BTreeSet<&str> = heads.iter().filter_map(|head| head.host.as_deref()).collect();
    match &found.host {
        Some(_) if !hosts.is_empty() => {
            let more = if hosts.len() > NAMED { ", …" } else { "" };
            others.push(format!("those of {}{more}", Vec::from_iter(hosts.into_iter().take(NAMED)).join(", ")));
        }
        None if found.elsewhere > 0 => {
            others.push(format!("{} of other machines (--all lists them)", found.elsewhere));
        }
        _ => {}
    }
    if found.simulated > 0 {
        let how = if found.all_machines { " (--simulate synth: lists them)" } else { "" };
        others.push(format!("{} on simulated machines{how}", found.simulated));
    }
    if found.unnamed > 0 {
        others.push(format!("{} without a host name (--all lists them)", found.unnamed));
    }
    let others = if others.is_empty() { String::new() } else { format!(" Not listed: {}.", others.join(", ")) };
    // With --all no machine is left out but those that are simulated.
    let owner = match (&found.host, found.all_machines, simulated) {
        (Some(host), ..) => &format!("host {host}"),
        (None, true, false) => "a real machine",
        (None, true, true) => "a simulated machine",
        (None, false, _) => "this machine",
    };
    match args.from {
        Some(_) => format!("No run of {owner} is in {place}.{others}"),
        None => format!("No run of {owner} is saved in {place}; `tiermark survey` makes one.{others}"),
    }
}
