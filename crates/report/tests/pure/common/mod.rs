//! Runs made by hand: what the probes will produce, and every kind of trouble.

pub(crate) mod machines;

use std::collections::BTreeMap;
use tiermark_model::messages::rules::memory_size;
use tiermark_model::{Purpose, Span, Tier};

use tiermark_model::*;

pub(crate) fn around(value: f64, relative: f64) -> Option<Interval> {
    Some(Interval { low: value * (1.0 - relative), high: value * (1.0 + relative), level: 0.95 })
}

/// A note of a document that is older than codes.
pub(crate) fn remark(text: &str) -> Note {
    Note { code: Code::default(), data: Data::new(), text: text.to_owned() }
}

pub(crate) fn finding(metric: &str, labels: Labels, unit: Unit, value: f64) -> Finding {
    let interval = around(value, 0.003);
    Finding { interval, samples: 45, ..Finding::new(metric.to_owned().into(), labels, Some(value), unit) }
}

pub(crate) fn observation(labels: Labels, metric: Metric, value: f64) -> Observation {
    Observation {
        value: Some(value),
        interval: around(value, 0.003),
        visits: Visits::of_samples([(0, value)].into_iter()),
        allocations: 3,
        seconds: 0.1,
        ..Observation::new(labels.to_string(), labels, metric)
    }
}

pub(crate) fn request(probe: &str) -> Request {
    Request { seed: 42, params: serde_json::json!({}), ..testing::request(probe) }
}

pub(crate) fn run_of(machine: Machine, title: &str, observations: Vec<Observation>, findings: Vec<Finding>) -> Run {
    Run {
        id: "20260102T030405Z-0a1b2c".into(),
        title: title.into(),
        tool: Tool {
            version: "0.1.0".into(),
            git: Some("0123456".into()),
            target: "x86_64-unknown-linux-musl".into(),
            rustc: None,
            libc: "musl".into(),
        },
        command: ["tiermark", title, "--json=/home/ada/out.json", "--kernel", "read/avx512"].map(String::from).into(),
        started: "2026-01-02T03:04:05Z".into(),
        seconds: 48.2,
        seed: 42,
        labels: RunLabels::new(),
        machine,
        bench: Bench {
            clock: ClockInfo {
                source: "tsc".into(),
                hz: 2.1e9,
                resolution_ns: 9.5,
                how: "calibrated".into(),
                tick_hz: None,
            },
            overheads: Overheads { stamp_ns: 11.9, gate_ns: Some(900.0), loop_ns: Some(3.2), core_hz: Some(3.5e9) },
            ..Bench::default()
        },
        experiments: vec![Experiment {
            plan: Plan {
                rules: vec![memory_size("buffer", "1 GiB = 4 x (260 MiB L3)")],
                max_seconds: 60.0,
                ..Plan::default()
            },
            observations,
            findings,
            ..testing::experiment(request(title))
        }],
        ..Run::default()
    }
}

/// Size, latency in ns, and read, write, copy in GB/s by one core, of four tiers.
const TIERS: [(&str, u64, f64, [f64; 3]); 4] = [
    ("L1", 48 * KIB, 1.4286, [221.4, 118.2, 190.7]),
    ("L2", 2 * MIB, 4.571, [94.3, 52.1, 61.8]),
    ("L3", 32 * MIB, 23.9, [22.6, 13.3, 15.2]),
    ("DRAM", GIB, 112.4, [13.1, 9.02, 10.4]),
];

fn ladder_findings() -> Vec<Finding> {
    let mut findings = Vec::new();
    for (tier, size, ns, rates) in TIERS {
        let tier = || Labels::new().with_tier_name(tier);
        findings.push(Finding { interval: None, ..finding("tier.size", tier(), Unit::Bytes, size as f64) });
        let chase = tier().with_layout("random").with_page("thp").with_size(size / 2);
        findings.push(finding("latency", chase, Unit::Ns, ns));
        for (op, rate) in ["read", "write", "copy"].into_iter().zip(rates) {
            for (span, threads) in [(Span::One, 1), (Span::All, 2)] {
                let labels = tier().with_op(op).with_span(span).with_threads(threads);
                let labels = labels.with_kernel(format!("{op}/avx512"));
                findings.push(finding("bandwidth", labels, Unit::BytesPerSecond, rate * 1e9 * threads as f64 * 0.97));
            }
        }
    }
    for (statistic, ns) in [("p50", 111.0), ("p99", 131.5), ("p99.9", 212.0), ("p99.99", 1240.0), ("max", 51_300.0)] {
        let labels = Labels::new().with_tier(Tier::Dram).with_statistic(statistic);
        findings.push(Finding { interval: None, ..finding("latency.tail", labels, Unit::Ns, ns) });
    }
    for (threads, rate) in [(1, 13.1), (2, 25.4)] {
        let labels = Labels::new().with_tier(Tier::Dram).with_op("read").with_threads(threads);
        findings.push(finding("bandwidth.scaling", labels, Unit::BytesPerSecond, rate * 1e9));
    }
    findings
}

