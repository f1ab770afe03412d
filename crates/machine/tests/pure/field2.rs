//! More inputs that users of other tools had: files whose meaning depends on their driver, limits of another layer, what
//! stands between the program and the hardware, counters with two readings. Each kind from a small tree, and from the
//! shared fixture where it is there.

use std::collections::BTreeMap;

use tiermark_machine::synth::Synth;
use tiermark_machine::{HealthCounts, LiveFacts, Root, discover};
use tiermark_model::{IdSet, Machine};

use crate::field_trees::{ids, machine, tree};

fn root(name: &str) -> Option<Root> {
    tree("field2", name)
}

fn field(name: &str) -> Option<Machine> {
    machine("field2", name)
}

/// A synthetic server of one socket of 8 cores, with some files changed.
fn changed(files: &[(&str, &str)]) -> Machine {
    let mut all = Synth { cores_per_node: 8, smt: 1, ..Synth::default() }.files();
    all.extend(files.iter().map(|(path, text)| ((*path).to_owned(), format!("{text}\n"))));
    discover(&Root::from_files("test", all), &LiveFacts::default()).unwrap()
}

#[test]
fn the_highest_step_is_no_limit_of_the_clock() {
    let Some(m) = field("01-amd-acpi-cpufreq") else { return };
    assert_eq!((m.system.clock_limit, m.system.governor.as_deref()), (None, Some("performance")));
    let capped = field("01b-amd-pstate-capped").unwrap().system.clock_limit.unwrap();
    assert!((0.08..0.1).contains(&capped.share), "{capped:?}");
}

