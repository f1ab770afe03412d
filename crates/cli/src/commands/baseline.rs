//! `tiermark baseline`: runs kept under a name, to compare others with.

use tiermark_history::{Baselines, Entry};
use tiermark_model::{Exit, LIST_SCHEMA, List, ListItem, Run};

use crate::args::compare::{BaselineArgs, BaselineCommand};
use crate::environment;
use crate::output::{Failure, document, print, rendered};
use crate::saved::run_of_probes;

/// Runs the command.
pub(crate) fn run(args: &BaselineArgs) -> Result<Exit, Failure> {
    let kept = baselines();
    match &args.command {
        BaselineCommand::Set { name, runs } => {
            let replaced = kept.load_all(name).ok().map(|old| format!(", in place of {}", of_all(&old)));
            keep(&kept, name, Vec::new(), runs, &replaced.unwrap_or_default())?;
        }
        BaselineCommand::Add { name, runs } => {
            let is_new = kept.list()?.iter().all(|entry| entry.id != *name);
            let old = if is_new { Vec::new() } else { kept.load_all(name).map_err(Failure::usage)? };
            keep(&kept, name, old, runs, "")?;
        }
        BaselineCommand::Remove { name } => kept.remove(name).map_err(Failure::usage)?,
        BaselineCommand::List { json, view } => {
            let about = |entry: &Entry| match kept.load_all(&entry.id) {
                Ok(runs) => of_all(&runs),
                Err(refusal) => refusal.why,
            };
            let rows: Vec<(String, String)> =
                kept.list()?.iter().map(|entry| (entry.id.clone(), about(entry))).collect();
            if *json {
                let items = rows.into_iter().map(|(name, about)| ListItem::Named { name, about }).collect();
                print(&document(LIST_SCHEMA, &List { what: Some("baselines".into()), items })?)?;
            } else if rows.is_empty() {
                print("No baseline is kept; `tiermark baseline set NAME` keeps the last run.")?;
            } else {
                print(&rendered(&view.view, |_| tiermark_report::listings::names(&rows)))?;
            }
        }
    }
    Ok(Exit::Done)
}

/// Keeps runs under a name, after those that it has.
fn keep(kept: &Baselines, name: &str, old: Vec<Run>, added: &[String], replaced: &str) -> Result<(), Failure> {
    let mut all = old;
    for reference in added {
        let run = run_of_probes(reference)?;
        if all.iter().any(|of| of.id == run.id) {
            return Err(Failure::usage(format!("baseline '{name}' has the run {} already: name another", run.id)));
        }
        if let Some(of) = all.first().filter(|of| !is_of_machine(of, &run)) {
            return Err(Failure::usage(format!(
                "baseline '{name}': the runs {} and {} are of different machines: keep them under two names",
                of.id, run.id
            )));
        }
        all.push(run);
    }
    let path = kept.set(name, &all).map_err(Failure::usage)?;
    print(&format!("{name}: {}{replaced}, in {}", of_all(&all), path.display()))
}

/// Whether nothing shows that two runs are of different machines.
fn is_of_machine(a: &Run, b: &Run) -> bool {
    a.machine.cpu_model.name == b.machine.cpu_model.name && a.simulated == b.simulated
}

/// The runs of a baseline in a line.
fn of_all(runs: &[Run]) -> String {
    match runs {
        [] => String::new(),
        [run] => format!("{}, {}", described(run), run.id),
        [.., newest] => format!("{} runs, the newest {}, {}", runs.len(), described(newest), newest.id),
    }
}

/// A run in a line: what, when and on which machine.
fn described(run: &Run) -> String {
    let cpu = run.machine.cpu_model.name.as_ref().map_or_else(String::new, |cpu| format!(", {cpu}"));
    let simulated = if run.simulated.is_some() { ", simulated" } else { "" };
    format!("{} of {}{cpu}{simulated}", run.title, run.started)
}

/// The baselines of the user.
pub(super) fn baselines() -> Baselines {
    Baselines::beside(&environment::store())
}
