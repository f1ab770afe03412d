//! Takes changes back, in an order that makes the kernel kill no tenant: first processes and servers are stopped, then
//! limits lifted, swap areas turned off, devices removed, knobs written, and control groups removed last. Turning swap
//! off under a limit would make the kernel kill processes whose pages no longer fit.

mod command;
mod group;
mod knob;
mod process;
mod row;
mod service;
mod swap;
mod swap_users;

use std::ops::RangeFrom;

use tiermark_model::messages::undo as notes;
use tiermark_model::{ChangeOutcome, ChangeRow, Refusal};

use crate::journal::{Change, Journal, JournalHeader, StateDir, boot_id, never_began};
use crate::writer::SystemWriter;

use command::{By, RestoreMode};
use group::NotedGroup;
pub(crate) use knob::knobs;
use process::Living;
use row::row;
pub(crate) use service::services;

/// The outcome of taking changes back.
#[derive(Debug, Default)]
pub struct Restored {
    /// Each change of the journals, in the order in which it was taken back.
    pub rows: Vec<ChangeRow>,
    /// Journals that make no sense, and whatever else keeps something from being taken back.
    pub refused: Vec<Refusal>,
}

impl Restored {
    /// Whether some change could not be taken back.
    pub fn incomplete(&self) -> bool {
        !self.refused.is_empty() || self.rows.iter().any(ChangeRow::stays)
    }
}

/// Options of a user who takes changes back.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Write old values over those that others wrote since, give up commands that fail, and take swap away from groups
    /// under a limit.
    pub force: bool,
    /// Names of changes whose notes are ended, with nothing done ([`Change::is_called`]).
    pub forget: Vec<String>,
}

/// Takes back all changes in all journals of the directory, the newest first. A second call has no further effect.
/// Knobs that another program changed since are not written, unless forced.
///
/// # Errors
/// A [`Refusal`] where another program is changing the system right now, or the directory cannot be written.
pub fn restore_all(state: &StateDir, writer: &mut dyn SystemWriter, asked: &Asked) -> Result<Restored, Refusal> {
    let how = RestoreMode { force: asked.force, by: By::User };
    restore(state, writer, how, &asked.forget, &|_| true)
}

/// Takes back the changes in the journals that `whose` chooses, as [`restore_all`] does, but without a user's request:
/// a started command is stopped only if its check command reports that it still runs.
///
/// # Errors
/// As for [`restore_all`].
pub fn restore_those(
    state: &StateDir,
    writer: &mut dyn SystemWriter,
    whose: &dyn Fn(&JournalHeader) -> bool,
) -> Result<Restored, Refusal> {
    restore(state, writer, RestoreMode { force: false, by: By::Another }, &[], whose)
}

/// Takes back what this process changed and did not take back, after a defect of the program: as the program itself
/// would have done.
///
/// # Errors
/// As for [`restore_all`].
pub fn restore_own(state: &StateDir, writer: &mut dyn SystemWriter) -> Result<Restored, Refusal> {
    let own = JournalHeader::new(writer.root(), "", "");
    let is_own =
        |head: &JournalHeader| (&head.boot, head.pid, head.start_ticks) == (&own.boot, own.pid, own.start_ticks);
    restore(state, writer, RestoreMode { force: false, by: By::Maker }, &[], &is_own)
}

fn restore(
    state: &StateDir,
    writer: &mut dyn SystemWriter,
    how: RestoreMode,
    forget: &[String],
    whose: &dyn Fn(&JournalHeader) -> bool,
) -> Result<Restored, Refusal> {
    let mut restored = Restored::default();
    if state.journals().is_empty() {
        return Ok(restored);
    }
    let what = match how.by {
        By::User => "tiermark tune --restore",
        By::Maker | By::Another => "taking back changes that were left",
    };
    let lock = state.hold(what)?;
    for path in state.journals().into_iter().rev() {
        if never_began(&path) {
            let _ = std::fs::remove_file(&path);
            continue;
        }
        match lock.share(what).and_then(|lock| Journal::reopen(&path, writer.root(), lock)) {
            Ok(journal) if !whose(&journal.noted.head) => {}
            Ok(mut journal) => {
                restored.rows.extend(journal.end_notes(forget));
                restored.rows.extend(one(&mut journal, writer, how));
                journal.close();
            }
            Err(refusal) => restored.refused.push(refusal),
        }
    }
    Ok(restored)
}

impl Journal {
    /// Takes back what this journal holds, and removes it where all of that worked.
    pub fn restore(mut self, writer: &mut dyn SystemWriter, force: bool) -> Vec<ChangeRow> {
        let rows = one(&mut self, writer, RestoreMode { force, by: By::Maker });
        self.close();
        rows
    }

    /// Runs the commands that stop what commands started, and nothing else.
    pub fn stop_commanded(&mut self, writer: &mut dyn SystemWriter) -> Vec<ChangeRow> {
        command::stop(self, true, RestoreMode { force: false, by: By::Maker }, writer)
    }

