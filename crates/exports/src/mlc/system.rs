//! The blocks of the layout for the whole system: all cores, each on its own node's memory.
//!
//! Their meaning is taken from public logs: on two sockets the first loaded point and the peak of reads are twice the
//! matrix's diagonal, and the counters of the channels agree with the rates of traffic with stores, so a store is
//! counted as a read and a write of its line.

use std::collections::BTreeSet;

use tiermark_model::{Experiment, IdSet, KernelId, LoadPoint, Machine, Observation, Purpose, Run, Tier};

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

/// An observation of all cores, with the cpus that its request named, if any.
#[derive(Clone, Copy)]
struct Whole<'a> {
    asked: Option<&'a IdSet>,
    seen: &'a Observation,
}

/// The observations of all cores.
fn of_system<'a>(run: &'a Run) -> Vec<Whole<'a>> {
    let whole = |e: &'a Experiment| {
        let asked = e.request.scope.cpus.as_ref();
        e.observations.iter().map(move |seen| Whole { asked, seen }).collect::<Vec<_>>()
    };
    let each = run.experiments.iter().flat_map(whole);
    each.filter(|whole| is_of_system(whole.seen, whole.asked, &run.machine)).collect()
}

/// The cores of some cpus.
fn cores(cpus: &IdSet, machine: &Machine) -> BTreeSet<u32> {
    cpus.iter().filter_map(|cpu| machine.cpu(cpu)).map(|cpu| cpu.core).collect()
}

/// Whether every core that the run was about took part, each on its own memory.
fn is_of_system(seen: &Observation, asked: Option<&IdSet>, machine: &Machine) -> bool {
    let Some(used) = used(seen) else { return false };
    let own = |node| used.iter().all(|cpu| machine.node_of(cpu) == Some(node));
    cores(asked.unwrap_or(&machine.allowed_cpus), machine).is_subset(&cores(&used, machine))
        && seen.labels.node().is_none_or(own)
}

fn used(seen: &Observation) -> Option<IdSet> {
    seen.labels.cpus()?.parse().ok()
}

fn is_peak(seen: &Observation) -> bool {
    seen.labels.is_for(Purpose::Peak)
}

fn is_point(seen: &Observation) -> bool {
    seen.labels.is_for(Purpose::Load) && seen.labels.mix() == Some("read")
}

/// Lines for readers before the first block: how bytes are counted, which cpus the numbers are of, and which blocks are
/// omitted.
pub(super) fn remarks(run: &Run) -> Vec<String> {
    let all = of_system(run);
    let mut out = Vec::new();
    if all.iter().any(|whole| is_peak(whole.seen) || is_point(whole.seen)) {
        out.push(
            "A store counts as a read and a write of its line; the inject delay is the pause after each piece, in ns"
                .into(),
        );
    }
    out.extend(of_a_part(run, &all));
    for (what, kind) in [("Peak bandwidths", is_peak as fn(&Observation) -> bool), ("Loaded latencies", is_point)] {
        let part = run.observations().find(|o| kind(o)).filter(|_| !all.iter().any(|whole| kind(whole.seen)));
        let cpus = part.and_then(|o| o.labels.cpus());
        out.extend(cpus.map(|cpus| {
            format!(
                "{what} are left out: they are those of cpus {cpus} and not of the whole system (--cpus all); \
                 --format text shows them"
            )
        }));
    }
    let loads = || run.observations().filter(|seen| seen.labels.is_for(Purpose::Load));
    if loads().next().is_some() && !loads().any(is_point) {
        out.push(
            "Loaded latencies are left out: the layout has those of reads only (--mix read); --format text shows them"
                .into(),
        );
    }
    out
}

/// Names the cpus of numbers that stand below "for the system", if the request named cpus.
fn of_a_part(run: &Run, all: &[Whole<'_>]) -> Vec<String> {
    let machine = &run.machine;
    let parts = |wholes: Vec<Whole<'_>>| -> BTreeSet<String> {
        let asked = wholes.into_iter().filter_map(|whole| whole.asked);
        let part = asked.filter(|asked| !cores(&machine.allowed_cpus, machine).is_subset(&cores(asked, machine)));
        part.map(ToString::to_string).collect()
    };
    let peaks = parts(PEAKS.iter().filter_map(|peak| peak_of(peak, all)).map(|(whole, _)| whole).collect());
    let loads = parts(points(run, all).into_iter().map(|point| point.whole).collect());
    let only = |what: &str, cpus: &String| format!("{what} are of cpus {cpus} only, as asked");
    let both = peaks.intersection(&loads).map(|cpus| only("Peak bandwidths and loaded latencies", cpus));
    let peak = peaks.difference(&loads).map(|cpus| only("Peak bandwidths", cpus));
    let load = loads.difference(&peaks).map(|cpus| only("Loaded latencies", cpus));
    both.chain(peak).chain(load).collect()
}

