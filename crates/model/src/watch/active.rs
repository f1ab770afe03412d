//! What a machine gives now, by short measurements of `watch --active`.

use serde::{Deserialize, Serialize};

use super::WatchKind;
use super::figures::{Figures, Number as _, put};
use crate::idset::{CpuId, IdSet};

/// What the machine gives now. What cannot be measured here is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchActive {
    /// The cpu that runs the measurements of one cpu.
    pub cpu: CpuId,
    /// Clock of its core, cycles a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<WatchBest>,
    /// First-level cache. Its bandwidth falls where the other hardware thread of the core is busy.
    pub l1: WatchCell,
    /// Second-level cache.
    pub l2: WatchCell,
    /// Last-level cache that other cpus, or other guests, share.
    pub l3: WatchShared,
    /// Memory.
    pub dram: WatchCell,
    /// Pairs of cpus that answer each other; empty outside of virtual machines, where cpus stay where they are.
    pub pings: Vec<WatchPing>,
    /// Cpus that answer each other fastest, group by group: those that the hypervisor has put together.
    pub clusters: Vec<IdSet>,
    /// How often the groups changed since the watch began.
    pub moves: u64,
    /// Share of the time that something else had the cpu of the measurements, in the last second or in so much of the
    /// time before that it was watched for 20 ms: exits of a virtual cpu, stolen time, interrupts, other programs.
    #[serde(default)]
    pub interrupted: Option<f64>,
    /// Measurements made for this sample.
    pub visits: u64,
    /// Most cpu time that the whole program may use, as a share of one cpu.
    pub budget: f64,
    /// Cpu time of the measurements since the sample before, as a share of one cpu.
    pub cost_share: Option<f64>,
    /// Seconds between samples that would leave half of the budget to the measurements; `None` where enough of it is
    /// left.
    #[serde(default)]
    pub interval_needed_seconds: Option<f64>,
    /// Figures of latency and bandwidth whose capability is not known yet.
    #[serde(default)]
    pub without_capability: Vec<String>,
    /// Figures of latency and bandwidth that no saved run of this machine has measured.
    #[serde(default)]
    pub without_record: Vec<String>,
    /// Memory that the measurements hold.
    pub memory_bytes: u64,
}

/// A figure now, and the best of it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchBest {
    /// The newest value: the median of the undisturbed windows of a visit.
    pub now: Option<f64>,
    /// How old that is, seconds.
    pub age_seconds: Option<f64>,
    /// The median of the newest five visits; `None` before there are so many.
    #[serde(default)]
    pub recent: Option<f64>,
    /// What the machine has shown in this watch that it can do: the edge of all windows. `None` before there are
    /// enough.
    pub capability: Option<f64>,
    /// The best visit so far; `None` before the second one, and once the capability is known.
    #[serde(default)]
    pub so_far: Option<f64>,
    /// The machine's record, from saved runs; `None` without one of the same measurement.
    pub record: Option<f64>,
}

/// A part of the memory hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchCell {
    /// Time of an access that waits for the one before, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<WatchBest>,
    /// Memory that the accesses go through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_bytes: Option<u64>,
    /// Bytes a second that one thread reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<WatchBest>,
    /// Memory that it reads again and again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_bytes: Option<u64>,
}

/// A cache that is shared with others.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchShared {
    /// Time of an access that waits for the one before, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency: Option<WatchBest>,
    /// Memory that the accesses go through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_bytes: Option<u64>,
    /// Share of lines, read at the visit before, that it still holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<WatchBest>,
    /// Seconds after which it has lost half of the lines that were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lasts: Option<WatchBest>,
    /// The range of which it is seen what is still held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_bytes: Option<u64>,
}

/// A pair of cpus.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WatchPing {
    /// Both cpus: `0-1`.
    pub pair: String,
    /// Time of a round trip between them, ns.
    pub now: Option<f64>,
    /// How old that is, seconds.
    pub age_seconds: Option<f64>,
    /// The edge of all round trips of this watch; `None` before there are enough.
    pub capability: Option<f64>,
}

impl WatchBest {
    /// The best that is known of this watch; `None` before the first visit.
    pub fn reached(&self) -> Option<f64> {
        self.capability.or(self.so_far).or(self.now)
    }

    /// The same of what is measured no more.
    #[must_use]
    pub fn not_now(self) -> Self {
        Self { now: None, age_seconds: None, recent: None, ..self }
    }
}

impl WatchActive {
    /// Adds its numbers.
    pub(super) fn put(&self, figures: &mut Figures) {
        put!(figures, self; budget: Share);
        best(figures, "clock", WatchKind::Hertz, self.clock);
        put!(figures, self; cost_share: Share, cpu: Count);
        figures.below("dram", |figures| self.dram.put(figures));
        put!(figures, self; interrupted: Share, interval_needed_seconds: Seconds);
        figures.below("l1", |figures| self.l1.put(figures));
        figures.below("l2", |figures| self.l2.put(figures));
        figures.below("l3", |figures| {
            best(figures, "kept", WatchKind::Share, self.l3.kept);
            bytes(figures, "kept_bytes", self.l3.kept_bytes);
            best(figures, "lasts", WatchKind::Seconds, self.l3.lasts);
            best(figures, "latency", WatchKind::Nanoseconds, self.l3.latency);
            bytes(figures, "latency_bytes", self.l3.latency_bytes);
        });
        put!(figures, self; memory_bytes: Bytes, moves: Count);
        for ping in &self.pings {
            figures.item("pings", ("pair", &ping.pair), |figures| {
                put!(figures, ping; age_seconds: Seconds, capability: Nanoseconds, now: Nanoseconds);
            });
        }
        put!(figures, self; visits: Count);
    }
}

impl WatchCell {
    fn put(&self, figures: &mut Figures) {
        best(figures, "bandwidth", WatchKind::BytesPerSecond, self.bandwidth);
        bytes(figures, "bandwidth_bytes", self.bandwidth_bytes);
        best(figures, "latency", WatchKind::Nanoseconds, self.latency);
        bytes(figures, "latency_bytes", self.latency_bytes);
    }
}

/// Adds a figure that is measured here.
fn best(figures: &mut Figures, field: &'static str, kind: WatchKind, best: Option<WatchBest>) {
    let Some(best) = best else { return };
    figures.below(field, |figures| {
        put!(figures, best; age_seconds: Seconds);
        let own = [("capability", best.capability), ("now", best.now), ("recent", best.recent)];
        let more = [("record", best.record), ("so_far", best.so_far)];
        own.into_iter().chain(more).for_each(|(field, value)| figures.put(field, kind, value));
    });
}

/// Adds a size that is known.
fn bytes(figures: &mut Figures, field: &'static str, bytes: Option<u64>) {
    if bytes.is_some() {
        figures.put(field, WatchKind::Bytes, bytes.number());
    }
}
