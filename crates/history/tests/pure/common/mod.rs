//! A complete run made by hand, with a value in every field.

use std::collections::BTreeMap;
use tiermark_model::messages::setup as says;
use tiermark_model::{Purpose, Quantity, Tier};

use tiermark_model::*;

fn machine() -> Machine {
    let cpus = (0..2)
        .map(|id| Cpu {
            id,
            core: id,
            smt_rank: 0,
            socket: 0,
            die: Some(0),
            cluster: Some(id),
            node: Some(0),
            llc: Some(0),
            kind: Some(CoreKind::Performance),
            core_name: None,
        })
        .collect();
    let cache = |level, kind, bytes, cpus: &str| Cache {
        level,
        kind,
        bytes: Some(bytes),
        line_bytes: Some(64),
        ways: Some(8),
        sets: Some((bytes / 512) as u32),
        cpus: cpus.parse().unwrap(),
    };
    Machine {
        cpu_model: CpuModel {
            arch: Some("x86_64".into()),
            vendor: Some("GenuineIntel".into()),
            name: Some("Example Processor 8500".into()),
            family: Some(6),
            model: Some(143),
            stepping: Some(8),
            microcode: Some("0x2b000590".into()),
            microcodes: BTreeMap::new(),
            flags: vec!["sse2".into(), "avx2".into()],
        },
        cpus,
        offline_cpus: "2-3".parse().unwrap(),
        allowed_cpus: "0-1".parse().unwrap(),
        beyond_affinity: IdSet::new(),
        allowed_nodes: "0".parse().unwrap(),
        caches: vec![
            cache(1, CacheKind::Data, 32 * KIB, "0"),
            cache(1, CacheKind::Data, 32 * KIB, "1"),
            cache(1, CacheKind::Instruction, 32 * KIB, "0"),
            cache(2, CacheKind::Unified, MIB, "0"),
            cache(3, CacheKind::Unified, 32 * MIB, "0-1"),
        ],
        nodes: vec![Node {
            id: 0,
            cpus: "0-1".parse().unwrap(),
            hides_cpus: false,
            emulated: IdSet::new(),
            memory_bytes: Some(16 * GIB),
            free_bytes: Some(12 * GIB),
            offline_bytes: Some(0),
            distances: BTreeMap::from([(0, 10)]),
            hmat: vec![HmatAccess {
                class: 0,
                initiators: "0".parse().unwrap(),
                read_latency_ns: Some(80.0),
                write_latency_ns: None,
                read_bandwidth: Some(200e9),
                write_bandwidth: Some(150e9),
            }],
            side_caches: Vec::new(),
            memory_tier: Some(4),
            huge_pages: vec![HugePool { page_bytes: 2 * MIB, total: 16, free: 8, promised: 0, on_demand: 0 }],
        }],
        page_bytes: 4096,
        unlisted_slots: 4,
        filled_sockets: 2,
        dimms: vec![Dimm {
            locator: Some("DIMM_A1".into()),
            bank: Some("NODE 0".into()),
            bytes: Some(16 * GIB),
            populated: true,
            kind: Some("DDR5".into()),
            form: Some("DIMM".into()),
            rated_transfers: Some(5600e6),
            configured_transfers: Some(4800e6),
            states_clock: false,
            data_width: Some(64),
            ranks: Some(2),
            manufacturer: Some("Samsung".into()),
            part: Some("M321R2GA3BB6".into()),
            edac_label: Some("CPU_SrcID#0_MC#0_Chan#0_DIMM#0".into()),
            processor: Some("cpu1".into()),
        }],
        cxl_modules: Vec::new(),
        theoretical_link: None,
        core_limits: None,
        theoretical_peak: Some(TheoreticalPeak {
            bytes_per_second: 38.4e9,
            how: "1 channel x 4800 MT/s x 8 bytes".into(),
            upper_bound: false,
            channels: None,
        }),
        system: system(),
        contradictions: Vec::new(),
        unseen: vec![Refusal::new("DIMM details", "EDAC has no driver here", "load the EDAC driver of this chipset")],
    }
}

