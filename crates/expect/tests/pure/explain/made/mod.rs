//! Documents built from figures.

#![allow(dead_code, reason = "each test file uses a part")]

use tiermark_expect::explain::explain;
use tiermark_model::{
    Bench, BoxKind, BoxPlace, BoxTraffic, CounterCheck, CounterSourceId, Cpu, Dimm, Explained, ExplainedKind,
    Explanation, Finding, KernelInfo, Labels, LinkStated, LinkTraffic, Machine, MemoryChannels, Metric, Node, Note,
    Observation, Pattern, Purpose, Quantity, Run, RunCounters, Span, StepTraffic, TheoreticalPeak, Traffic, Unit,
    testing,
};

/// GB/s.
pub(crate) const GB: f64 = 1e9;

/// Two sockets of 20 hardware threads and one node, six channels of DDR4-2666 each.
pub(crate) fn machine() -> Machine {
    let cpu = |id: u32| Cpu { id, core: id / 2, socket: id / 20, node: Some(id / 20), ..Cpu::default() };
    let node =
        |id: u32| Node { id, cpus: (20 * id..20 * id + 20).collect(), memory_bytes: Some(96 << 30), ..Node::default() };
    let dimm = |slot: u32| Dimm {
        locator: Some(format!("A{slot}")),
        populated: true,
        bytes: Some(16 << 30),
        rated_transfers: Some(2.6667e9),
        configured_transfers: Some(2.6667e9),
        ..Dimm::default()
    };
    let channels = MemoryChannels { populated: 12, most: Some(12), at_most: false };
    Machine {
        cpus: (0..40).map(cpu).collect(),
        allowed_cpus: "0-39".parse().unwrap(),
        nodes: vec![node(0), node(1)],
        dimms: (0..12).map(dimm).collect(),
        theoretical_peak: Some(TheoreticalPeak {
            bytes_per_second: 256.0 * GB,
            channels: Some(channels),
            ..TheoreticalPeak::default()
        }),
        ..Machine::default()
    }
}

fn kernel(id: &str) -> KernelInfo {
    let made = testing::kernel(id);
    let used = |line: u16| if id.contains("8/") { line / 8 } else { line };
    let pattern = if id.contains("random") { Pattern::Random } else { Pattern::Sequential };
    let (read_per_line, write_per_line) = (used(made.read_per_line), used(made.write_per_line));
    KernelInfo { pattern, read_per_line, write_per_line, ..made }
}

/// Counters that agree with a known stream, but for these faults.
pub(crate) fn counters(faults: Vec<Note>) -> RunCounters {
    RunCounters {
        source: CounterSourceId::Perf,
        sees: Vec::new(),
        passed_over: Vec::new(),
        check: Some(CounterCheck { known: 1e9, counted: Some(1e9), faults, links: None }),
        notes: Vec::new(),
    }
}

/// A run of one experiment without steps.
pub(crate) fn run() -> Run {
    let kernels = ["read/avx512", "write/avx512", "write.nt/avx512", "read.random8/x86", "write.random8/x86"];
    Run {
        id: "made".into(),
        title: "matrix".into(),
        seconds: 1.0,
        seed: 1,
        machine: machine(),
        counters: Some(counters(Vec::new())),
        bench: Bench { kernels: kernels.map(kernel).to_vec(), ..Bench::default() },
        experiments: vec![testing::experiment(testing::request("matrix"))],
        ..Run::default()
    }
}

/// A bandwidth of a matrix, by the threads of node 0.
#[derive(Debug, Clone)]
pub(crate) struct Rate {
    pub(crate) op: &'static str,
    pub(crate) node: u32,
    pub(crate) threads: u64,
    pub(crate) is_mixed: bool,
    /// Useful bytes a second.
    pub(crate) used: f64,
    pub(crate) traffic: Option<Traffic>,
}

impl Rate {
    pub(crate) fn new(op: &'static str, node: u32, gbs: f64) -> Self {
        Self { op, node, threads: 20, is_mixed: false, used: gbs * GB, traffic: None }
    }

