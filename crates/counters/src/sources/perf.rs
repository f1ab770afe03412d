//! Counters of memory controllers and links through `perf_event_open`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};

use tiermark_machine::{Root, event_sources, perf_event_paranoid};
use tiermark_model::messages::counters as says;
use tiermark_model::{
    BoxKind, BoxPlace, CounterBox, CounterSight, CounterSourceId, CounterSourceInfo, Machine, Note, Refusal,
};

use crate::backend::{Backend, GroupCounts, GroupId};
use crate::family::{Family, Of, family_of};
use crate::finding::Finding;
use crate::monitors::other_monitors;
use crate::select::{Selection, Wanted, select};
use crate::snapshot::{Reading, Snapshot};
use crate::source::{CounterSource, Doubt, Place, Reads, SourceKind, SystemCounters, Tried, refused};

/// ENODEV: an event source that has no such box on this socket.
const ENODEV: i32 = 19;
/// ENXIO: the same from other drivers.
const ENXIO: i32 = 6;

pub(super) static KIND: SourceKind = SourceKind {
    id: CounterSourceId::Perf,
    reads: Reads::System(SystemCounters {
        shots: Tried::Always,
        samples: Tried::Always,
        open: |Place { root, machine, families, .. }, system| {
            Ok(Box::new(PerfSource::open(root, machine, families, system.perf())?))
        },
        examine,
    }),
};

/// Event sources that only processors have whose traffic can be counted.
const MEMORY_PMUS: [&str; 9] = [
    "uncore_imc",
    "uncore_type_6",
    "amd_umc",
    "amd_df",
    "arm_cmn",
    "arm_dmc620",
    "nvidia_scf",
    "ampere_mcu",
    "hisi_sccl",
];

/// The events of a machine.
///
/// # Errors
/// A [`Refusal`] if the machine has no event source of memory, or its events are not known.
pub fn examine_perf(root: &Root, machine: &Machine, families: &[Family]) -> Result<Selection, Refusal> {
    let sources = event_sources(root);
    let names: Vec<(&str, Option<&str>)> = sources.iter().map(|s| (s.name.as_str(), s.alias.as_deref())).collect();
    let Some(family) = family_of(families, &machine.cpu_model, &names) else {
        let is_memory = |name: &str| MEMORY_PMUS.iter().any(|start| name.starts_with(start));
        let seen: Vec<String> = sources.iter().map(|s| s.name.clone()).filter(|name| is_memory(name)).collect();
        let cpu = machine.cpu_model.name.as_deref().unwrap_or("this processor");
        return Err(if seen.is_empty() { says::no_pmu() } else { says::events_unknown(cpu, &seen) });
    };
    let selection = select(family, &sources, machine);
    if selection.wanted.iter().any(Wanted::is_memory) { Ok(selection) } else { Err(nothing(&selection)) }
}

/// Why a machine with a known processor has no event.
fn nothing(selection: &Selection) -> Refusal {
    let lacks = selection.findings.iter().find_map(|finding| match finding {
        Finding::FormatLacks { pmu, error } => Some((pmu, error)),
        _ => None,
    });
    lacks.map_or_else(says::no_pmu, |(pmu, error)| says::format_lacks(pmu, &error.message()))
}

/// Counts that are open.
struct EventGroup {
    id: GroupId,
    members: Vec<usize>,
}

/// The counters of the kernel.
pub struct PerfSource {
    backend: Box<dyn Backend>,
    wanted: Vec<Wanted>,
    groups: Vec<EventGroup>,
    findings: Vec<Finding>,
    /// Other programs that may set the same counters.
    monitors: Vec<Note>,
}

impl PerfSource {
    /// Opens all counters of a machine.
    ///
    /// # Errors
    /// A [`Refusal`] if no counter of memory can be opened.
    pub fn open(
        root: &Root,
        machine: &Machine,
        families: &[Family],
        backend: Box<dyn Backend>,
    ) -> Result<Self, Refusal> {
        let Selection { wanted, findings } = examine_perf(root, machine, families)?;
        let monitors = other_monitors(root);
        let mut source = Self { backend, wanted: Vec::new(), groups: Vec::new(), findings, monitors };
        let (fallback, first): (Vec<Wanted>, Vec<Wanted>) = wanted.into_iter().partition(|wanted| wanted.fallback);
        let denied = |error: &io::Error| match error.kind() {
            ErrorKind::PermissionDenied => says::denied(perf_event_paranoid(root), &error.to_string()),
            _ => says::none_opened(&error.to_string()),
        };
        let refused = source.open_all(first).map_err(|error| denied(&error))?;
        if !source.has_memory() {
            let refused = source.open_all(fallback).map_err(|error| denied(&error))?.or(refused);
            if !source.has_memory() {
                let why = refused.map_or_else(String::new, |error| error.to_string());
                return Err(says::none_opened(&why));
            }
        }
        Ok(source)
    }

    /// What was found while the counters were selected and opened.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The counters that are open.
    pub fn opened(&self) -> &[Wanted] {
        &self.wanted
    }

    fn has_memory(&self) -> bool {
        self.wanted.iter().any(|wanted| wanted.is_memory() && wanted.of != Of::Clock)
    }

