//! Nodes, their memory, and cpus that are offline.

use tiermark_model::IdSet;

use super::*;

#[test]
fn nodes_of_different_sizes_and_emulated_nodes_are_named() {
    let node = |id: u32| format!("sys/devices/system/node/node{id}/meminfo");
    let half = "Node 1 MemTotal: 4194304 kB\nNode 1 MemFree: 4194304 kB";
    let check = examined(&[(&node(1), half), ("proc/meminfo", "MemTotal: 12582912 kB")], None)["node sizes"].clone();
    assert_eq!((check.health, check.value.as_str()), (Health::Note, "node 1 4 GiB, node 0 8 GiB"));
    assert_eq!(examined(&[], None)["node sizes"].health, Health::Ok);
    let near = "Node 1 MemTotal: 7969178 kB\nNode 1 MemFree: 4194304 kB";
    let check = examined(&[(&node(1), near)], None)["node sizes"].clone();
    assert_eq!((check.health, check.value.as_str()), (Health::Ok, "7.6 GiB to 8 GiB each"));
    let all = "0-15";
    let same = [
        ("sys/devices/system/node/node0/cpulist", all),
        ("sys/devices/system/node/node1/cpulist", all),
        ("sys/devices/system/node/node0/distance", "10 10"),
        ("sys/devices/system/node/node1/distance", "10 10"),
    ];
    let check = examined(&same, None)["emulated nodes"].clone();
    assert_eq!((check.health, check.value.as_str()), (Health::Note, "2 nodes of 1 memory"));
}

