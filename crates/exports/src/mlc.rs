//! An mlc-compatible layout: matrices, peak bandwidths, loaded latency and cache-to-cache blocks as text that existing
//! parsers of such logs read.
//!
//! The layout is taken from public logs and documentation: block titles, tabs between columns, MB/s of 10⁶ bytes, ns
//! with one decimal. Blocks that a run did not measure are omitted; an invalid number is `-`. The numbers are this
//! tool's, taken by its methods, and are not comparable with those of another tool of that layout.

mod system;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use tiermark_model::{MatrixCell, NodeId, Observation, Purpose, Run};
use tiermark_page::clean;

/// Said of every block of rates.
const UNIT: &str = "Bandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)\n";
/// The line that says which threads were used.
const THREADS: &str = "Using one thread of each core unless --threads or --cpus was given\n";

/// Renders a run.
pub fn mlc(run: &Run) -> String {
    let seen: Vec<&Observation> = run.observations().collect();
    let mut out = format!("tiermark {} - mlc-compatible layout\n", clean(&run.tool.version));
    if let Some(name) = &run.simulated {
        out.push_str(&format!("SIMULATED machine '{}': nothing was measured\n", clean(name)));
    }
    out.push_str(&format!("Command line parameters: {}\n", clean(&run.command[run.command.len().min(1)..].join(" "))));
    // Parsers count the lines of a block: remarks stand before the first.
    system::remarks(run).iter().for_each(|remark| out.push_str(&format!("{remark}\n")));
    blocks(run, &seen).iter().flatten().for_each(|block| out.push_str(&format!("\n{block}")));
    out
}

/// The observations whose numbers the blocks show.
fn shown<'a>(run: &'a Run, seen: &[&'a Observation]) -> Vec<&'a Observation> {
    let cells = ["latency", "read"].into_iter().flat_map(|op| cells(seen, op)).map(|(_, _, o)| o);
    let transfers = seen.iter().copied().filter(|o| o.labels.is_for(Purpose::Transfer));
    cells.chain(transfers).chain(system::shown(run)).collect()
}

fn blocks(run: &Run, seen: &[&Observation]) -> [Option<String>; 5] {
    [idle(seen), system::peaks(run), rates(seen), system::loaded(run), transfers(seen, run)]
}

/// Doubts that the layout does not show, in words: that it shows nothing of the run, or how many of its numbers are
/// not trusted. `None` where all are.
pub fn mlc_doubts(run: &Run) -> Option<String> {
    let seen: Vec<&Observation> = run.observations().collect();
    if blocks(run, &seen).iter().all(Option::is_none) {
        let holds = "matrices of nodes (idle latency, reads), bandwidths and loaded latencies (reads) of all cores, \
                     and transfers between cores";
        return Some(format!("it shows only {holds}, and the run measured none of them"));
    }
    let numbers = shown(run, &seen);
    let doubted = numbers.iter().filter(|o| !o.verdict.grade.is_number()).count();
    (doubted > 0).then(|| format!("{doubted} of its {} numbers are not trusted, which it does not mark", numbers.len()))
}

/// A number with one decimal, or a dash.
fn cell(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"))
}

/// Cells of the plain matrix of one operation.
fn cells<'a>(seen: &[&'a Observation], op: &str) -> Vec<(NodeId, NodeId, &'a Observation)> {
    let place = |o: &&'a Observation| {
        let cell = MatrixCell::of(&o.labels).filter(|cell| cell.work.op == op)?;
        Some((cell.from_node?, cell.to, *o))
    };
    seen.iter().filter_map(place).collect()
}

/// A matrix of nodes; of several numbers of threads, that of the most.
fn grid(cells: &[(NodeId, NodeId, &Observation)], scale: f64) -> Option<String> {
    let rows: BTreeSet<NodeId> = cells.iter().map(|(row, _, _)| *row).collect();
    let columns: BTreeSet<NodeId> = cells.iter().map(|(_, column, _)| *column).collect();
    if rows.is_empty() {
        return None;
    }
    let mut out = "\t\tNuma node\nNuma node".to_owned();
    columns.iter().for_each(|column| out.push_str(&format!("\t{column:>6}")));
    for row in rows {
        out.push_str(&format!("\n{row:>8}"));
        for column in &columns {
            let here = cells.iter().filter(|(r, c, _)| *r == row && c == column);
            let most = here.max_by_key(|(_, _, o)| o.labels.threads());
            out.push_str(&format!("\t{:>6}", cell(most.and_then(|(_, _, o)| o.value).map(|v| v * scale))));
        }
    }
    out.push('\n');
    Some(out)
}

