//! Inputs that users of other tools had, rebuilt: the facts that discovery must find in them, and what it must name.
//! Where the shared fixtures are missing, these tests say so and pass.

use tiermark_machine::synth::Synth;
use tiermark_machine::{LiveFacts, Root, capture, discover};
use tiermark_model::{DisputedFact, IdSet, MIB, Machine, MemoryChannels};

use crate::field_trees::{ids, machine, tree};

fn root(name: &str) -> Option<Root> {
    tree("field", name)
}

fn field(name: &str) -> Option<Machine> {
    machine("field", name)
}

/// What is said of a fact, and by whom: the view that is used, and the one that is not.
fn said(machine: &Machine, fact: DisputedFact) -> Option<[&str; 2]> {
    let found = machine.contradictions.iter().find(|found| found.fact == fact)?;
    Some([&found.used.says, &found.set_aside.says])
}

#[test]
fn lxcfs_does_not_switch_cpus_off() {
    let Some(m) = field("01-lxcfs-online") else { return };
    assert_eq!((m.online(), m.offline_cpus.len(), &m.allowed_cpus), (ids("0-7"), 0, &ids("6")));
    assert_eq!((m.node(1).unwrap().cpus.clone(), m.node(0).unwrap().is_memory_only()), (ids("4-7"), false));
    assert_eq!(said(&m, DisputedFact::OnlineCpus), Some(["0-7", "0"]));
    assert_eq!(said(&m, DisputedFact::Memory), Some(["125 GiB", "4 GiB"]));
    assert!(m.contradictions[0].set_aside.source.ends_with("which lxcfs makes up"), "{:?}", m.contradictions[0]);
    assert_eq!(m.system.memory_bytes, Some(131_072_000 << 10), "the nodes' memory");
}

#[test]
fn emulated_nodes_are_one_memory() {
    let Some(m) = field("04-pi5-numa-fake") else { return };
    assert_eq!((m.nodes.len(), &m.nodes[0].emulated, &m.nodes[0].cpus), (1, &ids("0-7"), &ids("0-3")));
    assert_eq!(m.nodes[0].memory_bytes, Some(8_252_352 << 10));
    assert_eq!((m.kernel_nodes(&ids("0")), &m.allowed_nodes), (ids("0-7"), &ids("0")));
    assert!(m.contradictions.is_empty(), "{:?}", m.contradictions);
}

#[test]
fn a_limit_that_throttles_is_a_limit() {
    let Some(m) = field("05-memory-high") else { return };
    let group = m.system.cgroup.unwrap();
    assert_eq!((group.memory_limit, group.limit_throttles), (Some(2 << 30), true));
    assert_eq!((group.memory_used, group.memory_throttled), (Some(200_000_000), Some(18_233)));
}

#[test]
fn modules_of_a_guest_have_no_peak() {
    let Some(m) = field("07-ec2-dmi-peak") else { return };
    assert_eq!((m.theoretical_peak.as_ref(), m.dimms.len()), (None, 1));
    assert!(m.unseen.iter().any(|refusal| refusal.why.contains("hypervisor")), "{:?}", m.unseen);
}

#[test]
fn damon_runs_under_other_names() {
    let Some(m) = field("09-damon-reclaim") else { return };
    let files = ["damon_reclaim", "damon_stat"].map(|name| format!("/sys/module/{name}/parameters/enabled"));
    assert_eq!((m.system.damon_running, m.system.damon_by.as_slice()), (Some(true), &files[..]));
}

#[test]
fn cache_ids_win_over_sets() {
    let Some(m) = field("10-qemu-l3-by-node") else { return };
    let l3: Vec<_> = m.data_caches().filter(|cache| cache.level == 3).collect();
    assert_eq!(l3.iter().map(|cache| cache.cpus.clone()).collect::<Vec<_>>(), [ids("0-7"), ids("8-15")]);
    assert!(l3.iter().all(|cache| cache.bytes == Some(16 * MIB)));
    assert_eq!(said(&m, DisputedFact::CacheCpus { level: 3, cpu: 0 }), Some(["0-7", "0-3"]));
}

