//! Default values for tests of documents. A test changes only the fields that it is about.

use crate::capacity::{Outcome, Phase, TrialRecord};
use crate::continuous::ContinuousCheck;
use crate::messages::trials;
use crate::tier::Tier;
use crate::{
    Bytes, Cache, CacheKind, Confidence, Cpu, Effort, Experiment, FAILED_HOST_SCHEMA, Fact, FailedHost, Fleet,
    FleetHost, GIB, Grade, HostCause, HostFailure, HostFamily, HostFigure, HostKind, HostState, IdSet, Isa, KIB,
    KernelInfo, KindFact, KindFigure, Labels, Layout, MIB, Machine, MemPolicy, Metric, Node, OtherValue, PageKind,
    Pattern, Plan, Quantity, RegionSetup, Request, Scope, Setup, Step, StopRule, StoreKind, System, Unit, Verdict,
    VisibleLoss,
};

/// The number of seeds of a calibration: `TIERMARK_SEEDS`, else `few`.
pub fn seeds(few: u64) -> u64 {
    std::env::var("TIERMARK_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}

/// A number from 0 to 1 for a seed. The numbers of any count of successive seeds are evenly spread (golden ratio).
pub fn spread(seed: u64) -> f64 {
    (seed as f64 * 0.618_034).fract()
}

/// A request of standard effort, for everything.
pub fn request(probe: &str) -> Request {
    Request {
        probe: probe.to_owned(),
        scope: Scope::default(),
        effort: Effort::Standard,
        precision: None,
        seed: 1,
        params: serde_json::Value::Null,
        part: None,
    }
}

/// An experiment that planned and found nothing.
pub fn experiment(request: Request) -> Experiment {
    Experiment::new(request, 1, Plan::default())
}

/// A plain sequential kernel of one array that reads or writes whole lines, as the operation in its id says.
pub fn kernel(id: &str) -> KernelInfo {
    let reads = id.starts_with("read");
    let [read_per_line, write_per_line] = if reads { [64, 0] } else { [0, 64] };
    KernelInfo {
        id: id.into(),
        isa: if id.ends_with("avx512") { Isa::Avx512 } else { Isa::Avx2 },
        pattern: Pattern::Sequential,
        streams: 1,
        loads: if reads { 8 } else { 0 },
        stores: if reads { 0 } else { 8 },
        unroll_bytes: 256,
        store_kind: match reads {
            true => StoreKind::None,
            false if id.contains(".nt") => StoreKind::NonTemporal,
            false => StoreKind::Cached,
        },
        read_per_line,
        write_per_line,
        zeros_only: false,
        plain: true,
        doc: String::new(),
    }
}

/// A cache for instructions and data with lines of 64 bytes; of the first level one for data.
pub fn cache(level: u8, bytes: u64, cpus: impl IntoIterator<Item = u32>) -> Cache {
    Cache {
        level,
        kind: if level == 1 { CacheKind::Data } else { CacheKind::Unified },
        bytes: Some(bytes),
        line_bytes: Some(64),
        ways: None,
        sets: None,
        cpus: cpus.into_iter().collect(),
    }
}

/// A region on whichever node its thread is.
pub fn region(bytes: u64, page: PageKind, layout: Layout) -> RegionSetup {
    RegionSetup { bytes: Bytes(bytes), policy: MemPolicy::Bind, nodes: IdSet::new(), page, layout }
}

/// Some visits of one allocation.
pub const STOP: StopRule =
    StopRule { precision: 0.05, allocations: 1, min_visits: 2, max_visits: 40, shot_seconds: 0.002 };

/// A step without labels, memory and threads.
pub fn step(id: &str, metric: Metric) -> Step {
    let setup = Setup { regions: Vec::new(), threads: Vec::new(), seed: 1 };
    Step { id: id.to_owned(), labels: Labels::new(), phase: 0, metric, setup, stop: STOP }
}

/// A trial of which nothing is known but its outcome.
pub fn trial(number: u32, tenants: u32, phase: Phase, outcome: Outcome) -> TrialRecord {
    TrialRecord {
        number,
        tenants,
        phase,
        fresh: true,
        why: trials::one_tenant_first(),
        outcome,
        decided_by: trials::nothing_measured(),
        ended_by: None,
        evidence: None,
    }
}

/// A machine of one node of 8 GiB. Each core has its own L1 and L2; all cores share an L3.
pub fn small_machine(cores: u32) -> Machine {
    let all: IdSet = (0..cores).collect();
    let own = |cpu: u32| [cache(1, 32 * KIB, [cpu]), cache(2, MIB, [cpu])];
    let memory =
        Node { id: 0, cpus: all.clone(), memory_bytes: Some(8 * GIB), free_bytes: Some(6 * GIB), ..Node::default() };
    Machine {
        cpus: (0..cores).map(|id| Cpu { id, core: id, node: Some(0), ..Cpu::default() }).collect(),
        caches: (0..cores).flat_map(own).chain([cache(3, 32 * MIB, 0..cores)]).collect(),
        allowed_cpus: all,
        allowed_nodes: [0].into_iter().collect(),
        nodes: vec![memory],
        system: System { thp: Some("madvise".into()), ..System::default() },
        ..Machine::default()
    }
}

/// Four hosts of a kind, of which `node07` lacks a module and memory bandwidth, and a host that could not be reached.
pub fn fleet() -> Fleet {
    let figure = |name: &str, family: &str, unit, median| KindFigure {
        name: Some(name.to_owned()),
        family: family.to_owned(),
        probe: "survey".to_owned(),
        quantity: if unit == Unit::Ns { Quantity::Latency } else { Quantity::Bandwidth },
        labels: Labels::new().with_tier(Tier::Dram),
        unit,
        median,
        sd: 0.006,
        hosts: 4,
    };
    let figures = vec![
        figure("latency.dram", "dram.latency", Unit::Ns, 95.0),
        figure("read.dram.all", "dram.bandwidth.all", Unit::BytesPerSecond, 341e9),
    ];
    let other = |value: &str, host: &str, odd, p_value| OtherValue {
        value: value.to_owned(),
        hosts: vec![host.to_owned()],
        odd,
        p_value: Some(p_value),
        group_p_value: None,
        cause: (odd > 0).then_some(Confidence::Reported),
    };
    let fact = |fact, value: &str, others| KindFact {
        fact,
        value: value.to_owned(),
        amount: None,
        of: None,
        hosts: 3,
        odd: 0,
        others,
    };
    let facts = vec![
        fact(Fact::Kernel, "6.8.0-60", vec![other("5.14", "node02", 0, 1.0)]),
        fact(Fact::Slots, "16 of 16", vec![other("15 of 16 (empty B8)", "node07", 1, 0.5)]),
    ];
    let host = |name: &str, state, rate: f64| FleetHost {
        host: name.to_owned(),
        state,
        kind: Some(0),
        file: Some(format!("rack7/{name}.json")),
        run: Some(format!("20261128T100000-{name}")),
        started: Some("2026-11-28T10:00:00Z".to_owned()),
        labels: [("rack".to_owned(), "7".to_owned())].into(),
        causes: Vec::new(),
        is_better: false,
        reasons: Vec::new(),
        failure: None,
        p_value: Some(1.0),
        families: vec![HostFamily {
            family: "dram.bandwidth.all".to_owned(),
            figures: 1,
            deviation: rate / 341.0 - 1.0,
            is_worse: Some(rate < 341.0),
            p_value: 0.5,
            is_odd: state == HostState::Odd,
        }],
        figures: vec![
            HostFigure { figure: 0, value: 95.0, deviation: 0.0, is_odd: false, is_bound: false },
            HostFigure {
                figure: 1,
                value: rate * 1e9,
                deviation: rate / 341.0 - 1.0,
                is_odd: state == HostState::Odd,
                is_bound: false,
            },
        ],
    };
    let cause = HostCause {
        rule: "modules".to_owned(),
        fact: Some(Fact::Slots),
        value: Some("15 of 16 (empty B8)".to_owned()),
        peers: Some("16 of 16".to_owned()),
        rate: None,
        is_worse: Some(true),
        finding: "another number of memory modules".to_owned(),
        hint: None,
        advice: "tiermark machine".to_owned(),
        confidence: Confidence::Reported,
    };
    let failure = FailedHost {
        schema: FAILED_HOST_SCHEMA.to_owned(),
        host: "node09".to_owned(),
        how: HostFailure::Unreachable,
        exit: None,
        message: "ssh: connect to host node09 port 22: No route to host".to_owned(),
        at: None,
    };
    let unreachable = FleetHost {
        kind: None,
        file: None,
        run: None,
        started: None,
        labels: Default::default(),
        failure: Some(failure),
        p_value: None,
        families: Vec::new(),
        figures: Vec::new(),
        ..host("node09", HostState::Failed, 341.0)
    };
    let odd = FleetHost { causes: vec![cause], ..host("node07", HostState::Odd, 305.0) };
    Fleet {
        threshold: 0.03,
        level: 0.01,
        is_change: false,
        losses: Vec::new(),
        shared_names: Vec::new(),
        kinds: vec![HostKind {
            product: Some("Dell R7525".to_owned()),
            cpu: Some("EPYC 7343".to_owned()),
            sockets: 2,
            visible: vec![VisibleLoss { family: "dram.bandwidth.all".to_owned(), loss: 0.062 }],
            modules_unread: 0,
            is_guest: false,
            hosts: 4,
            figures,
            facts,
            changed: Vec::new(),
        }],
        hosts: vec![
            odd,
            unreachable,
            host("node01", HostState::Alike, 341.5),
            host("node02", HostState::Alike, 341.0),
            host("node03", HostState::Alike, 340.2),
        ],
        unread: Vec::new(),
        notes: Vec::new(),
    }
}

/// A latency in ns of 8 MiB beside continuous runs of 100 and 120, with a tolerance of 5 %.
pub fn continuous_check(figure: Option<f64>, grade: Grade) -> ContinuousCheck {
    let (references, verdict) = ([vec![100.0], vec![120.0]], Verdict { grade, ..Verdict::trusted() });
    ContinuousCheck { size: Bytes(1 << 23), is_in_cycles: false, references, figure, verdict, tolerance: 0.05 }
}

/// A latency in cycles of 16 KiB beside continuous runs of 4 and 4.01, with a tolerance of 0.5 %.
pub fn check_in_cycles(figure: f64, grade: Grade) -> ContinuousCheck {
    let references = [vec![4.0], vec![4.01]];
    let check = continuous_check(Some(figure), grade);
    ContinuousCheck { size: Bytes(1 << 14), is_in_cycles: true, references, tolerance: 0.005, ..check }
}