    /// Opens events, box by box. The last answer of those that cannot be opened since this machine lacks them.
    ///
    /// # Errors
    /// The kernel's answer if this user may not count.
    fn open_all(&mut self, wanted: Vec<Wanted>) -> io::Result<Option<io::Error>> {
        let (mut refused, mut absent) = (None, 0);
        let mut rest = wanted.into_iter().peekable();
        while let Some(first) = rest.next() {
            let same = |next: &Wanted| next.place == first.place && next.event.cpu == first.event.cpu;
            let mut events = vec![first.clone()];
            while let Some(next) = rest.next_if(same) {
                events.push(next);
            }
            match self.open_box(events) {
                Ok(()) => {}
                // Not absence: this user may not count, no descriptor is free, or another program holds the counters.
                Err(error) if !is_absent(&error) => return Err(error),
                Err(error) => {
                    absent += 1;
                    refused = Some(error);
                }
            }
        }
        if absent > 0 {
            self.findings.push(Finding::Absent { boxes: absent });
        }
        Ok(refused)
    }

    /// Opens the events of a box: in one group if the box has as many counters, else in several, which take turns. A
    /// box that does not offer its clock counts without it.
    fn open_box(&mut self, events: Vec<Wanted>) -> io::Result<()> {
        let mut group: Option<GroupId> = None;
        let before = (self.wanted.len(), self.groups.len());
        for wanted in events {
            let opened = match self.backend.open(&wanted.event, group) {
                // The group is full, or the event is of another kind of counter.
                Err(error) if group.is_some() && is_absent(&error) => self.backend.open(&wanted.event, None),
                opened => opened,
            };
            // Bytes are whole without a clock: only their share of the peak is not known.
            if wanted.of == Of::Clock && group.is_some() && opened.as_ref().is_err_and(is_absent) {
                continue;
            }
            let opened = opened.inspect_err(|_| {
                // Half of a box would pass for all of it.
                self.wanted.truncate(before.0);
                self.groups.truncate(before.1);
            })?;
            let member = self.wanted.len();
            match self.groups.iter_mut().find(|own| own.id == opened) {
                Some(own) => own.members.push(member),
                None => self.groups.push(EventGroup { id: opened, members: vec![member] }),
            }
            group = Some(opened);
            self.wanted.push(wanted);
        }
        Ok(())
    }
}

/// Whether the kernel says that there is no such counter.
fn is_absent(error: &io::Error) -> bool {
    error.kind() == ErrorKind::InvalidInput || matches!(error.raw_os_error(), Some(ENODEV | ENXIO))
}

impl CounterSource for PerfSource {
    fn id(&self) -> CounterSourceId {
        CounterSourceId::Perf
    }

    fn sees(&self) -> Vec<CounterSight> {
        sights(self.wanted.iter().map(|wanted| (&wanted.place, wanted.of)))
    }

    fn doubts(&self) -> Vec<(Doubt, Note)> {
        let notes = self.findings.iter().map(Finding::note).chain(self.monitors.clone());
        notes.map(|note| (Doubt::Source, note)).collect()
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        let mut readings = Vec::with_capacity(self.wanted.len());
        let mut lost: Vec<BoxPlace> = Vec::new();
        let at = self.backend.now();
        for group in &self.groups {
            let GroupCounts { enabled_ns, running_ns, counts } = match self.backend.read(group.id) {
                Ok(counts) => counts,
                // Nothing counts for a box whose cpu went offline: its counts are missing from the snapshot.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof || is_absent(&error) => {
                    lost.extend(group.members.iter().map(|id| self.wanted[*id].place.clone()));
                    continue;
                }
                Err(error) => return Err(error),
            };
            for (id, count) in group.members.iter().zip(counts) {
                let Wanted { place, of, each, bits, .. } = self.wanted[*id].clone();
                readings.push(Reading { id: *id, place, of, count, each, bits, least: 0.0, enabled_ns, running_ns });
            }
        }
        Ok(Snapshot { at, readings, lost })
    }
}

/// Whether it opens here, with the boxes that it counts.
fn examine(Place { root, machine, families, system }: Place<'_>) -> CounterSourceInfo {
    let Selection { wanted, findings } = match examine_perf(root, machine, families) {
        Ok(selection) => selection,
        Err(refusal) => return refused(KIND.id, &[], refusal),
    };
    let opened = system.map(|system| PerfSource::open(root, machine, families, system.perf()));
    let opens = opened.as_ref().map(Result::is_ok);
    let (wanted, notes, refused) = match opened {
        Some(Ok(open)) => (open.wanted.clone(), open.notes(), None),
        not_open => {
            let why = || says::not_this_machine("counters of memory controllers (perf)");
            let notes = findings.iter().map(Finding::note).chain(other_monitors(root)).collect();
            (first_choice(wanted), notes, Some(not_open.and_then(Result::err).unwrap_or_else(why)))
        }
    };
    let sees = sights(wanted.iter().map(|event| (&event.place, event.of)));
    CounterSourceInfo { source: KIND.id, opens, sees, boxes: boxes(&wanted), refused, notes }
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

/// What a set of counters sees.
pub(crate) fn sights<'a>(counts: impl Iterator<Item = (&'a BoxPlace, Of)>) -> Vec<CounterSight> {
    let counts: BTreeSet<(BoxKind, Of)> = counts.map(|(place, of)| (place.kind, of)).collect();
    let sees = |of: Of, link: bool| counts.iter().any(|(kind, own)| *own == of && (*kind == BoxKind::Link) == link);
    let channels = counts.iter().any(|(kind, _)| *kind == BoxKind::Channel);
    let sights = [
        (sees(Of::Read, false), CounterSight::Reads),
        (sees(Of::Write, false), CounterSight::Writes),
        (sees(Of::Both, false), CounterSight::Total),
        (channels, CounterSight::Channels),
        (sees(Of::Clock, false), CounterSight::Utilisation),
        (sees(Of::Sent, true), CounterSight::LinkSent),
        (sees(Of::Received, true), CounterSight::LinkReceived),
    ];
    sights.into_iter().filter_map(|(has, sight)| has.then_some(sight)).collect()
}