fn system() -> System {
    System {
        first_touch: Some(3.5e9),
        hostname: Some("example".into()),
        distribution: Some("Debian GNU/Linux 13".into()),
        kernel: Some("6.12.0-1-amd64".into()),
        product: Some("Example Server".into()),
        bios: Some("1.2.3".into()),
        hypervisor: Some("KVM".into()),
        sees_board: false,
        kernel_program: None,
        container: Some("docker".into()),
        cgroup: Some(Cgroup {
            version: 2,
            path: "/system.slice/example.service".into(),
            memory_limit: Some(8 * GIB),
            memory_used: Some(GIB),
            cpu_quota: Some(1.5),
            limit_throttles: false,
            memory_throttled: None,
            memory_kills: None,
            memory_unseen_above: false,
            quota_unseen_above: false,
            cpu_quotas: Vec::new(),
            huge_limits: Vec::new(),
            files: LimitFiles::default(),
        }),
        memory_bytes: Some(16 * GIB),
        available_bytes: Some(13 * GIB),
        thp: Some("madvise".into()),
        thp_defrag: Some("madvise".into()),
        thp_bytes: Some(2 * MIB),
        mthp: BTreeMap::from([(64 * KIB, "inherit".into())]),
        numa_balancing: Some(0),
        ksm: Some(0),
        damon_running: Some(false),
        damon_by: Vec::new(),
        swaps: vec![Swap {
            path: "/dev/vda2".into(),
            kind: "partition".into(),
            bytes: 2 * GIB,
            used_bytes: 0,
            priority: -2,
            compressed: None,
        }],
        unlisted_swap: None,
        swap_cached: None,
        zswap: Some(false),
        zswapped: None,
        governor: Some("performance".into()),
        clock_limit: None,
        smt_control: Some("off".into()),
        tickless_cpus: IdSet::default(),
        clocksource: Some("tsc".into()),
        clocksources: vec!["tsc".into(), "acpi_pm".into()],
        load1: Some(0.05),
        perf_event_paranoid: Some(2),
        mitigations: BTreeMap::from([("meltdown".into(), "Not affected".into())]),
        idle: Some(Idle {
            driver: Some("intel_idle".into()),
            governor: Some("menu".into()),
            states: vec![IdleState { name: "C6".into(), latency_us: Some(133), disabled: false }],
        }),
    }
}

fn bench() -> Bench {
    Bench {
        kernels: vec![KernelInfo {
            id: "read/avx2".into(),
            isa: Isa::Avx2,
            pattern: Pattern::Sequential,
            streams: 1,
            loads: 8,
            stores: 0,
            unroll_bytes: 256,
            store_kind: StoreKind::None,
            read_per_line: 64,
            write_per_line: 0,
            zeros_only: false,
            plain: true,
            doc: "256-bit loads".into(),
        }],
        clock: ClockInfo {
            source: "tsc".into(),
            hz: 2.1e9,
            resolution_ns: 9.5,
            how: "against CLOCK_MONOTONIC_RAW over 50 ms".into(),
            tick_hz: None,
        },
        overheads: Overheads { stamp_ns: 11.9, gate_ns: Some(900.0), loop_ns: Some(3.2), core_hz: Some(3.5e9) },
        idle_traffic: None,
        idle_watts: None,
        primitives: Vec::new(),
    }
}

/// A step of the example's plan.
fn step(id: &str, role: Role, layout: Layout, metric: Metric) -> Step {
    Step {
        id: id.into(),
        labels: Labels::new().with_purpose(Purpose::Ladder).with_tier(Tier::Cache(1)).with_size(24 * KIB),
        phase: 0,
        metric,
        setup: Setup {
            regions: vec![RegionSetup {
                bytes: Bytes(24 * KIB),
                policy: MemPolicy::Bind,
                nodes: "0".parse().unwrap(),
                page: PageKind::Thp,
                layout,
            }],
            threads: vec![ThreadSetup::new(0, role, 0)],
            seed: 7,
        },
        stop: StopRule { precision: 0.01, allocations: 3, min_visits: 15, max_visits: 45, shot_seconds: 0.01 },
    }
}

/// Two visits of a window each, with the clock of the core.
fn visits(values: [f64; 2]) -> Visits {
    let mut visits = Visits::new(0, 1);
    for (at, value) in (1u32..).zip(values) {
        let clocks = vec![Some(CoreClock { hz: 3.5e9, is_steady: true })];
        let windows = vec![Window { clean: true, values: vec![Some(value)], clocks }];
        let pings = vec![60.0];
        let values = BlockValues { mean: value, median: value, p10: 0.99 * value, p90: 1.02 * value };
        let blocks = Blocks { count: 60, left_out: 3, left_out_share: 0.06, subtracted: 0.0, values: Some(values) };
        let (before, after, blocks) = (pings.clone(), pings, vec![blocks]);
        visits.push(Visit { at: f64::from(at), allocation: at - 1, before, after, windows, blocks });
    }
    visits
}

