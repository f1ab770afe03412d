//! Stopping what commands started elsewhere.

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
            Err(why) if force => row(&change, ChangeOutcome::Gone, Some(format!("given up: {why}"))),
            Err(why) => row(&change, ChangeOutcome::Failed, Some(why)),
        };
        journal.settle(index, done.outcome);
        rows.push(done);
    }
    rows
}

/// Lists those commands without running them.
pub(super) fn leave(journal: &Journal) -> Vec<ChangeRow> {
    let why = "it was started before a reboot, and may be in use by others now: `tiermark tune --restore` stops it";
    commands(journal)
        .into_iter()
        .map(|(_, (_, change))| row(&change, ChangeOutcome::Left, Some(why.to_owned())))
        .collect()
}

fn commands(journal: &Journal) -> Vec<(usize, (String, Change))> {
    journal.left(|change| match change {
        Change::Command { stop, .. } => Some((stop.clone(), change.clone())),
        _ => None,
    })
}
