//! What tests share, here and in the crates above: filters of system calls, processes of their own, and what a process
//! holds.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]

mod reexec;
mod seccomp;

pub use reexec::{arguments, end_with};
pub use seccomp::{refuse, refuse_as};

use std::process::Command;
use std::time::Duration;

use tiermark_model::{CpuId, CpuModel, System};

use crate::{Clock, affinity, page_bytes};

/// Address space that allocators and thread stacks may keep, bytes: less than any mapping of a body that stays.
const KEPT: u64 = 6 << 20;

/// Set in the process that confines itself; the filter must not reach the other tests.
const CONFINED: &str = "TIERMARK_TEST_CONFINED";

/// Runs one test of this program again, in a process of its own.
pub fn in_own_process(test: &str) -> bool {
    if std::env::var_os(CONFINED).is_some() {
        return true;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CONFINED, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    false
}

/// The clock of this machine.
pub fn clock() -> Clock {
    Clock::choose(&CpuModel::default(), &System::default()).0
}

/// The first cpu that may be used.
pub fn first_cpu() -> CpuId {
    affinity().unwrap().first().unwrap()
}

/// Files, threads and children of this process.
pub fn held() -> [usize; 3] {
    let count = |directory: &str| std::fs::read_dir(directory).unwrap().count();
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children = children.map(|list| list.split_whitespace().count()).sum();
    [count("/proc/self/fd"), count("/proc/self/task"), children]
}

/// Asserts that no more is held than before, and returns what is. A thread that was waited for is listed a moment
/// longer, also in what was taken for the state before.
pub fn no_more_than(before: [usize; 3], what: &str) -> [usize; 3] {
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
    pages.split_whitespace().next().unwrap().parse::<u64>().unwrap() * page_bytes().unwrap()
}

/// Asserts that rounds leave nothing behind. It is run once before: the first time, allocators keep what they like.
pub fn gives_back(what: &str, mut round: impl FnMut()) {
    round();
    let (before, bytes) = (held(), mapped());
    for _ in 0..2 {
        round();
        no_more_than(before, what);
    }
    assert!(mapped() < bytes + KEPT, "{what}: {} bytes more are mapped", mapped() - bytes);
}
