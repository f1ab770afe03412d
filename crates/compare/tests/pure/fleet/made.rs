//! Documents of hosts as a quick survey leaves them, with planted differences.

use tiermark_compare::fleet::HostRecord;
use tiermark_model::testing::{cache, experiment, request, small_machine};
use tiermark_model::{
    Dimm, Finding, GIB, HealthCount, Interval, KIB, Labels, MIB, Machine, MemoryErrors, Metric, Observation, PerCycle,
    Purpose, Quantity, Run, RunHealth, Unit, Verdict,
};
use tiermark_stats::Rng;

/// Standard deviations between runs on logarithms, as they were recorded (`compare` has the sources): shared by all
/// numbers of a family, and of each number.
pub(crate) const BARE: [f64; 2] = [0.006, 0.008];
pub(crate) const GUEST: [f64; 2] = [0.024, 0.014];

/// A kind of server.
#[derive(Clone, Copy)]
pub(crate) struct Server {
    pub(crate) product: &'static str,
    pub(crate) cpu: &'static str,
    pub(crate) slots: usize,
    pub(crate) scatter: [f64; 2],
    /// GB/s of DRAM, all cores.
    pub(crate) memory: f64,
}

impl Server {
    /// The scatter of one figure.
    pub(crate) fn sd(&self) -> f64 {
        self.scatter[0].hypot(self.scatter[1])
    }
}

