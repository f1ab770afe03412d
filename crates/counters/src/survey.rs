//! Every source of counters, and whether it can be opened.
//!
//! # To add a source of counters
//!
//! What is not listed here, the compiler or a test names.
//!
//! * `counters/src/NAME.rs`: a `CounterSource` (`resctrl.rs` reads files of the system, `pcm.rs` those of a program).
//!   `is_immediate` returns false if its counts arrive late. A system call goes through a method of [`System`].
//! * `model/src/counters.rs`: its name, in the order of preference. In [`survey`]: its row, in the same order.
//! * `choice.rs`: its word in `FromStr`, also in the error there, and its place in `ladder` if it is tried without
//!   being named.
//! * `sampled.rs`: codes of its notes that arise while it counts: `at_once`, those of `last_notes` (at the end), and
//!   `is_cause` (why nothing was counted).
//! * If another program writes its file: `SourceChoice::open` wraps it in `monitored`, which reports a file that no
//!   longer grows; `form.rs` recognises the file; `monitored.rs` has the program's name (`program`) and excepts a
//!   program that writes at its end; `source.rs` has the programs that set counters themselves (`MONITORS`). Its parser
//!   is a target of `fuzz/src` ("To add something" in docs/ARCHITECTURE.md).
//! * Texts: `cli/src/args/counters.rs` (help), docs/COUNTERS.md (the table of sources, what is tried without
//!   `--counters-from`, what is special, platforms), `docs/methods/watch.md`, `cli/src/other_tools.toml`, and the
//!   rule `counters-wrong` in `expect/src/explain/rules.toml`, which names monitors.

use std::collections::BTreeMap;
use std::io;

use tiermark_machine::Root;
use tiermark_model::messages::counters as says;
use tiermark_model::{CounterBox, CounterSight, CounterSourceId, CounterSourceInfo, Machine, Refusal};

use crate::backend::Backend;
use crate::cores::Cores;
use crate::family::Family;
use crate::finding::Finding;
use crate::hsmp::{Hsmp, Mailbox, hsmp_refusal};
use crate::perf::{PerfSource, examine_perf, sights};
use crate::resctrl::examine_resctrl;
use crate::select::Wanted;
use crate::source::{CounterSource, other_monitors};

/// What the system opens for sources; tests have stand-ins.
pub trait System {
    /// Counters of the kernel.
    fn perf(&self) -> Box<dyn Backend>;

    /// The management port of EPYC processors.
    ///
    /// # Errors
    /// The system's answer.
    fn hsmp(&self) -> io::Result<Box<dyn Mailbox>>;
}

/// All sources, in the order in which they are preferred. With a system, sources are opened and closed again, except
/// where that changes the system; without one, as for a captured machine, none is.
pub fn survey(
    root: &Root,
    machine: &Machine,
    families: &[Family],
    system: Option<&dyn System>,
) -> Vec<CounterSourceInfo> {
    vec![
        perf(root, machine, families, system.map(System::perf)),
        tried(
            system.map(|system| open_hsmp(machine, system)),
            CounterSourceId::Hsmp,
            &[CounterSight::Total, CounterSight::Utilisation],
            "the management port of the processor (hsmp)",
        ),
        resctrl(root, machine),
        file(CounterSourceId::PcmMemory, "pcm-memory", "pcm-memory", &[CounterSight::Channels]),
        file(CounterSourceId::Pcm, "pcm", "pcm", &[CounterSight::LinkReceived]),
        file(CounterSourceId::Likwid, "likwid-perfctr", "likwid", &[]),
        tried(
            system.map(|system| Ok(Box::new(Cores::open(root, machine, system.perf())?) as Box<dyn CounterSource>)),
            CounterSourceId::Core,
            &[CounterSight::Reads, CounterSight::LowerBound],
            "misses of cores in the last-level cache (core)",
        ),
    ]
}

/// Opens the management port.
///
/// # Errors
/// A [`Refusal`] if the system has no such port, or it does not answer.
pub fn open_hsmp(machine: &Machine, system: &dyn System) -> Result<Box<dyn CounterSource>, Refusal> {
    let mailbox = system.hsmp().map_err(|error| hsmp_refusal(&error))?;
    Ok(Box::new(Hsmp::open(machine, mailbox)?))
}

/// A source that was opened, if there is a system to open it on.
fn tried(
    opened: Option<Result<Box<dyn CounterSource>, Refusal>>,
    source: CounterSourceId,
    sees: &[CounterSight],
    name: &str,
) -> CounterSourceInfo {
    match opened {
        None => CounterSourceInfo { opens: None, ..refused(source, sees, says::not_this_machine(name)) },
        Some(Err(refusal)) => refused(source, sees, refusal),
        Some(Ok(own)) => CounterSourceInfo {
            source,
            opens: Some(true),
            sees: own.sees(),
            boxes: Vec::new(),
            refused: None,
            notes: own.notes(),
        },
    }
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
    CounterSourceInfo {
        source,
        opens,
        sees: sights(wanted.iter().map(|event| (&event.place, event.of))),
        boxes: boxes(&wanted),
        refused: why,
        notes,
    }
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
fn file(source: CounterSourceId, program: &str, name: &str, more: &[CounterSight]) -> CounterSourceInfo {
    let sees = [&[CounterSight::Reads, CounterSight::Writes], more].concat();
    CounterSourceInfo { opens: None, ..refused(source, &sees, says::needs_a_file(program, name)) }
}

/// A source that does not open.
fn refused(source: CounterSourceId, sees: &[CounterSight], why: Refusal) -> CounterSourceInfo {
    let sees = sees.to_vec();
    CounterSourceInfo { source, opens: Some(false), sees, boxes: Vec::new(), refused: Some(why), notes: Vec::new() }
}
