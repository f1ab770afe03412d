use proptest::prelude::*;
use tiermark_machine::Root;

use super::*;
use crate::Source;

const PAGE: u64 = 4096;

const PRESSURE: &str = "some avg10=1.50 avg60=1.00 avg300=0.50 total=1000000\n\
    full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";

/// A server with two nodes, a zram device and a control group.
const SERVER: [(&str, &str); 14] = [
    ("proc/pressure/memory", PRESSURE),
    ("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"),
    ("proc/self/cgroup", "0::/a\n"),
    ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
    ("sys/fs/cgroup/a/io.pressure", PRESSURE),
    ("proc/stat", "cpu  100 0 0 900 0 0 0 0 0 0\ncpu0 100 0 0 900 0 0 0 0 0 0\n"),
    ("proc/meminfo", "MemTotal: 100 kB\nMemFree: 40 kB\nZswap: 1 kB\nZswapped: 3 kB\n"),
    ("proc/vmstat", "pgfault 100\npswpin 0\nallocstall_dma 1\nallocstall_normal 2\n"),
    ("proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 8 4 100\n"),
    ("sys/block/zram0/mm_stat", "4096 1024 2048 0 9999 3 0 1 0\n"),
    ("sys/block/zram1/mm_stat", "0 0 0 0 0 0 0 0 0\n"),
    ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 60 kB\nNode 0 MemFree: 30 kB\n"),
    ("sys/devices/system/node/node0/numastat", "numa_hit 10\nnuma_miss 0\n"),
    ("sys/devices/system/node/node3/meminfo", "Node 3 MemTotal: 40 kB\n"),
];

fn read(files: &[(&str, &str)], at: f64) -> Reading {
    Reading { at, ..Source::new(&Root::from_files("test", files.iter().copied())).read() }
}

/// The server with some of its files changed.
fn changed(changes: &[(&'static str, &'static str)], at: f64) -> Reading {
    let unchanged = SERVER.iter().filter(|(path, _)| !changes.iter().any(|(changed, _)| changed == path));
    let all: Vec<(&str, &str)> = unchanged.copied().chain(changes.iter().copied()).collect();
    read(&all, at)
}

#[test]
fn rates_are_over_the_time_between_two_readings() {
    let before = changed(&[], 10.0);
    let now = changed(
        &[
            ("proc/pressure/memory", "some avg10=2.00 total=1500000\nfull avg10=0.00 total=0\n"),
            ("proc/vmstat", "pgfault 300\npswpin 4\nallocstall_dma 1\nallocstall_normal 8\n"),
            ("sys/devices/system/node/node0/numastat", "numa_hit 30\nnuma_miss 2\n"),
        ],
        12.0,
    );
    let sample = sample("t".into(), Some(&before), &now, PAGE);
    assert_eq!(sample.seconds, Some(2.0));
    let memory = sample.psi.memory.unwrap();
    assert_eq!((memory.some.now, memory.some.avg10, memory.some.avg60), (Some(25.0), 2.0, None));
    assert_eq!(memory.full.unwrap().now, Some(0.0));
    assert_eq!((sample.psi.cpu.unwrap().full, sample.psi.io), (None, None));
    let group = sample.group.unwrap();
    assert_eq!((group.path.as_str(), group.psi.io.unwrap().some.now, group.psi.memory), ("/a", Some(0.0), None));
    assert_eq!((sample.vm.faults, sample.vm.swap_in_bytes), (Some(100.0), Some(8192.0)));
    assert_eq!((sample.vm.alloc_stalls, sample.vm.major_faults, sample.vm.demoted), (Some(3.0), None, None));
    let [first, second] = &sample.nodes[..] else { panic!("{:?}", sample.nodes) };
    assert_eq!((first.node, first.free_bytes, first.hits, first.misses), (0, Some(30 << 10), Some(10.0), Some(1.0)));
    assert_eq!((second.node, second.free_bytes, second.hits), (3, None, None));
    assert_eq!((sample.swaps[0].used_bytes, sample.zram.len(), sample.zram[0].pool_bytes), (4096, 1, 2048));
    assert_eq!(sample.zswap.unwrap().stored_bytes, 3072);
    assert_eq!(sample.own, WatchCost::default(), "a tree costs nothing that is of this machine");
}

