//! Counters of the system's health: errors that memory controllers report (EDAC), pages that the kernel took out of use
//! because of errors, and throttling of cpus for heat.
//!
//! Pages: `mm/memory-failure.c` of the kernel; EDAC: `Documentation/admin-guide/RAS/main.rst`; throttling: `arch/x86/kernel/cpu/mce/therm_throt.c`
//! there.

use std::collections::BTreeMap;

use tiermark_model::{
    CpuId, HealthCount, IdSet, Machine, MemoryErrors, NodeId, PoisonedMemory, PoisonedNode, RunHealth, Throttling,
};

use crate::Root;
use crate::files::kilobytes;
use crate::nodes::NODE_DIR;

/// Where the kernel shows memory controllers.
pub(crate) const EDAC_DIR: &str = "sys/devices/system/edac/mc";
/// Memory controllers, and slots of one, at most: large servers have some tens of either.
pub(crate) const MOST_CONTROLLERS: usize = 256;
pub(crate) const MOST_SLOTS: usize = 64;
/// Nodes at most, as `MAX_NUMNODES` of the largest configuration.
const MOST_NODES: usize = 1024;
/// Letters of a label that are kept; the kernel's have at most 31.
const MOST_LETTERS: usize = 64;

/// The counters at one moment. Counters that cannot be read are treated as absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HealthCounts {
    controllers: Vec<Errors>,
    poisoned: Poisoned,
    cpus: BTreeMap<CpuId, Throttled>,
    /// Seconds since the system started.
    up: Option<u64>,
}

/// Counters of a memory controller or of a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Errors {
    place: String,
    label: Option<String>,
    corrected: Option<u64>,
    uncorrected: Option<u64>,
    parts: Vec<Errors>,
}

/// Memory that was taken out of use: bytes of all, and pages of each node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Poisoned {
    bytes: Option<u64>,
    nodes: BTreeMap<NodeId, u64>,
}

/// Counters of a cpu.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Throttled {
    core: Option<u64>,
    core_ms: Option<u64>,
    package: Option<u64>,
    package_ms: Option<u64>,
}

impl HealthCounts {
    /// Reads the counters of a machine.
    pub fn read(root: &Root, machine: &Machine) -> Self {
        let mcs = root.numbered(EDAC_DIR, "mc").unwrap_or_default().into_iter().take(MOST_CONTROLLERS);
        let controllers = mcs.filter_map(|mc| controller(root, mc)).collect();
        let cpus = machine.cpus.iter().filter_map(|cpu| Some((cpu.id, throttled(root, cpu.id)?))).collect();
        // In a container it may be the time of that, and the counters are those of the machine.
        let up = if machine.system.container.is_none() { up_seconds(root) } else { None };
        Self { controllers, poisoned: poisoned(root), cpus, up }
    }

    /// The counters of a run: these are the values before it, `after` those after it (`None` while the run goes on).
    /// `None` if the system has no counters.
    ///
    /// Cpus that were offline before or after the run are left out: their counters say nothing about the run.
    pub fn run(&self, after: Option<&Self>, machine: &Machine) -> Option<RunHealth> {
        let memory: Vec<MemoryErrors> =
            self.controllers.iter().map(|errors| pair(errors, after.map(|after| &after.controllers[..]))).collect();
        let throttling = self.throttling(after, machine);
        let found = RunHealth {
            memory: (!memory.is_empty()).then_some(memory),
            poisoned: self.poisoned.pair(after.map(|after| &after.poisoned)),
            throttling: (!throttling.is_empty()).then_some(throttling),
            quota: None,
            up_seconds: None,
        };
        // How long it has been up is no counter.
        (found != RunHealth::default()).then_some(RunHealth { up_seconds: self.up, ..found })
    }

    fn throttling(&self, after: Option<&Self>, machine: &Machine) -> Vec<Throttling> {
        let mut packages: BTreeMap<u32, Vec<CpuCounters>> = BTreeMap::new();
        for cpu in &machine.cpus {
            let Some(before) = self.cpus.get(&cpu.id) else { continue };
            let after = match after {
                None => None,
                Some(after) => match after.cpus.get(&cpu.id) {
                    Some(now) => Some(*now),
                    None => continue,
                },
            };
            let pair = CpuCounters { cpu: cpu.id, core: cpu.core, before: *before, after };
            packages.entry(cpu.socket).or_default().push(pair);
        }
        packages.into_iter().map(|(package, pairs)| of_package(package, &pairs)).collect()
    }
}

impl Poisoned {
    /// The counters of both ends; `None` where all of them are 0.
    fn pair(&self, after: Option<&Self>) -> Option<PoisonedMemory> {
        let bytes = self.bytes.map(|bytes| HealthCount::new(bytes, after.and_then(|after| after.bytes)));
        let pages = |node: &NodeId| after.and_then(|after| after.nodes.get(node).copied());
        let nodes = self.nodes.iter();
        let nodes =
            nodes.map(|(node, count)| PoisonedNode { node: *node, pages: HealthCount::new(*count, pages(node)) });
        let nodes: Vec<PoisonedNode> = nodes.collect();
        let some = nodes.iter().map(|node| node.pages).chain(bytes).any(|count| count.last() > 0);
        some.then_some(PoisonedMemory { bytes, nodes })
    }
}

/// The counters of a cpu at both ends.
struct CpuCounters {
    cpu: CpuId,
    core: u32,
    before: Throttled,
    after: Option<Throttled>,
}

