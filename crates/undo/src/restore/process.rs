//! Stopping processes: those noted, and whatever runs in a noted control group.

use std::collections::BTreeMap;
use std::time::Duration;

use tiermark_machine::start_ticks;
use tiermark_model::messages::undo as notes;
use tiermark_model::{ChangeOutcome, ChangeRow};

use super::group::members;
use super::row;
use crate::journal::{Change, Journal};
use crate::writer::SystemWriter;

/// How often it is looked whether they are gone.
const STEP: Duration = Duration::from_millis(20);
/// Time to end by themselves: a database without a file to save needs milliseconds.
const ASKED: u32 = 100;
/// Time to be gone once killed: the kernel gives back the memory of a large one in seconds, more where it was swapped.
const KILLED: u32 = 500;

/// Stops all of them, first by asking, then by force.
pub(super) fn stop(journal: &mut Journal, writer: &mut dyn SystemWriter) -> Vec<ChangeRow> {
    let noted = journal.left(|change| match change {
        Change::Process { pid, start_ticks, .. } => Some((*pid, *start_ticks, change.clone())),
        _ => None,
    });
    let groups = journal.left(|change| match change {
        Change::Cgroup { path } => Some(path.clone()),
        _ => None,
    });
    let mut living: BTreeMap<u32, u64> = noted
        .iter()
        .filter(|(_, (pid, start, _))| start_ticks(writer.root(), *pid) == Some(*start))
        .map(|(_, (pid, start, _))| (*pid, *start))
        .collect();
    let inside = groups.iter().flat_map(|(_, path)| members(path, writer)).filter(|pid| *pid != std::process::id());
    let inside: Vec<u32> = inside.collect();
    living.extend(inside.into_iter().filter_map(|pid| Some((pid, start_ticks(writer.root(), pid)?))));
    let was = living.clone();
    let mut failures = BTreeMap::new();
    for (kill, steps) in [(false, ASKED), (true, KILLED)] {
        for (pid, start) in &living {
            if let Err(why) = writer.stop(*pid, *start, kill) {
                failures.insert(*pid, why);
            }
        }
        gone(&mut living, steps, writer);
    }
    let mut rows: Vec<ChangeRow> = Vec::new();
    for (index, (pid, start, change)) in noted {
        let done = match (was.get(&pid) == Some(&start), living.contains_key(&pid)) {
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
    rows
}

/// Waits until they are gone, for so many steps at most.
fn gone(living: &mut BTreeMap<u32, u64>, steps: u32, writer: &mut dyn SystemWriter) {
    for _ in 0..steps {
        living.retain(|pid, start| start_ticks(writer.root(), *pid) == Some(*start));
        if living.is_empty() {
            return;
        }
        writer.wait(STEP);
    }
}