#[test]
fn counters_that_go_down_or_vanish_have_no_rate() {
    let before = changed(&[], 10.0);
    let now = changed(
        &[
            ("proc/pressure/memory", "some avg10=2.00 total=5\n"),
            ("proc/vmstat", "pgfault 50\n"),
            ("proc/stat", "cpu  1 0 0 1 0 0 0 0 0 0\ncpu0 1 0 0 1 0 0 0 0 0 0\n"),
            ("sys/devices/system/node/node0/numastat", "nonsense\n"),
        ],
        11.0,
    );
    let sample = sample("t".into(), Some(&before), &now, PAGE);
    let memory = sample.psi.memory.unwrap();
    assert_eq!((memory.some.now, memory.full), (None, None));
    assert_eq!((sample.vm.faults, sample.vm.swap_in_bytes, sample.vm.alloc_stalls), (None, None, None));
    assert_eq!((sample.cpu.unwrap().busy, sample.nodes[0].hits), (None, None));
}

#[test]
fn nodes_come_and_go() {
    let one = read(&SERVER[..13], 10.0);
    let both = changed(&[("sys/devices/system/node/node3/numastat", "numa_hit 7\n")], 11.0);
    let added = sample("t".into(), Some(&one), &both, PAGE);
    assert_eq!((added.nodes.len(), added.nodes[1].hits, added.nodes[0].hits), (2, None, Some(0.0)));
    let gone = sample("t".into(), Some(&both), &one, PAGE);
    assert_eq!(gone.nodes.iter().map(|node| node.node).collect::<Vec<_>>(), [0]);
}

#[test]
fn the_first_sample_has_no_rates_and_an_empty_system_nothing() {
    let first = sample("t".into(), None, &changed(&[], 10.0), PAGE);
    assert_eq!((first.seconds, first.vm, first.psi.memory.unwrap().some.now), (None, WatchRates::default(), None));
    let nothing = read(&[], 1.0);
    let empty = sample("t".into(), Some(&nothing), &read(&[], 2.0), PAGE);
    assert_eq!(empty, WatchSample { time: "t".into(), seconds: Some(1.0), ..WatchSample::default() });
    // Two readings of one moment, and a clock that stands still.
    assert_eq!(sample("t".into(), Some(&nothing), &nothing, PAGE).seconds, None);
}

#[test]
fn this_machine_is_read() {
    let mut source = Source::new(&Root::live());
    let before = source.read();
    let now = source.read();
    let sample = sample("t".into(), Some(&before), &now, PAGE);
    let memory = sample.memory.unwrap();
    assert!(memory.total_bytes > memory.free_bytes && memory.free_bytes > Some(0));
    assert!(sample.vm.faults.is_some() && sample.cpu.unwrap().online > 0 && sample.own.read_seconds > Some(0.0));
}

proptest! {
    /// Whatever the counters are, a rate is finite and not negative, and a share is one.
    #[test]
    fn any_counters(counts in prop::collection::vec(any::<u64>(), 8), at in any::<f64>()) {
        let reading = |at: f64, of: &[u64]| {
            let stat = format!("cpu  {} 0 0 {} 0 0 0 {} 0 0\ncpu0 1\n", of[0], of[1], of[2]);
            let vmstat = format!("pgfault {}\npswpin {}\n", of[3], of[3]);
            let psi = format!("some avg10=0.00 total={}\n", of[3]);
            let files = [("proc/stat", stat), ("proc/vmstat", vmstat), ("proc/pressure/io", psi)];
            Reading { at, ..Source::new(&Root::from_files("test", files)).read() }
        };
        let sample = sample("t".into(), Some(&reading(1.0, &counts[..4])), &reading(at, &counts[4..]), PAGE);
        for figure in sample.figures() {
            prop_assert!(figure.value.is_none_or(|value| value.is_finite() && value >= 0.0), "{figure:?}");
        }
        let shares = sample.cpu.and_then(|cpu| cpu.busy.zip(cpu.steal));
        prop_assert!(shares.is_none_or(|(busy, steal)| busy <= 1.0 && steal <= 1.0));
    }
}