/// The times of three blocks of a thread.
fn block_times() -> BlockTimes {
    let mut times = BlockTimes::default();
    times.push(&[&[0.0, 4_000.0, 8_003.0, 14_000.5]]);
    times
}

/// An observation of a step, with every field filled.
fn observation(step: &Step, value: f64) -> Observation {
    let unit = if step.metric == Metric::Latency { Unit::Ns } else { Unit::BytesPerSecond };
    let mut verdict = Verdict::trusted();
    verdict.suspect(Reason::MinorFaults { faults: 12, shots: 3 });
    Observation {
        step: step.id.clone(),
        labels: step.labels.clone().with_kernel("read/avx2"),
        metric: step.metric,
        unit,
        value: Some(value),
        kind: ValueKind::Capability,
        interval: Some(Interval { low: value * 0.99, high: value * 1.01, level: 0.95 }),
        per_cycle: Some(PerCycle { value: 5.0, unit: Unit::Cycles }),
        clock_slope: Some(1.0),
        record: Some(value * 1.02),
        typical: Some(Typical { median: value * 1.1, p10: value, p90: value * 1.5 }),
        best: Some(value * 0.97),
        passes: Some(Passes { count: 4, best: value * 0.98 }),
        edge: Some(EdgeSeen { share: 0.4, windows: 800, visits: 100, reached: 12, within: None }),
        state: Some(StateKind::Near),
        in_states: vec![InState { state: StateKind::Near, value, share: 0.4, windows: 800, visits: 100 }],
        modes: vec![Mode { value, share: 1.0 }],
        min: Some(value * 0.98),
        max: Some(value * 1.05),
        spread_within: Some(0.004),
        spread_between: Some(0.006),
        slow_places: Some(SlowPlaces { slow: 1, of: 5, share: 0.25 }),
        visits: visits([value, value * 1.01]),
        block_times: block_times(),
        moved: Some(1 << 30),
        soak: None,
        traffic: None,
        allocations: 2,
        disturbance: Disturbance {
            windows: 100,
            clean_windows: 88,
            shots: 10,
            shots_set_aside: 1,
            gap_share: 0.01,
            longest_gap_ns: 52_000.0,
            involuntary_switches: 3,
            minor_faults: 0,
            major_faults: 0,
            migrations: 0,
            cpu_share: Some(0.99),
            run_delay_ns: Some(40_000.0),
            unsettled_shots: 1,
            mostly_interrupted_shots: 0,
            stalled_shots: 0,
            stalled_share: 0.0,
            settle_seconds: 0.02,
        },
        tail: Some(Tail {
            block_accesses: 1024,
            blocks: 5000,
            quantiles: BTreeMap::from([("p99".into(), value * 1.2)]),
        }),
        placement: Some(PlacementProof {
            how: says::placement_seen("move_pages", 6, 1, true, None),
            pages: 6,
            by_node: BTreeMap::from([(0, 6)]),
            on_target: Some(1.0),
            page_share: Some(1.0),
            page: "thp".into(),
            physical: Some([1 << 30, (2 << 30) - 1]),
            notes: vec![says::bind_refused_first_touch("seccomp", &[0].into_iter().collect())],
        }),
        core_hz: Some(3.5e9),
        core_hz_spread: Some(0.001),
        parts: Vec::new(),
        rivals: vec![Rival {
            kernel: "read/sse2".into(),
            ratio: Some(0.8),
            value: Some(7.2e9),
            interval: Some(Interval { low: 7.1e9, high: 7.3e9, level: 0.95 }),
        }],
        rival_open: Some("read/avx512".into()),
        overhead_share: Some(0.0005),
        started_seconds: 1.5,
        seconds: 0.25,
        verdict,
        refusal: Some(Refusal::new("an example of a refusal", "fixtures show every field", "nothing to do")),
    }
}

