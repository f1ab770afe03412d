//! Stopping what commands started elsewhere.

use tiermark_model::{Deed, Fate};

use super::deed;
use crate::hands::Hands;
use crate::journal::{Change, Journal};

/// Runs all commands that stop something. One that fails stays noted: what it is about may still run; unless forced, where nobody knows
/// any more how to reach it.
pub(super) fn stop(journal: &mut Journal, hands: &mut dyn Hands, force: bool) -> Vec<Deed> {
    let mut deeds = Vec::new();
    for (index, (command, change)) in commands(journal) {
        let done = match hands.run(&command) {
            Ok(()) => deed(&change, Fate::Done, None),
            Err(why) if force => deed(&change, Fate::Gone, Some(format!("given up: {why}"))),
            Err(why) => deed(&change, Fate::Failed, Some(why)),
        };
        journal.settle(index, done.fate);
        deeds.push(done);
    }
    deeds
}

/// Tells of them, and runs none.
pub(super) fn leave(journal: &Journal) -> Vec<Deed> {
    let why = "it was started before a reboot, and may be in use by others now: `tiermark tune --restore` stops it";
    commands(journal).into_iter().map(|(_, (_, change))| deed(&change, Fate::Left, Some(why.to_owned()))).collect()
}

fn commands(journal: &Journal) -> Vec<(usize, (String, Change))> {
    journal.left(|change| match change {
        Change::Command { stop, .. } => Some((stop.clone(), change.clone())),
        _ => None,
    })
}