    pub(crate) fn mixed(self) -> Self {
        Self { is_mixed: true, ..self }
    }

    pub(crate) fn threads(self, threads: u64) -> Self {
        Self { threads, ..self }
    }

    /// GB/s that a node's memory read and wrote.
    pub(crate) fn memory(mut self, node: u32, read: f64, write: f64) -> Self {
        let traffic = self.traffic.get_or_insert_with(|| Traffic { seconds: 1.0, ..Traffic::default() });
        let unit = format!("memory {node}");
        let place = BoxPlace { socket: Some(node), node: Some(node), kind: BoxKind::Memory, unit };
        let (read, write) = (read * GB, write * GB);
        traffic.boxes.push(BoxTraffic {
            place,
            read: Some(read),
            write: Some(write),
            total: read + write,
            local: None,
            transfers: None,
        });
        self
    }

    /// GB/s that the channels of socket 0 read.
    pub(crate) fn channels(mut self, rates: &[f64]) -> Self {
        let traffic = self.traffic.get_or_insert_with(|| Traffic { seconds: 1.0, ..Traffic::default() });
        for (at, rate) in rates.iter().enumerate() {
            let unit = format!("uncore_imc_{at}");
            let place = BoxPlace { socket: Some(0), node: Some(0), kind: BoxKind::Channel, unit };
            traffic.boxes.push(BoxTraffic {
                place,
                read: Some(rate * GB),
                write: Some(0.0),
                total: rate * GB,
                local: None,
                transfers: Some(2.6667e9),
            });
        }
        self
    }

    /// A channel of socket 0 without a module: its clock stands still.
    pub(crate) fn empty_channel(mut self) -> Self {
        let traffic = self.traffic.get_or_insert_with(|| Traffic { seconds: 1.0, ..Traffic::default() });
        let unit = "uncore_imc_11".to_owned();
        let place = BoxPlace { socket: Some(0), node: Some(0), kind: BoxKind::Channel, unit };
        let none = Some(0.0);
        traffic.boxes.push(BoxTraffic { place, read: none, write: none, total: 0.0, local: None, transfers: none });
        self
    }

    /// A link of socket 1 that the board does not wire: its clock stands still.
    pub(crate) fn unwired_link(mut self) -> Self {
        let traffic = self.traffic.get_or_insert_with(|| Traffic { seconds: 1.0, ..Traffic::default() });
        let place = BoxPlace { socket: Some(1), node: None, kind: BoxKind::Link, unit: "uncore_upi_11".into() };
        traffic.links.push(LinkTraffic {
            place,
            sent: Some(0.0),
            received: Some(0.0),
            most: None,
            stated: LinkStated::default(),
        });
        self
    }

    /// Payload that socket 1 sent over each of its links, in GB/s, and what each can carry.
    pub(crate) fn links(mut self, links: &[(f64, f64)]) -> Self {
        let traffic = self.traffic.get_or_insert_with(|| Traffic { seconds: 1.0, ..Traffic::default() });
        for (at, (sent, most)) in links.iter().enumerate() {
            let place = BoxPlace { socket: Some(1), node: None, kind: BoxKind::Link, unit: format!("uncore_upi_{at}") };
            traffic.links.push(LinkTraffic {
                place,
                sent: Some(sent * GB),
                received: Some(0.0),
                most: Some(most * GB),
                stated: LinkStated::default(),
            });
        }
        self
    }

    /// The share of their 41.6 GB/s that both links of socket 1 carried.
    pub(crate) fn link_share(self, share: f64) -> Self {
        self.links(&[(share * 20.8, 20.8); 2])
    }
}

