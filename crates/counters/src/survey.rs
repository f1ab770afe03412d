//! Every source of counters, and whether it can be opened.

use std::collections::BTreeMap;

use tiermark_machine::Root;
use tiermark_model::messages::counters as says;
use tiermark_model::{CounterBox, CounterSight, CounterSourceId, CounterSourceInfo, Machine, Refusal};

use crate::backend::Backend;
use crate::family::Family;
use crate::perf::{PerfSource, examine_perf, sights};
use crate::resctrl::examine_resctrl;
use crate::select::{Finding, Wanted};
use crate::source::other_monitors;

/// All sources, in the order in which they are preferred. With a back end, the kernel's counters are opened and closed
/// again; without one, as for a captured machine, nothing is.
pub fn survey(
    root: &Root,
    machine: &Machine,
    families: &[Family],
    backend: Option<Box<dyn Backend>>,
) -> Vec<CounterSourceInfo> {
    vec![
        perf(root, machine, families, backend),
        resctrl(root, machine),
        file(CounterSourceId::PcmMemory, "pcm-memory", &[CounterSight::Channels]),
        file(CounterSourceId::Likwid, "likwid-perfctr", &[]),
    ]
}

/// The kernel's counters.
fn perf(root: &Root, machine: &Machine, families: &[Family], backend: Option<Box<dyn Backend>>) -> CounterSourceInfo {
    let source = CounterSourceId::Perf;
    let selected = examine_perf(root, machine, families);
    let selection = match selected {
        Ok(selection) => selection,
        Err(refusal) => return refused(source, &[], refusal),
    };
    let (wanted, findings, opens, why) = match backend.map(|backend| PerfSource::open(root, machine, families, backend))
    {
        Some(Ok(open)) => (open.opened().to_vec(), open.findings().to_vec(), Some(true), None),
        Some(Err(refusal)) => (first_choice(selection.wanted), selection.findings, Some(false), Some(refusal)),
        None => {
            let why = says::not_this_machine("counters of memory controllers (perf)");
            (first_choice(selection.wanted), selection.findings, None, Some(why))
        }
    };
    let monitors = other_monitors(root).into_iter().map(|(pid, name)| says::other_monitor(pid, &name));
    let notes = findings.iter().map(Finding::note).chain(monitors).collect();
    CounterSourceInfo { source, opens, sees: sights(&wanted), boxes: boxes(&wanted), refused: why, notes }
}

/// The events without those that only serve if the others cannot be opened.
fn first_choice(mut wanted: Vec<Wanted>) -> Vec<Wanted> {
    if wanted.iter().any(|event| event.is_memory() && !event.fallback) {
        wanted.retain(|event| !event.fallback);
    }
    wanted
}

/// The boxes with the sockets that they are counted on.
fn boxes(wanted: &[Wanted]) -> Vec<CounterBox> {
    let mut sockets: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    let mut names: Vec<&str> = Vec::new();
    for event in wanted {
        let own = sockets.entry(&event.place.unit).or_default();
        if own.is_empty() {
            names.push(&event.place.unit);
        }
        own.extend(event.place.socket.filter(|socket| !own.contains(socket)));
    }
    let counted = |name: &str| CounterBox { name: name.to_owned(), sockets: sockets.remove(name).unwrap_or_default() };
    names.into_iter().map(counted).collect()
}

/// Monitoring groups: to open one changes the system, so that it is not tried.
fn resctrl(root: &Root, machine: &Machine) -> CounterSourceInfo {
    let (source, sees) = (CounterSourceId::Resctrl, [CounterSight::Total, CounterSight::LocalShare]);
    match examine_resctrl(root, machine) {
        Ok(()) => CounterSourceInfo { opens: None, ..refused(source, &sees, says::group_not_made()) },
        Err(refusal) => refused(source, &sees, refusal),
    }
}

/// A source that is a file of another program.
fn file(source: CounterSourceId, program: &str, more: &[CounterSight]) -> CounterSourceInfo {
    let sees = [&[CounterSight::Reads, CounterSight::Writes], more].concat();
    refused(source, &sees, says::needs_a_file(program))
}

/// A source that does not open.
fn refused(source: CounterSourceId, sees: &[CounterSight], why: Refusal) -> CounterSourceInfo {
    let sees = sees.to_vec();
    CounterSourceInfo { source, opens: Some(false), sees, boxes: Vec::new(), refused: Some(why), notes: Vec::new() }
}
