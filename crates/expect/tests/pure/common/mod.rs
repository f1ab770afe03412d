//! Made runs of a server with two sockets, and how they are judged.

#![allow(clippy::unwrap_used, reason = "a test may fail; clippy knows only functions marked as tests")]
#![allow(dead_code, reason = "each file of tests uses a part")]

use tiermark_expect::{Expectations, check};
use tiermark_history::config::Mistake;
use tiermark_model::{
    CheckOutcome, CheckResult, Code, Cpu, Dimm, Experiment, Finding, Labels, Machine, MemoryChannels, Metric, Node,
    Observation, PerCycle, Purpose, Quantity, Reason, Run, Span, TheoreticalPeak, Tier, Unit, Verdict, testing,
};

/// Two sockets of two cores and one node, 8 channels of 38.4 GB/s.
pub(crate) fn machine() -> Machine {
    let cpu = |id: u32| Cpu { id, core: id, socket: id / 2, node: Some(id / 2), ..Cpu::default() };
    let node = |id: u32| Node {
        id,
        cpus: [2 * id, 2 * id + 1].into_iter().collect(),
        memory_bytes: Some(64 << 30),
        ..Node::default()
    };
    let dimm = |slot: u32| Dimm {
        locator: Some(format!("A{slot}")),
        populated: true,
        bytes: Some(16 << 30),
        rated_transfers: Some(4.8e9),
        configured_transfers: Some(4.8e9),
        ..Dimm::default()
    };
    Machine {
        cpus: (0..4).map(cpu).collect(),
        allowed_cpus: "0-3".parse().unwrap(),
        nodes: vec![node(0), node(1)],
        dimms: (0..8).map(dimm).collect(),
        theoretical_peak: Some(TheoreticalPeak {
            bytes_per_second: 307.2e9,
            channels: Some(MemoryChannels { populated: 8, most: Some(16), at_most: false }),
            ..TheoreticalPeak::default()
        }),
        ..Machine::default()
    }
}

/// A run of a matrix with these findings.
pub(crate) fn run(findings: Vec<Finding>) -> Run {
    let request = testing::request("matrix");
    let experiment = Experiment { findings, ..testing::experiment(request) };
    Run {
        id: "made".into(),
        title: "matrix".into(),
        seconds: 1.0,
        seed: 1,
        machine: machine(),
        experiments: vec![experiment],
        ..Run::default()
    }
}

/// The latency from a node's cpus to a node.
pub(crate) fn latency(from: u32, node: u32, ns: f64) -> Finding {
    let labels = Labels::new().with_purpose(Purpose::Matrix).with_cpus(2 * from).with_node(node).with_op("latency");
    Finding::new(Quantity::Latency, labels, Some(ns), Unit::Ns)
}

/// What all cores of a node read of their own memory.
pub(crate) fn read_all(node: u32, gbs: f64) -> Finding {
    let labels = Labels::new()
        .with_purpose(Purpose::Matrix)
        .with_cpus(format!("{}-{}", 2 * node, 2 * node + 1))
        .with_node(node)
        .with_threads(2)
        .with_op("read")
        .with_span(Span::Cores);
    Finding::new(Quantity::Bandwidth, labels, Some(gbs * 1e9), Unit::BytesPerSecond)
}

pub(crate) fn graded(finding: Finding, doubt: fn(&mut Verdict, Reason)) -> Finding {
    let mut verdict = Verdict::trusted();
    doubt(&mut verdict, Reason::MajorFaults { faults: 2 });
    Finding { verdict, ..finding }
}

/// The expectations of a text.
pub(crate) fn limits(text: &str) -> Result<Expectations, Vec<Mistake>> {
    Expectations::read("a file", text)
}

pub(crate) fn expected(that: &str) -> Expectations {
    limits(&format!("[[expect]]\nthat = \"{that}\"\n")).unwrap_or_else(|mistakes| panic!("{that}: {}", mistakes[0]))
}

pub(crate) fn judged(run: &Run, that: &str) -> CheckResult {
    check("made", run, &expected(that), false).results.remove(0)
}

pub(crate) fn outcome(run: &Run, that: &str) -> CheckOutcome {
    judged(run, that).outcome
}

pub(crate) fn reasons(run: &Run, that: &str) -> Vec<Code> {
    let found = judged(run, that);
    assert_eq!(found.outcome, CheckOutcome::Unjudged, "{found:?}");
    found.reasons.into_iter().map(|note| note.code).collect()
}

/// A figure of L1 of one core, in time and per cycle.
pub(crate) fn clocked(quantity: Quantity, value: f64, per_cycle: Option<PerCycle>) -> (Finding, Observation) {
    let is_latency = quantity == Quantity::Latency;
    let (metric, op) = if is_latency { (Metric::Latency, "latency") } else { (Metric::Bandwidth, "read") };
    let labels = Labels::new().with_purpose(Purpose::Ladder).with_tier(Tier::Cache(1)).with_cpus(0);
    let labels = labels.with_op(op).with_span(Span::One);
    let bare = Finding::new(quantity, labels.clone(), Some(value), metric.unit());
    let finding = Finding { per_cycle, evidence: vec![op.to_owned()], ..bare };
    (finding, Observation { value: Some(value), per_cycle, ..Observation::new(op, labels, metric) })
}
