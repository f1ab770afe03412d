//! What the process of a rig holds: nothing is left when it is dropped, and a worker that measures the operating system
//! has its files for itself. Alone in its process, and one after the other, because what the process has is counted.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;

use common::{SHOT, chase, host, region, stream};
use tiermark_engine::Host;
use tiermark_model::{ChainLayout, Layout, OsCall, PageKind, Role, Setup, ThreadSetup};

/// Kernel areas, threads, open files.
fn holdings() -> [usize; 3] {
    let entries = |path: &str| fs::read_dir(path).unwrap().count();
    [
        fs::read_to_string("/proc/self/maps").unwrap().lines().count(),
        entries("/proc/self/task"),
        entries("/proc/self/fd"),
    ]
}

fn a_dropped_rig_gives_everything_back() {
    let mut host = host();
    let cpus: Vec<u32> = host.machine().allowed_cpus.iter().take(2).collect();
    let mut use_rigs = || {
        let chain = region(1 << 20, PageKind::Base, Layout::Chain(ChainLayout::Random));
        let mut rig = host.prepare(&chase(cpus[0], chain, 2)).unwrap();
        rig.shot(SHOT).unwrap();
        rig.placement();
        drop(rig);
        let data = region(4 << 20, PageKind::Thp, Layout::Data);
        host.prepare(&stream(&cpus, &data, "copy/portable", &[])).unwrap().shot(SHOT).unwrap();
        // A refusal halfway through must not leave anything either: stride 8 MiB does not fit, which only shows once
        // memory is mapped and workers are started.
        let misfit = region(1 << 20, PageKind::Base, Layout::Chain(ChainLayout::Stride(8 << 20)));
        assert!(host.prepare(&chase(cpus[0], misfit, 1)).is_err());
    };
    // The C library keeps arenas for threads that once were; after a first round their number stays.
    (0..3).for_each(|_| use_rigs());
    let before = holdings();
    (0..30).for_each(|_| use_rigs());
    let after = holdings();
    assert_eq!((before[1], before[2]), (after[1], after[2]), "threads, files");
    // 30 rounds with a region lost each would be 30 areas more.
    assert!(after[0] < before[0] + 10, "areas: {} before, {} after", before[0], after[0]);
}

/// Threads of this process that have a file open, each by its own table.
fn tasks_with(file: &str) -> usize {
    let has = |task: &fs::DirEntry| {
        let files = fs::read_dir(task.path().join("fd")).into_iter().flatten().flatten();
        files.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|name| name.to_str() == Some(file))
    };
    fs::read_dir("/proc/self/task").unwrap().flatten().filter(has).count()
}

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

#[test]
fn a_rig_has_its_files_for_itself_and_gives_everything_back() {
    what_is_measured_uses_files_that_no_other_thread_shares();
    a_dropped_rig_gives_everything_back();
}
