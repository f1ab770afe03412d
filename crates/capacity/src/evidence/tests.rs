//! Files as kernels write them, and as nothing does.

use tiermark_machine::Stall;
use tiermark_model::capacity::Evidence;

use super::*;

const PRESSURE: &str =
    "some avg10=1.50 avg60=0.00 avg300=0.00 total=2000000\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=377567\n";
const DISKS: &str = "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n\
    \x20254       0 vda 100 5 800 40 50 1 4000 200 3 90 240 0 0 0 0 7 9\n";
const SWAPS: &str = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
    /dev/zram1                              partition\t1048572\t\t524288\t\t100\n/swap\\040file file 2048 0 -2\n";

/// Stalls in which some task has waited for so long.
fn stalls(total_us: u64) -> Stalls {
    Stalls { some: Stall { avg10: 0.0, avg60: None, avg300: None, total_us }, full: None }
}

fn root(files: &[(&str, &str)]) -> Root {
    Root::from_files("test", files.iter().copied())
}

#[test]
fn files_of_proc_are_read() {
    let disk = parse::disks(DISKS).unwrap()["vda"];
    assert_eq!((disk.reads, disk.read_ms, disk.write_ms, disk.busy_ms), (100, 40, 200, 90));
    let swaps = parse::swaps(SWAPS).unwrap();
    assert_eq!((swaps[0].bytes, swaps[0].used_bytes, swaps[0].priority), (1_048_572 << 10, 512 << 20, 100));
    assert_eq!((swaps[1].path.as_str(), swaps[1].priority), ("/swap file", -2));
    assert_eq!(parse::swaps("Filename Type Size Used Priority\n"), Ok(Vec::new()));
    let ticks = parse::cpu_ticks("cpu  10 2 8 70 5 1 1 3 9 9\ncpu0 1 1 1 1 1 1 1 1\n").unwrap();
    assert_eq!(ticks, CpuTimes { total: 100, idle: 75, steal: 3, cpus: 1 });
    let zram = parse::zram("  4096  1024  2048 0 9999 3 0 1 0\n").unwrap();
    assert_eq!(
        (zram.original, zram.compressed, zram.memory, zram.same_pages, zram.huge_pages),
        (4096, 1024, 2048, 3, Some(1))
    );
    assert_eq!(parse::zram("1 1 1 -1 1 0 0").unwrap().huge_pages, None);
    let zswap = parse::zswap("MemFree: 1 kB\nZswap:     200 kB\nZswapped:    500 kB\n").unwrap();
    assert_eq!(zswap, Some(Zswap { memory: 200 << 10, original: 500 << 10 }));
    assert_eq!(parse::zswap("MemFree: 1 kB\n"), Ok(None));
    assert!(parse::zswap("Zswap: many kB\nZswapped: 1 kB\n").is_err());
}

#[test]
fn what_makes_no_sense_is_told_with_its_path() {
    let error = Host::read(&root(&[("proc/vmstat", "pswpin x\n")]), &[]).unwrap_err();
    assert_eq!(error.to_string(), "proc/vmstat: 'pswpin x' makes no sense");
    assert!(parse::pressure("full avg10=0.00 total=1").is_err(), "without a line of some");
    assert!(parse::pressure("some avg10=101 total=1").is_err() && parse::pressure("some avg10=nan total=1").is_err());
    assert!(parse::disks("8 0 sda 1 2 3").is_err() && parse::zram("1 2 3").is_err());
    assert!(parse::swaps("head\n/dev/x partition 1 2\n").is_err() && parse::cpu_ticks("cpu0 1 2\n").is_err());
    let group = GroupPaths::V2("sys/fs/cgroup/x".into());
    assert!(GroupCounters::read(&root(&[("sys/fs/cgroup/x/memory.current", "max\n")]), &group).is_err());
}