/// Control groups by path with their memory and the time that they waited, and a group of resctrl with its bytes.
fn grouped(control: &[(&str, u64, u64)], bytes: u64) -> Root {
    let mut files: Vec<(String, String)> = SERVER.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
    for (path, memory, waited) in control {
        let at = format!("sys/fs/cgroup/{path}");
        files.push((format!("{at}/memory.current"), format!("{memory}\n")));
        files.push((format!("{at}/memory.pressure"), format!("some avg10=0.00 total={waited}\n")));
        files.push((format!("{at}/cgroup.procs"), "1\n".into()));
    }
    for (group, domain, bytes) in [
        ("mon_groups/batch", "mon_L3_00", bytes),
        ("mon_groups/batch", "mon_L3_01", bytes),
        ("mon_groups/tiermark-7", "mon_L3_00", 1),
    ] {
        let at = format!("sys/fs/resctrl/{group}/mon_data/{domain}");
        files.push((format!("{at}/mbm_total_bytes"), format!("{bytes}\n")));
        files.push((format!("{at}/mbm_local_bytes"), format!("{}\n", bytes / 2)));
    }
    Root::from_files("test", files)
}

#[test]
fn groups_that_use_most_are_shown() {
    let reading = |control: &[(&str, u64, u64)], bytes, at| Reading {
        at,
        ..Source::new(&grouped(control, bytes)).with_groups(1).read()
    };
    let groups =
        [("s.slice/big.service", 900, 0), ("s.slice/small.service", 10, 0), ("s.slice/middle.service", 100, 0)];
    let before = reading(&groups, 1_000, 1.0);
    let taken = sample("t".into(), Some(&before), &reading(&groups, 5_000, 3.0), PAGE);
    let paths: Vec<&str> = taken.groups.iter().map(|group| group.path.as_str()).collect();
    assert_eq!(paths, ["resctrl:/batch", "/s.slice/big.service"], "neither parents nor this program's own groups");
    assert_eq!((taken.groups[0].traffic_bytes, taken.groups[0].local_bytes), (Some(4_000.0), Some(2_000.0)));
    assert_eq!((taken.groups[1].memory_bytes, taken.groups[1].stalled), (Some(900), Some(0.0)));
    let first = sample("t".into(), None, &before, PAGE);
    assert_eq!((first.groups.len(), first.groups[0].traffic_bytes, first.groups[1].stalled), (2, None, None));
    assert!(sample("t".into(), None, &changed(&[], 1.0), PAGE).groups.is_empty(), "not asked for");
}

#[test]
fn a_group_that_counts_its_groups_too_says_so() {
    let domain = |group: &str, bytes: u64| {
        let at = format!("sys/fs/resctrl/{group}mon_data/mon_L3_00");
        ["total", "local"].map(|of| (format!("{at}/mbm_{of}_bytes"), format!("{bytes}\n")))
    };
    let reading = |at: f64, scale: u64| {
        let mut files: Vec<(String, String)> =
            SERVER.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
        for (group, bytes) in [("", 900), ("web/", 50), ("web/mon_groups/a/", 20), ("alone/", 10)] {
            files.extend(domain(group, scale * bytes));
        }
        Reading { at, ..Source::new(&Root::from_files("test", files)).with_groups(5).read() }
    };
    let taken = sample("t".into(), Some(&reading(1.0, 1)), &reading(2.0, 2), PAGE);
    let mut paths: Vec<&str> = taken.groups.iter().map(|group| group.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["resctrl:/", "resctrl:alone", "resctrl:web with its groups", "resctrl:web/a"]);
}

#[test]
fn a_small_group_that_waits_is_shown_too() {
    // What a group waited for is seen from the second look on, so that one source reads a tree that changes.
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    std::fs::create_dir_all(root.path().join("sys/devices")).unwrap();
    SERVER.iter().for_each(|(path, text)| write(path, text));
    let waited = |total: u64| write("sys/fs/cgroup/small/memory.pressure", &format!("some avg10=0.00 total={total}\n"));
    write("sys/fs/cgroup/big/memory.current", "900\n");
    write("sys/fs/cgroup/small/memory.current", "10\n");
    waited(0);
    let mut source = Source::new(&Root::at(root.path()).unwrap()).with_groups(1);
    let mut readings: Vec<Reading> = Vec::new();
    for second in 0..7 {
        waited(500_000 * second);
        readings.push(Reading { at: second as f64, ..source.read() });
    }
    let taken = sample("t".into(), Some(&readings[5]), &readings[6], PAGE);
    let seen: Vec<_> = taken.groups.iter().map(|group| (group.path.as_str(), group.stalled)).collect();
    assert_eq!(seen, [("/big", None), ("/small", Some(50.0))]);
}