impl CpuCounters {
    fn count(&self, field: fn(&Throttled) -> Option<u64>) -> Option<HealthCount> {
        Some(HealthCount::new(field(&self.before)?, self.after.as_ref().and_then(field)))
    }
}

/// Seconds since the system started.
fn up_seconds(root: &Root) -> Option<u64> {
    root.word("proc/uptime")?.split('.').next()?.parse().ok()
}

/// The counters of a package. All threads of a core count the events of the core, and all cpus those of the package, so
/// that the one that counted most stands for the others.
fn of_package(package: u32, pairs: &[CpuCounters]) -> Throttling {
    let cores = |field: fn(&Throttled) -> Option<u64>| {
        let mut all: BTreeMap<u32, HealthCount> = BTreeMap::new();
        for (core, count) in pairs.iter().filter_map(|pair| Some((pair.core, pair.count(field)?))) {
            let most = all.get(&core).copied().map_or(count, |other| larger(other, count));
            all.insert(core, most);
        }
        all.into_values().reduce(added)
    };
    let whole = |field: fn(&Throttled) -> Option<u64>| pairs.iter().filter_map(|pair| pair.count(field)).reduce(larger);
    let grew =
        |pair: &&CpuCounters| pair.count(|cpu| cpu.core).and_then(|count| count.grew).is_some_and(|grew| grew > 0);
    Throttling {
        package,
        cores: cores(|cpu| cpu.core),
        cores_ms: cores(|cpu| cpu.core_ms),
        whole: whole(|cpu| cpu.package),
        whole_ms: whole(|cpu| cpu.package_ms),
        cpus: pairs.iter().filter(grew).map(|pair| pair.cpu).collect::<IdSet>(),
    }
}

fn larger(one: HealthCount, other: HealthCount) -> HealthCount {
    if (other.grew, other.before) > (one.grew, one.before) { other } else { one }
}

fn added(one: HealthCount, other: HealthCount) -> HealthCount {
    let both = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b)).or(a).or(b);
    HealthCount {
        before: one.before.saturating_add(other.before),
        after: both(one.after, other.after),
        grew: both(one.grew, other.grew),
    }
}

/// A controller and its parts with the counters of both ends.
fn pair(before: &Errors, after: Option<&[Errors]>) -> MemoryErrors {
    let now = after.and_then(|after| after.iter().find(|errors| errors.place == before.place));
    let count = |field: fn(&Errors) -> Option<u64>| Some(HealthCount::new(field(before)?, now.and_then(field)));
    let parts = before.parts.iter().map(|part| pair(part, now.map(|now| &now.parts[..])));
    MemoryErrors {
        place: before.place.clone(),
        label: before.label.clone(),
        corrected: count(|errors| errors.corrected),
        uncorrected: count(|errors| errors.uncorrected),
        parts: parts.collect(),
    }
}

/// A controller; `None` if nothing of it counts.
fn controller(root: &Root, number: u32) -> Option<Errors> {
    let place = format!("mc{number}");
    // Present kernels have one of the first two; kernels before 3.6 had the third only, and some still show it.
    let kinds = [("dimm", "dimm_"), ("rank", "dimm_"), ("csrow", "")];
    let parts = |(kind, prefix): (&str, &str)| -> Vec<Errors> {
        let all = root.numbered(&format!("{EDAC_DIR}/{place}"), kind).unwrap_or_default().into_iter().take(MOST_SLOTS);
        all.filter_map(|part| errors(root, format!("{place}/{kind}{part}"), prefix)).collect()
    };
    let parts = kinds.into_iter().map(parts).find(|parts| !parts.is_empty()).unwrap_or_default();
    let own = errors(root, place.clone(), "");
    let own = own.or_else(|| (!parts.is_empty()).then(|| Errors { place, ..Errors::default() }))?;
    Some(Errors { parts, ..own })
}

/// The counters in a directory; `None` if there are none.
fn errors(root: &Root, place: String, prefix: &str) -> Option<Errors> {
    let at = |name: &str| format!("{EDAC_DIR}/{place}/{name}");
    let count = |kind: &str| root.value::<u64>(&at(&format!("{prefix}{kind}_count")));
    let (corrected, uncorrected) = (count("ce"), count("ue"));
    if corrected.is_none() && uncorrected.is_none() {
        return None;
    }
    let label = ["dimm_label", "mc_name", "ch0_dimm_label"].iter().find_map(|name| root.word(&at(name)));
    let label = label.map(|label| label.chars().take(MOST_LETTERS).collect());
    Some(Errors { place, label, corrected, uncorrected, parts: Vec::new() })
}

fn poisoned(root: &Root) -> Poisoned {
    let bytes = root.text("proc/meminfo").and_then(|text| kilobytes(&text, "HardwareCorrupted").ok().flatten());
    let ids = root.numbered(NODE_DIR, "node").unwrap_or_default().into_iter().take(MOST_NODES);
    let pages = |node| Some((node, root.value(&format!("{NODE_DIR}/node{node}/memory_failure/total"))?));
    Poisoned { bytes, nodes: ids.filter_map(pages).collect() }
}

/// The throttle counters of a cpu; `None` if the kernel has none for it.
fn throttled(root: &Root, cpu: CpuId) -> Option<Throttled> {
    let count = |name: &str| root.value::<u64>(&format!("sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{name}"));
    let found = Throttled {
        core: count("core_throttle_count"),
        core_ms: count("core_throttle_total_time_ms"),
        package: count("package_throttle_count"),
        package_ms: count("package_throttle_total_time_ms"),
    };
    (found != Throttled::default()).then_some(found)
}

#[cfg(test)]
mod tests;