/// A process whose affinity leaves out two cpus, and perhaps a cpuset.
fn isolated(cpuset: Option<&str>, affinity: &str, isolated: &str) -> (IdSet, IdSet, IdSet) {
    let status = format!("Cpus_allowed_list:\t{affinity}");
    let mut files = vec![("proc/self/status", status.as_str()), ("sys/devices/system/cpu/isolated", isolated)];
    if let Some(cpus) = cpuset {
        files.extend([
            ("proc/self/mountinfo", "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
            ("proc/self/cgroup", "0::/a"),
            ("sys/fs/cgroup/cpuset.cpus.effective", "0-7"),
            ("sys/fs/cgroup/a/cpuset.cpus.effective", cpus),
        ]);
    }
    let m = changed(&files);
    (m.choosable_cpus(), m.allowed_cpus, m.beyond_affinity)
}

#[test]
fn an_inherited_affinity_is_a_default_and_a_cpuset_the_limit() {
    assert_eq!(isolated(Some("0-7"), "0-5", "6-7"), (ids("0-7"), ids("0-5"), ids("6-7")));
    assert_eq!(isolated(Some("0-3"), "0-1", "6-7"), (ids("0-3"), ids("0-1"), ids("2-3")), "taskset within a cpuset");
    // Without a cpuset only cpus that the kernel takes out of the first affinity are known to be free to choose.
    assert_eq!(isolated(None, "0-5", "6-7"), (ids("0-7"), ids("0-5"), ids("6-7")));
    assert_eq!(isolated(None, "0-3", "6-7"), (ids("0-3"), ids("0-3"), IdSet::new()));
    let Some(m) = field("02-isolcpus") else { return };
    assert_eq!((m.allowed_cpus, m.beyond_affinity), (ids("0-13"), ids("14-15")));
}

#[test]
fn the_cpuset_of_another_group_allows_nothing() {
    let m = changed(&[
        ("proc/self/status", "Cpus_allowed_list:\t0-5"),
        ("proc/self/mountinfo", "30 20 0:1 /b /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
        ("proc/self/cgroup", "0::/a"),
        ("sys/fs/cgroup/cpuset.cpus.effective", "0-7"),
    ]);
    assert_eq!((m.allowed_cpus, m.beyond_affinity), (ids("0-5"), IdSet::new()));
}

#[test]
fn the_meminfo_of_a_container_is_its_limit() {
    const CGROUP: &str = "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
    const LXCFS: &str = "31 20 0:50 /proc/meminfo /proc/meminfo rw - fuse.lxcfs lxcfs rw";
    let of = |mounts: &str, more: &[(&str, &str)]| {
        let meminfo = "MemTotal: 4194304 kB\nMemFree: 3145728 kB\nMemAvailable: 3145728 kB";
        let files = [("proc/meminfo", meminfo), ("proc/self/mountinfo", mounts), ("proc/self/cgroup", "0::/")];
        changed(&[&files, more].concat()).system
    };
    let both = format!("{CGROUP}\n{LXCFS}");
    let system = of(&both, &[("sys/fs/cgroup/memory.max", "max")]);
    let group = system.cgroup.unwrap();
    assert_eq!((group.memory_limit, group.memory_left()), (Some(4 << 30), Some(3 << 30)));
    assert_eq!((group.files.memory.as_deref(), group.memory_unseen_above), (Some("/proc/meminfo"), false));
    assert!(system.memory_bytes > Some(4 << 30), "the machine's");
    let smaller = [("sys/fs/cgroup/memory.max", "1073741824")];
    let file = of(&both, &smaller).cgroup.unwrap().files.memory;
    assert_eq!(file.as_deref(), Some("/sys/fs/cgroup/memory.max"));
    assert_eq!(of(CGROUP, &[]).cgroup.unwrap().memory_limit, None, "no container");
    assert_eq!(of(LXCFS, &[]).available_bytes, Some(3 << 30), "no control groups are seen");
}

/// Whether limits of memory, and quotas, of groups above the mounted ones may apply.
fn unseen(mount: &str, group: &str, files: &[(&str, &str)]) -> (bool, bool) {
    let all = [("proc/self/mountinfo", mount), ("proc/self/cgroup", group)];
    let group = changed(&[&all[..], files].concat()).system.cgroup.unwrap();
    (group.memory_unseen_above, group.quota_unseen_above)
}

#[test]
fn groups_above_the_mounted_ones_may_limit_too() {
    const WHOLE: &str = "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
    let leaf = "30 20 0:1 /job/task /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
    assert_eq!(unseen(leaf, "0::/job/task", &[]), (true, true));
    assert_eq!(unseen(WHOLE, "0::/job/task", &[("sys/fs/cgroup/job/task/memory.max", "max")]), (false, false));
    // In a cgroup namespace the uppermost group has what the root of a hierarchy never has.
    let namespace = [("sys/fs/cgroup/memory.max", "max"), ("sys/fs/cgroup/cpu.max", "max 100000")];
    assert_eq!(unseen(WHOLE, "0::/", &namespace), (true, true));
    assert_eq!(unseen(WHOLE, "0::/../other", &[]), (true, true), "a group outside of the namespace");
    // The statistics of version 1 have the limits of memory above, and no quotas.
    let v1 = |root: &str| {
        format!(
            "30 20 0:1 {root} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
             31 20 0:2 {root} /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"
        )
    };
    let groups = "4:memory:/docker/1\n5:cpu:/docker/1";
    let statistics = [("sys/fs/cgroup/memory/memory.stat", "hierarchical_memory_limit 9223372036854771712")];
    assert_eq!(unseen(&v1("/docker/1"), groups, &statistics), (false, true));
    assert_eq!(unseen(&v1("/docker/1"), groups, &[]), (true, true));
    assert_eq!(unseen(&v1("/"), groups, &[]), (false, false));
    let quota = [("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"), ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000")];
    assert_eq!(unseen(&v1("/"), "4:memory:/\n5:cpu:/", &quota), (false, true));
    let Some(m) = field("03-leaf-group-only") else { return };
    assert!(m.system.cgroup.unwrap().memory_unseen_above);
    let group = field("03b-same-on-host").unwrap().system.cgroup.unwrap();
    assert_eq!((group.memory_limit, group.memory_unseen_above), (Some(4_194_304_000), false));
}

#[test]
fn huge_pages_on_demand_are_counted_beside_reserved_ones() {
    let pool = "sys/kernel/mm/hugepages/hugepages-2048kB";
    let of = |overcommit: &str, surplus: &str| {
        let files = [("nr_hugepages", "100"), ("nr_overcommit_hugepages", overcommit), ("surplus_hugepages", surplus)];
        let files: Vec<(String, &str)> = files.iter().map(|(name, text)| (format!("{pool}/{name}"), *text)).collect();
        let m = changed(&files.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>());
        m.nodes[0].huge_pages.iter().find(|pool| pool.page_bytes == 2 << 20).unwrap().clone()
    };
    assert_eq!((of("50", "20").on_demand, of("50", "60").on_demand, of("0", "0").on_demand), (30, 0, 0));
    let Some(m) = field("05-overcommit-hugepages") else { return };
    let pool = &m.nodes[0].huge_pages[0];
    assert_eq!((pool.available(), pool.obtainable(m.nodes[0].free_bytes)), (0, 4096));
    assert_eq!(pool.obtainable(Some(1 << 30)), 512, "of no more memory than is free");
}

#[test]
fn a_control_domain_has_the_modules_of_its_board() {
    let Some(m) = field("06-xen-dom0") else { return };
    assert_eq!((m.system.guest().as_deref(), m.system.board_maker()), (Some("Xen dom0"), None));
    assert!(m.dimms.iter().any(|dimm| dimm.populated), "an empty string among others ends no table");
    assert!(m.contradictions.iter().all(|found| found.fact != tiermark_model::DisputedFact::Modules));
}

#[test]
fn gvisor_is_a_program_and_no_kernel() {
    let Some(m) = field("08-gvisor") else { return };
    assert_eq!((m.system.container.as_deref(), m.system.kernel_program.as_deref()), (Some("gVisor"), Some("gVisor")));
}

#[test]
fn nodes_that_are_caches_of_one_socket_have_no_peak_of_their_own() {
    let Some(m) = field("11-l3-as-numa-nps1") else { return };
    let peak = |nodes: &str| (m.memory_peak(&ids(nodes)), m.own_memory_peak(&ids(nodes)));
    assert_eq!((peak("0"), peak("0-3")), ((Some(204.8e9), None), (Some(204.8e9), Some(204.8e9))));
}

#[test]
fn each_revision_of_the_microcode_is_named_with_its_cpus() {
    let cpu = |id: u32, revision: &str| format!("processor\t: {id}\nmicrocode\t: {revision}\nflags\t: fpu lm\n\n");
    let of = |second: &str| {
        let cpuinfo: String = (0..8).map(|id| cpu(id, if id < 4 { "0x1" } else { second })).collect();
        changed(&[("proc/cpuinfo", &cpuinfo)]).cpu_model
    };
    let (same, mixed) = (of("0x1"), of("0x2"));
    assert_eq!((same.microcode.as_deref(), same.microcodes.len()), (Some("0x1"), 0));
    assert_eq!((mixed.microcode.as_deref(), mixed.microcodes.len()), (Some("0x1 (cpus 0-3), 0x2 (cpus 4-7)"), 2));
    let Some(m) = field("12-mixed-microcode") else { return };
    let expected = BTreeMap::from([("0x500002c".to_owned(), ids("4-7")), ("0x5003604".to_owned(), ids("0-3"))]);
    assert_eq!(m.cpu_model.microcodes, expected);
}

#[test]
fn slots_of_swap_are_not_the_data_that_memory_holds() {
    let swaps = "F T S U P\n/dev/zram0 partition 8388604 7475912 100";
    let of = |files: &[(&str, &str)]| {
        let system = changed(&[&[("proc/swaps", swaps)], files].concat()).system;
        let held = system.swaps[0].compressed.map(|held| (held.stored_bytes, held.memory_bytes));
        (held, system.zswapped.map(|held| (held.stored_bytes, held.memory_bytes)), system.swap_cached)
    };
    let held = ("sys/block/zram0/mm_stat", "2469606195 895483904 947716096 0 1310720000 86000 0 120 120");
    assert_eq!(of(&[held]), (Some((2_469_606_195, 947_716_096)), None, None));
    // Pages on the backing device are counted as stored, and are not in memory.
    let written = ("sys/block/zram0/bd_stat", "100000 0 100000");
    assert_eq!(of(&[held, written]).0, Some((2_469_606_195 - 409_600_000, 947_716_096)));
    let zswap = "MemTotal: 16777216 kB\nSwapTotal: 8388604 kB\nSwapCached: 4 kB\nZswap: 100 kB\nZswapped: 300 kB";
    assert_eq!(of(&[("proc/meminfo", zswap)]), (None, Some((300 << 10, 100 << 10)), Some(4 << 10)));
    let Some(m) = field("14-zram-slots-not-data") else { return };
    assert_eq!(m.system.swaps[0].compressed.unwrap().memory_bytes, 947_716_096);
}

#[test]
fn pages_that_are_out_of_use_are_counted_by_node() {
    let Some(root) = root("18-poisoned-pages") else { return };
    let machine = discover(&root, &LiveFacts::default()).unwrap();
    let health = HealthCounts::read(&root, &machine).run(None, &machine).unwrap();
    let lost = health.poisoned.unwrap();
    assert_eq!(lost.pages(|count| Some(count.last())), Some((1280, ids("1"))));
    assert_eq!(lost.bytes.map(|bytes| bytes.last()), Some(5 << 20));
}

#[test]
fn captures_keep_what_the_fixtures_show_and_no_names() {
    let with = |files: &[(&str, &str)]| {
        let mut all = Synth { cores_per_node: 8, smt: 1, ..Synth::default() }.files();
        all.extend(files.iter().map(|(path, text)| ((*path).to_owned(), format!("{text}\n"))));
        Root::from_files("test", all)
    };
    let named = with(&[
        ("proc/version", "Linux version 6.1 (someone@SECRET) #1"),
        ("proc/device-tree/ibm,partition-name", "SECRET"),
        ("proc/sysinfo", "LPAR Name: SECRET\nVM00 Control Program: z/VM 7.3.0"),
    ]);
    let fixtures = ["06-xen-dom0", "08-gvisor", "14-zram-slots-not-data", "18-poisoned-pages"];
    for root in std::iter::once(named).chain(fixtures.into_iter().filter_map(root)) {
        let original = discover(&root, &LiveFacts::default()).unwrap();
        let mut archive = Vec::new();
        tiermark_machine::capture(&root, &LiveFacts::default(), &mut archive).unwrap();
        let copy = Root::from_archive("copy", &archive).unwrap();
        let again = discover(&copy, &LiveFacts::default()).unwrap();
        let facts = |m: &Machine| (m.system.guest(), m.system.kernel_program.clone(), m.system.swaps.clone());
        assert_eq!(facts(&again), facts(&original));
        let lost =
            |root: &Root, m: &Machine| HealthCounts::read(root, m).run(None, m).and_then(|health| health.poisoned);
        assert_eq!(lost(&copy, &again), lost(&root, &original));
        for path in ["proc/version", "proc/device-tree/ibm,partition-name", "proc/sysinfo"] {
            assert!(!copy.text(path).unwrap_or_default().contains("SECRET"), "{path}");
        }
    }
}
