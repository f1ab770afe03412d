//! Errors of memory and throttling of cpus, as the system counts them: before a run, after it, and what grew.

use serde::{Deserialize, Serialize};

use crate::NodeId;
use crate::idset::IdSet;

/// The counters of the system's health at both ends of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunHealth {
    /// The memory controllers whose errors the kernel counts (EDAC); `None` if the system reports none.
    #[serde(default)]
    pub memory: Option<Vec<MemoryErrors>>,
    /// Memory that the kernel took out of use because of errors; `None` if there is none, or the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poisoned: Option<PoisonedMemory>,
    /// How often processors were throttled for heat; `None` if the system does not report it.
    #[serde(default)]
    pub throttling: Option<Vec<Throttling>>,
    /// How often the cpu quota of a control group stopped the program; `None` without a quota, or where the system
    /// does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaStops>,
    /// Seconds since the system started, before the run: the counters cover at most this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_seconds: Option<u64>,
}

/// How often and for how long a cpu quota stopped the processes of a control group.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuotaStops {
    /// The file that sets the quota.
    pub file: String,
    /// Periods in which it stopped them.
    pub times: HealthCount,
    /// Time for which they were stopped, added up over cpus, µs; `None` if the system does not count it.
    #[serde(default)]
    pub us: Option<HealthCount>,
    /// Time between the two readings, µs; `None` while the run goes on, or if it was killed.
    #[serde(default)]
    pub of_us: Option<u64>,
}

impl QuotaStops {
    /// Share of the time of one cpu for which it stopped them, at most 1; `None` if that is not known.
    pub fn share(&self) -> Option<f64> {
        let (stopped, all) = (self.us?.grew?, self.of_us.filter(|all| *all > 0)?);
        Some((stopped as f64 / all as f64).min(1.0))
    }
}

/// Errors that a memory controller, or a part of one, has counted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryErrors {
    /// Its name below `/sys/devices/system/edac/mc`: `mc0`, `mc0/dimm3`, `mc0/csrow1`.
    pub place: String,
    /// The name of the controller's driver, or of the slot on the board; `None` if the system does not say.
    pub label: Option<String>,
    /// Errors that were corrected.
    pub corrected: Option<HealthCount>,
    /// Errors that could not be corrected: data were lost.
    pub uncorrected: Option<HealthCount>,
    /// Its modules, ranks or rows, where the system counts their errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<MemoryErrors>,
}

/// Memory that the kernel took out of use because of errors (hardware-poisoned pages), since boot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PoisonedMemory {
    /// Bytes of all such pages (`HardwareCorrupted`), with pages whose errors were all corrected; `None` if the system
    /// does not report it.
    #[serde(default)]
    pub bytes: Option<HealthCount>,
    /// Pages of each node whose errors could not be corrected (`memory_failure/total`); empty for kernels before 6.3,
    /// which do not count them by node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<PoisonedNode>,
}

/// Pages of a node whose errors could not be corrected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PoisonedNode {
    /// The node, as the kernel numbers it.
    pub node: NodeId,
    /// Its pages.
    pub pages: HealthCount,
}

impl PoisonedMemory {
    /// Pages whose errors could not be corrected, and the nodes that have them; `None` where the kernel does not count
    /// them, or the number is not known.
    pub fn pages(&self, number: fn(&HealthCount) -> Option<u64>) -> Option<(u64, IdSet)> {
        let counts: Vec<(NodeId, u64)> =
            self.nodes.iter().filter_map(|node| Some((node.node, number(&node.pages)?))).collect();
        let some = counts.iter().filter(|(_, pages)| *pages > 0).map(|(node, _)| *node).collect();
        (!counts.is_empty()).then(|| (counts.iter().fold(0u64, |sum, (_, pages)| sum.saturating_add(*pages)), some))
    }
}

