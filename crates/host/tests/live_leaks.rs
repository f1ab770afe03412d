//! Nothing is left when a rig is dropped. Alone in its process, because it counts what the process has.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;

use common::{SHOT, chase, host, region, stream};
use tiermark_engine::Host;
use tiermark_model::{ChainLayout, Layout, PageKind};

/// Kernel areas, threads, open files.
fn holdings() -> [usize; 3] {
    let entries = |path: &str| fs::read_dir(path).unwrap().count();
    [
        fs::read_to_string("/proc/self/maps").unwrap().lines().count(),
        entries("/proc/self/task"),
        entries("/proc/self/fd"),
    ]
}

#[test]
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
