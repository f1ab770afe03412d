//! `tiermark tune`: the system's knobs beside the advice of a profile, changed and taken back on request.

use tiermark_machine::{Root, resolve_disk};
use tiermark_model::messages::undo as messages;
use tiermark_model::{
    CHANGES_SCHEMA, ChangeOutcome, ChangeRow, Changes, Exit, Machine, Note, Refusal, TUNE_SCHEMA, Tuning,
};
use tiermark_tune::{AdviceInput, Knob, changes, knob_rows, knobs, services};
use tiermark_undo::{
    Applied, Asked, Journal, JournalHeader, KnobChange, Restored, RootWriter, StateDir, apply, is_noted, may_write,
    pending, restore_all, stop_service,
};

use crate::args::{Simulation, TuneArgs};
use crate::names::nearest_knob;
use crate::output::{Failure, complain_once, document, print, rendered, show, tell};
use crate::{environment, restoring, target};

/// Runs the command.
pub(crate) fn run(args: &TuneArgs, simulation: &Simulation) -> Result<Exit, Failure> {
    let is_captured = args.root.is_some() || simulation.simulate.is_some();
    if is_captured && (args.apply || args.restore) {
        return Err(Failure::usage(
            "settings of a captured machine cannot be changed: leave --apply and --restore out",
        ));
    }
    if args.restore {
        return restore(args);
    }
    let (root, machine) = target::described(args.root.as_deref(), simulation)?;
    let chosen = chosen(&args.only)?;
    let tuning = examine(args, &root, &machine, &chosen)?;
    if args.apply {
        return make(args, &root, &tuning, &chosen);
    }
    show(&tuning, args.json, TUNE_SCHEMA, &args.view, tiermark_report::listings::tuning).map(|()| Exit::Done)
}

/// The chosen knobs: all, or those named.
fn chosen(only: &[String]) -> Result<Vec<&'static Knob>, Failure> {
    let unknown: Vec<String> = only.iter().filter(|name| !knobs().any(|knob| knob.name == **name)).cloned().collect();
    if !unknown.is_empty() {
        let suggested: String = unknown.iter().map(|name| nearest_knob(name)).collect();
        let names = unknown.join(", ");
        return Err(Failure::usage(format!("no knob is called {names}{suggested}; `tiermark tune` lists all knobs")));
    }
    Ok(knobs().filter(|knob| only.is_empty() || only.contains(&knob.name)).collect())
}

fn examine(args: &TuneArgs, root: &Root, machine: &Machine, chosen: &[&Knob]) -> Result<Tuning, Failure> {
    let named = args.device.iter().map(|device| resolve_disk(root, device)).collect::<Result<Vec<_>, _>>()?;
    let profile = args.profile.profile();
    let input = AdviceInput::new(root, machine, named);
    let held = if root.is_live() { environment::state().map(|state| pending(&state, root)) } else { None };
    Ok(Tuning {
        profile: profile.name().to_owned(),
        purpose: profile.purpose().to_owned(),
        knobs: knob_rows(&input, profile, chosen.iter().copied()),
        held: held.unwrap_or_default(),
    })
}

/// Where journals go.
fn state() -> Result<StateDir, Failure> {
    Ok(environment::state().ok_or_else(messages::no_journal_directory)?)
}

/// Makes the changes that the advice is about.
fn make(args: &TuneArgs, root: &Root, tuning: &Tuning, chosen: &[&Knob]) -> Result<Exit, Failure> {
    let wanted = changes(&tuning.knobs, chosen.iter().copied());
    let stopped = services(&tuning.knobs, chosen.iter().copied());
    if wanted.is_empty() && stopped.is_empty() {
        report(args, &[], None, "Nothing to change: every knob that can be changed is as advised.")?;
        return Ok(Exit::Done);
    }
    let mut writer = RootWriter::new(root.clone());
    let (started, _) = environment::started_and_id();
    let what = format!("tiermark tune --apply --profile {}", args.profile.profile().name());
    let mut journal = Journal::create(&state()?, JournalHeader::new(root, what, started))?;
    let applied = applied(&stopped, &wanted, &mut writer, &mut journal);
    let place = journal.path().display().to_string();
    journal.keep();
    let Applied { rows, refused } = applied?;
    let taken_back = rows.iter().skip_while(|row| row.outcome != ChangeOutcome::Failed).skip(1);
    let stuck = taken_back.clone().any(|row| matches!(row.outcome, ChangeOutcome::Failed | ChangeOutcome::Left));
    match refused {
        None => {
            let files = if wanted.len() == 1 { "1 file".to_owned() } else { format!("{} files", wanted.len()) };
            let services: String = stopped.iter().map(|name| format!("{name} stopped, ")).collect();
            let text = format!(
                "{services}{files} changed until the next reboot, or `tiermark tune --restore`. Old values: {place}"
            );
            report(args, &rows, None, &text)?;
            Ok(Exit::Done)
        }
        Some(refusal) => {
            let text = match stuck {
                true => {
                    "Some changes could not be taken back (see above): remove the cause, then `tiermark tune \
                        --restore`."
                }
                false => "All earlier changes of this command were taken back: the settings are as before.",
            };
            report(args, &rows, Some(&refusal), text)?;
            complain_once([&refusal]);
            Ok(if stuck { Exit::Failure } else { Exit::Refused })
        }
    }
}

