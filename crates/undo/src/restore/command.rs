//! Stopping what commands started elsewhere.

use tiermark_model::messages::undo as notes;
use tiermark_model::{ChangeOutcome, ChangeRow};

use super::{By, RestoreMode, row};
use crate::journal::{Change, Journal};
use crate::writer::SystemWriter;

/// Runs the stop commands, except where their target may now be another: after a reboot, all whose target has no name
/// of this program's own; and without a user's request, also those without a check command.
///
/// A command that fails stays in the journal, since its target may still run. With `--force`, commands that failed or
/// were not run are dropped.
pub(super) fn stop(
    journal: &mut Journal,
    same_boot: bool,
    how: RestoreMode,
    writer: &mut dyn SystemWriter,
) -> Vec<ChangeRow> {
    let commands = journal.left(|change| matches!(change, Change::Command { .. }).then(|| change.clone()));
    let mut rows = Vec::new();
    for (index, change) in commands {
        let done = one(&change, same_boot, how, writer);
        journal.settle(index, done.outcome);
        rows.push(done);
    }
    rows
}

fn one(change: &Change, same_boot: bool, how: RestoreMode, writer: &mut dyn SystemWriter) -> ChangeRow {
    let Change::Command { stop, check, own, .. } = change else {
        return row(change, ChangeOutcome::Already, None);
    };
    let kept = if how.force { ChangeOutcome::Gone } else { ChangeOutcome::Left };
    if !same_boot && !own {
        return row(change, kept, Some(notes::started_before_reboot(stop)));
    }
    // The process that started it knows that it runs.
    let check = check.as_ref().filter(|_| how.by != By::Maker);
    match check.map(|check| writer.run(check)) {
        Some(Ok(())) => return row(change, ChangeOutcome::Already, Some(notes::check_passes())),
        None if how.by == By::Another && !own => return row(change, kept, Some(notes::nobody_asked())),
        Some(Err(_)) | None => {}
    }
    match writer.run(stop) {
        Ok(()) => row(change, ChangeOutcome::Done, None),
        Err(why) if how.force => row(change, ChangeOutcome::Gone, Some(notes::command_given_up(&why))),
        Err(why) => row(change, ChangeOutcome::Failed, Some(notes::system_refused(&why))),
    }
}
