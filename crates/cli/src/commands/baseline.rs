//! `tiermark baseline`: runs kept under a name, to compare others with.

use tiermark_history::{Baselines, Entry};
use tiermark_model::{Exit, LIST_SCHEMA, List, ListItem};

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
            let path = kept.set(name, &run).map_err(Failure::usage)?;
            print(&format!("{name}: {} of {}, in {}", run.title, run.started, path.display()))?;
        }
        BaselineCommand::Remove { name } => kept.remove(name).map_err(Failure::usage)?,
        BaselineCommand::List { json, view } => {
            let described = |entry: &Entry| match kept.load(&entry.id) {
                Ok(run) => format!("{} of {}, {}", run.title, run.started, run.id),
                Err(refusal) => refusal.why,
            };
            let rows: Vec<(String, String)> =
                kept.list()?.iter().map(|entry| (entry.id.clone(), described(entry))).collect();
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

/// The baselines of the user.
pub(super) fn baselines() -> Baselines {
    Baselines::beside(&shell::store())
}