    /// Starts the services again that were stopped, and nothing else.
    pub fn start_services(&mut self, writer: &mut dyn SystemWriter) -> Vec<ChangeRow> {
        services(self, writer)
    }

    /// Ends the notes of changes with these names, and does nothing about them.
    fn end_notes(&mut self, forget: &[String]) -> Vec<ChangeRow> {
        let named = |change: &Change| forget.iter().any(|name| change.is_called(name)).then(|| change.clone());
        let mut rows = Vec::new();
        for (index, change) in self.left(named) {
            rows.push(row(&change, ChangeOutcome::Gone, Some(notes::note_ended())));
            self.note_undone(index);
        }
        rows
    }
}

/// File systems of the kernel: where one is not mounted, its absent files say nothing about what is left.
const KERNEL_FILES: [&str; 2] = ["proc", "sys"];

/// Takes back the changes of a journal. A change that was noted before it was made and after is one row.
fn one(journal: &mut Journal, writer: &mut dyn SystemWriter, how: RestoreMode) -> Vec<ChangeRow> {
    let mut rows: Vec<ChangeRow> = Vec::new();
    for row in each(journal, writer, how) {
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}

/// Takes back the changes of a journal, with a row for each note.
fn each(journal: &mut Journal, writer: &mut dyn SystemWriter, how: RestoreMode) -> Vec<ChangeRow> {
    let is_absent = |path: &&str| writer.root().list(path).map_or(true, |names| names.is_empty());
    if let Some(path) = KERNEL_FILES.into_iter().find(is_absent) {
        let all = journal.left(|change| Some(row(change, ChangeOutcome::Left, Some(notes::kernel_files_absent(path)))));
        return all.into_iter().map(|(_, row)| row).collect();
    }
    let boot = boot_id(writer.root());
    let noted = Some(&journal.noted.head.boot).filter(|noted| !noted.is_empty());
    let same_boot = boot.is_some() && boot.as_ref() == noted;
    // If the system does not report its boot id, or did not, the boot is taken to be the same, except for servers
    // elsewhere.
    if boot.is_some() && noted.is_some() && !same_boot {
        return after_reboot(journal, writer, how);
    }
    let process::Stopped { mut rows, survivors } = process::stop(journal, writer);
    rows.extend(command::stop(journal, same_boot, how, writer));
    if !survivors.is_empty() {
        // Without their limits they may take all memory; without the swap area, what they have there does not fit.
        rows.extend(left_to(&survivors, journal, writer));
        return rows;
    }
    rows.extend(group::lift(journal, writer));
    rows.extend(swap::areas(journal, writer, how.force));
    rows.extend(swap::zram(journal, writer));
    let all: RangeFrom<usize> = 0..;
    rows.extend(knobs(journal, all, writer, how.force));
    // After the knobs, which a service that watches them may write.
    rows.extend(services(journal, writer));
    rows.extend(group::remove(journal, writer));
    // Last: a device that was renamed is looked for on all disks, and one of them may not answer.
    rows.extend(swap::headers(journal, writer));
    swap::unused(journal, writer.root());
    rows
}

/// The rows of everything that stays as it is because processes live, or may live unseen: groups with survivors
/// failed, the rest is left.
fn left_to(survivors: &Living, journal: &Journal, writer: &dyn SystemWriter) -> Vec<ChangeRow> {
    let is_stopping = |change: &Change| matches!(change, Change::Process { .. } | Change::Command { .. });
    let others = journal.left(|change| (!is_stopping(change)).then(|| change.clone()));
    let numbers = survivors.numbers();
    let group_row = |(_, change): (usize, Change)| {
        let inside = NotedGroup::of(&change).map_or(Ok(Vec::new()), |group| group.members(writer.root()));
        let alive = inside.map(|inside| inside.into_iter().filter(|pid| numbers.contains(pid)).collect::<Vec<u32>>());
        match alive {
            Err(unseen) => row(&change, ChangeOutcome::Left, Some(unseen)),
            Ok(alive) if !alive.is_empty() => row(&change, ChangeOutcome::Failed, Some(notes::members_survive(&alive))),
            Ok(_) => {
                let unseen = survivors.unseen.clone().filter(|_| numbers.is_empty());
                row(&change, ChangeOutcome::Left, unseen.or_else(|| Some(notes::left_to_survivors(&numbers))))
            }
        }
    };
    others.into_iter().map(group_row).collect()
}

/// A reboot undoes every change except those on disks, and servers elsewhere.
fn after_reboot(journal: &mut Journal, writer: &mut dyn SystemWriter, how: RestoreMode) -> Vec<ChangeRow> {
    let mut rows = command::stop(journal, false, how, writer);
    rows.extend(journal.take_back(
        |change| !matches!(change, Change::Command { .. }),
        |change| match change {
            Change::Swap { remove_file: true, .. } => swap::remove(change, writer),
            Change::SwapHeader { .. } => swap::wipe(change, false, writer),
            _ => row(change, ChangeOutcome::Gone, Some(notes::gone_with_reboot())),
        },
    ));
    rows
}
