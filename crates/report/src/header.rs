//! The head of a run: what ran, where, when, and what the measuring itself stands on.

use tiermark_model::{Bytes, HOST_LABEL, Machine, Run, RunLabels, count_of};
use tiermark_page::{Detail, Ink, Page, Words, clean, hertz, items, nanoseconds, paragraph, seconds, simulated, space};

/// The machine in a line or two.
pub fn machine_line(machine: &Machine) -> Words {
    let system = &machine.system;
    let mut parts = vec![machine.cpu_model.name.clone().unwrap_or_else(|| "unknown processor".to_owned())];
    parts.push(counts(machine));
    parts.extend(system.memory_bytes.map(|b| format!("{} memory", Bytes(b))));
    parts.extend(system.kernel.as_ref().map(|k| format!("Linux {k}")));
    parts.extend(system.guest());
    parts.extend(system.kernel_program.as_ref().map(|name| format!("{name} in place of the kernel")));
    parts.extend(system.container.as_ref().map(|c| format!("in {c}")));
    items(&parts)
}

/// How many of what: `2 sockets, 96 cores, 192 cpus (188 allowed), 4 nodes`.
pub fn counts(machine: &Machine) -> String {
    let online = machine.cpus.len();
    let allowed = machine.allowed_cpus.len();
    let limited = if allowed < online { format!(" ({allowed} allowed)") } else { String::new() };
    [
        count_of(machine.sockets().len() as u64, "socket"),
        count_of(machine.core_count() as u64, "core"),
        format!("{}{limited}", count_of(online as u64, "cpu")),
        count_of(machine.nodes.len() as u64, "node"),
    ]
    .join(", ")
}

/// The head of a run.
pub(crate) fn header(run: &Run) -> Page {
    header_around(run, paragraph("", machine_line(&run.machine), Ink::Plain))
}

/// The head of a run where its machine is described as in `machine`.
pub(crate) fn header_around(run: &Run, machine: Page) -> Page {
    let mut first = vec![format!("tiermark {}", run.title), run.started.clone(), seconds(run.seconds)];
    first.extend(run.host().map(str::to_owned));
    let mut out = paragraph("", items(&first), Ink::Head);
    out += machine;
    out += labels_line(&run.labels);
    out + remarks(run)
}

/// The labels that the user gave, without the host, which the title has; empty without any.
pub fn labels_line(labels: &RunLabels) -> Page {
    let others = labels.iter().filter(|(key, _)| *key != HOST_LABEL);
    let words: Vec<String> = others.map(|(key, value)| format!("{key}={}", clean(value))).collect();
    if words.is_empty() { Page::new() } else { paragraph("", format!("Labels: {}", words.join(", ")), Ink::Plain) }
}

/// What a reader must not overlook: a simulated machine, a run that is not complete.
pub(crate) fn remarks(run: &Run) -> Page {
    let mut out = Page::new();
    if let Some(name) = &run.simulated {
        out += simulated(name);
    }
    let incomplete = match (run.stopped, run.complete) {
        (true, _) => Some("INCOMPLETE: the run was stopped; this report has its results up to then"),
        (false, false) => Some("INCOMPLETE: requested numbers are missing"),
        (false, true) => None,
    };
    out += incomplete.map_or_else(Page::new, |text| paragraph("! ", text, Ink::Bad));
    out
}

/// What the measuring stands on: clock, own cost, versions.
pub(crate) fn footer(run: &Run, detail: Detail) -> Page {
    let (clock, cost) = (&run.bench.clock, &run.bench.overheads);
    let mut parts = Vec::new();
    if !clock.source.is_empty() {
        let resolution = nanoseconds(clock.resolution_ns);
        parts.push(format!("clock {} {}, resolution {resolution} ns", clean(&clock.source), hertz(clock.hz)));
        if detail.is_all() {
            let costs = [("stamp", Some(cost.stamp_ns)), ("loop", cost.loop_ns), ("gate", cost.gate_ns)];
            let known = costs.iter().filter_map(|(name, ns)| ns.map(|ns| format!("{name} {} ns", nanoseconds(ns))));
            parts.push(format!("own cost: {}", known.collect::<Vec<_>>().join(", ")));
        }
    }
    parts.extend(cost.core_hz.map(|hz| format!("core {}", hertz(hz))));
    let git = run.tool.git.as_ref().map_or(String::new(), |git| format!(" ({git})"));
    parts.push(format!("tiermark {}{git} {}", run.tool.version, run.tool.target));
    parts.push(format!("seed {}", run.seed));
    parts.push(format!("run {}", run.id));
    space() + paragraph("", items(&parts), Ink::Dim)
}
