//! Guards whose files go away: a trial that nobody looks after does not go on.

use super::*;
use crate::backend::Counted;
use crate::evidence::Pools;
use crate::tier::Nodes;

const NODE: &str = "sys/devices/system/node/node1/meminfo";
const PRESSURE: &str =
    "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";

/// A system that has all that guards look at, and tenants in a group of version 2 that hold what they may.
fn files() -> Vec<(&'static str, &'static str)> {
    vec![
        ("proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n"),
        ("proc/swaps", "Filename Type Size Used Priority\n/dev/zram1 partition 100 40 9\n"),
        ("proc/self/statm", "900 3 1 0 0 0 0\n"),
        ("g/memory.current", "1048576\n"),
        ("g/memory.max", "16773120\n"),
        ("g/memory.events", "oom_kill 0\n"),
        ("g/memory.pressure", PRESSURE),
        ("sys/block/zram1/mm_stat", "8192 2048 4096 0 9999 3 0 1 0\n"),
        (NODE, "Node 1 MemTotal: 2000 kB\nNode 1 MemFree: 1000 kB\n"),
    ]
}

/// The tier of all of it.
fn active() -> ActiveTier {
    ActiveTier {
        areas: vec!["/dev/zram1".to_owned()],
        pools: Pools { zram: vec!["zram1".to_owned()], zswap: None },
        nodes: Some(Nodes { near: std::iter::once(0).collect(), far: 1, room: 1 << 20, floor: 0, demotes: false }),
        ..ActiveTier::default()
    }
}

/// What a trial is ended by whose second look finds a file missing that the first one found, or that finds it missing
/// from the start.
fn without(path: &str, from_the_start: bool) -> Option<Guard> {
    let rest = || Root::from_files("test", files().into_iter().filter(|(name, _)| *name != path));
    let first = if from_the_start { rest() } else { Root::from_files("test", files()) };
    let (active, mut told) = (active(), |_: &Progress| {});
    let guards = Guards { floor: 0, wall: 1e9, rate: 1.0, client: u64::MAX, usual: u64::MAX };
    let mut monitor = Monitor::new(first, &active, (guards, Dram::new(16 << 20)), &mut told);
    let counted = Counted { all: GroupPaths::V2("g".to_owned()), each: Vec::new() };
    let pulse = Pulse { load: None, ended: 0, counted: Some(&counted) };
    if !from_the_start {
        assert!(monitor.pulse(&pulse), "{:?}", monitor.abort());
    }
    monitor.root = rest();
    let goes_on = monitor.pulse(&pulse);
    let abort = monitor.abort();
    assert_eq!(goes_on, abort.is_none());
    abort.map(|abort| abort.guard)
}

#[test]
fn what_goes_away_in_a_trial_leaves_its_guard_blind() {
    assert_eq!(without("", false), None);
    for (path, _) in files() {
        // Without a limit tenants have none.
        assert!(path == "g/memory.max" || without(path, false) == Some(Guard::Blind), "{path}");
    }
}

#[test]
fn what_a_kernel_never_had_ends_no_trial_and_what_every_kernel_has_does() {
    for path in ["g/memory.events", "g/memory.pressure"] {
        assert_eq!(without(path, true), None, "{path}");
    }
    // The tier's area among them.
    for path in ["proc/meminfo", "proc/swaps", "proc/self/statm", "g/memory.current", "sys/block/zram1/mm_stat", NODE] {
        assert_eq!(without(path, true), Some(Guard::Blind), "{path}");
    }
}

#[test]
fn a_client_is_held_to_what_the_machine_has() {
    let (active, mut told) = (active(), |_: &Progress| {});
    let guards = Guards { floor: 1 << 30, wall: 1e9, rate: 1.0, client: 1 << 40, usual: 1 << 20 };
    let monitor = Monitor::new(Root::from_files("test", files()), &active, (guards, Dram::new(1)), &mut told);
    assert_eq!(monitor.guards.client, (9_000_000 << 10) - (1 << 30));
}
