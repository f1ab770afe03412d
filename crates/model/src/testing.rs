//! Default values for tests of documents. A test changes only the fields that it is about.

use crate::capacity::{Outcome, Phase, TrialRecord};
use crate::messages::trials;
use crate::{
    Bytes, Cache, CacheKind, Cpu, Effort, Experiment, GIB, IdSet, Isa, KIB, KernelInfo, Labels, Layout, MIB, Machine,
    MemPolicy, Metric, Node, PageKind, Pattern, Plan, RegionSetup, Request, Scope, Setup, Step, StopRule, StoreKind,
    System,
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