fn idle(seen: &[&Observation]) -> Option<String> {
    grid(&cells(seen, "latency"), 1.0)
        .map(|grid| format!("Measuring idle latencies for random access (in ns)...\n{grid}"))
}

fn rates(seen: &[&Observation]) -> Option<String> {
    let grid = grid(&cells(seen, "read"), 1e-6)?;
    Some(format!(
        "Measuring Memory Bandwidths between nodes within system\n{UNIT}{THREADS}Using Read-only traffic type\n{grid}"
    ))
}

/// Lines fetched from the cache of another core.
fn transfers(seen: &[&Observation], run: &Run) -> Option<String> {
    let in_state = |state: &str, remote: bool| -> Vec<&Observation> {
        let fits = |o: &&&Observation| {
            o.labels.is_for(Purpose::Transfer)
                && o.labels.state() == Some(state)
                && (o.labels.relation() == Some("remote")) == remote
        };
        seen.iter().filter(fits).copied().collect()
    };
    let local = |title: &str, state: &str| {
        // The farthest relation inside the socket: the others share more than a socket.
        let value = in_state(state, false).iter().filter_map(|o| o.value).reduce(f64::max);
        value.map(|ns| format!("{title}\t{ns:.1}\n"))
    };
    let mut lines: String =
        [local("Local Socket L2->L2 HIT  latency", "clean"), local("Local Socket L2->L2 HITM latency", "dirty")]
            .into_iter()
            .flatten()
            .collect();
    lines.push_str(&remote(&in_state("dirty", true), run));
    (!lines.is_empty()).then(|| format!("Measuring cache-to-cache transfer latency (in ns)...\n{lines}"))
}

/// The node of fetched lines' memory, relative to the two cpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Home {
    Writer,
    Reader,
    /// In neither's socket.
    Node(u32),
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Writer => f.write_str("in writer socket"),
            Self::Reader => f.write_str("in reader socket"),
            Self::Node(node) => write!(f, "on node {node}"),
        }
    }
}

/// Dirty lines of another socket, a block for each place that their memory is in.
fn remote(seen: &[&Observation], run: &Run) -> String {
    let mut blocks: BTreeMap<Home, BTreeMap<(u32, u32), Option<f64>>> = BTreeMap::new();
    for observation in seen {
        let (Some(writer), Some(reader)) = (observation.labels.to_cpu(), observation.labels.from_cpu()) else {
            continue;
        };
        let (Some(from), Some(to)) = (run.machine.node_of(writer), run.machine.node_of(reader)) else { continue };
        // Documents from before the label was there have the lines on the node of the cpu that fetches them.
        let home = observation.labels.node().unwrap_or(to);
        let home = home_of(home, writer, reader, run);
        blocks.entry(home).or_default().entry((from, to)).or_insert(observation.value);
    }
    blocks.iter().map(|(home, values)| remote_block(*home, values)).collect()
}

fn home_of(node: u32, writer: u32, reader: u32, run: &Run) -> Home {
    let socket = |cpu: u32| run.machine.cpu(cpu).map(|cpu| cpu.socket);
    let own = |cpu: u32| run.machine.node_of(cpu) == Some(node);
    // A node without cpus is in no socket that anybody knows of.
    let near = run.machine.node(node).and_then(|node| node.cpus.first()).and_then(socket);
    match near {
        _ if own(reader) => Home::Reader,
        _ if own(writer) => Home::Writer,
        near if near.is_some() && near == socket(reader) => Home::Reader,
        near if near.is_some() && near == socket(writer) => Home::Writer,
        _ => Home::Node(node),
    }
}

fn remote_block(home: Home, values: &BTreeMap<(u32, u32), Option<f64>>) -> String {
    let nodes: BTreeSet<u32> = values.keys().flat_map(|(writer, reader)| [*writer, *reader]).collect();
    let mut out = format!(
        "Remote Socket L2->L2 HITM latency (data address homed {home})\n\t\t\tReader Numa Node\nWriter Numa Node"
    );
    nodes.iter().for_each(|node| out.push_str(&format!("\t{node:>6}")));
    for writer in &nodes {
        out.push_str(&format!("\n{writer:>13}"));
        for reader in &nodes {
            let value = values.get(&(*writer, *reader)).copied().flatten();
            out.push_str(&format!("\t{:>6}", cell(value)));
        }
    }
    out + "\n"
}
