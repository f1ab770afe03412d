//! `tiermark baseline`: runs kept under a name, to compare others with.

use tiermark_history::{Baselines, Entry};
use tiermark_model::{Exit, LIST_SCHEMA, List, ListItem, Run};

use crate::args::compare::{BaselineArgs, BaselineCommand};
use crate::kept::run_of_probes;
use crate::output::{Failure, document, print, style};
use crate::shell;

/// Runs the command.
pub(crate) fn run(args: &BaselineArgs) -> Result<Exit, Failure> {
    let kept = baselines();
    match &args.command {
        BaselineCommand::Set { name, run } => {
            let run = run_of_probes(run)?;
            let replaced = kept.load(name).ok().map(|old| format!(", in place of that of {}", old.started));
            let path = kept.set(name, &run).map_err(Failure::usage)?;
            print(&format!("{name}: {}{}, in {}", described(&run), replaced.unwrap_or_default(), path.display()))?;
        }
        BaselineCommand::Remove { name } => kept.remove(name).map_err(Failure::usage)?,
        BaselineCommand::List { json, view } => {
            let about = |entry: &Entry| match kept.load(&entry.id) {
                Ok(run) => format!("{}, {}", described(&run), run.id),
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
                let rows: Vec<(&str, String)> =
                    rows.iter().map(|(name, about)| (name.as_str(), about.clone())).collect();
                print(&tiermark_report::names(&rows, &style(&view.view)))?;
            }
        }
    }
    Ok(Exit::Done)
}

/// A run in a line: what, when and on which machine.
fn described(run: &Run) -> String {
    let cpu = run.machine.cpu_model.name.as_ref().map_or_else(String::new, |cpu| format!(", {cpu}"));
    let simulated = if run.simulated.is_some() { ", simulated" } else { "" };
    format!("{} of {}{cpu}{simulated}", run.title, run.started)
}

/// The baselines of the user.
pub(super) fn baselines() -> Baselines {
    Baselines::beside(&shell::store())
}
