use std::collections::BTreeMap;

use tiermark_machine::synth::{MemoryNode, Synth};
use tiermark_machine::{LiveFacts, discover};

use super::*;
use proptest::prelude::*;

/// A check-up of a synthetic server with some files changed.
fn examined(files: &[(&str, &str)], busy: Option<Busy>) -> BTreeMap<String, CheckRow> {
    let synth = Synth { sockets: 2, ..Synth::default() };
    let mut all = synth.files();
    all.extend(files.iter().map(|(path, text)| ((*path).to_owned(), format!("{text}\n"))));
    let root = Root::from_files("test", all);
    let machine = discover(&root, &LiveFacts::default()).unwrap();
    let checkup = checkup(&CheckInput { root: &root, machine: &machine, busy, held: &[] });
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
    let checkup = checkup(&CheckInput { root: &root, machine: &machine, busy: None, held });
    let swap = checkup.checks.into_iter().find(|check| check.name == "swap").unwrap();
    assert_eq!(swap.health, Health::Note);
    swap.cure.unwrap()
}

#[test]
fn swap_of_this_program_is_not_told_to_be_turned_off_by_hand() {
    let others = "free memory; swapoff -a && swapon -a brings back what was swapped, where it fits";
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
        ("turbo", &[("sys/devices/system/cpu/intel_pstate/no_turbo", "0")], Note),
        ("turbo", &[("sys/devices/system/cpu/intel_pstate/no_turbo", "1")], Ok),
        ("turbo", &[("sys/devices/system/cpu/cpufreq/boost", "1")], Note),
        ("SMT", &[("sys/devices/system/cpu/smt/control", "on")], Note),
        ("SMT", &[("sys/devices/system/cpu/smt/control", "off")], Ok),
        ("isolated cpus", &[("sys/devices/system/cpu/isolated", "")], Ok),
        ("isolated cpus", &[("sys/devices/system/cpu/isolated", "2-3")], Note),
        ("tickless cpus", &[("sys/devices/system/cpu/nohz_full", "(null)")], Ok),
        ("tickless cpus", &[("sys/devices/system/cpu/nohz_full", "1")], Note),
        ("huge pages (THP)", &[("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]")], Note),
        ("huge pages (THP)", &[], Ok),
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
        ("swap", &[("proc/swaps", "F T S U P\n/dev/sda2 partition 1024 0 -2")], Ok),
        ("swap", &[("proc/swaps", "F T S U P\n/dev/sda2 partition 1024 512 -2")], Note),
        ("available memory", &[("proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 9 kB")], Problem),
        ("available memory", &[("proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 90 kB")], Ok),
        ("memory errors", &[], NotHere),
        ("memory errors", &[(EDAC, "0")], Ok),
        ("memory errors", &[(EDAC, "many")], NotHere),
        ("memory errors", &[(EDAC, "7")], Note),
        ("memory errors", &[(EDAC, "7"), ("sys/devices/system/edac/mc/mc0/ue_count", "1")], Problem),
        ("thermal throttling", &[], NotHere),
        ("thermal throttling", &[(THROTTLE, "0")], Ok),
        ("thermal throttling", &[(THROTTLE, "3")], Note),
        ("clocksource", &[("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet")], Problem),
        ("clocksource", &[("sys/devices/system/clocksource/clocksource0/current_clocksource", "kvm-clock")], Note),
        ("clocksource", &[], Ok),
        ("perf_event_paranoid", &[("proc/sys/kernel/perf_event_paranoid", "4")], Note),
        ("perf_event_paranoid", &[("proc/sys/kernel/perf_event_paranoid", "-1")], Ok),
        ("mitigations", &[("sys/devices/system/cpu/vulnerabilities/meltdown", "Vulnerable")], Note),
        ("mitigations", &[("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI")], Ok),
        ("NMI watchdog", &[("proc/sys/kernel/nmi_watchdog", "1")], Note),
        ("address randomisation", &[("proc/sys/kernel/randomize_va_space", "0")], Note),
        ("address randomisation", &[("proc/sys/kernel/randomize_va_space", "2")], Ok),
        ("pressure (PSI)", &[("proc/pressure/memory", "some avg10=0.00")], Ok),
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
        ("sys/fs/cgroup/box/memory.max", "1048576"),
        ("sys/fs/cgroup/box/memory.current", "4096"),
    ];
    let checks = examined(&files, None);
    assert_eq!((checks["cpu quota"].health, checks["cpu quota"].value.as_str()), (Health::Problem, "0.50 cpus"));
    assert_eq!(
        (checks["memory limit"].health, checks["memory limit"].value.as_str()),
        (Health::Note, "1 MiB, 4 KiB used")
    );
    let free =
        [files[0], files[1], ("sys/fs/cgroup/box/cpu.max", "max 100000"), ("sys/fs/cgroup/box/memory.max", "max")];
    let checks = examined(&free, None);
    assert!(["cpu quota", "memory limit"].iter().all(|name| checks[*name].health == Health::Ok));
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
    let checkup = checkup(&CheckInput { root: &root, machine: &machine, busy: None, held: &[left(&[], false)] });
    assert_eq!(checkup.count(Health::Problem), 0, "{checkup:?}");
    assert!(checkup.checks.len() > 30);
    let synth = Synth {
        memory_nodes: vec![MemoryNode { bytes: 1 << 30, distance: 28, tier: 5, latency_ns: 1, bandwidth_mbs: 1 }],
        ..Synth::default()
    };
    let (root, machine) = (synth.root(), synth.machine().unwrap());
    let checkup = super::checkup(&CheckInput { root: &root, machine: &machine, busy: None, held: &[left(&[], false)] });
    let found = |name: &str| checkup.checks.iter().find(|check| check.name == name).unwrap();
    assert_eq!(found("memory tiers").value, "2 nodes, 1 without cpus, 2 tiers");
    assert_eq!(
        (found("changes held").health, found("changes held").cure.as_deref()),
        (Health::Note, Some("tiermark tune --restore"))
    );
    assert_eq!(found("changes held").value, "2 changes");
    let at_work = super::checkup(&CheckInput { root: &root, machine: &machine, busy: None, held: &[left(&[], true)] });
    assert_eq!(at_work.checks.iter().find(|check| check.name == "changes held").unwrap().value, "none");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever the files hold, every check says something.
    #[test]
    fn any_tree(texts in prop::collection::vec("\\PC{0,30}|-?[0-9]{1,30}", 9)) {
        let paths = [
            "proc/sys/kernel/nmi_watchdog",
            "proc/sys/kernel/randomize_va_space",
            "proc/swaps",
            "proc/meminfo",
            "sys/devices/system/cpu/isolated",
            "sys/devices/system/cpu/nohz_full",
            "sys/devices/system/cpu/cpufreq/boost",
            "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
            "sys/devices/system/cpu/cpu0/cpuidle/state0/latency",
        ];
        let files: Vec<(&str, &str)> = paths.into_iter().zip(texts.iter().map(String::as_str)).collect();
        let checks = examined(&files, None);
        prop_assert!(checks.len() > 30 && checks.values().all(|check| !check.value.is_empty()));
    }
}
