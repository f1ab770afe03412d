//! A run's matrix as a table in the manner of the HMAT: initiators, targets, latencies in ns and bandwidths in MB/s.

use std::collections::BTreeSet;

use tiermark_model::{Finding, Grade, Labels, NodeId, Purpose, Quantity, Run};

use tiermark_report::{measured_pair as measured, node_of as node};

/// The columns, named as the kernel names the files of `node*/access*/initiators`.
const HEAD: &str = "source,initiator,target,access,read_latency,write_latency,read_bandwidth,write_bandwidth,verdict";
/// Bytes of the kernel's unit of bandwidth.
const MB: f64 = 1e6;

/// The export as CSV: a line for each measured pair, and one for each pair in the firmware's table. Unknown values are
/// empty.
///
/// `access` is the kernel's class: 0 marks the best initiators of a target, by measured latency or by firmware.
pub fn hmat(run: &Run) -> String {
    let cells: Vec<&Finding> = run
        .findings()
        .filter(|f| f.labels.is_for(Purpose::Matrix) && f.labels.get(Labels::POLICY).is_none())
        .filter(|f| matches!(f.metric, Quantity::Latency | Quantity::Bandwidth))
        .collect();
    let mut out = format!("{HEAD}\n");
    let initiators: BTreeSet<NodeId> =
        cells.iter().filter_map(|f| f.labels.get(Labels::FROM)?.strip_prefix("node:")?.parse().ok()).collect();
    let targets: BTreeSet<NodeId> = cells.iter().filter_map(|f| node(f)).collect();
    for target in &targets {
        let latency = |from: NodeId| measured(&cells, from, *target, "latency").and_then(|f| f.value);
        let best = initiators.iter().filter_map(|from| latency(*from)).reduce(f64::min);
        for initiator in &initiators {
            let access = if best.is_some() && latency(*initiator) == best { "0" } else { "" };
            out.push_str(&line(&cells, *initiator, *target, access));
        }
    }
    for node in &run.machine.nodes {
        for says in &node.hmat {
            let number =
                |value: Option<f64>, scale: f64| value.map_or_else(String::new, |v| format!("{:.0}", v / scale));
            for initiator in says.initiators.iter() {
                out.push_str(&format!(
                    "firmware,{initiator},{},{},{},{},{},{},\n",
                    node.id,
                    says.class,
                    number(says.read_latency_ns, 1.0),
                    number(says.write_latency_ns, 1.0),
                    number(says.read_bandwidth, MB),
                    number(says.write_bandwidth, MB),
                ));
            }
        }
    }
    out
}

/// One measured pair. A chase only reads, so the write latency is empty.
fn line(cells: &[&Finding], initiator: NodeId, target: NodeId, access: &str) -> String {
    let pair = ["latency", "read", "write"].map(|op| measured(cells, initiator, target, op));
    let [latency, read, write] = pair.map(|f| f.and_then(|f| f.value));
    let worst = pair.iter().flatten().map(|f| f.verdict.grade).max();
    let verdict = worst.map_or_else(String::new, |grade: Grade| grade.to_string());
    let ns = latency.map_or_else(String::new, |v| format!("{v:.1}"));
    let [read, write] = [read, write].map(|rate| rate.map_or_else(String::new, |v| format!("{:.0}", v / MB)));
    format!("measured,{initiator},{target},{access},{ns},,{read},{write},{verdict}\n")
}