/// Adds a bandwidth to a run: its step, and what the step says.
pub(crate) fn add(run: &mut Run, rate: &Rate) {
    let kernel =
        format!("{}/{}", rate.op.replace(".cached", ""), if rate.op.ends_with('8') { "x86" } else { "avx512" });
    let policy = if rate.is_mixed { "mixed" } else { "bind" };
    let step = format!("matrix/{policy}/{}/node:0/x{}/node{}", rate.op, rate.threads, rate.node);
    let last = rate.threads - 1;
    let mut labels = Labels::new()
        .with_purpose(Purpose::Matrix)
        .with_op(rate.op)
        .with_from("node:0")
        .with_cpus(if last == 0 { "0".to_owned() } else { format!("0-{last}") })
        .with_page("2M")
        .with_span(if last == 0 { Span::One } else { Span::Cpus })
        .with_kernel(kernel)
        .with_node(rate.node)
        .with_threads(rate.threads);
    if rate.is_mixed {
        labels = labels.with_policy("mixed").with_remote(50);
    }
    let traffic = rate.traffic.clone();
    let traffic = traffic.map(|counted| StepTraffic { useful: Some(rate.used), counted, joules: None });
    let seen =
        Observation { value: Some(rate.used), traffic, ..Observation::new(&step, labels.clone(), Metric::Bandwidth) };
    let found = Finding::new(Quantity::Bandwidth, labels, Some(rate.used), Unit::BytesPerSecond);
    run.experiments[0].observations.push(seen);
    run.experiments[0].findings.push(Finding { evidence: vec![step], ..found });
}

/// The idle latency from node 0 to a node.
pub(crate) fn add_latency(run: &mut Run, node: u32, ns: f64) {
    let labels = Labels::new()
        .with_purpose(Purpose::Matrix)
        .with_op("latency")
        .with_from("node:0")
        .with_cpus("0")
        .with_page("2M")
        .with_node(node);
    run.experiments[0].findings.push(Finding::new(Quantity::Latency, labels, Some(ns), Unit::Ns));
}

/// The names of the problems.
pub(crate) fn problems(found: &Explanation) -> Vec<&str> {
    found.of(ExplainedKind::Problem).map(|one| one.rule.as_str()).collect()
}

/// What a rule found.
pub(crate) fn by_rule<'a>(found: &'a Explanation, rule: &str) -> Option<&'a Explained> {
    found.found.iter().find(|one| one.rule == rule)
}

/// A document of local and remote reads and non-temporal stores that nothing is wrong with. It has a channel without a
/// module and a link without a partner, as many servers do.
pub(crate) fn healthy() -> Run {
    let mut made = run();
    let reads = Rate::new("read", 0, 100.0).channels(&[17.0; 6]).links(&[(0.01, 20.8); 2]);
    add(&mut made, &reads.empty_channel().unwired_link());
    add(&mut made, &Rate::new("read", 0, 12.0).threads(1).channels(&[2.0; 6]).empty_channel());
    add(&mut made, &Rate::new("read", 1, 35.0).links(&[(17.5, 20.8); 2]).unwired_link());
    // What non-temporal stores read is noise: here 2 and 1 % of what they write.
    add(&mut made, &Rate::new("write.nt", 0, 60.0).memory(0, 1.2, 60.6));
    add(&mut made, &Rate::new("write.nt", 1, 25.0).memory(1, 0.25, 25.2));
    add_latency(&mut made, 0, 90.0);
    add_latency(&mut made, 1, 140.0);
    made.machine.theoretical_link = Some(TheoreticalPeak { bytes_per_second: 41.6 * GB, ..TheoreticalPeak::default() });
    made
}

/// A change of a document.
pub(crate) type Change = dyn Fn(&mut Run);

/// A healthy document, changed.
pub(crate) fn with(change: &Change) -> Run {
    let mut made = healthy();
    change(&mut made);
    made
}

/// The first document has this problem and no other; the second has no problem.
pub(crate) fn differ(rule: &str, fault: &Change, near_miss: &Change) {
    let found = explain("fault", &with(fault));
    assert_eq!(problems(&found), [rule], "{:#?}", found.found);
    let found = explain("near miss", &with(near_miss));
    assert_eq!(problems(&found), [] as [&str; 0], "{rule}: {:#?}", found.found);
}
