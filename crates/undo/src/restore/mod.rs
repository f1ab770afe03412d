//! Taking changes back, in an order that kills no tenant by accident: what runs here or elsewhere is stopped, limits lifted, swap given back, devices
//! removed, knobs written, and control groups removed last. Giving back swap under a limit would make the kernel kill whoever's
//! pages no longer fit.

mod command;
mod group;
mod knob;
mod process;
mod swap;

use std::ops::RangeFrom;
use std::path::Path;

use tiermark_model::{Deed, Fate, Refusal};

use crate::hands::Hands;
use crate::journal::{Change, Journal, StateDir, boot_id};

pub(crate) use knob::knobs;

/// What was taken back.
#[derive(Debug, Default)]
pub struct Restored {
    /// Each change.
    pub deeds: Vec<Deed>,
    /// Journals that make no sense, and whatever else keeps something from being taken back.
    pub refused: Vec<Refusal>,
}

impl Restored {
    /// Whether something is left that was to be taken back.
    pub fn incomplete(&self) -> bool {
        !self.refused.is_empty() || self.deeds.iter().any(|deed| matches!(deed.fate, Fate::Failed | Fate::Left))
    }
}

/// Takes back everything that any journal of the directory holds, the newest first. Doing it again does no harm. Knobs that somebody
/// changed since are left alone, unless forced.
///
/// # Errors
/// A [`Refusal`] where another program is changing the system right now, or the directory cannot be written.
pub fn restore_all(state: &StateDir, hands: &mut dyn Hands, force: bool) -> Result<Restored, Refusal> {
    let how = How { force, asked: true };
    restore(state, hands, how, &|_| true)
}

/// Takes back what was changed by those that `whose` knows by what they said they do, as [`restore_all`] does of all, but that nobody
/// asked for it: what a command started before a reboot may be in use again by now, and is left, and told.
///
/// # Errors
/// As for [`restore_all`].
pub fn restore_those(
    state: &StateDir,
    hands: &mut dyn Hands,
    whose: &dyn Fn(&str) -> bool,
) -> Result<Restored, Refusal> {
    restore(state, hands, How { force: false, asked: false }, whose)
}

/// How it is taken back.
#[derive(Debug, Clone, Copy)]
struct How {
    /// Whatever others did since.
    force: bool,
    /// Somebody said so.
    asked: bool,
}

fn restore(
    state: &StateDir,
    hands: &mut dyn Hands,
    how: How,
    whose: &dyn Fn(&str) -> bool,
) -> Result<Restored, Refusal> {
    let mut restored = Restored::default();
    if state.journals().is_empty() {
        return Ok(restored);
    }
    let what = "tiermark tune --restore";
    let lock = state.hold(what)?;
    for path in state.journals().into_iter().rev() {
        if never_began(&path) {
            let _ = std::fs::remove_file(&path);
            continue;
        }
        match lock.share(what).and_then(|lock| Journal::reopen(&path, lock)) {
            Ok(journal) if !whose(&journal.head.what) => {}
            Ok(mut journal) => {
                restored.deeds.extend(one(&mut journal, hands, how));
                journal.close();
            }
            Err(refusal) => restored.refused.push(refusal),
        }
    }
    Ok(restored)
}

/// Whether a journal's writer died before its head was whole: nothing was changed then.
fn never_began(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| !bytes.contains(&b'\n'))
}

impl Journal {
    /// Takes back what this journal holds, and removes it where all of that worked.
    pub fn restore(mut self, hands: &mut dyn Hands, force: bool) -> Vec<Deed> {
        let deeds = one(&mut self, hands, How { force, asked: true });
        self.close();
        deeds
    }

    /// Runs the commands that stop what commands started, and nothing else.
    pub fn stop_commanded(&mut self, hands: &mut dyn Hands) -> Vec<Deed> {
        command::stop(self, hands, false)
    }

    /// Changes not taken back yet, the newest first, of one kind.
    fn left<T>(&self, mut of: impl FnMut(&Change) -> Option<T>) -> Vec<(usize, T)> {
        let all = self.changes.iter().enumerate().rev();
        all.filter(|(index, _)| !self.undone[*index]).filter_map(|(index, change)| Some((index, of(change)?))).collect()
    }

    /// Notes what became of taking one back.
    fn settle(&mut self, index: usize, fate: Fate) {
        if !matches!(fate, Fate::Failed | Fate::Left) {
            self.note_undone(index);
        }
    }
}

fn one(journal: &mut Journal, hands: &mut dyn Hands, how: How) -> Vec<Deed> {
    // A journal of another boot, or of a system that does not tell its boots apart and is then taken for the same one.
    if boot_id(hands.root()).is_some_and(|now| now != journal.head.boot) {
        return after_reboot(journal, hands, how);
    }
    let mut deeds = process::stop(journal, hands);
    deeds.extend(command::stop(journal, hands, how.force));
    deeds.extend(group::lift(journal, hands));
    deeds.extend(swap::areas(journal, hands));
    deeds.extend(swap::headers(journal, hands));
    deeds.extend(swap::zram(journal, hands));
    let all: RangeFrom<usize> = 0..;
    deeds.extend(knobs(journal, all, hands, how.force));
    deeds.extend(group::remove(journal, hands));
    deeds
}

/// A reboot takes everything but what is on disks, and what runs elsewhere.
fn after_reboot(journal: &mut Journal, hands: &mut dyn Hands, how: How) -> Vec<Deed> {
    let mut deeds = match how.asked {
        true => command::stop(journal, hands, how.force),
        false => command::leave(journal),
    };
    let others = journal.left(|change| (!matches!(change, Change::Command { .. })).then(|| change.clone()));
    for (index, change) in others {
        let done = match &change {
            Change::Swap { path, remove_file: true } => swap::remove(path, hands),
            Change::SwapHeader { path, uuid } => swap::wipe(path, uuid, hands),
            _ => deed(&change, Fate::Gone, Some("it was gone with the reboot".to_owned())),
        };
        journal.settle(index, done.fate);
        deeds.push(done);
    }
    deeds
}

/// What became of taking a change back.
fn deed(change: &Change, fate: Fate, why: Option<String>) -> Deed {
    let (from, to) = match change {
        Change::Knob { old, new, .. } => (Some(new.clone()), Some(old.clone())),
        _ => (None, None),
    };
    let what = match change {
        Change::Knob { path, .. } => format!("/{path}"),
        other => other.to_string(),
    };
    Deed { what, from, to, fate, why }
}