/// What is changed in a host, besides chance.
#[derive(Default)]
pub(crate) struct Change {
    /// Factors of the figures of families that begin so: names of `causes.toml`.
    pub(crate) figures: Vec<(&'static str, f64)>,
    pub(crate) facts: Option<fn(&mut Run)>,
}

/// The figures of a quick survey: tier, operation, cores, value in ns or GB/s, cycles of the core.
const FIGURES: [(&str, &str, &str, f64); 27] = [
    ("L1", "latency", "", 1.2),
    ("L2", "latency", "", 4.1),
    ("L3", "latency", "", 16.0),
    ("DRAM", "latency", "", 95.0),
    ("DRAM random", "latency", "", 110.0),
    ("DRAM node 1", "latency", "", 160.0),
    ("L1", "read", "one", 210.0),
    ("L1", "write", "one", 105.0),
    ("L1", "copy", "one", 160.0),
    ("L2", "read", "one", 110.0),
    ("L2", "write", "one", 60.0),
    ("L2", "copy", "one", 80.0),
    ("L3", "read", "one", 60.0),
    ("L3", "write", "one", 40.0),
    ("L3", "copy", "one", 45.0),
    ("DRAM", "read", "one", 25.0),
    ("DRAM", "write", "one", 18.0),
    ("DRAM", "copy", "one", 20.0),
    ("DRAM node 1", "read", "one", 14.0),
    ("L1", "read", "all", 6000.0),
    ("L1", "write", "all", 3000.0),
    ("L2", "read", "all", 3100.0),
    ("L3", "read", "all", 1500.0),
    ("DRAM", "read", "all", 1.0),
    ("DRAM", "write", "all", 0.8),
    ("DRAM", "copy", "all", 0.85),
    ("DRAM node 1", "read", "all", 90.0),
];

/// The run of a host.
pub(crate) fn run(host: &str, server: &Server, change: &Change, rng: &mut Rng) -> Run {
    let mut survey = experiment(request("survey"));
    let clock = 3.2e9 * factor("clock", change) * (0.002 * rng.normal()).exp();
    let [common, own] = server.scatter;
    let mut shared: Vec<(String, f64)> = Vec::new();
    for (tier, op, span, value) in FIGURES {
        let family = family(tier, op, span);
        let of_family = match shared.iter().find(|(known, _)| *known == family) {
            Some((_, off)) => *off,
            None => {
                shared.push((family.clone(), common * rng.normal()));
                shared[shared.len() - 1].1
            }
        };
        let is_core = matches!(tier, "L1" | "L2");
        // Cycles of the core repeat within a percent; the clock is no part of them.
        let noise = if is_core { 0.004 * rng.normal() } else { of_family + own * rng.normal() };
        let value = if tier == "DRAM" && span == "all" { value * server.memory } else { value };
        let value = value * factor(&family, change) * noise.exp();
        let is_latency = op == "latency";
        let in_time = value * if is_core && is_latency { 3.2e9 / clock } else { 1.0 };
        let in_time = in_time * if is_core && !is_latency { clock / 3.2e9 } else { 1.0 };
        let labels = labels(tier, op, span);
        let (metric, unit, scale) = match is_latency {
            true => (Metric::Latency, Unit::Ns, 1.0),
            false => (Metric::Bandwidth, Unit::BytesPerSecond, 1e9),
        };
        let id = format!("{tier}/{op}/{span}");
        let number = in_time * scale;
        let interval = Some(Interval { low: number * 0.998, high: number * 1.002, level: 0.95 });
        let cycles = is_core.then(|| match is_latency {
            true => PerCycle { value: in_time * clock / 1e9, unit: Unit::Cycles },
            false => PerCycle { value: number / clock, unit: Unit::BytesPerCycle },
        });
        let seen = Observation::new(id.clone(), labels.clone(), metric);
        survey.observations.push(Observation { value: Some(number), interval, per_cycle: cycles, ..seen });
        let quantity = if is_latency { Quantity::Latency } else { Quantity::Bandwidth };
        let found = Finding::new(quantity, labels, Some(number), unit);
        survey.findings.push(Finding {
            interval,
            per_cycle: cycles,
            evidence: vec![id],
            verdict: Verdict::trusted(),
            ..found
        });
    }
    let found = Finding::new(Quantity::CoreClock, Labels::new(), Some(clock), Unit::Hz);
    survey.findings.push(Finding { verdict: Verdict::trusted(), ..found });
    let mut run = Run {
        id: format!("20261128T100000-{host}"),
        title: "survey".into(),
        started: "2026-11-28T10:00:00Z".into(),
        machine: machine(host, server),
        experiments: vec![survey],
        ..Run::default()
    };
    if let Some(change) = change.facts {
        change(&mut run);
    }
    run
}

pub(crate) fn record(host: &str, server: &Server, change: &Change, rng: &mut Rng) -> HostRecord {
    HostRecord::of(&format!("{host}.json"), host, Some(20_000.0), &run(host, server, change, rng))
}

fn labels(tier: &str, op: &str, span: &str) -> Labels {
    let labels = Labels::new().with_purpose(Purpose::Ladder).with_tier_name(tier).with_page("thp");
    let labels = if tier == "DRAM node 1" { labels.with_node(1) } else { labels };
    match op {
        "latency" => labels.with_chains(1),
        _ => labels.with_op(op).with_span(span.parse().unwrap()),
    }
}

fn family(tier: &str, op: &str, span: &str) -> String {
    let tier = match tier {
        "DRAM node 1" => "dram.remote".to_owned(),
        _ => tier.split(' ').next().unwrap().to_lowercase(),
    };
    if op == "latency" { format!("{tier}.latency") } else { format!("{tier}.bandwidth.{span}") }
}

fn factor(family: &str, change: &Change) -> f64 {
    change.figures.iter().filter(|(begin, _)| family.starts_with(begin)).map(|(_, factor)| factor).product()
}

fn machine(host: &str, server: &Server) -> Machine {
    let mut machine = small_machine(16);
    machine.caches = (0..16).flat_map(|cpu| [cache(1, 32 * KIB, [cpu]), cache(2, MIB, [cpu])]).collect();
    machine.caches.extend([cache(3, 128 * MIB, 0..16)]);
    machine.cpu_model.name = Some(server.cpu.into());
    let system = &mut machine.system;
    system.hostname = Some(host.into());
    system.product = Some(server.product.into());
    system.kernel = Some("6.8.0-60".into());
    system.bios = Some("2.4".into());
    system.governor = Some("performance".into());
    system.memory_bytes = Some(server.slots as u64 * 32 * GIB);
    system.hypervisor = (server.scatter == GUEST).then(|| "KVM".into());
    let slot = |at: usize| Dimm {
        locator: Some(format!("{}{}", if at < 8 { "A" } else { "B" }, at % 8 + 1)),
        populated: true,
        bytes: Some(32 * GIB),
        configured_transfers: Some(3200e6),
        part: Some("M393".into()),
        ..Dimm::default()
    };
    machine.dimms = (0..server.slots).map(slot).collect();
    machine
}

/// Takes the last module out.
pub(crate) fn without_module(run: &mut Run) {
    let last = run.machine.dimms.last_mut().unwrap();
    *last = Dimm { locator: last.locator.clone(), ..Dimm::default() };
    let memory = run.machine.system.memory_bytes.as_mut().unwrap();
    *memory -= 32 * GIB;
}

pub(crate) fn slow_modules(run: &mut Run) {
    run.machine.dimms.iter_mut().for_each(|dimm| dimm.configured_transfers = Some(2933e6));
}

pub(crate) fn half_cache(run: &mut Run) {
    run.machine.caches.iter_mut().filter(|cache| cache.level == 3).for_each(|cache| cache.bytes = Some(64 * MIB));
}

pub(crate) fn memory_errors(run: &mut Run) {
    let corrected = Some(HealthCount::new(1243, Some(1243)));
    let errors = MemoryErrors { place: "mc0".into(), corrected, ..MemoryErrors::default() };
    // Over 200 a day.
    run.health = Some(RunHealth { memory: Some(vec![errors]), up_seconds: Some(5 * 86_400), ..RunHealth::default() });
}