#[test]
fn seven_of_eight_channels() {
    let Some(m) = field("14-epyc-7-of-8") else { return };
    let channels = m.real_peak().unwrap().channels.unwrap();
    assert_eq!((channels.populated, channels.most, channels.is_uneven(1)), (7, Some(8), true));
    assert!(m.contradictions.is_empty(), "{:?}", m.contradictions);
}

#[test]
fn two_kinds_of_cores_have_two_names() {
    let Some(m) = field("19b-gb10") else { return };
    assert_eq!(m.cpu_model.name.as_deref(), Some("Cortex-A725 + Cortex-X925"));
    let named = |name: &str| -> IdSet {
        m.cpus.iter().filter(|cpu| cpu.core_name.as_deref() == Some(name)).map(|cpu| cpu.id).collect()
    };
    assert_eq!((named("Cortex-X925"), named("Cortex-A725")), (ids("5-9,15-19"), ids("0-4,10-14")));
}

#[test]
fn captures_contradict_themselves_as_their_machines_do() {
    for name in ["01-lxcfs-online", "04-pi5-numa-fake", "05-memory-high", "10-qemu-l3-by-node"] {
        let Some(root) = root(name) else { return };
        let original = discover(&root, &LiveFacts::default()).unwrap();
        let mut archive = Vec::new();
        capture(&root, &LiveFacts::default(), &mut archive).unwrap();
        let copy = discover(&Root::from_archive(name, &archive).unwrap(), &LiveFacts::default()).unwrap();
        assert_eq!(copy.contradictions, original.contradictions, "{name}");
        assert_eq!((copy.allowed_cpus, copy.nodes), (original.allowed_cpus, original.nodes), "{name}");
    }
}

/// A synthetic server of two sockets of 4 cores, with some files changed.
fn changed(files: &[(&str, &str)]) -> Machine {
    let mut all = Synth { sockets: 2, smt: 1, ..Synth::default() }.files();
    all.extend(files.iter().map(|(path, text)| ((*path).to_owned(), format!("{text}\n"))));
    discover(&Root::from_files("test", all), &LiveFacts::default()).unwrap()
}

#[test]
fn threads_that_run_contradict_a_switch_that_is_off() {
    let of = |smt: u32, word: &str| {
        let mut all = Synth { smt, ..Synth::default() }.files();
        all.insert("sys/devices/system/cpu/smt/control".into(), format!("{word}\n"));
        discover(&Root::from_files("test", all), &LiveFacts::default()).unwrap()
    };
    let off = of(2, "off");
    assert_eq!(said(&off, DisputedFact::Threads), Some(["2", "off"]));
    for (smt, word) in [(2, "on"), (1, "off"), (2, "notimplemented")] {
        assert_eq!(said(&of(smt, word), DisputedFact::Threads), None, "{smt} {word}");
    }
}

