//! What a process has, counted by tests that are alone in theirs.

use std::fs;
use std::process::Command;

use tiermark_model::{CpuModel, OsCall, System};

use super::{Body, Order, Primitive};
use crate::clock::Clock;

/// Set in the process that a test has for itself.
const ALONE: &str = "TIERMARK_TEST_ALONE";

/// Runs a test of this program again, in a process of its own; whether this is that process.
pub(super) fn alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    false
}

/// Open files, threads, children, and mappings.
fn holdings() -> [usize; 4] {
    let entries = |path: &str| fs::read_dir(path).unwrap().count();
    let children = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        text.split_whitespace().count()
    };
    [
        entries("/proc/self/fd"),
        entries("/proc/self/task"),
        fs::read_dir("/proc/self/task").unwrap().flatten().map(children).sum(),
        fs::read_to_string("/proc/self/maps").unwrap().lines().count(),
    ]
}

/// Asserts that a job leaves nothing behind: files, threads and children exactly, of mappings not one a time.
pub(super) fn leaves_nothing(mut job: impl FnMut()) {
    // What is made once for all: the C library's arenas and stacks of threads that once were.
    (0..3).for_each(|_| job());
    let before = holdings();
    (0..12).for_each(|_| job());
    let after = holdings();
    assert_eq!(before[..3], after[..3], "files, threads, children");
    assert!(after[3] < before[3] + 6, "mappings: {} before, {} after", before[3], after[3]);
}

/// The clock of this machine.
pub(super) fn clock() -> Clock {
    Clock::choose(&CpuModel::default(), &System::default()).0
}

/// The body of a call on the first cpu that may be used.
pub(super) fn body(call: &OsCall) -> Result<Box<dyn Body>, tiermark_model::Refusal> {
    let primitive: &Primitive = super::find(call)?;
    let cpu = first_cpu();
    (primitive.make)(&Order { call, cpu, clock: &clock() })
}

/// The first cpu that may be used.
pub(super) fn first_cpu() -> tiermark_model::CpuId {
    crate::sys::affinity().unwrap().first().unwrap()
}
