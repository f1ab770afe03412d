//! Lines that cores missed in the last-level cache, where nothing counts the traffic of the memory itself.

use std::io::{self, ErrorKind};

use tiermark_machine::{Root, perf_event_paranoid};
use tiermark_model::messages::counters as says;
use tiermark_model::{BoxKind, BoxPlace, CounterSight, CounterSourceId, Machine, Note, Refusal};

use crate::backend::{Backend, GroupCounts, GroupId, OPEN_FLAGS, PerfEvent, READ_FORMAT};
use crate::family::Of;
use crate::snapshot::{Reading, Snapshot};
use crate::source::{CounterSource, Doubt, Opened, Place, Reads, SourceKind, System, SystemCounters, Tried, tried};

/// `PERF_TYPE_HW_CACHE`: the kernel turns its events into those of the core.
const HW_CACHE: u32 = 3;
/// `PERF_COUNT_HW_CACHE_LL`, `_OP_READ`, `_RESULT_MISS`. On Intel: demand loads that missed L3. On Arm:
/// `LL_CACHE_MISS_RD` (0x37), which counts misses of the system's cache only if the firmware set `CPUECTLR.EXTLLC`.
/// EPYC has no such event.
const LOADS: u64 = 0x2 | 0x1 << 16;
/// The same of `_OP_WRITE`: stores that read their line from memory. Arm has no such event.
const STORES: u64 = 0x2 | 0x1 << 8 | 0x1 << 16;
/// Bytes of a line: of all processors with these events.
const LINE: f64 = 64.0;

/// What it sees.
const SEES: [CounterSight; 2] = [CounterSight::Reads, CounterSight::LowerBound];

/// Beside shots it is tried only if counters are required, because it is only a lower bound.
pub(super) static KIND: SourceKind = SourceKind {
    id: CounterSourceId::Core,
    reads: Reads::System(SystemCounters {
        shots: Tried::IfRequired,
        samples: Tried::Always,
        open,
        examine: |place| {
            let opened = place.system.map(|system| open(place, system));
            tried(opened, CounterSourceId::Core, &SEES, "misses of cores in the last-level cache (core)")
        },
    }),
};

fn open(place: Place<'_>, system: &dyn System) -> Opened {
    Ok(Box::new(Cores::open(place.root, place.machine, system.perf())?))
}

/// Misses of all cpus. Those of a node are added: the cores do not say whose memory they read.
pub struct Cores {
    backend: Box<dyn Backend>,
    counters: Vec<(GroupId, BoxPlace)>,
    stores: bool,
}

impl Cores {
    /// Opens the events on each cpu.
    ///
    /// # Errors
    /// A [`Refusal`] if a cpu does not count loads, or this user may not count.
    pub fn open(root: &Root, machine: &Machine, mut backend: Box<dyn Backend>) -> Result<Self, Refusal> {
        let mut counters = Vec::new();
        let mut stores = true;
        for cpu in &machine.cpus {
            // The node is that of the core, not of the memory that it reads.
            let place =
                BoxPlace { socket: Some(cpu.socket), node: None, kind: BoxKind::Cache, unit: "cores".to_owned() };
            let event = |config| PerfEvent {
                kind: HW_CACHE,
                words: [config, 0, 0, 0],
                cpu: cpu.id,
                read_format: READ_FORMAT,
                flags: OPEN_FLAGS,
            };
            let group = backend.open(&event(LOADS), None).map_err(|error| refusal(root, &error))?;
            // A part of a lower bound is one too: without stores the loads count.
            stores &= backend.open(&event(STORES), Some(group)).is_ok();
            counters.push((group, place));
        }
        if counters.is_empty() {
            return Err(says::no_core_misses("no cpu is online"));
        }
        Ok(Self { backend, counters, stores })
    }
}

fn refusal(root: &Root, error: &io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::PermissionDenied => says::cores_denied(perf_event_paranoid(root), &error.to_string()),
        _ => says::no_core_misses(&error.to_string()),
    }
}

impl CounterSource for Cores {
    fn id(&self) -> CounterSourceId {
        CounterSourceId::Core
    }

    fn sees(&self) -> Vec<CounterSight> {
        SEES.to_vec()
    }

    fn doubts(&self) -> Vec<(Doubt, Note)> {
        vec![(Doubt::Source, says::only_core_misses(self.stores))]
    }

    fn read(&mut self) -> io::Result<Snapshot> {
        let at = self.backend.now();
        let mut readings = Vec::with_capacity(2 * self.counters.len());
        let mut lost = Vec::new();
        for (index, (group, place)) in self.counters.iter().enumerate() {
            let GroupCounts { enabled_ns, running_ns, counts } = match self.backend.read(*group) {
                Ok(counts) => counts,
                // The cpu went offline: its counts are missing from the snapshot.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    lost.push(place.clone());
                    continue;
                }
                Err(error) => return Err(error),
            };
            for (which, count) in counts.into_iter().take(2).enumerate() {
                let reading = Reading::of(2 * index + which, place.clone(), Of::Read, count);
                readings.push(Reading { each: LINE, enabled_ns, running_ns, ..reading });
            }
        }
        Ok(Snapshot { at, readings, lost })
    }
}