/// A complete run: one experiment of two steps, everything filled in.
pub(crate) fn example_run() -> Run {
    let read = Role::Stream { kernel: "read/avx2".into(), rivals: vec!["read/sse2".into()] };
    let steps = vec![
        step("latency/L1", Role::Chase { chains: 1 }, Layout::Chain(ChainLayout::Random), Metric::Latency),
        step("read/L1/one", read, Layout::Data, Metric::Bandwidth),
    ];
    let observations = vec![observation(&steps[0], 1.43), observation(&steps[1], 180e9)];
    let findings = observations
        .iter()
        .map(|o| Finding {
            metric: if o.metric == Metric::Latency { Quantity::Latency } else { Quantity::Bandwidth },
            labels: o.labels.clone(),
            value: o.value,
            unit: o.unit,
            interval: o.interval,
            per_cycle: o.per_cycle,
            kind: Some(o.kind),
            typical: o.typical,
            best: o.best,
            samples: 2,
            verdict: o.verdict.clone(),
            evidence: vec![o.step.clone()],
            notes: vec![tiermark_model::messages::memory::at_distance(21)],
        })
        .collect();
    Run {
        schema: RUN_SCHEMA.into(),
        id: "20260102T030405Z-0a1b2c".into(),
        title: "survey".into(),
        tool: Tool {
            version: "0.1.0".into(),
            git: Some("0123456789ab".into()),
            target: "x86_64-unknown-linux-musl".into(),
            rustc: Some("1.95.0".into()),
            libc: "musl".into(),
        },
        command: vec!["tiermark".into(), "survey".into(), "--quick".into()],
        started: "2026-01-02T03:04:05Z".into(),
        seconds: 12.5,
        complete: true,
        stopped: false,
        seed: 42,
        labels: RunLabels::new(),
        plan: Some(PlanPage {
            title: "an example".into(),
            about: "Look for: nothing.".into(),
            machine: false,
            published: None,
        }),
        simulated: Some("example".into()),
        machine: machine(),
        health: None,
        problems: None,
        counters: None,
        bench: bench(),
        experiments: vec![Experiment {
            request: Request {
                probe: "survey".into(),
                scope: Scope {
                    cpus: Some("0-1".parse().unwrap()),
                    mem_node: Some(0),
                    memory: Some("dir:/dev/shm".parse().unwrap()),
                    page: Some(PageKind::Huge(2 * MIB)),
                    max_mem: Some(Bytes(GIB)),
                    max_seconds: Some(60.0),
                    step_seconds: Some(1.5),
                },
                effort: Effort::Quick,
                precision: Some(0.01),
                seed: 42,
                params: serde_json::json!({ "sizes": [24576] }),
                part: Some(PlanPart { command: "latency --quick".into(), note: Some("an example of a note".into()) }),
            },
            method: 1,
            plan: Plan {
                // All but the first followed from results.
                added: steps.len() as u64 - 1,
                steps,
                rules: vec![tiermark_model::messages::rules::memory_size("buffer", "128 MiB = 4 x (32 MiB L3)")],
                refused: vec![Refusal::new("page 1G", "0 of 0 pages free", "reserve one page")],
                max_seconds: 15.0,
                later_seconds: 0.0,
                counting_seconds: 0.0,
                later: Vec::new(),
            },
            observations,
            states: vec![State {
                state: StateKind::Apart { apart: 1, of: 1 },
                share: 0.58,
                visits: 400,
                lasts: Some([0.5, 5.0]),
                ping_ns: Some(330.0),
            }],
            drift: vec![Drift { step: "latency/L1".into(), at_seconds: Some(4.5), change: 0.05, p_value: Some(1e-6) }],
            throughputs: vec![CoreThroughput { kind: None, per_cycle: 5.4, record: Some(5.5), beside: 0.25 }],
            interruptions: vec![Interrupted {
                cpu: Some(0),
                watched_seconds: 0.5,
                count: 4300,
                long: 20,
                share: 0.023,
                long_share: 0.001,
                median_ns: Some(1900.0),
                p99_ns: Some(6000.0),
                longest_ns: Some(200_000.0),
            }],
            time: Some(TimeSpent {
                whole: 9.5,
                filling: 2.5,
                filled: Bytes(3 << 30),
                placing: 0.5,
                settling: 1.0,
                comparing: 1.0,
                figures: 3.0,
                curves: 1.0,
                waiting: 0.25,
            }),
            findings,
        }],
        warnings: vec![Warning {
            code: tiermark_model::Code::new("cpu_quota"),
            data: tiermark_model::Data::new(),
            state: String::new(),
            text: "this process may use 1.5 cpus of time".into(),
            cure: Some("run it without a cpu quota".into()),
        }],
    }
}
