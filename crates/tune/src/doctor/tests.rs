use std::collections::BTreeMap;

use tiermark_machine::synth::{MemoryNode, Synth};
use tiermark_machine::{LiveFacts, discover};
use tiermark_model::{Contradiction, DisputedFact, Node, View};

use super::*;

mod nodes;
mod turbo;
mod values;

/// A check-up of a synthetic server with some files changed.
fn examined(files: &[(&str, &str)], busy: Option<Busy>) -> BTreeMap<String, CheckRow> {
    let synth = Synth { sockets: 2, ..Synth::default() };
    let mut all = synth.files();
    all.extend(files.iter().map(|(path, text)| ((*path).to_owned(), format!("{text}\n"))));
    let root = Root::from_files("test", all);
    let machine = discover(&root, &LiveFacts::default()).unwrap();
    let checkup = checkup(&CheckInput { root: &root, machine: &machine, busy, interrupted: None, held: &[] });
    checkup.checks.into_iter().map(|check| (check.name.clone(), check)).collect()
}

/// Two changes of a run, and swap areas among them.
fn left(swaps: &[&str], at_work: bool) -> HeldChanges {
    HeldChanges {
        journal: "j".to_owned(),
        what: "tiermark capacity (zram)".to_owned(),
        started: String::new(),
        pid: 7,
        at_work,
        changes: vec!["one".to_owned(), "two".to_owned()],
        swaps: swaps.iter().map(|path| (*path).to_owned()).collect(),
        commands: Vec::new(),
    }
}

/// The cure for swap in use, with two areas and the programs that made them.
fn cure_of_swap(held: &[HeldChanges]) -> String {
    let swaps = "F T S U P\n/dev/zram1 partition 1024 512 5\n/dev/sda2 partition 1024 512 -2\n";
    let root = Root::from_files("test", [("proc/swaps", swaps), ("sys/devices/system/cpu/online", "0")]);
    let machine = discover(&root, &LiveFacts::default()).unwrap();
    let checkup = checkup(&CheckInput { root: &root, machine: &machine, busy: None, interrupted: None, held });
    let swap = checkup.checks.into_iter().find(|check| check.name == "swap").unwrap();
    assert_eq!(swap.health, Health::Note);
    swap.cure.unwrap()
}

#[test]
fn swap_of_this_program_is_not_told_to_be_turned_off_by_hand() {
    let others = "free memory, then swap the pages back in as root: swapoff /dev/zram1 && swapon -p 5 /dev/zram1; \
        swapoff /dev/sda2 && swapon /dev/sda2";
    assert_eq!(cure_of_swap(&[]), others);
    assert_eq!(cure_of_swap(&[left(&[], true)]), others);
    let one = cure_of_swap(&[left(&["/dev/zram1"], false)]);
    assert!(
        one.starts_with("tiermark tune --restore, ") && one.contains("swapoff /dev/sda2 && swapon /dev/sda2"),
        "{one}"
    );
    let all = cure_of_swap(&[left(&["/dev/zram1", "/dev/sda2"], false)]);
    assert!(all.starts_with("tiermark tune --restore, ") && !all.contains("swapoff"), "{all}");
    let at_work = cure_of_swap(&[left(&["/dev/zram1", "/dev/sda2"], true)]);
    assert!(
        at_work.contains("wait until process 7 (tiermark capacity (zram))") && !at_work.contains("restore"),
        "{at_work}"
    );
}

const POISONED: &str = "sys/devices/system/node/node0/memory_failure/total";
const PERF_PCT: &str = "sys/devices/system/cpu/intel_pstate/max_perf_pct";
const STALLED: &str = "some avg10=85.00 avg60=0 avg300=0 total=9\nfull avg10=60.00 avg60=0 avg300=0 total=8";
const OWN_THP: &str = "sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled";
const EDAC: &str = "sys/devices/system/edac/mc/mc0/ce_count";
const THROTTLE: &str = "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count";

