//! Whatever was noted is taken back, in an order that kills nobody, from whatever state a killed program left.

mod elsewhere;
mod journals;
mod order;
mod pending;
mod unseen;

use std::collections::BTreeSet;

use crate::common::{Fake, GROUP, TENANT};
use tiermark_model::{ChangeOutcome, ChangeRow, Code};
use tiermark_undo::{Asked, Change, Journal, Restored, Syntax, restore_all};

const UUID: &str = "00000000-0000-0000-0000-000000000000";

/// A zram device of which only the number is known.
fn expected(number: u32) -> Change {
    Change::Zram { number, sure: false, size: None, sequence: None }
}

/// One of 1 GiB that was made.
fn made(number: u32, sequence: Option<u64>) -> Change {
    Change::Zram { number, sure: true, size: Some(1 << 30), sequence }
}

/// A swap area of 3 MiB that was used, without a label, whose UUID is all zeros.
fn swap_area() -> String {
    let page = rustix::param::page_size();
    format!("{}SWAPSPACE2{}", "\0".repeat(page - 10), "x".repeat((3 << 20) - page))
}

fn knob(path: &str, old: &str, new: &str) -> Change {
    Change::Knob { path: path.into(), syntax: Syntax::Number, old: old.into(), new: new.into() }
}

/// A control group that is there, as it is noted before it is made.
fn group(fake: &Fake, path: &str) -> Change {
    Change::group(path, tiermark_undo::SystemWriter::root(fake))
}

/// The same in a journal of a version that noted the path only.
fn group_by_path(path: &str) -> Change {
    Change::Cgroup { path: path.into(), top: None }
}

/// A swap header on a device, and a swap file, of which only the name is known.
fn header(path: &str, uuid: &str) -> Change {
    Change::SwapHeader { path: path.into(), uuid: uuid.into(), device: None }
}

fn swap_file(path: &str) -> Change {
    Change::Swap { path: path.into(), remove_file: true, file_system: None }
}

/// What a capacity run with one tenant on zram and a swap file changes, in the order in which it does.
fn run_of_a_tenant() -> Vec<Change> {
    vec![
        knob("proc/sys/vm/page-cluster", "3", "0"),
        group_by_path(GROUP),
        group_by_path(TENANT),
        expected(1),
        made(1, Some(7)),
        Change::swap_device("dev/zram1"),
        header("dev/sdb", UUID),
        Change::swap_device("dev/sdb"),
        swap_file("var/tmp/tiermark-7.swap"),
        Change::Process { pid: 70, start_ticks: 700, what: "redis-server".into() },
    ]
}

/// How many things are changed: a device is noted before it is made and when it is known.
fn names(changes: &[Change]) -> usize {
    changes.iter().map(ToString::to_string).collect::<BTreeSet<String>>().len()
}

/// The system after all of that was done.
fn in_the_middle() -> Fake {
    let fake = Fake::new(&[
        ("proc/sys/vm/page-cluster", "0\n"),
        (
            "proc/swaps",
            "Filename Type Size Used Priority\n/dev/zram1 partition 1 1 9\n/var/tmp/tiermark-7.swap file 1 1 \
                5\n/dev/sdb partition 1 1 4\n/dev/sda2 partition 1 1 1\n",
        ),
        ("sys/block/zram0/disksize", "0\n"),
        ("sys/block/zram1/disksize", "1073741824\n"),
        ("sys/block/zram1/diskseq", "7\n"),
        ("dev/sdb", &swap_area()),
        ("sys/block/zram1/reset", ""),
        ("sys/class/zram-control/hot_remove", ""),
        ("var/tmp/tiermark-7.swap", "SWAPSPACE2"),
        ("sys/fs/cgroup/tiermark-7/memory.limit_in_bytes", "1"),
        ("sys/fs/cgroup/tiermark-7/memory.memsw.limit_in_bytes", "1"),
        ("sys/fs/cgroup/tiermark-7/cgroup.procs", ""),
        ("sys/fs/cgroup/tiermark-7/t0/memory.max", "1"),
        ("sys/fs/cgroup/tiermark-7/t0/cgroup.procs", ""),
    ]);
    fake.process(70, 700, Some(TENANT));
    // Started inside the group and killed before it could be noted.
    fake.process(71, 710, Some(TENANT));
    fake.process(72, 720, None);
    fake
}

/// Notes changes as a program does that is then killed.
fn leave(fake: &Fake, changes: Vec<Change>) {
    let mut journal = Journal::create(&fake.state(), fake.head()).unwrap();
    journal.note(changes).unwrap();
    journal.keep();
}

/// Why a change is as it is.
fn code(row: &ChangeRow) -> Code {
    row.why.as_ref().map(|why| why.code.clone()).unwrap_or_default()
}

fn outcomes(rows: &[ChangeRow]) -> Vec<ChangeOutcome> {
    rows.iter().map(|row| row.outcome).collect()
}

/// Takes everything back that is noted.
fn take_back(fake: &mut Fake) -> Restored {
    restore_all(&fake.state(), fake, &Asked::default()).unwrap()
}

/// The same by force.
fn force_back(fake: &mut Fake) -> Restored {
    restore_all(&fake.state(), fake, &Asked { force: true, ..Asked::default() }).unwrap()
}
