//! A machine of two cpus, the steps that are measured on it, and the measuring.

use tiermark_engine::{PlannedExperiment, Study};
use tiermark_model::*;
use tiermark_sim::{SimHost, SimOptions};

/// Seconds of a run.
pub(crate) const SECONDS: f64 = 15.0;

/// Measures these steps for so many seconds.
struct Planned {
    steps: Vec<Step>,
    seconds: f64,
}

impl Study for Planned {
    fn plan(&self) -> Result<Plan, Refusal> {
        Ok(Plan { steps: self.steps.clone(), max_seconds: self.seconds, ..Plan::default() })
    }

    fn derive(&self, _: &[Observation]) -> Vec<Finding> {
        Vec::new()
    }
}

/// Latency and read of every tier, by one cpu and by two.
pub(crate) fn steps() -> Vec<Step> {
    let tiers = [("L1", 16 * KIB), ("L2", 512 * KIB), ("L3", 8 * MIB), ("DRAM", 256 * MIB)];
    let chase = |(tier, bytes)| step(tier, bytes, 1, Metric::Latency);
    let read = |threads: u32| move |(tier, bytes)| step(tier, bytes, threads, Metric::Bandwidth);
    tiers.map(chase).into_iter().chain(tiers.map(read(1))).chain(tiers.map(read(2))).collect()
}

/// A step of threads with a region of so many bytes each.
pub(crate) fn step(tier: &str, bytes: u64, threads: u32, metric: Metric) -> Step {
    let (role, layout) = match metric {
        Metric::Latency => (Role::Chase { chains: 1 }, Layout::Chain(ChainLayout::Random)),
        Metric::Bandwidth => (Role::Stream { kernel: "read/plain".into(), rivals: Vec::new() }, Layout::Data),
    };
    let region =
        RegionSetup { bytes: Bytes(bytes), policy: MemPolicy::Bind, nodes: IdSet::new(), page: PageKind::Thp, layout };
    Step {
        id: format!("{metric:?}/{tier}/{threads}"),
        labels: Labels::new().text(Labels::TIER, tier).whole(Labels::SIZE, bytes),
        phase: 0,
        metric,
        setup: Setup {
            regions: vec![region; threads as usize],
            threads: (0..threads).map(|cpu| ThreadSetup::new(cpu, role.clone(), cpu as usize)).collect(),
            seed: 7,
        },
        // Until the time is up, as where a headline is never sure enough.
        stop: StopRule { precision: 1e-9, allocations: 3, min_visits: 20, max_visits: 10_000, shot_seconds: 0.002 },
    }
}

/// Two cores with a first and a second level each and a third that they share.
pub(crate) fn machine() -> Machine {
    let both: IdSet = "0-1".parse().unwrap();
    let cache = |level, bytes, cpus: IdSet| Cache {
        level,
        kind: CacheKind::Unified,
        bytes: Some(bytes),
        line_bytes: Some(64),
        ways: None,
        sets: None,
        cpus,
    };
    let own = |cpu: u32| [cache(1, 32 * KIB, [cpu].into_iter().collect()), cache(2, MIB, [cpu].into_iter().collect())];
    let caches = [0, 1].into_iter().flat_map(own).chain([cache(3, 32 * MIB, both.clone())]).collect();
    Machine {
        cpus: (0..2).map(|id| Cpu { id, core: id, node: Some(0), ..Cpu::default() }).collect(),
        allowed_cpus: both.clone(),
        allowed_nodes: "0".parse().unwrap(),
        caches,
        nodes: vec![Node {
            id: 0,
            cpus: both,
            memory_bytes: Some(8 * GIB),
            free_bytes: Some(6 * GIB),
            ..Node::default()
        }],
        system: System { thp: Some("madvise".into()), ..System::default() },
        ..Machine::default()
    }
}

fn kernel() -> KernelInfo {
    KernelInfo {
        id: "read/plain".into(),
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
        doc: String::new(),
    }
}

/// Measures all steps on a simulated machine.
pub(crate) fn measure(machine: &Machine, options: SimOptions) -> Experiment {
    measure_steps(machine, steps(), SECONDS, options)
}

/// Measures some steps on a simulated machine for so many seconds.
pub(crate) fn measure_steps(machine: &Machine, steps: Vec<Step>, seconds: f64, options: SimOptions) -> Experiment {
    let request = Request {
        probe: "all".into(),
        scope: Scope::default(),
        effort: Effort::Standard,
        precision: None,
        seed: options.seed,
        params: serde_json::Value::Null,
        part: None,
    };
    let mut host = SimHost::new(machine.clone(), vec![kernel()], options);
    PlannedExperiment::new(Box::new(Planned { steps, seconds }), &request, 1).unwrap().run(&mut host, &(), &mut ())
}
