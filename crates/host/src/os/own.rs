//! What tests of primitives share: bodies to try, and what a process holds, counted where no other test holds anything.

use std::time::Duration;

use tiermark_model::{CpuId, CpuModel, OsCall, Refusal, System};

use super::{Body, Order};
use crate::clock::Clock;
pub(super) use crate::confined::in_own_process;

/// Address space that allocators and thread stacks may keep, bytes: less than any mapping of a body that stays.
const KEPT: u64 = 6 << 20;

/// The clock of this machine.
pub(super) fn clock() -> Clock {
    Clock::choose(&CpuModel::default(), &System::default()).0
}

/// The body of a call on the first cpu that may be used.
pub(super) fn body(call: &OsCall) -> Result<Box<dyn Body>, Refusal> {
    (super::find(call)?.make)(&Order { call, cpu: first_cpu(), clock: &clock() })
}

/// The first cpu that may be used.
pub(super) fn first_cpu() -> CpuId {
    crate::sys::affinity().unwrap().first().unwrap()
}

/// Files, threads and children of this process.
pub(super) fn held() -> [usize; 3] {
    let count = |directory: &str| std::fs::read_dir(directory).unwrap().count();
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children = children.map(|list| list.split_whitespace().count()).sum();
    [count("/proc/self/fd"), count("/proc/self/task"), children]
}

/// Asserts that no more is held than before, and returns what is. A thread that was waited for is listed a moment longer, also in what
/// was taken for the state before.
pub(super) fn no_more_than(before: [usize; 3], what: &str) -> [usize; 3] {
    let rose = |now: [usize; 3]| now.iter().zip(before).any(|(now, before)| *now > before);
    for _ in 0..200 {
        if !rose(held()) {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let now = held();
    assert!(!rose(now), "{what}: files, threads, children: {before:?}, then {now:?}");
    now
}

fn mapped() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().next().unwrap().parse::<u64>().unwrap() * crate::sys::page_bytes().unwrap()
}

/// Asserts that rounds leave nothing behind. It is run once before: the first time, allocators keep what they like.
pub(super) fn gives_back(what: &str, mut round: impl FnMut()) {
    round();
    let (before, bytes) = (held(), mapped());
    for _ in 0..2 {
        round();
        no_more_than(before, what);
    }
    assert!(mapped() < bytes + KEPT, "{what}: {} bytes more are mapped", mapped() - bytes);
}