#[test]
fn nodes_without_memory_and_memory_of_other_nodes_only_are_named() {
    let node = |id: u32| format!("sys/devices/system/node/node{id}/meminfo");
    let (empty, whole) = (node(1), ("proc/meminfo", "MemTotal: 8388608 kB"));
    let none = (empty.as_str(), "Node 1 MemTotal: 0 kB\nNode 1 MemFree: 0 kB");
    let checks = examined(&[none, whole], None);
    assert_eq!((checks["node sizes"].health, checks["node sizes"].value.as_str()), (Health::Ok, "8 GiB"));
    let own = &checks["memory of own node"];
    assert_eq!(own.health, Health::Note);
    assert_eq!(own.value, "cpus 4-7,12-15 have none: node 1 has no memory");

    let cpuset = [
        ("proc/self/mountinfo", "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
        ("proc/self/cgroup", "0::/box"),
        ("sys/fs/cgroup/box/memory.max", "max"),
        ("sys/fs/cgroup/box/cpuset.cpus.effective", "0-3,8-11"),
        ("sys/fs/cgroup/box/cpuset.mems.effective", "1"),
    ];
    let own = examined(&cpuset, None)["memory of own node"].clone();
    assert_eq!(own.health, Health::Problem);
    assert_eq!(own.value, "none: all memory that may be used is of node 1, all cpus of node 0");
    let cure = own.cure.unwrap();
    assert!(cure.starts_with("for the run: echo 0 > /sys/fs/cgroup/box/cpuset.mems; or"), "{cure}");
    assert!(cure.contains("taskset -c 4-7,12-15"), "{cure}");
    let mut contained = cpuset.to_vec();
    contained.push(("run/.containerenv", ""));
    let cure = examined(&contained, None)["memory of own node"].cure.clone().unwrap();
    assert!(cure.starts_with("ask whoever runs the container for memory of node 0"), "{cure}");

    // Cpus of a node without memory only: no cpuset helps.
    let own =
        examined(&[none, whole, ("proc/self/status", "Cpus_allowed_list:\t4-7,12-15")], None)["memory of own node"]
            .clone();
    assert_eq!(own.health, Health::Problem);
    assert!(own.cure.as_ref().is_some_and(|cure| cure.starts_with("run on cpus of node 0")), "{own:?}");
    assert_eq!(examined(&[], None)["memory of own node"].health, Health::Ok);
}

#[test]
fn sockets_that_share_a_node_are_named_with_the_cause() {
    let said = |more: &[(&str, &str)]| {
        let mut files = Synth { sockets: 2, ..Synth::default() }.files();
        files.retain(|path, _| !path.starts_with("sys/devices/system/node"));
        files.extend(more.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
        let root = Root::from_files("test", files);
        let machine = discover(&root, &LiveFacts::default()).unwrap();
        let checkup = checkup(&CheckInput { root: &root, machine: &machine, busy: None, interrupted: None, held: &[] });
        checkup.checks.into_iter().find(|check| check.name == "memory of own node").unwrap()
    };
    let interleaved = said(&[]);
    assert_eq!(interleaved.value, "2 sockets share node 0: figures of DRAM mix near and far memory");
    assert!(interleaved.cure.unwrap().contains("node interleaving"));
    let off = said(&[("proc/cmdline", "BOOT_IMAGE=x numa=off quiet\n")]);
    assert_eq!((off.health, off.cure.unwrap().contains("without numa=off")), (Health::Note, true));
    // A hypervisor makes the sockets up.
    assert_eq!(said(&[("proc/cpuinfo", "processor: 0\nflags: fpu hypervisor\n")]).health, Health::Ok);
}

#[test]
fn a_node_that_cuts_across_sockets_is_not_interleaved() {
    let cut =
        [("sys/devices/system/node/node0/cpulist", "0-5,8-13"), ("sys/devices/system/node/node1/cpulist", "6-7,14-15")];
    let checks = examined(&cut, None);
    let facts = &checks["facts of the machine"];
    assert_eq!(facts.health, Health::Problem);
    let says = "cpus of node 0 and of socket 1, which cut across each other: 0-5,8-13 by the node's cpulist (used), \
                4-7,12-15 by physical_package_id";
    assert!(facts.value.ends_with(says), "{facts:?}");
    let own = &checks["memory of own node"];
    assert_eq!(own.value, "2 sockets share node 0: figures of DRAM mix near and far memory");
    assert!(own.cure.as_ref().is_some_and(|cure| cure.contains("SRAT") && !cure.contains("interleaving")), "{own:?}");
    // A hypervisor makes sockets up.
    let guest = [&cut[..], &[("proc/cpuinfo", "processor: 0\nflags: fpu hypervisor\n")]].concat();
    assert_eq!(examined(&guest, None)["facts of the machine"].health, Health::Ok);
}

#[test]
fn second_threads_are_not_brought_online_one_by_one_while_smt_is_off() {
    let said = |control: &str, online: &str| {
        let files = [("sys/devices/system/cpu/smt/control", control), ("sys/devices/system/cpu/online", online)];
        let check = offline_of(&files);
        (check.health, check.value, check.cure.unwrap_or_default())
    };
    assert_eq!(said("off", "0-7"), (Health::Ok, "8-15, with SMT off".to_owned(), String::new()));
    assert_eq!(said("forceoff", "0-7").0, Health::Ok);
    let (health, _, cure) = said("off", "0-3");
    assert_eq!(health, Health::Note, "twelve are not the second threads of four cores");
    assert!(cure.contains("echo on > /sys/devices/system/cpu/smt/control"), "{cure}");
    let (health, _, cure) = said("on", "0-7");
    assert_eq!((health, cure.as_str()), (Health::Note, "echo 1 > /sys/devices/system/cpu/cpu8/online, and so on"));
    // The kernel knows no second threads: what is offline is a core.
    assert_eq!(said("notsupported", "0-7").0, Health::Note);
}

/// The check of offline cpus, where a machine of 16 cpus has some online.
fn offline_of(files: &[(&str, &str)]) -> CheckRow {
    let synth = Synth { sockets: 2, ..Synth::default() };
    let mut all = synth.files();
    all.extend(files.iter().map(|(path, text)| ((*path).to_owned(), format!("{text}\n"))));
    let root = Root::from_files("test", all);
    let mut machine = discover(&root, &LiveFacts::default()).unwrap();
    let online = IdSet::from_plain_list(files[1].1).unwrap();
    machine.offline_cpus = machine.online().difference(&online);
    machine.cpus.retain(|cpu| online.contains(cpu.id));
    let checkup = checkup(&CheckInput { root: &root, machine: &machine, busy: None, interrupted: None, held: &[] });
    checkup.checks.into_iter().find(|check| check.name == "cpus offline").unwrap()
}

#[test]
fn cpus_of_isolated_partitions_are_named_with_their_group() {
    const TOP: &str = "sys/fs/cgroup";
    let (isolated, own) = (format!("{TOP}/cpuset.cpus.isolated"), format!("{TOP}/user.slice/cpuset.cpus.effective"));
    let (above, state) =
        (format!("{TOP}/cpuset.cpus.effective"), format!("{TOP}/rt.slice/low.slice/cpuset.cpus.partition"));
    let parent = format!("{TOP}/rt.slice/cpuset.cpus.partition");
    let files = [
        ("proc/self/mountinfo", "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
        ("proc/self/cgroup", "0::/user.slice"),
        ("proc/self/status", "Cpus_allowed_list:\t0-11"),
        (isolated.as_str(), "12-15"),
        (above.as_str(), "0-11"),
        (own.as_str(), "0-11"),
        (parent.as_str(), "member"),
        (state.as_str(), "isolated"),
    ];
    let checks = examined(&files, None);
    let check = checks["isolated cpus"].clone();
    let said = "12-15, by /sys/fs/cgroup/rt.slice/low.slice/cpuset.cpus.partition";
    assert_eq!((check.health, check.value.as_str()), (Health::Note, said));
    assert!(check.cure.unwrap().ends_with("echo $$ > /sys/fs/cgroup/rt.slice/low.slice/cgroup.procs"));
    // The uppermost group has no file that sets its cpus.
    let cure = checks["cpus allowed"].cure.clone().unwrap();
    assert!(cure.starts_with("/sys/fs/cgroup/cpuset.cpus.isolated lists those that isolated groups keep"), "{cure}");
}

#[test]
fn a_limit_of_the_group_on_reserved_huge_pages_is_named() {
    let pool = |file: &str| format!("sys/kernel/mm/hugepages/hugepages-2048kB/{file}");
    let own = |file: &str| format!("sys/devices/system/node/node0/hugepages/hugepages-2048kB/{file}");
    let of = |limit: &str| {
        let files = [
            (pool("nr_hugepages"), "2048"),
            (own("nr_hugepages"), "2048"),
            (own("free_hugepages"), "2048"),
            ("proc/self/mountinfo".into(), "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
            ("proc/self/cgroup".into(), "0::/a"),
            ("sys/fs/cgroup/a/hugetlb.2MB.max".into(), limit),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        examined(&files, None)["huge pages, reserved"].clone()
    };
    let check = of("0");
    assert_eq!(check.health, Health::Note);
    let said = "; the control group may have 0 B of 2 MiB (/sys/fs/cgroup/a/hugetlb.2MB.max)";
    assert!(check.value.ends_with(said), "{}", check.value);
    assert_eq!((of("max").health, of("4294967296").health), (Health::Ok, Health::Ok));
}

#[test]
fn balancing_between_tiers_is_no_problem_without_a_lower_tier() {
    let of = |files: &[(&str, &str)]| {
        let files = [&[("proc/sys/kernel/numa_balancing", "2")], files].concat();
        examined(&files, None)["NUMA balancing"].health
    };
    let tier = |number: u32| format!("sys/devices/virtual/memory_tiering/memory_tier{number}/nodelist");
    assert_eq!(of(&[]), Health::Ok);
    assert_eq!(of(&[(&tier(4), "0-1")]), Health::Ok);
    assert_eq!(of(&[(&tier(4), "0"), (&tier(22), "1")]), Health::Problem);
}
