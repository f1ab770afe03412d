//! Machines made by hand.

use tiermark_model::*;

pub(crate) fn set(list: &str) -> IdSet {
    list.parse().unwrap()
}

fn cache(level: u8, kind: CacheKind, bytes: u64, ways: u32, cpus: IdSet) -> Cache {
    let sets = (bytes / 64) as u32 / ways;
    Cache { level, kind, bytes: Some(bytes), line_bytes: Some(64), ways: Some(ways), sets: Some(sets), cpus }
}

fn core_caches(cpus: &IdSet, l1: u64, l2: u64) -> Vec<Cache> {
    vec![
        cache(1, CacheKind::Data, l1, 12, cpus.clone()),
        cache(1, CacheKind::Instruction, 32 * KIB, 8, cpus.clone()),
        cache(2, CacheKind::Unified, l2, 16, cpus.clone()),
    ]
}

fn sorted(mut caches: Vec<Cache>) -> Vec<Cache> {
    caches.sort_by_key(|c| (c.level, c.kind, c.cpus.first()));
    caches
}

/// A guest with one socket, two cpus, and no word about its memory modules.
pub(crate) fn vm() -> Machine {
    let cpus = (0..2).map(|id| Cpu { id, core: id, node: Some(0), llc: Some(0), ..Cpu::default() }).collect();
    let mut caches = core_caches(&set("0"), 48 * KIB, 2 * MIB);
    caches.extend(core_caches(&set("1"), 48 * KIB, 2 * MIB));
    caches.push(cache(3, CacheKind::Unified, 260 * MIB, 16, set("0-1")));
    Machine {
        cpu_model: CpuModel {
            arch: Some("x86_64".into()),
            vendor: Some("GenuineIntel".into()),
            name: Some("Intel(R) Xeon(R) Processor @ 2.10GHz".into()),
            family: Some(6),
            model: Some(207),
            stepping: Some(2),
            microcode: Some("0xffffffff".into()),
            flags: vec!["avx512f".into()],
            ..CpuModel::default()
        },
        cpus,
        allowed_cpus: set("0-1"),
        allowed_nodes: set("0"),
        caches: sorted(caches),
        nodes: vec![Node {
            id: 0,
            cpus: set("0-1"),
            memory_bytes: Some(8_348_000_000),
            free_bytes: Some(6_100_000_000),
            distances: [(0, 10)].into(),
            huge_pages: vec![HugePool { page_bytes: 2 * MIB, ..HugePool::default() }],
            ..Node::default()
        }],
        page_bytes: 4096,
        system: System {
            hostname: Some("build-7.example.org".into()),
            distribution: Some("Debian GNU/Linux 13 (trixie)".into()),
            kernel: Some("6.12.48+deb13-amd64".into()),
            hypervisor: Some("KVM".into()),
            container: Some("docker".into()),
            cgroup: Some(Cgroup {
                version: 2,
                path: "/user.slice/user-1000.slice".into(),
                memory_limit: Some(4 * GIB),
                memory_used: Some(300 * MIB),
                cpu_quota: Some(1.5),
                cpu_quotas: vec![CpuQuota {
                    file: "/sys/fs/cgroup/user.slice/user-1000.slice/cpu.max".into(),
                    cpus: 1.5,
                    throttled: Some(0),
                    throttled_us: None,
                }],
                files: LimitFiles {
                    memory: Some("/sys/fs/cgroup/user.slice/memory.max".into()),
                    quota: Some("/sys/fs/cgroup/user.slice/user-1000.slice/cpu.max".into()),
                    ..LimitFiles::default()
                },
                ..Cgroup::default()
            }),
            memory_bytes: Some(8_348_000_000),
            available_bytes: Some(7_000_000_000),
            thp: Some("madvise".into()),
            thp_bytes: Some(2 * MIB),
            mthp: [(64 * KIB, "inherit".into()), (128 * KIB, "inherit".into()), (256 * KIB, "never".into())].into(),
            ksm: Some(0),
            clocksource: Some("kvm-clock".into()),
            load1: Some(0.12),
            perf_event_paranoid: Some(4),
            ..System::default()
        },
        unseen: vec![
            Refusal::new(
                "memory modules",
                "/sys/firmware/dmi/tables/DMI cannot be read (permission denied)",
                "run `tiermark machine` as root once",
            ),
            Refusal::new("core clock governor", "the hypervisor hides cpufreq", ""),
        ],
        ..Machine::default()
    }
}

fn dimm(slot: &str, populated: bool) -> Dimm {
    if !populated {
        return Dimm { locator: Some(slot.into()), ..Dimm::default() };
    }
    Dimm {
        locator: Some(slot.into()),
        bytes: Some(32 * GIB),
        populated,
        kind: Some("DDR5".into()),
        form: Some("DIMM".into()),
        rated_transfers: Some(5600e6),
        configured_transfers: Some(4800e6),
        data_width: Some(64),
        ranks: Some(2),
        manufacturer: Some("Samsung".into()),
        part: Some("M321R4GA3BB6-CQKET".into()),
        ..Dimm::default()
    }
}

