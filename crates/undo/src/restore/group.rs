//! Control groups of either version: their members, their limits, and removing them.

use std::io;
use std::time::Duration;

use tiermark_machine::Root;
use tiermark_machine::files::pids;
use tiermark_model::messages::undo as notes;
use tiermark_model::{ChangeOutcome, ChangeRow, Note};

use super::knob::said;
use super::row;
use crate::journal::{Change, Journal};
use crate::writer::SystemWriter;

/// Limits and what lifts them, in an order in which none is ever above another that must be larger: version 1 wants the sum of memory and swap
/// lifted first.
const LIMITS: [(&str, &str); 6] = [
    ("memory.memsw.limit_in_bytes", "-1"),
    ("memory.limit_in_bytes", "-1"),
    ("memory.max", "max"),
    ("memory.high", "max"),
    ("memory.swap.max", "max"),
    ("memory.zswap.max", "max"),
];
/// A group stays busy until its last process is reaped.
const STEP: Duration = Duration::from_millis(50);
const STEPS: u32 = 100;

/// Groups below a noted one that are looked at: more than any service manager makes for one service.
const SUBGROUPS: usize = 4096;

/// A group and those below it, which a service manager inside may have made; outermost first.
fn tree(path: &str, root: &Root) -> Vec<String> {
    let (mut found, mut at) = (vec![path.to_owned()], 0);
    while at < found.len() && found.len() < SUBGROUPS {
        let below = root.list(&found[at]).unwrap_or_default().into_iter().map(|name| format!("{}/{name}", found[at]));
        let groups: Vec<String> = below.filter(|path| root.list(path).is_ok_and(|names| !names.is_empty())).collect();
        found.extend(groups);
        at += 1;
    }
    found
}

/// The processes in a group and in the groups below it.
pub(super) fn members(path: &str, root: &Root) -> Vec<u32> {
    let procs = tree(path, root).into_iter().filter_map(|path| root.text(&format!("{path}/cgroup.procs")));
    procs.flat_map(|text| pids(&text).collect::<Vec<_>>()).collect()
}

/// The groups noted, outermost first.
pub(super) fn groups(journal: &Journal) -> Vec<(usize, String)> {
    let mut groups = journal.left(|change| match change {
        Change::Cgroup { path } => Some(path.clone()),
        _ => None,
    });
    groups.sort_by_key(|(_, path)| path.matches('/').count());
    groups
}

/// Lifts every limit, so that pages that come back from swap have room. Returns only failures.
pub(super) fn lift(journal: &Journal, writer: &mut dyn SystemWriter) -> Vec<ChangeRow> {
    let mut rows = Vec::new();
    for (_, path) in groups(journal) {
        for (file, most) in LIMITS {
            let file = format!("{path}/{file}");
            let there = writer.root().text(&file).is_some();
            if let Some(why) = there.then(|| writer.write(&file, most).err()).flatten() {
                let what = format!("the limit /{file}");
                rows.push(ChangeRow {
                    what,
                    from: None,
                    to: Some(most.to_owned()),
                    outcome: ChangeOutcome::Failed,
                    why: Some(said(&why)),
                });
            }
        }
    }
    rows
}

/// Removes the groups, innermost first.
pub(super) fn remove(journal: &mut Journal, writer: &mut dyn SystemWriter) -> Vec<ChangeRow> {
    let mut rows = Vec::new();
    for (index, path) in groups(journal).into_iter().rev() {
        let change = Change::Cgroup { path: path.clone() };
        let done = match rmdir(&path, writer) {
            Ok(true) => row(&change, ChangeOutcome::Done, None),
            Ok(false) => row(&change, ChangeOutcome::Already, None),
            Err(why) => row(&change, ChangeOutcome::Failed, Some(busy(&path, &why, writer))),
        };
        journal.settle(index, done.outcome);
        rows.push(done);
    }
    rows
}

/// Removes one with the groups below it; `false` where it is not there.
fn rmdir(path: &str, writer: &mut dyn SystemWriter) -> io::Result<bool> {
    for below in tree(path, writer.root()).iter().skip(1).rev() {
        // An error of an inner group keeps the outermost too, whose row has the reason.
        let _ = writer.remove_dir(below);
    }
    let mut tries = 0;
    loop {
        match writer.remove_dir(path) {
            Ok(()) => return Ok(true),
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(why) if why.kind() == io::ErrorKind::ResourceBusy && tries < STEPS => {
                tries += 1;
                writer.wait(STEP);
            }
            Err(why) => return Err(why),
        }
    }
}

/// Why a group stays, with the first processes that are in it.
fn busy(path: &str, why: &io::Error, writer: &dyn SystemWriter) -> Note {
    let members: Vec<u32> = members(path, writer.root()).into_iter().take(8).collect();
    if members.is_empty() { said(why) } else { notes::group_busy(&why.to_string(), &members) }
}