/// How often the cpus of a package (socket) were throttled for heat.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throttling {
    /// The package, as the kernel numbers it.
    pub package: u32,
    /// Events of single cores, added up.
    pub cores: Option<HealthCount>,
    /// Time for which cores were throttled, added up, ms.
    pub cores_ms: Option<HealthCount>,
    /// Events of the whole package.
    pub whole: Option<HealthCount>,
    /// Time for which the whole package was throttled, ms.
    pub whole_ms: Option<HealthCount>,
    /// Cpus whose own count grew.
    pub cpus: IdSet,
}

/// A counter at both ends of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HealthCount {
    /// Its value before the run.
    pub before: u64,
    /// Its value after the run; `None` if it could no longer be read, or if the run was killed.
    pub after: Option<u64>,
    /// The least number by which it grew; `None` without a value after the run.
    pub grew: Option<u64>,
}

impl HealthCount {
    /// All counts together, as far as each is known at the end; `None` of no count.
    fn sum(counts: impl Iterator<Item = Self>) -> Option<Self> {
        let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        counts.reduce(|a, b| Self {
            before: a.before.saturating_add(b.before),
            after: add(a.after, b.after),
            grew: add(a.grew, b.grew),
        })
    }

    /// The counter with these values. A counter that went down was reset, or its 32 bits wrapped; it then grew by at
    /// least the new value.
    pub fn new(before: u64, after: Option<u64>) -> Self {
        Self { before, after, grew: after.map(|after| after.checked_sub(before).unwrap_or(after)) }
    }

    /// Its last known value.
    pub fn last(&self) -> u64 {
        self.after.unwrap_or(self.before)
    }
}

/// A kind of memory error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The controller restored the data.
    Corrected,
    /// The data were lost.
    Uncorrected,
}

impl MemoryErrors {
    /// Its counter of one kind.
    pub fn count(&self, kind: ErrorKind) -> Option<HealthCount> {
        let own = match kind {
            ErrorKind::Corrected => self.corrected,
            ErrorKind::Uncorrected => self.uncorrected,
        };
        let parts: Vec<Option<HealthCount>> = self.parts.iter().map(|part| part.count(kind)).collect();
        let is_whole = parts.iter().all(Option::is_some);
        own.or_else(|| HealthCount::sum(parts.into_iter().flatten()).filter(|sum| sum.last() > 0 || is_whole))
    }

    /// The parts for which a number is not 0: `mc0/dimm3 (CPU_SrcID#0_MC#0_Chan#0_DIMM#0)`; and the controller itself
    /// if it has a larger number than its parts together, for the driver did not know the module of each error.
    pub fn named(&self, number: impl Fn(&Self) -> Option<u64>) -> Vec<String> {
        let has = |errors: &&Self| number(errors).is_some_and(|n| n > 0);
        let of_parts = self.parts.iter().filter_map(&number).fold(0, u64::saturating_add);
        let whole = Some(self).filter(|errors| number(errors).is_some_and(|n| n > of_parts));
        self.parts.iter().filter(has).chain(whole).map(Self::name).collect()
    }

    /// Its place, with its label where it has one.
    pub fn name(&self) -> String {
        match &self.label {
            Some(label) => format!("{} ({label})", self.place),
            None => self.place.clone(),
        }
    }
}

impl RunHealth {
    /// By how much the errors of one kind grew, over all controllers; `None` if no controller reports it.
    pub fn errors_grown(&self, kind: ErrorKind) -> Option<u64> {
        sum(self.memory.iter().flatten().map(|errors| errors.count(kind).and_then(|count| count.grew)))
    }

    /// Errors of one kind since the counters began, at the end of the run; `None` if no controller reports them.
    pub fn errors_counted(&self, kind: ErrorKind) -> Option<u64> {
        sum(self.memory.iter().flatten().map(|errors| errors.count(kind).map(|count| count.last())))
    }

    /// The modules or controllers whose errors of one kind grew.
    pub fn growing(&self, kind: ErrorKind) -> Vec<String> {
        let grew = |errors: &MemoryErrors| errors.count(kind)?.grew;
        self.memory.iter().flatten().flat_map(|errors| errors.named(grew)).collect()
    }