#[test]
fn both_versions_of_groups_tell_the_same() {
    let v2 = root(&[
        ("sys/fs/cgroup/x/memory.current", "1000\n"),
        ("sys/fs/cgroup/x/memory.swap.current", "3000\n"),
        ("sys/fs/cgroup/x/memory.peak", "1500\n"),
        ("sys/fs/cgroup/x/memory.stat", "anon 900\nzswap 300\npgmajfault 7\nworkingset_refault_anon 5\n"),
        ("sys/fs/cgroup/x/memory.events", "low 0\noom 2\noom_kill 1\n"),
        ("sys/fs/cgroup/x/cpu.stat", "usage_usec 42\nnr_throttled 0\n"),
        ("sys/fs/cgroup/x/memory.pressure", PRESSURE),
        ("sys/fs/cgroup/x/io.pressure", PRESSURE),
        ("sys/fs/cgroup/x/memory.max", "2000\n"),
    ]);
    let v1 = root(&[
        ("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "1000\n"),
        ("sys/fs/cgroup/memory/x/memory.memsw.usage_in_bytes", "4000\n"),
        ("sys/fs/cgroup/memory/x/memory.max_usage_in_bytes", "1500\n"),
        ("sys/fs/cgroup/memory/x/memory.stat", "pgmajfault 0\ntotal_pgmajfault 7\ntotal_workingset_refault_anon 5\n"),
        ("sys/fs/cgroup/memory/x/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"),
        ("sys/fs/cgroup/cpuacct/x/cpuacct.usage", "42999\n"),
        ("sys/fs/cgroup/unified/x/memory.pressure", PRESSURE),
        ("sys/fs/cgroup/unified/x/io.pressure", PRESSURE),
        ("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "2000\n"),
    ]);
    let paths = GroupPaths::V1 {
        memory: "sys/fs/cgroup/memory/x".into(),
        cpu: Some("sys/fs/cgroup/cpuacct/x".into()),
        pressure: Some("sys/fs/cgroup/unified/x".into()),
    };
    let new = GroupCounters::read(&v2, &GroupPaths::V2("sys/fs/cgroup/x".into())).unwrap();
    let old = GroupCounters::read(&v1, &paths).unwrap();
    assert_eq!(GroupCounters { zswap: Some(300), ..old }, new);
    assert_eq!((new.limit, new.io_pressure.map(|io| io.some.total_us)), (Some(2000), Some(2_000_000)));
    let unlimited = root(&[("sys/fs/cgroup/x/memory.max", "max\n")]);
    assert_eq!(GroupCounters::read(&unlimited, &GroupPaths::V2("sys/fs/cgroup/x".into())).unwrap().limit, None);
    assert_eq!((new.resident_share(), new.oom_kills), (Some(0.25), Some(1)));
    let nothing = GroupCounters::read(&root(&[("x", "")]), &paths).unwrap();
    assert_eq!(nothing, GroupCounters::default());
    assert_eq!(nothing.resident_share(), None);
}

#[test]
fn two_devices_of_a_tier_are_seen_as_one() {
    let files = [("proc/diskstats", "8 0 sda 10 0 8 100 2 0 8 30 1 400 0\n8 16 sdb 30 0 8 500 6 0 8 10 2 200 0\n")];
    let disk = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Host::read(&root(&files), &names).unwrap().disk
    };
    let both = disk(&["sda", "sdb"]).unwrap();
    assert_eq!((both.reads, both.read_ms, both.writes, both.write_ms), (40, 600, 8, 40));
    assert_eq!(both.busy_ms, 300, "each was busy for a share of the same time");
    assert_eq!((disk(&["sdb", "sdx"]).unwrap().reads, disk(&["sdx"]), disk(&[])), (30, None, None));
}

#[test]
fn numbers_follow_from_two_moments() {
    let host = |swapped: u64, disk: &str, ticks: &str| {
        let vmstat = format!(
            "pswpin {swapped}\npswpout {}\nzswpin {swapped}\npgdemote_kswapd {swapped}\npgdemote_direct \
                {swapped}\nzswpout {}\npgmajfault 5\nallocstall_normal 3\nallocstall_movable {swapped}\n",
            2 * swapped,
            2 * swapped
        );
        let pressure = format!("some avg10=0.00 total={}\n", swapped * 1000);
        let files = [
            ("proc/vmstat", vmstat.as_str()),
            ("proc/diskstats", disk),
            ("proc/stat", ticks),
            ("proc/swaps", SWAPS),
            ("proc/pressure/io", &pressure),
        ];
        Host::read(&root(&files), &["vda".to_owned()]).unwrap()
    };
    let before = host(100, DISKS, "cpu 10 2 8 70 5 1 1 3\ncpu0 0\n");
    let after = host(600, "254 0 vda 150 5 800 65 50 1 4000 200 3 590 240\n", "cpu 60 2 18 180 5 1 1 33\ncpu0 0\n");
    let delta = of_host(&before, &after, 2.0);
    assert_eq!((delta.swapped_in, delta.swapped_out, delta.direct_reclaims), (Some(500), Some(1000), Some(500)));
    // 25 ms for 50 reads; no write ended; 500 ms of 2 s.
    assert_eq!((delta.read_ns, delta.write_ns, delta.device_busy), (Some(500_000.0), None, Some(0.25)));
    // Of 200 ticks, two seconds of one cpu, 110 were idle and 30 stolen.
    assert_eq!((delta.steal, delta.cpu.map(|c| (c * 100.0).round())), (Some(0.15), Some(30.0)));
    assert_eq!(of_host(&after, &before, 2.0).swapped_in, None, "a counter that went back says nothing");
    let group = |faults, cpu_us, some_us| GroupCounters {
        major_faults: Some(faults),
        cpu_us: Some(cpu_us),
        memory_pressure: Some(stalls(some_us)),
        ..GroupCounters::default()
    };
    let all = cpu_seconds(&before, &after, 2.0);
    let answered = Evidence { requests: 1_000, ..delta.clone() };
    let derived = of_tenants(answered, (&group(0, 0, 0), &group(400, 20_000, 500_000)), all, 4096);
    assert_eq!((derived.faults_per_request, derived.swap_bytes_per_request), (Some(0.4), Some(1.5 * 4096.0)));
    assert_eq!(
        (derived.cpu_seconds_per_million, derived.memory_wait, derived.cpu_wait),
        (Some(20.0), Some(0.25), None)
    );
    // Two seconds of one cpu, 20 ms of them the tenants'.
    assert_eq!((all, derived.tenants_cpu), (Some(2.0), Some(0.01)));
    assert_eq!((delta.zswap_in, delta.zswap_out, delta.zswap_written_back), (Some(500), Some(1000), None));
    assert_eq!((delta.host_io_wait, delta.demoted), (Some(0.25), Some(1000)));
    let zram = Zram { original: 519, memory: 210, ..Zram::default() };
    let held = |zram, zswap| compression(&Host { zram, zswap, ..Host::default() });
    assert!((held(Some(zram), None).unwrap() - 2.471).abs() < 0.001);
    assert_eq!(held(None, Some(Zswap { memory: 200, original: 500 })), Some(2.5));
    assert_eq!((held(Some(Zram::default()), None), held(None, None)), (None, None));
    let none = of_tenants(Evidence::default(), (&group(0, 0, 0), &group(1, 1, 1)), all, 4096);
    assert_eq!((none.faults_per_request, none.memory_wait), (None, None));
}

#[test]
fn the_running_system_is_understood() {
    let host = Host::read(&Root::live(), &[]).unwrap();
    assert!(host.vmstat.unwrap().contains_key("pgfault") && host.ticks.unwrap().total > 0);
    assert!(available(&Root::live()).unwrap().unwrap() > 0 && host.swaps.is_some());
}