fn curve() -> Vec<Observation> {
    let mut points = Vec::new();
    for step in 0..34 {
        let size = (4096.0 * 2f64.powf(f64::from(step) * 0.55)) as u64;
        let (_, _, ns, rates) = TIERS.iter().find(|(_, tier, ..)| size <= *tier).unwrap_or(&TIERS[3]);
        let labels = || Labels::new().with_purpose(Purpose::Curve).with_size(size).with_page("thp");
        points.push(observation(labels().with_layout("random"), Metric::Latency, *ns));
        let strided = labels().with_layout("stride:64");
        points.push(observation(strided, Metric::Latency, ns.sqrt() * 1.2));
        for (op, rate) in ["read", "write", "copy"].into_iter().zip(rates) {
            points.push(observation(labels().with_op(op), Metric::Bandwidth, rate * 1e9));
        }
    }
    points
}

/// A survey of a guest with everything in order.
pub(crate) fn vm_run() -> Run {
    run_of(machines::vm(), "survey", curve(), ladder_findings())
}

/// A survey of a two-socket machine with CXL memory: nodes on the ladder, shares of the peak, winners beside plain
/// kernels.
pub(crate) fn cxl_run() -> Run {
    let mut findings = Vec::new();
    for (tier, node, ns, rate) in
        [(Tier::Dram, 0, 108.2, 271.3), (Tier::OtherNode(1), 1, 181.7, 130.2), (Tier::Far(4), 4, 255.1, 52.8)]
    {
        let here = || Labels::new().with_tier(tier).with_node(node);
        findings.push(finding("latency", here().with_layout("random"), Unit::Ns, ns));
        findings.push(finding("latency", here().with_layout("page-random"), Unit::Ns, ns * 0.9));
        for op in ["read", "write", "copy", "triad"] {
            let labels = here().with_op(op).with_span(Span::All).with_threads(64);
            let mut f = finding("bandwidth", labels, Unit::BytesPerSecond, rate * 1e9);
            if op == "write" {
                f.labels = f.labels.with_kernel("fill.rep/stosb");
                f.notes = vec![remark("plain write/avx512 34.1")];
            }
            findings.push(f);
        }
        if tier.is_dram() {
            let labels = here().with_op("read").with_span(Span::All);
            findings.push(finding("peak.share", labels, Unit::Ratio, rate / 307.2));
        }
    }
    run_of(machines::cxl(), "survey", vec![], findings)
}

/// The largest machine there is.
pub(crate) fn huge_run() -> Run {
    run_of(machines::huge(), "survey", vec![], ladder_findings())
}

/// Nothing in it.
pub(crate) fn empty_run() -> Run {
    let mut run = run_of(Machine::default(), "survey", vec![], vec![]);
    (run.experiments, run.bench, run.complete) = (vec![], Bench::default(), false);
    run
}

/// A table of latencies by size and layout, as asked for on the command line.
pub(crate) fn table_run() -> Run {
    let rows = [(2, [1.28, 2.4]), (32, [1.26, 2.4]), (512, [2.43, 4.8]), (8192, [3.15, 19.2]), (131_072, [8.92, 52.8])];
    let mut cells = Vec::new();
    for (kib, values) in rows {
        for (layout, ns) in ["stride:64", "random"].into_iter().zip(values) {
            let labels = Labels::new().with_purpose(Purpose::Table).with_size(kib * KIB);
            let labels = labels.with_layout(layout).with_page("base").with_node(0);
            cells.push(observation(labels, Metric::Latency, ns));
        }
    }
    let mut coarse = Verdict::trusted();
    coarse.suspect(Reason::Quantised { step_ns: 2.4 });
    cells.iter_mut().filter(|o| o.labels.layout() == Some("random")).for_each(|o| o.verdict = coarse.clone());
    let findings = cells.iter().map(|o| Finding {
        verdict: o.verdict.clone(),
        evidence: vec![o.step.clone()],
        ..finding("latency", o.labels.clone(), Unit::Ns, o.value.unwrap_or(0.0))
    });
    let findings = findings.collect();
    run_of(machines::vm(), "latency", cells, findings)
}

