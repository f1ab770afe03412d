//! A worker that measures the operating system has its files for itself. Alone in its process, because it looks at all
//! its threads.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;

use common::{SHOT, host, region};
use tiermark_engine::Host;
use tiermark_model::{Layout, OsCall, PageKind, Role, Setup, ThreadSetup};

/// Threads of this process that have a file open, each by its own table.
fn tasks_with(file: &str) -> usize {
    let has = |task: &fs::DirEntry| {
        let files = fs::read_dir(task.path().join("fd")).into_iter().flatten().flatten();
        files.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|name| name.to_str() == Some(file))
    };
    fs::read_dir("/proc/self/task").unwrap().flatten().filter(has).count()
}

#[test]
fn what_is_measured_uses_files_that_no_other_thread_shares() {
    let mut host = host();
    let cpu = host.machine().allowed_cpus.first().unwrap();
    let before = fs::read_dir("/proc/self/fd").unwrap().count();
    let call = OsCall { bytes: Some(1), ..OsCall::new("read".into()) };
    let setup = Setup {
        regions: vec![region(4096, PageKind::Base, Layout::Data)],
        threads: vec![ThreadSetup::new(cpu, Role::Os(call), 0)],
        seed: 7,
    };
    let mut rig = host.prepare(&setup).unwrap();
    rig.shot(SHOT).unwrap();
    // Two threads at least, and /dev/zero is open in one of their tables.
    assert!(fs::read_dir("/proc/self/task").unwrap().count() > 1);
    assert_eq!(tasks_with("/dev/zero"), 1);
    drop(rig);
    assert_eq!(fs::read_dir("/proc/self/fd").unwrap().count(), before);
}