#[test]
fn a_set_of_cpus_that_the_process_does_not_have_is_set_aside() {
    let status = "Cpus_allowed_list:\t2-3\nMems_allowed_list:\t0";
    let group = [
        ("proc/self/status", status),
        ("proc/self/mountinfo", "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
        ("proc/self/cgroup", "0::/"),
        ("sys/fs/cgroup/cpuset.cpus.effective", "0-2"),
    ];
    let m = changed(&group);
    assert_eq!((&m.allowed_cpus, &m.offline_cpus), (&ids("2-3"), &IdSet::new()));
    assert_eq!(said(&m, DisputedFact::AllowedCpus), Some(["2-3", "0-2"]));
    let elsewhere = changed(&[("proc/self/status", "Cpus_allowed_list:\t99")]);
    assert_eq!(said(&elsewhere, DisputedFact::AllowedCpus), Some(["0-7", "99"]));
    assert_eq!(elsewhere.allowed_cpus, ids("0-7"));
}

#[test]
fn cpus_without_a_node_leave_no_memory_without_cpus() {
    let m = changed(&[("sys/devices/system/node/node1/cpulist", "")]);
    let node = m.node(1).unwrap();
    assert_eq!((node.cpus.is_empty(), node.is_memory_only()), (true, false));
    assert_eq!(said(&m, DisputedFact::CpusOfNodes), Some(["0-3", "0-7"]));
    let both = changed(&[("sys/devices/system/node/node1/cpulist", "3-7")]);
    assert_eq!(said(&both, DisputedFact::NodeCpus { node: 1 }), Some(["4-7", "3-7"]));
}

#[test]
fn a_cache_across_packages_is_named() {
    let mut sets = Vec::new();
    for cpu in 0..8 {
        let dir = format!("sys/devices/system/cpu/cpu{cpu}/cache/index3");
        sets.extend([(format!("{dir}/shared_cpu_list"), "0-7"), (format!("{dir}/shared_cpu_map"), "ff")]);
    }
    let sets: Vec<(&str, &str)> = sets.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let m = changed(&sets);
    assert_eq!(said(&m, DisputedFact::CacheCpus { level: 3, cpu: 0 }), Some(["0-3", "0-7"]));
    let shared: Vec<String> = m.caches.iter().filter(|c| c.level == 3).map(|c| c.cpus.to_string()).collect();
    assert_eq!(shared, ["0-3", "4-7"]);
}

#[test]
fn ids_that_join_caches_of_two_packages_or_sizes_mean_nothing() {
    let with_ids = |of: fn(u32) -> u32, size_of_4: &str| {
        let mut files = Vec::new();
        for cpu in 0..8 {
            files.push((format!("sys/devices/system/cpu/cpu{cpu}/cache/index3/id"), of(cpu).to_string()));
        }
        files.push(("sys/devices/system/cpu/cpu3/cache/index3/size".to_owned(), size_of_4.to_owned()));
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let m = changed(&files);
        (m.cache_of(0, 3).unwrap().cpus.clone(), m.contradictions.len())
    };
    assert_eq!(with_ids(|cpu| cpu / 4, "16384K"), (ids("0-3"), 0));
    assert_eq!(with_ids(|cpu| cpu / 2, "16384K"), (ids("0-1"), 1), "an id divides what the sets join");
    assert_eq!(with_ids(|_| 0, "16384K"), (ids("0-3"), 1));
    assert_eq!(with_ids(|cpu| cpu / 4, "8192K"), (ids("0-3"), 0), "ids of two kinds of cores contradict nothing");
}

#[test]
fn packages_with_two_numbers_are_named() {
    let m = changed(&[("sys/devices/system/cpu/cpu2/topology/physical_package_id", "7")]);
    assert_eq!(said(&m, DisputedFact::Package { cpu: 2 }), Some(["that of cpus 0-3", "that of cpus 2"]));
    assert_eq!((m.sockets(), m.cpu(2).unwrap().socket), (ids("0-1"), 0), "a wrong number makes no socket");
    let taken = changed(&[("sys/devices/system/cpu/cpu2/topology/physical_package_id", "1")]);
    assert_eq!(taken.cpu(2).unwrap().socket, 0);
    assert!(taken.contradictions.iter().any(|found| found.fact == DisputedFact::Package { cpu: 2 }));
}

#[test]
fn the_larger_of_two_memories_is_there() {
    let smaller = changed(&[("proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable: 3000000 kB")]);
    let larger = changed(&[("proc/meminfo", "MemTotal: 67108864 kB\nMemAvailable: 3000000 kB")]);
    assert_eq!((smaller.system.memory_bytes, larger.system.memory_bytes), (Some(16 << 30), Some(64 << 30)));
    assert_eq!(said(&smaller, DisputedFact::Memory), Some(["16 GiB", "4 GiB"]));
    assert_eq!(said(&larger, DisputedFact::Memory), Some(["64 GiB", "16 GiB"]));
    assert!(smaller.system.available_bytes > Some(3_000_000 << 10), "of the nodes, as the total");
}

#[test]
fn a_live_process_runs_where_it_runs() {
    let mut files = Synth { sockets: 2, smt: 1, ..Synth::default() }.files();
    files.insert("sys/devices/system/cpu/online".into(), "0\n".into());
    let root = Root::from_files("test", files);
    let live = LiveFacts { allowed_cpus: Some(ids("6")), ..LiveFacts::default() };
    let m = discover(&root, &live).unwrap();
    assert_eq!((&m.allowed_cpus, m.online()), (&ids("6"), ids("0-7")));
    assert_eq!(said(&m, DisputedFact::OnlineCpus), Some(["0-7", "0"]));
}

#[test]
fn a_fact_with_one_view_contradicts_nothing() {
    assert_eq!(changed(&[]).contradictions, []);
}

/// The kernel lists online cpus in a node, and keeps links to all of the node's cpus.
#[test]
fn a_node_whose_cpus_are_offline_is_no_memory_without_cpus() {
    let mut files = vec![
        ("sys/devices/system/node/node1/cpulist".to_owned(), String::new()),
        ("sys/devices/system/node/node1/cpumap".to_owned(), "00".to_owned()),
        ("sys/devices/system/cpu/online".to_owned(), "0-3".to_owned()),
    ];
    for cpu in 4..8 {
        files.push((format!("sys/devices/system/cpu/cpu{cpu}/online"), "0".to_owned()));
        files.push((format!("sys/devices/system/node/node1/cpu{cpu}/online"), "0".to_owned()));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let m = changed(&files);
    assert_eq!((&m.offline_cpus, m.contradictions.as_slice()), (&ids("4-7"), [].as_slice()));
    assert!(!m.node(1).unwrap().is_memory_only());
}

/// Two kinds of cores on Arm, behind lxcfs: `/proc/cpuinfo` counts the container's cpus, and the kernel shows each
/// cpu's register.
#[test]
fn cpus_that_a_container_counts_anew_do_not_name_others() {
    let core =
        |number: u32, part: &str| format!("processor\t: {number}\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n");
    let info = core(0, "0xd87") + &core(1, "0xd87") + &core(2, "0xd85");
    let mut files = vec![("proc/cpuinfo".to_owned(), info)];
    let names = |files: &[(String, String)]| {
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let m = changed(&files);
        let names: Vec<Option<String>> = m.cpus.iter().map(|cpu| cpu.core_name.clone()).collect();
        (names, said(&m, DisputedFact::OnlineCpus).is_some())
    };
    assert_eq!(names(&files), (vec![None; 8], true), "which cpus these are is not known");
    for cpu in 0..8 {
        let register = if cpu < 5 { "0x00000000410fd871" } else { "0x00000000410fd850" };
        files.push((format!("sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1"), register.to_owned()));
    }
    let (named, is_said) = names(&files);
    let expected: Vec<Option<String>> =
        (0..8).map(|cpu| Some(if cpu < 5 { "Cortex-A725" } else { "Cortex-X925" }.to_owned())).collect();
    assert_eq!((named, is_said), (expected, true));
}

/// Quota and throttling of a parent, whose group has a smaller limit of memory that never throttled.
#[test]
fn what_limits_of_any_group_on_the_way_up_did_is_counted() {
    let m = changed(&[
        ("proc/self/mountinfo", "30 20 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
        ("proc/self/cgroup", "0::/a/b"),
        ("sys/fs/cgroup/a/b/memory.max", "1073741824"),
        ("sys/fs/cgroup/a/b/memory.events", "low 0\nhigh 0\nmax 0"),
        ("sys/fs/cgroup/a/memory.high", "2147483648"),
        ("sys/fs/cgroup/a/memory.events", "low 0\nhigh 18233\nmax 0"),
        ("sys/fs/cgroup/a/b/cpu.max", "max 100000"),
        ("sys/fs/cgroup/a/b/cpu.stat", "nr_throttled 0"),
        ("sys/fs/cgroup/a/cpu.max", "50000 100000"),
        ("sys/fs/cgroup/a/cpu.stat", "nr_throttled 812"),
    ]);
    let group = m.system.cgroup.unwrap();
    assert_eq!((group.memory_limit, group.memory_throttled), (Some(1 << 30), Some(18_233)));
    let throttled: Vec<Option<u64>> = group.cpu_quotas.iter().map(|quota| quota.throttled).collect();
    assert_eq!((group.cpu_quota, throttled), (Some(0.5), vec![Some(812)]));
}

/// Five of six channels cannot be interleaved evenly; three can, and are half of what six do.
#[test]
fn numbers_of_channels_that_interleave() {
    let is_uneven = |populated, most, sockets| MemoryChannels { populated, most, at_most: false }.is_uneven(sockets);
    assert!(is_uneven(7, Some(8), 1) && is_uneven(5, Some(6), 1) && is_uneven(15, Some(16), 2));
    assert!(!is_uneven(3, Some(6), 1) && !is_uneven(6, Some(12), 2) && !is_uneven(1, Some(2), 1));
    assert!(!is_uneven(5, None, 1), "there may be no more");
}

/// A structure of SMBIOS type 4: a central processor in a populated socket, and its version.
fn processor_table(version: &str) -> Vec<u8> {
    let mut table = vec![0u8; 0x1a];
    (table[0], table[1], table[5], table[0x10], table[0x18]) = (4, 0x1a, 3, 1, 0x41);
    table.extend(version.as_bytes());
    table.extend([0, 0, 127, 4, 0, 0, 0, 0]);
    table
}

#[test]
fn what_firmware_of_a_guest_says_of_its_processor_is_no_hardware() {
    let arm = |vendor: &str, part: &str| {
        let info = format!("processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n");
        let files = [
            ("sys/devices/system/cpu/online", b"0\n".to_vec()),
            ("proc/cpuinfo", info.into_bytes()),
            ("sys/class/dmi/id/sys_vendor", format!("{vendor}\n").into_bytes()),
            ("sys/firmware/dmi/tables/DMI", processor_table("virt-9.2")),
        ];
        let root = Root::from_files("arm", files.map(|(path, bytes)| (path.to_owned(), bytes)));
        discover(&root, &LiveFacts::default()).unwrap().cpu_model.name.unwrap()
    };
    assert_eq!(arm("QEMU", "0xd0c"), "Neoverse-N1");
    assert_eq!(arm("QEMU", "0x123"), "Arm part 0x123");
    assert_eq!(arm("Supermicro", "0xd0c"), "virt-9.2", "a real board knows the name");

    let linked = |flags: &str| {
        let cpu = |id: u32| {
            format!(
                "processor: {id}\nvendor_id: GenuineIntel\ncpu family: 6\nmodel: 106\nmodel name: Xeon\n\
                 physical id: {}\nflags: fpu {flags}\n\n",
                id / 4
            )
        };
        let info: String = (0..8).map(cpu).collect();
        let mut files = Synth { sockets: 2, ..Synth::default() }.files();
        files.insert("proc/cpuinfo".into(), info);
        discover(&Root::from_files("x86", files), &LiveFacts::default()).unwrap().theoretical_link.is_some()
    };
    assert!(linked("lm") && !linked("lm hypervisor"), "a guest has no links between sockets");
}

#[test]
fn no_more_memory_is_available_than_there_is() {
    let m = changed(&[("proc/meminfo", "MemTotal: 16777216 kB\nMemFree: 1024 kB\nMemAvailable: 90000000 kB")]);
    assert_eq!((m.system.memory_bytes, m.system.available_bytes), (Some(16 << 30), Some(16 << 30)));
    let [used, set_aside] = said(&m, DisputedFact::AvailableMemory).unwrap();
    assert!(used == "16 GiB" && set_aside.starts_with("85.8"), "{used} {set_aside}");
}

#[test]
fn swap_that_no_file_lists_is_that_of_meminfo() {
    let with = |swaps: Option<&str>, meminfo: &str| {
        let meminfo = format!("MemTotal: 16777216 kB\n{meminfo}");
        let swaps = swaps.map(|text| ("proc/swaps", text));
        changed(&swaps.into_iter().chain([("proc/meminfo", meminfo.as_str())]).collect::<Vec<_>>())
    };
    let (head, area) = ("Filename Type Size Used Priority", "/dev/sda2 partition 1000000 0 -2");
    let listed = format!("{head}\n{area}");
    let unlisted = with(None, "SwapTotal: 8000 kB\nSwapFree: 1000 kB");
    assert_eq!(unlisted.system.swap_sums(), Some((8000 << 10, 7000 << 10)));
    assert_eq!(with(None, "").system.swap_sums(), None, "nobody says");
    assert_eq!(with(Some(head), "").system.swap_sums(), Some((0, 0)));
    let other = with(Some(&listed), "SwapTotal: 0 kB\nSwapFree: 0 kB");
    assert_eq!(said(&other, DisputedFact::Swap), Some(["976.56 MiB", "0 B"]));
    assert_eq!(said(&with(Some(&listed), "SwapTotal: 1000000 kB"), DisputedFact::Swap), None);
}

#[test]
fn files_of_every_kernel_that_say_nothing_are_not_seen() {
    let not_seen = |files: &[(&str, &str)]| -> Vec<String> {
        let m = changed(files);
        m.unseen.into_iter().filter(|refusal| refusal.what.starts_with("/proc/")).map(|refusal| refusal.what).collect()
    };
    assert_eq!(not_seen(&[]), Vec::<String>::new());
    assert_eq!(not_seen(&[("proc/meminfo", ""), ("proc/cpuinfo", "")]), ["/proc/cpuinfo", "/proc/meminfo"]);
}

#[test]
fn a_thread_is_in_the_package_of_its_core() {
    for (wrong, its_cpus) in [("2\n", "that of cpus 5"), ("0\n", "that of cpus 0-3,5,8-11")] {
        let mut files = Synth { sockets: 2, ..Synth::default() }.files();
        files.insert("sys/devices/system/cpu/cpu5/topology/physical_package_id".into(), wrong.into());
        let m = discover(&Root::from_files("test", files), &LiveFacts::default()).unwrap();
        assert_eq!((m.sockets(), m.core_count(), m.cpu(5).unwrap().socket), (ids("0-1"), 8, 1));
        let views = said(&m, DisputedFact::Package { cpu: 5 }).unwrap();
        assert_eq!(views, ["that of cpus 4-7,12-15", its_cpus]);
    }
}

#[test]
fn distances_that_no_nodes_can_have_are_named() {
    let of = |rows: [&str; 2]| {
        let path = |node| format!("sys/devices/system/node/node{node}/distance");
        let m = changed(&[(path(0).as_str(), rows[0]), (path(1).as_str(), rows[1])]);
        let found = m.contradictions.iter().find(|found| matches!(found.fact, DisputedFact::Distance { .. }));
        found.map(|found| format!("{}: {} {}", found.fact, found.used.says, found.set_aside.says))
    };
    assert_eq!(of(["10 21", "21 10"]), None);
    assert_eq!(of(["0 20", "20 0"]).as_deref(), Some("distance of node 0 to node 0: 0 10"));
    assert_eq!(of(["10 17", "28 10"]), None, "each direction has its own");
    assert_eq!(of(["10 255", "255 10"]).as_deref(), Some("distance of node 0 to node 1: 255 less than 255"));
    assert_eq!(of(["10 10", "10 10"]).as_deref(), Some("distance of node 0 to node 1: 10 more than 10"));
}

#[test]
fn an_arm_processor_that_cpuinfo_leaves_out_has_the_name_of_its_register() {
    let midr = "0x00000000413fd0c1";
    let dirs = (0..2).map(|cpu| format!("sys/devices/system/cpu/cpu{cpu}"));
    let files = dirs.flat_map(|dir| {
        [(format!("{dir}/regs/identification/midr_el1"), midr), (format!("{dir}/topology/core_id"), "0")]
    });
    let m = discover(&Root::from_files("test", files), &LiveFacts::default()).unwrap();
    let model = m.cpu_model;
    assert_eq!((model.name.as_deref(), model.vendor.as_deref()), (Some("Neoverse-N1"), Some("Arm")));
    assert_eq!((model.model, model.arch.as_deref()), (Some(0xd0c), Some("aarch64")));
}

#[test]
fn a_mark_before_a_text_is_no_part_of_it() {
    let m = changed(&[("sys/devices/system/cpu/cpu1/cache/index2/size", "\u{feff}1024K")]);
    assert_eq!(m.cache_of(1, 2).unwrap().bytes, Some(MIB));
    assert!(!m.unseen.iter().any(|refusal| refusal.what.contains("index2")), "{:?}", m.unseen);
}