/// A table of rates by size, operation and threads, in which kernels win in turns and the largest size is refused.
pub(crate) fn rates_run() -> Run {
    let kernels = [(64 * KIB, "avx512", 90.0), (MIB, "avx512", 60.0), (64 * MIB, "avx512-nta", 12.0)];
    let mut cells = Vec::new();
    for op in ["read", "write"] {
        for (span, threads) in [(Span::One, 1), (Span::All, 8)] {
            let labels = |size: u64| {
                let labels = Labels::new().with_purpose(Purpose::Table).with_op(op).with_span(span);
                let labels = labels.with_size(size).with_threads(threads);
                labels.with_page("thp").with_cpus("0-7")
            };
            for (size, kernel, rate) in kernels {
                let kernel = if op == "write" { "write.nt/avx512".to_owned() } else { format!("{op}/{kernel}") };
                let labels = labels(size).with_kernel(kernel);
                cells.push(observation(labels, Metric::Bandwidth, rate * 1e9 * threads as f64));
            }
            let mut refused = observation(labels(GIB << 10), Metric::Bandwidth, 0.0);
            (refused.value, refused.interval, refused.visits) = (None, None, Visits::default());
            let refusal = Refusal::new(format!("{threads} TiB of memory"), "node 0 has 7 GiB free", "ask for less");
            refused.verdict.invalid(Reason::Refused { refusal: refusal.clone() });
            refused.refusal = Some(refusal);
            cells.push(refused);
        }
    }
    let findings = cells.iter().map(|o| Finding {
        value: o.value,
        interval: o.interval,
        verdict: o.verdict.clone(),
        evidence: vec![o.step.clone()],
        ..finding("bandwidth", o.labels.clone(), Unit::BytesPerSecond, 0.0)
    });
    let findings = findings.collect();
    run_of(machines::vm(), "bandwidth", cells, findings)
}

/// Every kind of trouble at once.
pub(crate) fn troubled_run() -> Run {
    let mut run = vm_run();
    (run.complete, run.simulated) = (false, Some("2s-cxl".into()));
    let mut disturbed = Verdict::trusted();
    disturbed.suspect(Reason::Evicted);
    let mut misplaced = Verdict::trusted();
    misplaced.invalid(Reason::Elsewhere { share: 0.12, by_node: [(1, 123)].into() });
    let experiment = &mut run.experiments[0];
    for f in &mut experiment.findings {
        if f.labels.tier() == Some(Tier::Cache(3)) || f.labels.span() == Some(Span::All) {
            f.verdict = disturbed.clone();
        }
        if f.labels.tier() == Some(Tier::Dram) && f.labels.op() == Some("write") {
            (f.verdict, f.value, f.interval) = (misplaced.clone(), None, None);
        }
    }
    experiment.findings.push(finding("knee", Labels::new().with_node(0), Unit::BytesPerSecond, f64::NAN));
    experiment.observations[3].value = None;
    experiment.observations[3].verdict = misplaced;
    let huge = Labels::new().with_purpose(Purpose::Ladder).with_page("1G");
    let mut refused = observation(huge, Metric::Latency, 0.0);
    refused.value = None;
    refused.interval = None;
    refused.refusal = Some(Refusal::new(
        "pages of 1 GiB",
        "0 of 0 reserved pages are free on node 0",
        "echo 4 > /sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages",
    ));
    experiment.observations.push(refused);
    experiment.plan.refused.push(Refusal::new("node 3", "this machine has no node 3", "choose among the nodes 0"));
    experiment.plan.rules.push(memory_size("written by build-7", "from /home/ada/plans"));
    run.warnings = vec![
        Warning {
            code: tiermark_model::Code::new("cpu_quota"),
            data: tiermark_model::Data::new(),
            state: "this process may use 1.5 cpus of time".into(),
            text: "this process may use 1.5 cpus of time: it will be stopped while it measures".into(),
            cure: Some("run it in a control group without cpu.max".into()),
        },
        Warning {
            code: tiermark_model::Code::new("busy"),
            data: tiermark_model::Data::new(),
            state: String::new(),
            text: "the load is 3.1 on build-7.example.org".into(),
            cure: None,
        },
    ];
    run
}

/// An observation whose every number is the same strange one.
pub(crate) fn strange(labels: Labels, number: f64) -> Observation {
    Observation {
        min: Some(number),
        max: Some(number),
        interval: Some(Interval { low: number, high: -number, level: number }),
        tail: Some(Tail { block_accesses: 0, blocks: u64::MAX, quantiles: BTreeMap::from([("p50".into(), number)]) }),
        disturbance: Disturbance { gap_share: number, ..Disturbance::default() },
        started_seconds: number,
        seconds: number,
        ..observation(labels, Metric::Bandwidth, number)
    }
}
