//! Tests of what a process holds: in a process of their own, where no other test holds anything.

use std::process::Command;
use std::time::Duration;

/// Set for the test in its own process.
const ALONE: &str = "TIERMARK_TEST_ALONE";
/// Address space that allocators and thread stacks may keep, bytes: less than any mapping of a body that stays.
const KEPT: u64 = 6 << 20;

/// Runs the test of this name by itself, in a new process of this test program: false there means that it has been done.
pub(super) fn in_own_process(name: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let program = std::env::current_exe().unwrap();
    let mut alone = Command::new(program);
    let output = alone.args([name, "--exact", "--test-threads=1", "--nocapture"]).env(ALONE, "1").output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}

/// Files, threads and children of this process.
pub(super) fn held() -> [usize; 3] {
    let count = |directory: &str| std::fs::read_dir(directory).unwrap().count();
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children = children.map(|list| list.split_whitespace().count()).sum();
    [count("/proc/self/fd"), count("/proc/self/task"), children]
}

/// What is held as soon as it is as expected, or has been the same for long: a thread that was waited for is listed a moment longer.
fn settled(expected: [usize; 3]) -> [usize; 3] {
    for _ in 0..200 {
        if held() == expected {
            std::thread::sleep(Duration::from_millis(2));
            if held() == expected {
                break;
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    held()
}

fn mapped() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().next().unwrap().parse::<u64>().unwrap() * crate::sys::page_bytes().unwrap()
}

/// Asserts that a round leaves nothing behind. It is run twice: the first time, allocators keep what they like.
pub(super) fn gives_back(what: &str, mut round: impl FnMut()) {
    round();
    let (before, bytes) = (settled(held()), mapped());
    round();
    assert_eq!(settled(before), before, "{what}: files, threads, children");
    assert!(mapped() < bytes + KEPT, "{what}: {} bytes more are mapped", mapped() - bytes);
}
