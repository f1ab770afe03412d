//! Control groups of either version: their members, their limits, and removing them.

use std::io;

use rustix::io::Errno;
use tiermark_machine::files::pids;
use tiermark_machine::{DiscoverError, Root};
use tiermark_model::messages::undo as notes;
use tiermark_model::{ChangeOutcome, ChangeRow, Note};

use super::row::{row, system_error, while_busy};
use crate::identity;
use crate::journal::{Change, Journal, mount_of};
use crate::writer::SystemWriter;

/// Limits and what lifts them, in an order in which none is ever above another that must be larger: version 1 wants the
/// sum of memory and swap lifted first.
const LIMITS: [(&str, &str); 6] = [
    ("memory.memsw.limit_in_bytes", "-1"),
    ("memory.limit_in_bytes", "-1"),
    ("memory.max", "max"),
    ("memory.high", "max"),
    ("memory.swap.max", "max"),
    ("memory.zswap.max", "max"),
];
/// Attempts at removing a group, which stays busy until its last process is reaped.
const STEPS: u32 = 100;

/// Groups below a noted one that are looked at: more than any service manager makes for one service.
const SUBGROUPS: usize = 4096;

/// A group that is noted.
#[derive(Debug, Clone)]
pub(super) struct NotedGroup {
    pub(super) path: String,
    /// The group that its hierarchy began with when it was noted.
    top: Option<u64>,
}

impl NotedGroup {
    /// The group of a change, if it is of one.
    pub(super) fn of(change: &Change) -> Option<Self> {
        match change {
            Change::Cgroup { path, top } => Some(Self { path: path.clone(), top: *top }),
            _ => None,
        }
    }

    /// The processes in it and in the groups below it.
    ///
    /// Whoever is listed lives, whatever `/proc` says of it. The kernel lists a process as long as one of its threads
    /// runs, and none that has ended and was only not waited for: threads leave their group when they end, and a main
    /// thread that ended before the others is skipped once they have (`css_task_iter_advance`, Linux 5.2). So no
    /// zombie keeps a group for ever.
    ///
    /// # Errors
    /// Why they cannot be listed: they may live.
    pub(super) fn members(&self, root: &Root) -> Result<Vec<u32>, Note> {
        let here = identity::hierarchy(root, mount_of(&self.path));
        // Of older journals nothing is known but the path.
        if here.is_none() || (self.top.is_some() && here != self.top) {
            return Err(notes::hierarchy_absent(&self.path));
        }
        let mut members = Vec::new();
        for path in self.tree(root)? {
            match root.read(&format!("{path}/cgroup.procs")) {
                Ok(text) => members.extend(pids(&text.unwrap_or_default())),
                // The kernel lists the processes of a threaded group in the group that is its domain, above it.
                Err(DiscoverError::Io { source, .. }) if path != self.path && is_unsupported(&source) => {}
                Err(why) => return Err(self.unreadable(&why)),
            }
        }
        Ok(members)
    }

    /// Its path and those of the groups below it, which a service manager inside may have made; outermost first.
    fn tree(&self, root: &Root) -> Result<Vec<String>, Note> {
        let (mut found, mut at) = (vec![self.path.clone()], 0);
        while at < found.len() {
            for name in root.list(&found[at]).map_err(|why| self.unreadable(&why))? {
                let path = format!("{}/{name}", found[at]);
                if !root.list(&path).map_err(|why| self.unreadable(&why))?.is_empty() {
                    found.push(path);
                }
            }
            if found.len() > SUBGROUPS {
                return Err(notes::too_many_groups(&self.path, SUBGROUPS));
            }
            at += 1;
        }
        Ok(found)
    }

    fn unreadable(&self, why: &DiscoverError) -> Note {
        notes::group_unreadable(&self.path, &why.to_string())
    }
}

fn is_unsupported(why: &io::Error) -> bool {
    why.raw_os_error() == Some(Errno::OPNOTSUPP.raw_os_error())
}