/// What a line of the peak block shows, in bytes a second as it counts them: from loads, or where none were run, from
/// the plain streams that are alike.
fn peak_of<'a>(peak: &Peak, all: &[Whole<'a>]) -> Option<(Whole<'a>, f64)> {
    let loads = all.iter().filter(|w| is_peak(w.seen) && w.seen.labels.mix() == Some(peak.mix));
    let streams = all.iter().filter(|w| {
        let labels = &w.seen.labels;
        // By the kernel, since the winner of a job may store past the caches.
        let kernel = labels.kernel().map(|id| KernelId(id.into()));
        labels.tier() == Some(Tier::Dram)
            && labels.is_for(Purpose::Ladder)
            && labels.data().is_none()
            && kernel.is_some_and(|kernel| kernel.op() == peak.op)
    });
    loads.chain(streams).find_map(|whole| Some((*whole, whole.seen.value? * peak.counted)))
}

/// The observations whose numbers these blocks show.
pub(super) fn shown(run: &Run) -> Vec<&Observation> {
    let all = of_system(run);
    let peaks = PEAKS.iter().filter_map(|peak| peak_of(peak, &all)).map(|(whole, _)| whole.seen);
    peaks.chain(points(run, &all).into_iter().map(|point| point.whole.seen)).collect()
}

/// All cores on their own memory, by reads and writes on the channels.
pub(super) fn peaks(run: &Run) -> Option<String> {
    let all = of_system(run);
    let line = |peak: &Peak| peak_of(peak, &all).map(|(_, rate)| format!("{}:\t{:.1}\n", peak.title, rate / 1e6));
    let lines: String = PEAKS.iter().filter_map(line).collect();
    let head = "Measuring Peak Injection Memory Bandwidths for the system\n";
    (!lines.is_empty())
        .then(|| format!("{head}{UNIT}{THREADS}Using traffic with the following read-write ratios\n{lines}"))
}

/// A line of the loaded block.
struct LoadedLine<'a> {
    whole: Whole<'a>,
    pause: u64,
    ns: f64,
    rate: f64,
}

/// Latency over bandwidth under reads of all cores, the chaser's own lines among them; of each pause the first.
fn points<'a>(run: &Run, all: &[Whole<'a>]) -> Vec<LoadedLine<'a>> {
    let point = |whole: &Whole<'a>| {
        let LoadPoint { rate, pause, .. } = LoadPoint::of(whole.seen)?;
        let (pause, ns) = (pause?, whole.seen.value?);
        Some(LoadedLine { whole: *whole, pause, ns, rate: rate + line_bytes(&run.machine) / ns * 1e9 })
    };
    let mut points: Vec<LoadedLine<'_>> = all.iter().filter(|whole| is_point(whole.seen)).filter_map(point).collect();
    points.sort_by_key(|point| point.pause);
    points.dedup_by_key(|point| point.pause);
    points
}

/// The block of loaded latencies.
pub(super) fn loaded(run: &Run) -> Option<String> {
    let line = |point: &LoadedLine<'_>| format!(" {:05}\t{:.2}\t{:>9.1}\n", point.pause, point.ns, point.rate / 1e6);
    let lines: String = points(run, &of_system(run)).iter().map(line).collect();
    let head = "Measuring Loaded Latencies for the system\n";
    let columns = "Inject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n==========================\n";
    (!lines.is_empty()).then(|| format!("{head}{THREADS}Using Read-only traffic type\n{columns}{lines}"))
}

/// What one access of a chase moves.
fn line_bytes(machine: &Machine) -> f64 {
    const USUAL: u32 = 64;
    machine.data_caches().filter_map(|cache| cache.line_bytes).max().unwrap_or(USUAL).into()
}
