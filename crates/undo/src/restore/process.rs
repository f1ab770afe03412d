//! Stopping processes: those noted, and whatever runs in a noted control group.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tiermark_machine::{Root, start_ticks};
use tiermark_model::messages::undo as notes;
use tiermark_model::{ChangeOutcome, ChangeRow, Note};

use super::group::NotedGroup;
use super::row::row;
use crate::journal::{Change, Journal};
use crate::writer::SystemWriter;

/// How often it is looked whether they are gone.
const STEP: Duration = Duration::from_millis(20);
/// Time to end by themselves: a database without a file to save needs milliseconds.
const ASKED: u32 = 100;
/// Time to be gone once killed: the kernel gives back the memory of a large one in seconds, more where it was swapped.
const KILLED: u32 = 500;

/// Outcome of stopping processes.
pub(super) struct Stopped {
    /// A row for each process that was noted.
    pub(super) rows: Vec<ChangeRow>,
    /// Who lives although it was killed.
    pub(super) survivors: Living,
}

/// Who lives of those that are to be stopped.
#[derive(Debug, Default)]
pub(super) struct Living {
    /// Processes by number, each with its start time: both together name one process for ever.
    known: BTreeMap<u32, u64>,
    /// Processes that a group lists and `/proc` does not show, as those of another PID namespace (0). Their numbers
    /// may be anybody's, so that no signal is sent to them.
    hidden: BTreeSet<u32>,
    /// Why the processes of a group cannot be listed.
    pub(super) unseen: Option<Note>,
}

impl Living {
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty() && self.hidden.is_empty() && self.unseen.is_none()
    }

    /// The numbers of those that are known to live.
    pub(super) fn numbers(&self) -> Vec<u32> {
        self.known.keys().copied().chain(self.hidden.iter().copied()).collect()
    }
}

/// The processes that are to be stopped.
struct Wanted {
    noted: Vec<(u32, u64)>,
    groups: Vec<NotedGroup>,
}

impl Wanted {
    /// Those that live now. Groups are read again each time: a supervisor inside may start another process.
    fn living(&self, root: &Root) -> Living {
        let noted = self.noted.iter().copied().filter(|(pid, start)| start_ticks(root, *pid) == Some(*start));
        let mut living = Living { known: noted.collect(), ..Living::default() };
        for group in &self.groups {
            match group.members(root) {
                Ok(members) => {
                    for pid in members.into_iter().filter(|pid| *pid != std::process::id()) {
                        match start_ticks(root, pid) {
                            Some(start) => drop(living.known.insert(pid, start)),
                            None => drop(living.hidden.insert(pid)),
                        }
                    }
                }
                Err(why) => living.unseen = Some(why),
            }
        }
        living
    }

    /// Has the kernel kill all members of a group at once, with those that are being forked (`cgroup.kill`, Linux 5.14;
    /// version 2 only).
    fn kill_groups(&self, writer: &mut dyn SystemWriter) {
        for group in &self.groups {
            let file = format!("{}/cgroup.kill", group.path);
            let members = group.members(writer.root()).unwrap_or_default();
            let safe = !members.is_empty() && !members.contains(&std::process::id());
            if safe && writer.may_write(&file).is_ok() {
                // Where this fails, its members are killed one by one.
                let _ = writer.write(&file, "1");
            }
        }
    }
}

/// Stops all of them, first by asking, then by force.
pub(super) fn stop(journal: &mut Journal, writer: &mut dyn SystemWriter) -> Stopped {
    let noted = journal.left(|change| match change {
        Change::Process { pid, start_ticks, .. } => Some((*pid, *start_ticks, change.clone())),
        _ => None,
    });
    let wanted = Wanted {
        noted: noted.iter().map(|(_, (pid, start, _))| (*pid, *start)).collect(),
        groups: journal.outermost_groups(),
    };
    let was = wanted.living(writer.root()).known;
    let mut failures = BTreeMap::new();
    let mut living = Living::default();
    for (kill, steps) in [(false, ASKED), (true, KILLED)] {
        living = signal(&wanted, kill, steps, writer, &mut failures);
    }
    let mut rows: Vec<ChangeRow> = Vec::new();
    for (index, (pid, start, change)) in noted {
        let done = match (was.get(&pid) == Some(&start), living.known.get(&pid) == Some(&start)) {
            (false, _) => row(&change, ChangeOutcome::Already, None),
            (true, false) => row(&change, ChangeOutcome::Done, None),
            (true, true) => {
                let why = failures.remove(&pid).map_or_else(notes::process_survives, |why| notes::system_refused(&why));
                row(&change, ChangeOutcome::Failed, Some(why))
            }
        };
        journal.settle(index, done.outcome);
        rows.push(done);
    }
    Stopped { rows, survivors: living }
}

/// Sends a signal once to each process, and waits until all have ended, for at most so many steps. Returns the
/// survivors.
fn signal(
    wanted: &Wanted,
    kill: bool,
    steps: u32,
    writer: &mut dyn SystemWriter,
    failures: &mut BTreeMap<u32, String>,
) -> Living {
    let mut signalled = BTreeSet::new();
    for step in 0..steps {
        let living = wanted.living(writer.root());
        // A group that cannot be listed may have been removed while it was looked at: one more look tells.
        if living.numbers().is_empty() && (living.unseen.is_none() || step > 0) {
            return living;
        }
        if kill {
            wanted.kill_groups(writer);
        }
        for (pid, start) in living.known {
            if signalled.insert((pid, start))
                && let Err(why) = writer.stop(pid, start, kill)
            {
                failures.insert(pid, why);
            }
        }
        writer.wait(STEP);
    }
    wanted.living(writer.root())
}