/// Stops services and writes files; where one of it fails, everything is taken back.
fn applied(
    stopped: &[&str],
    wanted: &[KnobChange],
    writer: &mut RootWriter,
    journal: &mut Journal,
) -> Result<Applied, Refusal> {
    // Before anything is changed, also services.
    may_write(wanted, writer)?;
    let mut rows = Vec::new();
    // First: a service that runs would write its own values over those that are advised.
    for name in stopped {
        match stop_service(name, writer, journal) {
            Ok(row) => rows.push(row),
            Err(refusal) => {
                rows.extend(journal.start_services(writer));
                return Ok(Applied { rows, refused: Some(refusal) });
            }
        }
    }
    let applied = apply(wanted, writer, journal);
    let (Ok(Applied { refused: Some(_), .. }) | Err(_)) = &applied else {
        return applied.map(|done| Applied { rows: rows.into_iter().chain(done.rows).collect(), ..done });
    };
    let started = journal.start_services(writer);
    let (done, refused) = match applied {
        Ok(Applied { rows, refused }) => (rows, refused),
        // Services were stopped, and whether they run again is said.
        Err(refusal) => {
            (wanted.first().map(|change| refused_row(change, &refusal)).into_iter().collect(), Some(refusal))
        }
    };
    Ok(Applied { rows: rows.into_iter().chain(done).chain(started).collect(), refused })
}

/// The row of a change that was refused.
fn refused_row(change: &KnobChange, refusal: &Refusal) -> ChangeRow {
    let (from, to) = (Some(change.old.clone()), Some(change.new.clone()));
    let why = Some(Note::from(refusal));
    ChangeRow { what: format!("/{}", change.path), from, to, outcome: ChangeOutcome::Failed, why }
}

/// Takes back what earlier calls changed.
fn restore(args: &TuneArgs) -> Result<Exit, Failure> {
    let root = Root::live();
    let state = state()?;
    if let Some(unknown) = args.forget.iter().find(|name| !is_noted(&state, name)) {
        return Err(Failure::usage(format!(
            "no journal lists a change named {unknown}; `tiermark tune` shows all changes"
        )));
    }
    let (at_work, left): (Vec<_>, Vec<_>) = pending(&state, &root).into_iter().partition(|held| held.at_work);
    restoring::announce_commands(&left);
    let mut writer = RootWriter::new(root);
    let asked = Asked { force: args.force, forget: args.forget.clone() };
    let restored = restore_all(&state, &mut writer, &asked).map_err(|refusal| match at_work.first() {
        // The lock may be held by a run that says more about itself in its journal.
        Some(held) => Refusal {
            why: format!("{}; {} has been running since {}", refusal.why, held.what, held.started),
            ..refusal
        },
        None => refusal,
    })?;
    let incomplete = restored.incomplete();
    let Restored { rows, refused } = restored;
    let failed = !refused.is_empty() || rows.iter().any(|row| row.outcome == ChangeOutcome::Failed);
    let text = match (rows.is_empty() && refused.is_empty(), incomplete) {
        (true, _) => "Nothing to take back: the journals list no change.",
        (false, false) => "All changes were taken back: the settings are as before.",
        (false, true) => {
            "Some changes were not taken back (see above). They stay in the journal: run `tiermark tune --restore` \
                again."
        }
    };
    report(args, &rows, None, text)?;
    complain_once(&refused);
    Ok(match (failed, incomplete) {
        (true, _) => Exit::Failure,
        (false, true) => Exit::Partial,
        (false, false) => Exit::Done,
    })
}

/// Reports the outcome of changes on standard output, failures included.
fn report(args: &TuneArgs, rows: &[ChangeRow], refused: Option<&Refusal>, text: &str) -> Result<(), Failure> {
    if args.json {
        tell(format_args!("tiermark: {text}"));
        let changes = Changes { changes: rows.to_vec(), refused: refused.cloned() };
        return print(&document(CHANGES_SCHEMA, &changes)?);
    }
    print(&rendered(&args.view, |_| tiermark_report::listings::change_rows(rows, text)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tiermark_undo::Syntax;

    use super::*;

    /// A file that cannot be written is found before a service is stopped.
    #[test]
    fn a_missing_permission_changes_nothing() {
        let (tree, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(tree.path().join("proc")).unwrap();
        fs::write(tree.path().join("proc/cpuinfo"), "").unwrap();
        let root = Root::at(tree.path()).unwrap();
        let state = StateDir::at(state.path());
        let header = JournalHeader::new(&root, "a test", "2026-11-21T12:00:00Z");
        let mut journal = Journal::create(&state, header).unwrap();
        let (old, new) = ("1".to_owned(), "0".to_owned());
        let change = KnobChange {
            path: "sys/kernel/mm/ksm/run".to_owned(),
            syntax: Syntax::Number,
            old,
            new,
            name: "ksm".to_owned(),
        };
        let refused = applied(&["absent.service"], &[change], &mut RootWriter::new(root), &mut journal);
        assert!(refused.is_err());
        assert_eq!(fs::read_to_string(journal.path()).unwrap().lines().count(), 1, "only the head");
    }
}