    /// The modules or controllers that ever counted errors of one kind.
    pub fn counting(&self, kind: ErrorKind) -> Vec<String> {
        let counted = |errors: &MemoryErrors| errors.count(kind).map(|count| count.last());
        self.memory.iter().flatten().flat_map(|errors| errors.named(counted)).collect()
    }

    /// The number of a counter of throttling, over all packages; `None` if no package reports it.
    pub fn throttled(
        &self,
        counter: fn(&Throttling) -> Option<HealthCount>,
        number: fn(&HealthCount) -> Option<u64>,
    ) -> Option<u64> {
        sum(self.throttling.iter().flatten().map(|package| counter(package).as_ref().and_then(number)))
    }

    /// Cpus whose own count of throttling grew.
    pub fn throttled_cpus(&self) -> IdSet {
        self.throttling.iter().flatten().fold(IdSet::new(), |all, package| all.union(&package.cpus))
    }
}

/// The sum of the known numbers; `None` if no number is known, or if their sum is 0 and a number is unknown.
fn sum(counts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let counts: Vec<Option<u64>> = counts.collect();
    let is_whole = counts.iter().all(Option::is_some);
    counts.into_iter().flatten().reduce(u64::saturating_add).filter(|sum| *sum > 0 || is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_goes_down_was_reset_during_the_run() {
        let grew = |before, after| HealthCount::new(before, after).grew;
        assert_eq!(grew(3, Some(5)), Some(2));
        assert_eq!(grew(3, Some(3)), Some(0));
        assert_eq!((grew(7, Some(2)), grew(u64::from(u32::MAX), Some(4))), (Some(2), Some(4)));
        assert_eq!((grew(3, None), HealthCount::new(3, None).last()), (None, 3));
    }

    #[test]
    fn errors_are_named_by_the_smallest_part() {
        let errors = |place: &str, after: u64| MemoryErrors {
            place: place.to_owned(),
            label: Some(format!("slot of {place}")),
            corrected: Some(HealthCount::new(1, Some(after))),
            ..MemoryErrors::default()
        };
        let parts = vec![errors("mc0/dimm0", 1), errors("mc0/dimm1", 4)];
        let health = RunHealth {
            memory: Some(vec![MemoryErrors { parts, ..errors("mc0", 4) }, errors("mc1", 2), errors("mc2", 1)]),
            ..RunHealth::default()
        };
        let named = ["mc0/dimm1 (slot of mc0/dimm1)", "mc1 (slot of mc1)"];
        assert_eq!(health.growing(ErrorKind::Corrected), named);
        assert_eq!(health.errors_grown(ErrorKind::Corrected), Some(4));
        assert_eq!(health.errors_counted(ErrorKind::Corrected), Some(7));
        assert_eq!(
            (health.errors_grown(ErrorKind::Uncorrected), health.growing(ErrorKind::Uncorrected)),
            (None, vec![])
        );
        assert_eq!(health.throttled(|package| package.cores, |count| count.grew), None);
    }

    #[test]
    fn errors_of_no_known_module_are_the_controllers() {
        let errors = |place: &str, count: Option<u64>| MemoryErrors {
            place: place.to_owned(),
            corrected: count.map(|count| HealthCount::new(count, None)),
            ..MemoryErrors::default()
        };
        let of = |own: Option<u64>, part: Option<u64>| {
            let parts = vec![errors("mc0/dimm0", part), errors("mc0/dimm1", Some(0))];
            let health = RunHealth {
                memory: Some(vec![MemoryErrors { parts, ..errors("mc0", own) }, errors("mc1", Some(0))]),
                ..RunHealth::default()
            };
            (health.errors_counted(ErrorKind::Corrected), health.counting(ErrorKind::Corrected).join(" "))
        };
        assert_eq!(of(Some(5000), Some(1)), (Some(5000), "mc0/dimm0 mc0".to_owned()));
        assert_eq!(of(Some(7), Some(7)), (Some(7), "mc0/dimm0".to_owned()));
        assert_eq!(of(None, Some(7)), (Some(7), "mc0/dimm0".to_owned()));
        assert_eq!(of(None, None), (None, String::new()), "a counter that is not read is not 0");
    }
}