#[test]
fn each_setting_has_its_verdict() {
    use Health::{NotHere, Note, Ok, Problem};
    let governor = "sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    let driver = "sys/devices/system/cpu/cpufreq/policy0/scaling_driver";
    for (name, files, health) in [
        ("governor", &[][..], NotHere),
        ("governor", &[(governor, "performance")], Ok),
        ("governor", &[(governor, "schedutil")], Problem),
        ("governor", &[(governor, "powersave")], Problem),
        ("governor", &[(governor, "powersave"), (driver, "intel_pstate")], Note),
        ("governor", &[(governor, "userspace")], Problem),
        ("clock limit", &[], NotHere),
        ("clock limit", &[(governor, "performance")], Ok),
        ("clock limit", &[(PERF_PCT, "85")], Problem),
        ("clock limit", &[(PERF_PCT, "95")], Note),
        ("clock limit", &[(PERF_PCT, "60"), ("sys/devices/system/cpu/intel_pstate/no_turbo", "1")], Note),
        ("turbo", &[("sys/devices/system/cpu/intel_pstate/no_turbo", "0")], Note),
        ("turbo", &[("sys/devices/system/cpu/cpufreq/policy0/boost", "1")], Note),
        ("turbo", &[("sys/devices/system/cpu/cpufreq/policy0/boost", "0")], Ok),
        ("turbo", &[("sys/devices/system/cpu/intel_pstate/no_turbo", "1")], Ok),
        ("turbo", &[("sys/devices/system/cpu/cpufreq/boost", "1")], Note),
        ("SMT", &[("sys/devices/system/cpu/smt/control", "on")], Note),
        ("SMT", &[("sys/devices/system/cpu/smt/control", "off")], Note),
        ("isolated cpus", &[("sys/devices/system/cpu/isolated", "")], Ok),
        ("isolated cpus", &[("sys/devices/system/cpu/isolated", "2-3")], Note),
        ("tickless cpus", &[("sys/devices/system/cpu/nohz_full", "(null)")], Ok),
        // Linux 3.10.
        ("tickless cpus", &[("sys/devices/system/cpu/nohz_full", "\0\n")], Ok),
        ("tickless cpus", &[("sys/devices/system/cpu/nohz_full", "1")], Note),
        ("huge pages (THP)", &[("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]")], Note),
        ("huge pages (THP)", &[], Ok),
        ("huge pages (THP)", &[(OWN_THP, "always inherit madvise [never]")], Note),
        ("huge pages (THP)", &[(OWN_THP, "[inherit] never")], Ok),
        ("NUMA balancing", &[("proc/sys/kernel/numa_balancing", "1")], Problem),
        ("NUMA balancing", &[("proc/sys/kernel/numa_balancing", "0")], Ok),
        ("KSM", &[("sys/kernel/mm/ksm/run", "1")], Note),
        ("KSM", &[("sys/kernel/mm/ksm/run", "0")], Ok),
        (
            "DAMON",
            &[
                ("sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "1"),
                ("sys/kernel/mm/damon/admin/kdamonds/0/state", "on"),
            ],
            Note,
        ),
        ("swap", &[], NotHere),
        ("swap", &[("proc/swaps", "F T S U P")], Ok),
        ("swap", &[("proc/meminfo", "MemTotal: 16777216 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB")], Ok),
        ("swap", &[("proc/meminfo", "MemTotal: 16777216 kB\nSwapTotal: 8 kB\nSwapFree: 1 kB")], Note),
        ("swap", &[("proc/swaps", "F T S U P\n/dev/sda2 partition 1024 0 -2")], Ok),
        ("swap", &[("proc/swaps", "F T S U P\n/dev/sda2 partition 1024 512 -2")], Note),
        ("available memory", &[("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 1500000 kB")], Problem),
        ("available memory", &[("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 9000000 kB")], Ok),
        ("memory errors", &[], NotHere),
        ("memory errors", &[(EDAC, "0")], Ok),
        ("memory errors", &[(EDAC, "many")], NotHere),
        ("memory errors", &[(EDAC, "7")], Note),
        ("memory errors", &[(EDAC, "7"), ("sys/devices/system/edac/mc/mc0/ue_count", "1")], Problem),
        ("memory errors", &[("proc/meminfo", "HardwareCorrupted: 0 kB")], NotHere),
        ("memory errors", &[("proc/meminfo", "HardwareCorrupted: 5120 kB"), (EDAC, "0")], Problem),
        ("memory errors", &[(POISONED, "0"), ("proc/meminfo", "HardwareCorrupted: 4 kB")], Note),
        ("memory errors", &[(POISONED, "3")], Problem),
        ("thermal throttling", &[], NotHere),
        ("thermal throttling", &[(THROTTLE, "0")], Ok),
        ("thermal throttling", &[(THROTTLE, "3")], Note),
        ("clocksource", &[("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet")], Problem),
        ("clocksource", &[("sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock")], Ok),
        ("clocksource", &[("sys/devices/system/clocksource/clocksource0/current_clocksource", "xen")], Note),
        ("clocksource", &[], Ok),
        ("perf_event_paranoid", &[("proc/sys/kernel/perf_event_paranoid", "4")], Note),
        ("perf_event_paranoid", &[("proc/sys/kernel/perf_event_paranoid", "-1")], Ok),
        ("mitigations", &[("sys/devices/system/cpu/vulnerabilities/meltdown", "Vulnerable")], Note),
        ("mitigations", &[("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI")], Ok),
        ("NMI watchdog", &[("proc/sys/kernel/nmi_watchdog", "1")], Note),
        ("address randomisation", &[("proc/sys/kernel/randomize_va_space", "0")], Note),
        ("address randomisation", &[("proc/sys/kernel/randomize_va_space", "2")], Ok),
        ("pressure (PSI)", &[("proc/pressure/memory", "some avg10=0.00")], Ok),
        ("pressure (PSI)", &[("proc/pressure/memory", STALLED)], Problem),
        ("pressure (PSI)", &[], NotHere),
        ("redis-server", &[("usr/bin/redis-server", "")], Ok),
        ("redis-server", &[], NotHere),
        ("zram", &[("sys/class/zram-control/hot_add", "")], Ok),
        ("hypervisor", &[], Ok),
        ("container", &[("run/.containerenv", "")], Note),
    ] {
        let checks = examined(files, None);
        let check = checks.get(name).unwrap_or_else(|| panic!("no check is called {name}"));
        assert_eq!(check.health, health, "{name} with {files:?}: {check:?}");
        assert!(check.health != Problem || check.cure.is_some(), "a problem has a cure: {check:?}");
    }
}

#[test]
fn control_groups_that_limit_are_told() {
    let mount = "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
    let files = [
        ("proc/self/mountinfo", mount),
        ("proc/self/cgroup", "0::/box"),
        ("sys/fs/cgroup/box/cpu.max", "50000 100000"),
        ("sys/fs/cgroup/box/memory.max", "1073741824"),
        ("sys/fs/cgroup/box/memory.current", "4096"),
    ];
    let checks = examined(&files, None);
    assert_eq!(
        (checks["cpu quota"].health, checks["cpu quota"].value.as_str()),
        (Health::Problem, "0.50 cpus by /sys/fs/cgroup/box/cpu.max")
    );
    assert_eq!(
        (checks["memory limit"].health, checks["memory limit"].value.as_str()),
        (Health::Note, "1 GiB by /sys/fs/cgroup/box/memory.max, 4 KiB used")
    );
    let free =
        [files[0], files[1], ("sys/fs/cgroup/box/cpu.max", "max 100000"), ("sys/fs/cgroup/box/memory.max", "max")];
    let checks = examined(&free, None);
    assert!(["cpu quota", "memory limit"].iter().all(|name| checks[*name].health == Health::Ok));
}

#[test]
fn limits_that_throttle_are_told_with_their_throttlings() {
    let files = [
        ("proc/self/mountinfo", "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
        ("proc/self/cgroup", "0::/box"),
        ("sys/fs/cgroup/box/memory.high", "1073741824"),
        ("sys/fs/cgroup/box/memory.events", "low 0\nhigh 18233\nmax 0"),
        ("sys/fs/cgroup/box/cpu.max", "50000 100000"),
        ("sys/fs/cgroup/box/cpu.stat", "nr_periods 10\nnr_throttled 4"),
    ];
    let checks = examined(&files, None);
    let said = |name: &str| (checks[name].health, checks[name].value.clone());
    let memory = "1 GiB by /sys/fs/cgroup/box/memory.high, which throttles, throttled 18233 times so far";
    assert_eq!(said("memory limit"), (Health::Problem, memory.to_owned()));
    assert_eq!(
        said("cpu quota"),
        (Health::Problem, "0.50 cpus by /sys/fs/cgroup/box/cpu.max; stopped 4 times so far".to_owned())
    );
}

#[test]
fn cures_name_the_file_of_the_limit_or_what_a_container_asks_for() {
    let v1 = "1 0 0:1 / /cg/cpu rw - cgroup cgroup rw,cpu\n2 0 0:2 / /cg/set rw - cgroup cgroup rw,cpuset";
    let limits = [
        ("proc/self/mountinfo", v1),
        ("proc/self/cgroup", "2:cpuset:/a/b\n1:cpu:/a/b"),
        ("cg/cpu/a/cpu.cfs_quota_us", "50000"),
        ("cg/cpu/a/cpu.cfs_period_us", "100000"),
        ("cg/set/a/b/cpuset.cpus", "0-3"),
        ("cg/set/a/cpuset.cpus", "0-3"),
        ("cg/set/cpuset.cpus", "0-15"),
        ("proc/sys/kernel/numa_balancing", "1"),
        ("sys/devices/system/cpu/isolated", "2-3"),
    ];
    let cures = |files: &[(&str, &str)]| {
        let checks = examined(files, None);
        ["cpu quota", "cpus allowed", "NUMA balancing", "isolated cpus"]
            .map(|name| checks[name].cure.clone().unwrap_or_else(|| panic!("{name}")))
    };
    let [quota, cpus, balancing, isolated] = cures(&limits);
    assert_eq!(quota, "for the run: echo -1 > /cg/cpu/a/cpu.cfs_quota_us");
    assert_eq!(cpus, "/cg/set/a/cpuset.cpus sets this");
    assert!(balancing.starts_with("tiermark tune"), "{balancing}");
    let mut contained = limits.to_vec();
    contained.push(("run/.containerenv", ""));
    let [quota, _, balancing, of_process] = cures(&contained);
    assert!(quota.starts_with("ask whoever runs the container") && !quota.contains("/cg"), "{quota}");
    assert!(balancing.starts_with("on the host: tiermark tune"), "{balancing}");
    assert_eq!(of_process, isolated, "what the process itself can do");
}

#[test]
fn facts_that_contradict_each_other_are_a_problem_where_numbers_rest_on_them() {
    let of = |files: &[(&str, &str)]| examined(files, None)["facts of the machine"].clone();
    assert_eq!(of(&[]).health, Health::Ok);
    let node = of(&[("sys/devices/system/node/node0/cpulist", "0-3")]);
    assert_eq!(node.health, Health::Problem, "{node:?}");
    // What the kernel enforces is used, and hosts give their guests memory while they run.
    let online = of(&[("sys/devices/system/cpu/online", "0")]);
    assert!(online.value.contains("online cpus: 0-15 by the files of each cpu (used), 0 by"), "{online:?}");
    let memory = of(&[("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 1048576 kB")]);
    assert!(memory.value.contains("memory of the machine"), "{memory:?}");
    assert_eq!([online.health, memory.health], [Health::Note; 2]);
}

#[test]
fn a_clock_that_was_chosen_over_the_time_stamp_counter_is_changed_back() {
    let dir = "sys/devices/system/clocksource/clocksource0";
    let cure = |offered: &str| {
        let files = [(format!("{dir}/current_clocksource"), "hpet"), (format!("{dir}/available_clocksource"), offered)];
        let files = files.each_ref().map(|(path, text)| (path.as_str(), *text));
        examined(&files, None)["clocksource"].cure.clone().unwrap()
    };
    assert!(cure("tsc hpet acpi_pm").starts_with("echo tsc > /sys/"), "{}", cure("tsc hpet acpi_pm"));
    assert!(cure("hpet acpi_pm").starts_with("see why in dmesg"), "{}", cure("hpet acpi_pm"));
}

#[test]
fn damon_is_named_with_the_files_that_stop_it() {
    let module = ("sys/module/damon_reclaim/parameters/enabled", "Y");
    let own = ("sys/kernel/mm/damon/admin/kdamonds/0/state", "on");
    let check = examined(&[module, own, ("sys/module/damon_stat/parameters/enabled", "N")], None)["DAMON"].clone();
    assert_eq!(check.health, Health::Note);
    let cure = check.cure.unwrap();
    assert!(cure.contains("echo off > /sys/kernel/mm/damon/admin/kdamonds/0/state"), "{cure}");
    assert!(cure.contains("echo N > /sys/module/damon_reclaim/parameters/enabled"), "{cure}");
    assert!(!cure.contains("damon_stat"), "{cure}");
}

/// A server of one socket of 8 channels, with modules of some speeds and sizes in the first channels.
fn with_modules(modules: &[(f64, u64)]) -> BTreeMap<String, CheckRow> {
    with_board(modules, |_| {})
}

/// The same, after a change of its description.
fn with_board(modules: &[(f64, u64)], change: impl Fn(&mut Machine)) -> BTreeMap<String, CheckRow> {
    let slot = |n: usize| {
        let module = modules.get(n);
        tiermark_model::Dimm {
            locator: Some(format!("DIMM_{}1", (b'A' + n as u8) as char)),
            populated: module.is_some(),
            bytes: module.map(|(_, gib)| gib << 30),
            kind: Some("DDR4".to_owned()),
            rated_transfers: module.map(|_| 3200e6),
            configured_transfers: module.map(|(mega, _)| mega * 1e6),
            ..tiermark_model::Dimm::default()
        }
    };
    let root = Root::from_files("test", Synth::default().files());
    let mut machine = Synth::default().machine().unwrap();
    machine.dimms = (0..8).map(slot).collect();
    change(&mut machine);
    let channels = tiermark_machine::dmi::Channels { count: 8, whose: "8 of each".to_owned() };
    machine.theoretical_peak = tiermark_machine::dmi::theoretical_peak(&machine.dimms, 0, 1, Some(&channels));
    let checkup = checkup(&CheckInput { root: &root, machine: &machine, busy: None, interrupted: None, held: &[] });
    checkup.checks.into_iter().map(|check| (check.name.clone(), check)).collect()
}

#[test]
fn memory_that_the_kernel_lacks_has_a_cause() {
    let cure = |command_line: &str| {
        let root = Root::from_files("test", [("proc/cmdline", command_line), ("sys/devices/system/cpu/online", "0")]);
        let mut machine = Synth::default().machine().unwrap();
        machine.system.memory_bytes = Some(220 << 30);
        let dimm = tiermark_model::Dimm { populated: true, bytes: Some(32 << 30), ..tiermark_model::Dimm::default() };
        machine.dimms = vec![dimm; 8];
        machine.contradictions = vec![Contradiction {
            fact: DisputedFact::Modules,
            used: View { source: "the kernel".into(), says: "220 GiB".into() },
            set_aside: View { source: "SMBIOS".into(), says: "256 GiB".into() },
        }];
        let checkup = checkup(&CheckInput { root: &root, machine: &machine, busy: None, interrupted: None, held: &[] });
        let row = checkup.checks.into_iter().find(|check| check.name == "facts of the machine").unwrap();
        assert_eq!(row.health, Health::Problem);
        row.cure.unwrap()
    };
    assert!(cure("quiet mem=220G").contains("boot without mem=220G"));
    assert!(cure("quiet").contains("mapped a faulty module out"));
}

#[test]
fn channels_speeds_and_sizes_of_modules_are_judged() {
    let said = |modules: &[(f64, u64)], name: &str| {
        let check = with_modules(modules)[name].clone();
        (check.health, check.value, check.cure.unwrap_or_default())
    };
    let (health, value, cure) = said(&[(3200.0, 32); 7], "memory channels");
    assert_eq!(
        (health, value.as_str()),
        (
            Health::Problem,
            "7 of 8 channels filled: accesses are not interleaved over all; reads may lose a third of their bandwidth"
        )
    );
    assert!(cure.ends_with(": DIMM_H1"), "{cure}");
    assert_eq!(said(&[(3200.0, 32); 4], "memory channels").0, Health::Note);
    assert_eq!(said(&[(3200.0, 32); 8], "memory channels").0, Health::Ok);
    let mut slow = [(3200.0, 32); 8];
    slow[3].0 = 2933.0;
    let (health, value, _) = said(&slow, "module speed");
    assert_eq!((health, value.as_str()), (Health::Note, "1 of 8 modules at 2933 of 3200 MT/s"));
    // The slowest module holds the others back: no setting of the firmware helps.
    let held_back = with_board(&[(2933.0, 32); 8], |machine| machine.dimms[2].rated_transfers = Some(2933e6));
    let (value, cure) = (&held_back["module speed"].value, held_back["module speed"].cure.as_ref().unwrap());
    assert_eq!(value, "7 of 8 modules at 2933 of 3200 MT/s");
    assert_eq!(cure, "use modules of one rated speed; rated at only 2933 MT/s: DIMM_C1");
    let mut mixed = [(3200.0, 32); 8];
    mixed[0].1 = 16;
    let (health, value, _) = said(&mixed, "module sizes");
    assert_eq!((health, value.as_str()), (Health::Note, "16 GiB, 32 GiB"));
    assert_eq!(said(&[(3200.0, 32); 8], "module sizes").1, "32 GiB each");
    // Accesses are interleaved over the channels of one processor.
    let mut apart = [(3200.0, 32); 8];
    apart[4..].fill((3200.0, 16));
    let of_two = |modules| {
        let processor = |slot: usize| Some(if slot < 4 { "p0".to_owned() } else { "p1".to_owned() });
        let name = |m: &mut Machine| m.dimms.iter_mut().enumerate().for_each(|(slot, d)| d.processor = processor(slot));
        let check = with_board(modules, name)["module sizes"].clone();
        (check.health, check.value)
    };
    assert_eq!(of_two(&apart), (Health::Ok, "32 GiB each (p0), 16 GiB each (p1)".to_owned()));
    assert_eq!(of_two(&mixed), (Health::Note, "16 GiB, 32 GiB".to_owned()));
    // Blocks that are offline are memory of the node too.
    let offline = with_board(&[(3200.0, 32); 8], |machine| {
        let gib = |gib: u64| Some(gib << 30);
        let part = Node { id: 1, memory_bytes: gib(96), offline_bytes: gib(32), ..machine.nodes[0].clone() };
        (machine.nodes[0].memory_bytes, machine.nodes[0].offline_bytes) = (gib(128), gib(0));
        machine.nodes.truncate(1);
        machine.nodes.push(part);
    });
    assert_eq!(
        (offline["node sizes"].health, offline["node sizes"].value.as_str()),
        (Health::Ok, "128 GiB each, offline 32 GiB of node 1")
    );
    // Processors that the kernel does not know, as with nr_cpus= on its command line.
    let unknown = &with_board(&[(3200.0, 32); 8], |machine| machine.filled_sockets = 4)["cpus offline"];
    assert_eq!(unknown.health, Health::Note);
    assert!(unknown.value.ends_with("of 4 processors only"), "{}", unknown.value);
    assert_eq!(said(&[], "module speed").0, Health::NotHere);
}

#[test]
fn other_work_and_steal_are_judged_as_measurements_do() {
    for (busy, steal, healths) in [
        (0.1, 0.0, [Health::Ok, Health::Ok]),
        (1.0, 0.02, [Health::Note, Health::Note]),
        (3.0, 0.2, [Health::Problem, Health::Problem]),
    ] {
        let checks =
            examined(&[], Some(Busy { cpus: 4, busy, steal, top: vec![("cc1".to_owned(), 0.9)], whole: true }));
        assert_eq!([checks["other programs"].health, checks["steal"].health], healths, "{busy} {steal}");
        assert!(checks["other programs"].value.contains("cc1 0.9"));
    }
    assert_eq!(examined(&[], None)["steal"].health, Health::NotHere);
}

#[test]
fn a_guest_is_told_that_its_neighbours_do_not_show() {
    let busy = || Some(Busy { cpus: 4, busy: 0.1, steal: 0.0, top: Vec::new(), whole: true });
    let guest = ("proc/cpuinfo", "processor: 0\nflags: fpu hypervisor\n");
    let said = |files: &[(&str, &str)], busy| examined(files, busy)["other programs"].value.clone();
    assert!(
        said(&[guest], busy()).contains("other guests of the host are not visible here"),
        "{}",
        said(&[guest], busy())
    );
    assert!(!said(&[], busy()).contains("guests"), "{}", said(&[], busy()));
    // A captured tree was not watched: nothing is visible.
    assert!(!said(&[guest], None).contains("guests"), "{}", said(&[guest], None));
}

#[test]
fn a_bare_tree_has_a_check_up_too() {
    let root = Root::from_files("test", [("sys/devices/system/cpu/online", "0")]);
    let machine = discover(&root, &LiveFacts::default()).unwrap();
    let checkup = checkup(&CheckInput {
        root: &root,
        machine: &machine,
        busy: None,
        interrupted: None,
        held: &[left(&[], false)],
    });
    assert_eq!(checkup.count(Health::Problem), 0, "{checkup:?}");
    assert!(checkup.checks.len() > 30);
    let synth = Synth {
        memory_nodes: vec![MemoryNode { bytes: 1 << 30, distance: 28, tier: 5, latency_ns: 1, bandwidth_mbs: 1 }],
        ..Synth::default()
    };
    let (root, machine) = (synth.root(), synth.machine().unwrap());
    let checkup = super::checkup(&CheckInput {
        root: &root,
        machine: &machine,
        busy: None,
        interrupted: None,
        held: &[left(&[], false)],
    });
    let found = |name: &str| checkup.checks.iter().find(|check| check.name == name).unwrap();
    assert_eq!(found("memory tiers").value, "2 nodes, 1 without cpus, 2 tiers");
    assert_eq!(
        (found("changes held").health, found("changes held").cure.as_deref()),
        (Health::Note, Some("tiermark tune --restore"))
    );
    assert_eq!(found("changes held").value, "2 changes of tiermark capacity (zram): one, two");
    let at_work = super::checkup(&CheckInput {
        root: &root,
        machine: &machine,
        busy: None,
        interrupted: None,
        held: &[left(&[], true)],
    });
    assert_eq!(at_work.checks.iter().find(|check| check.name == "changes held").unwrap().value, "none");
}

#[test]
fn interruptions_are_noted_where_the_long_ones_take_a_percent() {
    let found = |interrupted: Option<Interrupted>| {
        let root = Root::from_files("test", Synth::default().files());
        let machine = discover(&root, &LiveFacts::default()).unwrap();
        let input = CheckInput { root: &root, machine: &machine, busy: None, interrupted, held: &[] };
        let row = checkup(&input).checks.into_iter().find(|row| row.name == "interruptions").unwrap();
        (row.health, row.value.replace('\u{a0}', " "))
    };
    let seen = Interrupted {
        watched_seconds: 0.1,
        count: 860,
        long: 30,
        share: 0.0231,
        long_share: 0.009,
        median_ns: Some(1_900.0),
        longest_ns: Some(204_000.0),
        ..Interrupted::default()
    };
    let (health, value) = found(Some(seen));
    assert_eq!(
        value,
        "8,600 times a second, 2.3 % of the time, half under 2 µs, longest 0.2 ms; longer than 20 µs 30 times in \
         0.10 s, 0.9 % of the time"
    );
    assert_eq!(health, Health::Ok);
    assert_eq!(found(Some(Interrupted { long_share: 0.02, ..seen })).0, Health::Note);
    assert_eq!(found(Some(Interrupted { long_share: 0.02, long: 2, ..seen })).0, Health::Ok, "too few to judge");
    assert_eq!(found(None), (Health::NotHere, "not watched".to_owned()));
}
