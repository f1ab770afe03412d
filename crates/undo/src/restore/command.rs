//! Stopping what commands started elsewhere.

use tiermark_model::messages::undo as notes;
use tiermark_model::{ChangeOutcome, ChangeRow};

use super::row;
use crate::journal::{Change, Journal};
use crate::writer::SystemWriter;

/// Runs all commands that stop something. One that fails stays noted: what it is about may still run; unless forced, where nobody knows
/// any more how to reach it.
pub(super) fn stop(journal: &mut Journal, writer: &mut dyn SystemWriter, force: bool) -> Vec<ChangeRow> {
    let mut rows = Vec::new();
    for (index, (command, change)) in commands(journal) {
        let done = match writer.run(&command) {
            Ok(()) => row(&change, ChangeOutcome::Done, None),
            Err(why) if force => row(&change, ChangeOutcome::Gone, Some(notes::command_given_up(&why))),
            Err(why) => row(&change, ChangeOutcome::Failed, Some(notes::system_refused(&why))),
        };
        journal.settle(index, done.outcome);
        rows.push(done);
    }
    rows
}

/// Lists those commands without running them.
pub(super) fn leave(journal: &Journal) -> Vec<ChangeRow> {
    let left = |(_, (_, change))| row(&change, ChangeOutcome::Left, Some(notes::started_before_reboot()));
    commands(journal).into_iter().map(left).collect()
}

fn commands(journal: &Journal) -> Vec<(usize, (String, Change))> {
    journal.left(|change| match change {
        Change::Command { stop, .. } => Some((stop.clone(), change.clone())),
        _ => None,
    })
}
