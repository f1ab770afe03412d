//! The blocks of the layout that speak of the whole system: all cores, each on its own node's memory.
//!
//! What they mean is told by public logs: on two sockets the first loaded point and the peak of reads are twice the matrix's
//! diagonal, and the counters of the channels agree with the rates of traffic with stores, so a store is counted as a read and a
//! write of its line.

use std::collections::BTreeSet;

use tiermark_model::{Experiment, IdSet, KernelId, Labels, Machine, Observation, Run};

use super::{THREADS, UNIT};

/// A line of the peak block.
struct Peak {
    title: &'static str,
    /// The mix that moves as many lines each way on the channels, ordinary stores reading theirs first.
    mix: &'static str,
    /// The operation of a single kernel that does the same.
    op: &'static str,
    /// Lines moved on the channels for each useful one, in that way of counting.
    counted: f64,
}

const PEAKS: [Peak; 5] = [
    Peak { title: "ALL Reads        ", mix: "read", op: "read", counted: 1.0 },
    // Two lines loaded and one stored: three reads and a write.
    Peak { title: "3:1 Reads-Writes ", mix: "2:1", op: "", counted: 4.0 / 3.0 },
    Peak { title: "2:1 Reads-Writes ", mix: "1:1", op: "copy", counted: 3.0 / 2.0 },
    Peak { title: "1:1 Reads-Writes ", mix: "write", op: "write", counted: 2.0 },
    Peak { title: "Stream-triad like", mix: "triad.nt", op: "triad.nt", counted: 1.0 },
];

/// The observations of all cores.
fn of_system(run: &Run) -> Vec<&Observation> {
    let of = |e: &'_ Experiment| e.request.scope.cpus.clone();
    let each = run.experiments.iter().flat_map(|e| e.observations.iter().map(move |o| (of(e), o)));
    each.filter(|(asked, o)| is_of_system(o, asked.as_ref(), &run.machine)).map(|(_, o)| o).collect()
}

/// Whether every core that the run was about took part, each on its own memory.
fn is_of_system(seen: &Observation, asked: Option<&IdSet>, machine: &Machine) -> bool {
    let cores = |cpus: &IdSet| -> BTreeSet<u32> {
        cpus.iter().filter_map(|cpu| machine.cpu(cpu)).map(|cpu| cpu.core).collect()
    };
    let Some(used) = used(seen) else { return false };
    let own = |node: u64| used.iter().all(|cpu| machine.node_of(cpu).map(u64::from) == Some(node));
    cores(asked.unwrap_or(&machine.allowed_cpus)).is_subset(&cores(&used))
        && seen.labels.number(Labels::NODE).is_none_or(own)
}

fn used(seen: &Observation) -> Option<IdSet> {
    seen.labels.get(Labels::CPUS)?.parse().ok()
}

fn is_peak(seen: &Observation) -> bool {
    seen.labels.is(Labels::PURPOSE, "peak")
}

fn is_point(seen: &Observation) -> bool {
    seen.labels.is(Labels::PURPOSE, "load") && seen.labels.is(Labels::MIX, "read")
}

/// Lines for people before the first block: how bytes are counted, and what is left out.
pub(super) fn remarks(run: &Run) -> Vec<String> {
    let all = of_system(run);
    let mut out = Vec::new();
    if all.iter().any(|o| is_peak(o) || is_point(o)) {
        out.push(
            "A store counts as a read and a write of its line; the inject delay is the pause after each piece, in ns"
                .into(),
        );
    }
    for (what, kind) in [("Peak bandwidths", is_peak as fn(&Observation) -> bool), ("Loaded latencies", is_point)] {
        let part = run.observations().find(|o| kind(o)).filter(|_| !all.iter().any(|o| kind(o)));
        let cpus = part.and_then(|o| o.labels.get(Labels::CPUS));
        out.extend(cpus.map(|cpus| {
            format!("{what} are left out: they are those of cpus {cpus} and not of the whole system; --format text shows them")
        }));
    }
    out
}

/// All cores on their own memory, by reads and writes on the channels; where loads were not run, by the plain streams that are alike.
pub(super) fn peaks(run: &Run) -> Option<String> {
    let all = of_system(run);
    let value = |peak: &Peak| {
        let loads = all.iter().filter(|o| is_peak(o) && o.labels.is(Labels::MIX, peak.mix));
        let streams = all.iter().filter(|o| {
            // By the kernel, since the winner of a job may store past the caches.
            let kernel = o.labels.get(Labels::KERNEL).map(|id| KernelId(id.to_owned()));
            o.labels.is(Labels::TIER, "DRAM")
                && o.labels.is(Labels::PURPOSE, "ladder")
                && o.labels.get(Labels::DATA).is_none()
                && kernel.is_some_and(|kernel| kernel.op() == peak.op)
        });
        loads.chain(streams).find_map(|o| o.value).map(|useful| useful * peak.counted)
    };
    let line = |peak: &Peak| value(peak).map(|value| format!("{}:\t{:.1}\n", peak.title, value / 1e6));
    let lines: String = PEAKS.iter().filter_map(line).collect();
    let head = "Measuring Peak Injection Memory Bandwidths for the system\n";
    (!lines.is_empty())
        .then(|| format!("{head}{UNIT}{THREADS}Using traffic with the following read-write ratios\n{lines}"))
}

/// Latency over bandwidth under reads of all cores, the chaser's own lines among them.
pub(super) fn loaded(run: &Run) -> Option<String> {
    let point = |o: &&Observation| {
        let rate = o.parts.iter().find(|part| part.name == "load")?.value?;
        let ns = o.value?;
        Some((o.labels.number(Labels::PAUSE)?, ns, rate + line_bytes(&run.machine) / ns * 1e9))
    };
    let mut points: Vec<(u64, f64, f64)> =
        of_system(run).into_iter().filter(|o| is_point(o)).filter_map(|o| point(&o)).collect();
    points.sort_by_key(|(pause, _, _)| *pause);
    points.dedup_by_key(|(pause, _, _)| *pause);
    let line = |(pause, ns, rate): &(u64, f64, f64)| format!(" {pause:05}\t{ns:.2}\t{:>9.1}\n", rate / 1e6);
    let lines: String = points.iter().map(line).collect();
    let head = "Measuring Loaded Latencies for the system\n";
    let columns = "Inject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n==========================\n";
    (!lines.is_empty()).then(|| format!("{head}{THREADS}Using Read-only traffic type\n{columns}{lines}"))
}

/// What one access of a chase moves.
fn line_bytes(machine: &Machine) -> f64 {
    const USUAL: u32 = 64;
    machine.data_caches().filter_map(|cache| cache.line_bytes).max().unwrap_or(USUAL).into()
}