/// Two sockets of 32 cores with SMT, a node each, and two CXL nodes without cpus.
pub(crate) fn cxl() -> Machine {
    let cpu = |id: u32| {
        let core = id % 64;
        let socket = core / 32;
        Cpu { id, core, smt_rank: id / 64, socket, node: Some(socket), llc: Some(socket), ..Cpu::default() }
    };
    let mut caches: Vec<Cache> =
        (0..64).flat_map(|c| core_caches(&[c, c + 64].into_iter().collect(), 48 * KIB, 2 * MIB)).collect();
    caches.push(cache(3, CacheKind::Unified, 60 * MIB, 15, set("0-31,64-95")));
    caches.push(cache(3, CacheKind::Unified, 60 * MIB, 15, set("32-63,96-127")));
    let distances = |row: [u32; 4]| [0, 1, 4, 5].into_iter().zip(row).collect();
    let node = |id: u32, cpus: &str, gib: u64, tier: u32, row: [u32; 4], ns: f64, rate: f64| Node {
        id,
        cpus: set(cpus),
        memory_bytes: Some(gib * GIB),
        free_bytes: Some((gib - 3) * GIB),
        distances: distances(row),
        memory_tier: Some(tier),
        huge_pages: vec![
            HugePool { page_bytes: 2 * MIB, total: 512, free: 500, ..HugePool::default() },
            HugePool { page_bytes: GIB, total: 4, free: 4, ..HugePool::default() },
        ],
        hmat: vec![HmatAccess {
            class: 0,
            initiators: set("0-1"),
            read_latency_ns: Some(ns),
            write_latency_ns: Some(ns),
            read_bandwidth: Some(rate),
            write_bandwidth: Some(rate / 2.0),
        }],
        ..Node::default()
    };
    Machine {
        cpu_model: CpuModel { name: Some("INTEL(R) XEON(R) PLATINUM 8562Y+".into()), ..vm().cpu_model },
        cpus: (0..128).map(cpu).collect(),
        offline_cpus: set("128-129"),
        allowed_cpus: set("0-126"),
        allowed_nodes: set("0-1,4-5"),
        caches: sorted(caches),
        nodes: vec![
            node(0, "0-31,64-95", 256, 4, [10, 21, 14, 24], 105.0, 300e9),
            node(1, "32-63,96-127", 256, 4, [21, 10, 24, 14], 105.0, 300e9),
            node(4, "", 128, 5, [14, 24, 10, 26], 250.0, 60e9),
            node(5, "", 128, 5, [24, 14, 26, 10], 250.0, 60e9),
        ],
        page_bytes: 4096,
        dimms: (0..32)
            .map(|n| dimm(&format!("CPU{}_DIMM_{}{}", n / 16, char::from(b'A' + n % 16 / 2), n % 2 + 1), n % 2 == 0))
            .collect(),
        theoretical_peak: Some(TheoreticalPeak {
            bytes_per_second: 16.0 * 38.4e9,
            how: "16 channels x 4800 MT/s x 8 bytes (one channel per populated slot letter and socket)".into(),
            ..TheoreticalPeak::default()
        }),
        system: System {
            hostname: Some("cxl-lab".into()),
            product: Some("Example R760".into()),
            bios: Some("2.1.5".into()),
            kernel: Some("6.11.0".into()),
            thp: Some("always".into()),
            numa_balancing: Some(2),
            ksm: Some(1),
            damon_running: Some(true),
            swaps: vec![Swap {
                path: "/swap.img".into(),
                kind: "file".into(),
                bytes: 8 * GIB,
                used_bytes: GIB,
                priority: -2,
                ..Swap::default()
            }],
            zswap: Some(true),
            governor: Some("performance".into()),
            smt_control: Some("on".into()),
            clocksource: Some("tsc".into()),
            ..System::default()
        },
        ..Machine::default()
    }
}

/// Eight sockets of 128 cores with SMT, four nodes and sixteen last-level caches a socket.
pub(crate) fn huge() -> Machine {
    let cpu = |id: u32| {
        let core = id % 1024;
        let (socket, llc) = (core / 128, core / 8);
        let die = Some(core % 128 / 8);
        Cpu { id, core, smt_rank: id / 1024, socket, die, node: Some(core / 32), llc: Some(llc), ..Cpu::default() }
    };
    let both = |cores: std::ops::Range<u32>| cores.flat_map(|c| [c, c + 1024]).collect::<IdSet>();
    let mut caches: Vec<Cache> = (0..1024).flat_map(|c| core_caches(&both(c..c + 1), 48 * KIB, MIB)).collect();
    caches.extend((0..128).map(|g| cache(3, CacheKind::Unified, 32 * MIB, 16, both(g * 8..g * 8 + 8))));
    let node = |id: u32| Node {
        id,
        cpus: both(id * 32..id * 32 + 32),
        memory_bytes: Some(512 * GIB),
        free_bytes: Some(500 * GIB),
        distances: (0..32)
            .map(|to| {
                (
                    to,
                    if to == id {
                        10
                    } else if to / 4 == id / 4 {
                        12
                    } else {
                        32
                    },
                )
            })
            .collect(),
        ..Node::default()
    };
    Machine {
        cpu_model: CpuModel { name: Some("Example EPYC 9999 128-Core Processor".into()), ..CpuModel::default() },
        cpus: (0..2048).map(cpu).collect(),
        allowed_cpus: set("0-2047"),
        allowed_nodes: set("0-31"),
        caches: sorted(caches),
        nodes: (0..32).map(node).collect(),
        page_bytes: 4096,
        ..Machine::default()
    }
}
