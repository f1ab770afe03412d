//! Stopping what commands started elsewhere.

use tiermark_model::messages::undo as notes;
use tiermark_model::{ChangeOutcome, ChangeRow};

use super::row::row;
use crate::journal::{Change, Journal};
use crate::writer::SystemWriter;

/// Under which conditions changes are taken back.
#[derive(Debug, Clone, Copy)]
pub(super) struct RestoreMode {
    /// Write old values over those that others wrote since.
    pub(super) force: bool,
    /// On whose request.
    pub(super) by: By,
}

/// On whose request changes are taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The program that made them.
    Maker,
    /// A user, by `tune --restore`.
    User,
    /// Another run that found the journal.
    Another,
}

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
    journal.take_back(|change| matches!(change, Change::Command { .. }), |change| one(change, same_boot, how, writer))
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
