//! Machines nobody here owns, built from parameters, and strange variations of them.

mod captures;
mod declared;

use tiermark_machine::synth::{MemoryNode, Synth};
use tiermark_machine::{LiveFacts, Root, Uname, capture, discover};
use tiermark_model::messages::machine::codes;
use tiermark_model::{
    CacheIndexing, Code, CoreKind, DisputedFact, IdSet, MIB, Machine, Refusal, SideCache, WritePolicy,
};

fn found(root: &Root) -> Machine {
    discover(root, &LiveFacts::default()).unwrap()
}

fn of(files: impl IntoIterator<Item = (String, String)>) -> Machine {
    found(&Root::from_files("test", files))
}

/// The first refusal of a machine with this code.
fn unseen<'a>(machine: &'a Machine, code: &Code) -> &'a Refusal {
    let found = machine.unseen.iter().find(|refusal| refusal.code == *code);
    found.unwrap_or_else(|| panic!("no {code} in {:?}", machine.unseen))
}

fn ids(text: &str) -> IdSet {
    text.parse().unwrap()
}

#[test]
fn two_sockets_with_threads() {
    let m = Synth { sockets: 2, ..Synth::default() }.machine().unwrap();
    assert_eq!((m.cpus.len(), m.core_count(), m.sockets().len(), m.nodes.len()), (16, 8, 2, 2));
    let cpu = m.cpu(9).unwrap();
    assert_eq!((cpu.core, cpu.smt_rank, cpu.socket, cpu.node, cpu.llc), (1, 1, 0, Some(0), Some(0)));
    assert_eq!(m.node(1).unwrap().cpus, ids("4-7,12-15"));
    assert_eq!(m.node(0).unwrap().memory_bytes, Some(8 << 30));
    assert_eq!(m.node(0).unwrap().distances[&1], 21);
    let groups = m.llc_groups();
    assert_eq!((groups.len(), groups[1].bytes), (2, Some(16 * MIB)));
    assert_eq!(m.caches.len(), 8 * 3 + 2);
    assert_eq!(m.cache_of(9, 1).unwrap().cpus, ids("1,9"));
    assert_eq!(m.cores_first(&ids("0-15"))[..9], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!((m.page_bytes, m.system.thp.as_deref()), (4096, Some("madvise")));
    assert_eq!(m.cpu_model.arch.as_deref(), Some("x86_64"));
}

#[test]
fn sparse_node_ids_map_distances_by_position() {
    let m = found(&Synth { sockets: 2, nodes_per_socket: 2, node_stride: 3, ..Synth::default() }.root());
    assert_eq!(m.nodes.iter().map(|n| n.id).collect::<Vec<_>>(), [0, 3, 6, 9]);
    assert_eq!(
        m.node(3).unwrap().distances.iter().map(|(a, b)| (*a, *b)).collect::<Vec<_>>(),
        [(0, 12), (3, 10), (6, 21), (9, 21)]
    );
    assert_eq!(m.cpu(15).unwrap().node, Some(9));
}

#[test]
fn a_short_row_of_distances_is_used_as_far_as_it_goes() {
    let mut files = Synth { sockets: 2, ..Synth::default() }.files();
    files.insert("sys/devices/system/node/node1/distance".into(), "21\n".into());
    files.insert("sys/devices/system/node/node0/distance".into(), "10 far\n".into());
    let m = of(files);
    assert_eq!(m.node(1).unwrap().distances.len(), 1);
    assert!(m.node(0).unwrap().distances.is_empty());
    let refusal = unseen(&m, &codes::file_malformed);
    assert!(refusal.text("path").unwrap().ends_with("node0/distance"));
    assert_eq!(refusal.text("text"), Some("10 far"));
}

#[test]
fn cxl_memory_with_and_without_figures() {
    let told = MemoryNode { bytes: 1 << 38, distance: 30, tier: 22, latency_ns: 255, bandwidth_mbs: 30000 };
    let silent = MemoryNode { latency_ns: 0, bandwidth_mbs: 0, ..told.clone() };
    let m = found(&Synth { memory_nodes: vec![told, silent], ..Synth::default() }.root());
    let (cxl, other) = (m.node(1).unwrap(), m.node(2).unwrap());
    assert!(cxl.cpus.is_empty());
    assert_eq!((cxl.memory_tier, m.node(0).unwrap().memory_tier), (Some(22), Some(4)));
    assert_eq!(cxl.hmat.iter().map(|a| a.class).collect::<Vec<_>>(), [0, 1]);
    assert_eq!((cxl.hmat[0].read_latency_ns, cxl.hmat[0].read_bandwidth), (Some(255.0), Some(3e10)));
    assert_eq!(cxl.hmat[0].write_latency_ns, None);
    assert_eq!((cxl.hmat[0].initiators.clone(), cxl.distances[&0]), (ids("0"), 30));
    assert!(other.hmat.iter().all(|a| a.read_latency_ns.is_none() && a.read_bandwidth.is_none()), "0 is unknown");
}

#[test]
fn memory_less_nodes_have_zero_not_nothing() {
    let m = found(&Synth { sockets: 2, node_bytes: 0, ..Synth::default() }.root());
    assert_eq!(m.node(1).unwrap().memory_bytes, Some(0));
    let mut files = Synth::default().files();
    files.remove("sys/devices/system/node/node0/meminfo");
    assert_eq!(of(files).node(0).unwrap().memory_bytes, None);
}

#[test]
fn memory_full_of_clean_file_cache_is_free() {
    let lines = |prefix: &str| {
        let fields = [
            ("MemTotal", 67_108_864),
            ("MemFree", 1_048_576),
            ("Active(file)", 20_971_520),
            ("Inactive(file)", 31_457_280),
            ("Dirty", 524_288),
        ];
        fields.map(|(name, kb)| format!("{prefix}{name}: {kb} kB\n")).concat()
    };
    let node = "sys/devices/system/node/node0/meminfo".to_owned();
    let mut files = Synth::default().files();
    files.insert(node.clone(), lines("Node 0 "));
    let free = |files| of(files).node(0).unwrap().free_bytes;
    // 1 GiB free, 20 + 30 GiB of cache, 0.5 GiB of it not yet written back.
    assert_eq!(free(files.clone()), Some((1 + 20 + 30) * (1 << 30) - (1 << 29)));
    // A machine without nodes says it for all.
    files.retain(|path, _| !path.starts_with("sys/devices/system/node"));
    files.insert("proc/meminfo".into(), lines(""));
    assert_eq!(free(files.clone()), Some((1 + 20 + 30) * (1 << 30) - (1 << 29)));
    // Cache alone says nothing.
    files.insert("proc/meminfo".into(), "Active(file): 20971520 kB\n".into());
    assert_eq!(free(files), None);
}

#[test]
fn hybrids_by_unit_capacity_and_clock() {
    let kinds = |m: &Machine| m.cpus.iter().map(|cpu| cpu.kind).collect::<Vec<_>>();
    let (fast, small) = (Some(CoreKind::Performance), Some(CoreKind::Efficiency));
    let hybrid = Synth { smt: 1, first_efficiency_core: Some(1), ..Synth::default() };
    assert_eq!(kinds(&found(&hybrid.root())), [fast, small, small, small]);

    let figures = |file: &str, values: [u32; 4]| {
        let mut files = Synth { smt: 1, ..Synth::default() }.files();
        for (cpu, value) in values.iter().enumerate() {
            files.insert(format!("sys/devices/system/cpu/cpu{cpu}/{file}"), format!("{value}\n"));
        }
        kinds(&of(files))
    };
    let least = Some(CoreKind::LowPower);
    assert_eq!(figures("cpu_capacity", [1024, 980, 700, 280]), [fast, fast, small, least]);
    assert_eq!(figures("cpu_capacity", [1024, 1024, 1000, 990]), [None; 4]);
    let mut files = Synth { smt: 1, ..Synth::default() }.files();
    files.insert("sys/devices/system/cpu/cpu0/cache/index0/size".into(), "48K\n".into());
    assert_eq!(kinds(&of(files)), [fast, small, small, small], "a larger first level is a larger core");
    assert_eq!(
        figures("cpufreq/cpuinfo_max_freq", [5_100_000, 5_000_000, 3_700_000, 3_700_000]),
        [fast, fast, small, small]
    );
    assert_eq!(figures("cpufreq/cpuinfo_max_freq", [5_100_000, 4_700_000, 4_300_000, 4_000_000]), [None; 4]);
}

#[test]
fn the_first_cpu_may_be_offline() {
    let m = found(&Synth { offline: ids("0,5"), ..Synth::default() }.root());
    assert_eq!((m.online(), m.offline_cpus.clone()), (ids("1-4,6-7"), ids("0,5")));
    let sibling = m.cpu(4).unwrap();
    assert_eq!((sibling.core, sibling.smt_rank), (0, 0), "the thread left is its core's first");
    assert_eq!(m.allowed_cpus, ids("1-4,6-7"));

    // Kernels without the list tell by each cpu's switch.
    let mut files = Synth { offline: ids("0,5"), ..Synth::default() }.files();
    files.remove("sys/devices/system/cpu/online");
    assert_eq!(of(files).online(), ids("1-4,6-7"));
}

#[test]
fn many_last_level_caches_a_socket() {
    let m = found(
        &Synth { sockets: 2, cores_per_node: 96, cores_per_llc: 8, l3_bytes: 32 * MIB, ..Synth::default() }.root(),
    );
    assert_eq!((m.cpus.len(), m.llc_groups().len()), (384, 24));
    assert_eq!(m.llc_groups()[23].cpus, ids("184-191,376-383"));
    assert_eq!(m.reachable_cache_bytes(&ids("0-7")), 32 * MIB + 8 * MIB);
}

#[test]
fn the_largest_machine() {
    let m = found(&Synth::largest().root());
    assert_eq!((m.cpus.len(), m.core_count(), m.sockets().len(), m.llc_groups().len()), (2048, 1024, 8, 8));
    assert_eq!(m.node(7).unwrap().cpus, ids("896-1023,1920-2047"));
}

#[test]
fn a_tree_of_16384_cpus_is_whole() {
    let synth = Synth { sockets: 8, cores_per_node: 1024, cores_per_llc: 1024, ..Synth::default() };
    let last = synth.root().read("sys/devices/system/node/node7/meminfo").unwrap();
    assert!(last.unwrap().contains("MemTotal"));
}

#[test]
fn limits_of_control_groups_and_live_facts_meet() {
    let mut files = Synth::default().files();
    files.insert("proc/self/cgroup".into(), "0::/job\n".into());
    files.insert("proc/self/mountinfo".into(), "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n".into());
    files.insert("sys/fs/cgroup/job/cpuset.cpus.effective".into(), "0-3\n".into());
    files.insert("sys/fs/cgroup/job/memory.max".into(), "1073741824\n".into());
    files.insert("sys/fs/cgroup/job/cpu.max".into(), "250000 100000\n".into());
    let root = Root::from_files("test", files);
    assert_eq!(found(&root).allowed_cpus, ids("0-3"));
    let live = LiveFacts { allowed_cpus: Some(ids("2-9")), page_bytes: Some(65536), ..LiveFacts::default() };
    let m = discover(&root, &live).unwrap();
    assert_eq!((&m.allowed_cpus, m.page_bytes), (&ids("2-7"), 65536), "the kernel enforces the affinity");
    assert_eq!(m.contradictions[0].set_aside.says, "0-3");
    let cgroup = m.system.cgroup.unwrap();
    assert_eq!((cgroup.memory_limit, cgroup.cpu_quota), (Some(1 << 30), Some(2.5)));
    let elsewhere = LiveFacts { allowed_cpus: Some(ids("6")), ..LiveFacts::default() };
    let m = discover(&root, &elsewhere).unwrap();
    assert_eq!(m.allowed_cpus, ids("6"), "a cpuset that leaves nothing was misread");
    assert_eq!(m.contradictions[0].set_aside.source, "its control group's cpuset");
}

#[test]
fn a_cpuset_alone_is_named() {
    let mut files = Synth::default().files();
    for (path, text) in [
        ("proc/self/cgroup", "2:cpuset:/job\n"),
        ("proc/self/mountinfo", "3 0 0:3 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"),
        ("sys/fs/cgroup/cpuset/job/cpuset.cpus", "0-3\n"),
        ("sys/fs/cgroup/cpuset/job/cpuset.mems", "0\n"),
    ] {
        files.insert(path.into(), text.into());
    }
    let m = of(files);
    let files = m.system.cgroup.unwrap().files;
    assert_eq!(m.allowed_cpus, ids("0-3"));
    assert_eq!(files.cpus.as_deref(), Some("/sys/fs/cgroup/cpuset/job/cpuset.cpus"));
    assert_eq!(files.nodes, None, "all nodes are allowed");
}

#[test]
fn huge_page_pools_by_node_or_for_the_machine() {
    let mut files = Synth { sockets: 2, ..Synth::default() }.files();
    let global = "sys/kernel/mm/hugepages/hugepages-2048kB";
    files.insert(format!("{global}/nr_hugepages"), "12\n".into());
    files.insert(format!("{global}/free_hugepages"), "10\n".into());
    let m = of(files.clone());
    assert_eq!((m.nodes[0].huge_pages[0].total, m.nodes[0].huge_pages[0].free), (12, 10));
    unseen(&m, &codes::node_huge_pages_unknown);
    files.insert(format!("{global}/resv_hugepages"), "4\n".into());
    let pool = &of(files.clone()).nodes[0].huge_pages[0];
    assert_eq!((pool.free, pool.promised, pool.available_bytes()), (10, 4, 6 * 2 * MIB));
    // The kernel counts promises for all nodes: those with most free pages have them.
    let mut by_node = files.clone();
    for (node, free) in [(0, 3), (1, 7)] {
        let dir = format!("sys/devices/system/node/node{node}/hugepages/hugepages-2048kB");
        by_node.insert(format!("{dir}/nr_hugepages"), "8\n".into());
        by_node.insert(format!("{dir}/free_hugepages"), format!("{free}\n"));
    }
    by_node.insert(format!("{global}/resv_hugepages"), "8\n".into());
    let available: Vec<u64> = of(by_node).nodes.iter().map(|node| node.huge_pages[0].available()).collect();
    assert_eq!(available, [2, 0]);
    let node = "sys/devices/system/node/node1/hugepages/hugepages-1048576kB";
    files.insert(format!("{node}/nr_hugepages"), "3\n".into());
    files.insert(format!("{node}/free_hugepages"), "3\n".into());
    let m = of(files);
    assert!(m.nodes[0].huge_pages.is_empty());
    assert_eq!((m.nodes[1].huge_pages[0].page_bytes, m.nodes[1].huge_pages[0].total), (1 << 30, 3));
}

#[test]
fn package_ids_of_minus_one_and_missing_topology() {
    let mut files = Synth { sockets: 2, ..Synth::default() }.files();
    for (path, text) in files.iter_mut().filter(|(path, _)| path.ends_with("physical_package_id")) {
        assert!(!path.is_empty());
        *text = "-1\n".into();
    }
    assert_eq!(of(files.clone()).sockets().len(), 2, "the sets of siblings still differ");
    files.retain(|path, _| !path.contains("/topology/") && !path.contains("/cache/"));
    let m = of(files);
    assert_eq!((m.sockets().len(), m.core_count(), m.cpus.len()), (1, 16, 16));
    assert!(m.caches.is_empty());
    unseen(&m, &codes::caches_not_described);
}

#[test]
fn a_tree_without_sysfs_still_has_cpus() {
    let m = found(&Root::from_files(
        "test",
        [
            ("proc/cpuinfo", "processor : 0\nphysical id : 0\n\nprocessor : 1\nphysical id : 1\n"),
            ("proc/meminfo", "MemTotal: 1024 kB\n"),
        ],
    ));
    assert_eq!((m.cpus.len(), m.sockets().len(), m.nodes.len()), (2, 2, 1));
    assert_eq!((m.nodes[0].id, m.nodes[0].memory_bytes, m.nodes[0].cpus.len()), (0, Some(1 << 20), 2));
    assert_eq!(m.cpus[0].node, None);
    assert_eq!(m.node_of(0), Some(0));
}

#[test]
fn no_cpu_at_all_is_an_error_with_a_cure() {
    let root = Root::from_files("empty", [("proc/meminfo", "MemTotal: 1 kB\n")]);
    let error = discover(&root, &LiveFacts::default()).unwrap_err().to_string();
    assert!(error.starts_with("empty: no cpu") && error.contains("--capture"), "{error}");
}

#[test]
fn more_cpus_than_linux_can_have_are_refused() {
    for (count, is_machine) in [(16_384, true), (16_385, false)] {
        let cpus = (0..count).map(|cpu| (format!("sys/devices/system/cpu/cpu{cpu}/topology/core_id"), "0"));
        let found = discover(&Root::from_files("huge", cpus), &LiveFacts::default());
        assert_eq!(found.is_ok(), is_machine, "{count}");
    }
}

#[test]
fn the_state_of_the_system() {
    let mut files = Synth::default().files();
    let thp = "sys/kernel/mm/transparent_hugepage";
    for (path, text) in [
        ("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian 13\"\n"),
        ("proc/sys/kernel/numa_balancing", "2\n"),
        ("proc/loadavg", "1.25 0.9 0.8 1/100 1234\n"),
        ("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 2048 1024 -2\n/broken line\n"),
        ("sys/module/zswap/parameters/enabled", "Y\n"),
        ("sys/kernel/mm/ksm/run", "1\n"),
        ("sys/kernel/mm/damon/admin/kdamonds/nr_kdamonds", "1\n"),
        ("sys/kernel/mm/damon/admin/kdamonds/0/state", "on\n"),
        ("sys/devices/system/cpu/smt/control", "on\n"),
        ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n"),
        ("sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance\n"),
        ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
        ("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n"),
        ("sys/devices/system/cpu/cpuidle/current_governor_ro", "menu\n"),
        ("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n"),
        ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0\n"),
        ("sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C6\n"),
        ("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "133\n"),
        ("sys/devices/system/cpu/cpu0/cpuidle/state1/disable", "1\n"),
        ("proc/sys/kernel/perf_event_paranoid", "-1\n"),
        ("sys/class/dmi/id/sys_vendor", "Maker\n"),
        ("sys/class/dmi/id/product_name", "Box\n"),
        ("sys/class/dmi/id/bios_version", "7\n"),
    ] {
        files.insert(path.into(), text.into());
    }
    files.insert(format!("{thp}/hugepages-64kB/enabled"), "always [inherit] madvise never\n".into());
    let m = of(files);
    let s = &m.system;
    assert_eq!(s.distribution.as_deref(), Some("Debian 13"));
    assert_eq!((s.numa_balancing, s.ksm, s.damon_running, s.zswap), (Some(2), Some(1), Some(true), Some(true)));
    assert_eq!((s.load1, s.perf_event_paranoid), (Some(1.25), Some(-1)));
    assert_eq!((s.swaps.len(), s.swaps[0].bytes, s.swaps[0].priority), (1, 2 << 20, -2));
    assert_eq!(s.mthp.iter().map(|(b, m)| (*b, m.as_str())).collect::<Vec<_>>(), [(65536, "inherit")]);
    assert_eq!(
        (s.governor.as_deref(), s.smt_control.as_deref()),
        (Some("performance (cpus 1), powersave (cpus 0)"), Some("on"))
    );
    assert_eq!((s.product.as_deref(), s.bios.as_deref()), (Some("Maker Box"), Some("7")));
    assert_eq!((s.clocksource.as_deref(), s.clocksources.len()), (Some("tsc"), 2));
    assert_eq!(s.mitigations["meltdown"], "Not affected");
    let idle = s.idle.as_ref().unwrap();
    assert_eq!((idle.driver.as_deref(), idle.governor.as_deref()), (Some("intel_idle"), Some("menu")));
    let states: Vec<_> = idle.states.iter().map(|s| (s.name.as_str(), s.latency_us, s.disabled)).collect();
    assert_eq!(states, [("POLL", Some(0), false), ("C6", Some(133), true)]);
    let refusal = unseen(&m, &codes::file_malformed);
    assert_eq!((refusal.text("path"), refusal.text("text")), (Some("/proc/swaps"), Some("/broken line")));
}