/// The groups noted, outermost first.
pub(super) fn groups(journal: &Journal) -> Vec<(usize, NotedGroup)> {
    let mut groups = journal.left(NotedGroup::of);
    groups.sort_by_key(|(_, group)| group.path.matches('/').count());
    groups
}

impl Journal {
    /// The control groups that were made, without those below another one.
    pub(super) fn outermost_groups(&self) -> Vec<NotedGroup> {
        let mut outermost: Vec<NotedGroup> = Vec::new();
        for (_, group) in groups(self) {
            if !outermost.iter().any(|above| group.path.starts_with(&format!("{}/", above.path))) {
                outermost.push(group);
            }
        }
        outermost
    }
}

/// Lifts every limit, so that pages that come back from swap have room. Returns only failures.
pub(super) fn lift(journal: &Journal, writer: &mut dyn SystemWriter) -> Vec<ChangeRow> {
    let mut rows = Vec::new();
    for (_, NotedGroup { path, .. }) in groups(journal) {
        for (file, most) in LIMITS {
            let file = format!("{path}/{file}");
            // One that cannot be read may be written.
            let there = !matches!(writer.root().read(&file), Ok(None));
            if let Some(why) = there.then(|| writer.write(&file, most).err()).flatten() {
                let what = format!("the limit /{file}");
                rows.push(ChangeRow {
                    what,
                    from: None,
                    to: Some(most.to_owned()),
                    outcome: ChangeOutcome::Failed,
                    why: Some(system_error(&why)),
                });
            }
        }
    }
    rows
}

/// Removes the groups, innermost first. Their hierarchies are mounted, else they could not be known to be empty: a
/// group that is absent is gone.
pub(super) fn remove(journal: &mut Journal, writer: &mut dyn SystemWriter) -> Vec<ChangeRow> {
    let mut rows = Vec::new();
    for (index, group) in groups(journal).into_iter().rev() {
        let change = Change::Cgroup { path: group.path.clone(), top: group.top };
        let done = match rmdir(&group, writer) {
            Ok(true) => row(&change, ChangeOutcome::Done, None),
            Ok(false) => row(&change, ChangeOutcome::Already, None),
            Err(why) => row(&change, ChangeOutcome::Failed, Some(busy(&group, &why, writer))),
        };
        journal.settle(index, done.outcome);
        rows.push(done);
    }
    rows
}

/// Removes one with the groups below it; `false` where it is not there.
fn rmdir(group: &NotedGroup, writer: &mut dyn SystemWriter) -> io::Result<bool> {
    for below in group.tree(writer.root()).unwrap_or_default().iter().skip(1).rev() {
        // What keeps one of them keeps the outermost too, which says why.
        let _ = writer.remove_dir(below);
    }
    match while_busy(STEPS, writer, |writer| writer.remove_dir(&group.path)) {
        Ok(()) => Ok(true),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(why) => Err(why),
    }
}

/// Why a group stays, with the first processes that are in it.
fn busy(group: &NotedGroup, why: &io::Error, writer: &dyn SystemWriter) -> Note {
    let members = group.members(writer.root()).unwrap_or_default();
    if members.is_empty() { system_error(why) } else { notes::group_busy(&why.to_string(), &members) }
}

#[cfg(test)]
mod tests {
    use tiermark_model::messages::undo::codes;

    use super::*;

    #[test]
    fn more_groups_than_are_looked_at_are_not_taken_for_empty() {
        let of = |below: usize| {
            let files = (0..below).map(|at| (format!("top/tiermark-7/{at}/cgroup.procs"), "7\n"));
            let root = Root::from_files("test", files);
            NotedGroup { path: "top/tiermark-7".to_owned(), top: None }.tree(&root)
        };
        assert_eq!(of(SUBGROUPS - 1).map(|found| found.len()), Ok(SUBGROUPS));
        assert_eq!(of(SUBGROUPS).map_err(|note| note.code), Err(codes::too_many_groups));
    }
}
