//! Which cpus share a cache level, by measurement: whether another cpu's memory evicts the chaser's.

use std::collections::BTreeMap;

use tiermark_model::messages::shapes;
use tiermark_model::{
    Bytes, ChainLayout, CpuId, Finding, KIB, KernelInfo, LabelSet, Labels, Layout, Machine, Metric, Note, Observation,
    Purpose, Quantity, Reason, Role, Step, Unit,
};

use super::solver_input::GeometryCurves;
use crate::chasing::{join, resting_on, shape};
use crate::ladder::with_purpose;
use crate::mix::plain_kernel;
use crate::steps::setup;
use crate::task::Task;

/// Memory of a neighbour that is to evict nothing: a page.
const LITTLE: u64 = 4 * KIB;
/// Shared from here on: three quarters of a level beside as much as it holds leave the chaser some 60 % of its lines
/// even where replacement is random, and each line lost costs at least three times as much.
const SHARED: f64 = 1.25;
/// Beside a small neighbour the chase still fits its level, if it takes no more than this times the level's own time;
/// else others (of other guests, or of this machine) evict it too, and a comparison says nothing.
const FITTED: f64 = 1.5;
/// Apart up to here: beyond what a busy neighbour costs through clocks and buses.
const APART: f64 = 1.1;

/// A chase that fits, beside a neighbour that fills the level, and beside one that does not: for each level and
/// relation.
pub(super) fn steps(task: &Task, cpu: CpuId, seen: &GeometryCurves<'_>) -> Vec<Step> {
    let (node, page, seed) = (task.node(), task.page(), task.request.seed);
    let Some(KernelInfo { id: kernel, .. }) = plain_kernel(&task.lab.bench, "read") else { return Vec::new() };
    let mut steps = Vec::new();
    for (relation, other) in relations(task, cpu) {
        for (tier, level) in &seen.levels {
            let subject = level.size.low / 4 * 3 / KIB * KIB;
            for (beside, bytes) in [("full", level.size.value / KIB * KIB), ("little", LITTLE)] {
                let labels = Labels::new()
                    .with_purpose(Purpose::Shared)
                    .with_tier(*tier)
                    .with_relation(&relation)
                    .with_beside(beside)
                    .with_cpus(format!("{cpu},{other}"))
                    .with_size(subject);
                let chase = Role::Chase { chains: 1 };
                let layout = Layout::Chain(ChainLayout::Random);
                let mut both = setup(&[cpu], Bytes(subject), node, page, layout, &chase, seed);
                let load = Role::Load { kernels: vec![kernel.clone()], pause_ns: 0 };
                let neighbour = setup(&[other], Bytes(bytes), node, page, Layout::Data, &load, seed);
                join(&mut both, neighbour);
                let id = format!("geometry/shared/{relation}/{tier}/{beside}");
                let stop = shape(task);
                steps.push(Step { id, labels, phase: 0, metric: Metric::Latency, setup: both, stop });
            }
        }
    }
    steps
}

/// One cpu of each relation to the chaser's, nearest first.
fn relations(task: &Task, cpu: CpuId) -> Vec<(String, CpuId)> {
    let mut found: BTreeMap<(u8, String), CpuId> = BTreeMap::new();
    for other in task.cpus.iter().filter(|other| *other != cpu) {
        if let Some(relation) = relation(task.machine(), cpu, other) {
            found.entry(relation).or_insert(other);
        }
    }
    found.into_iter().map(|((_, name), cpu)| (name, cpu)).collect()
}

/// How near two cpus are, as declared: a rank and a name.
fn relation(machine: &Machine, cpu: CpuId, other: CpuId) -> Option<(u8, String)> {
    let (a, b) = (machine.cpu(cpu)?, machine.cpu(other)?);
    if a.core == b.core {
        return Some((0, "sibling".to_owned()));
    }
    let level = machine.data_caches().filter(|c| c.cpus.contains(cpu) && c.cpus.contains(other)).map(|c| c.level).min();
    Some(match level {
        Some(level) => (level, format!("same L{level}")),
        None if a.socket == b.socket => (u8::MAX - 1, "same socket".to_owned()),
        None => (u8::MAX, "other socket".to_owned()),
    })
}

/// Cost of a full neighbour over a small one, for each level and relation, and whether it agrees with the system.
pub(super) fn findings(observations: &[Observation], machine: &Machine, seen: &GeometryCurves<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let full = with_purpose(observations, Purpose::Shared).filter(|o| o.labels.beside() == Some("full"));
    for beside in full {
        let same = |o: &&Observation| {
            o.labels.are_alike(&beside.labels, |of| (of.tier_name(), of.relation()))
                && o.labels.beside() == Some("little")
        };
        let Some(alone) = with_purpose(observations, Purpose::Shared).find(same) else { continue };
        let cost = beside.value.zip(alone.value).map(|(full, little)| full / little);
        let declared = declared(beside, machine);
        let mut labels = beside.labels.clone().without(LabelSet::NONE.beside().purpose());
        if let Some(declared) = declared {
            labels = labels.with_declared(if declared { "shared" } else { "private" });
        }
        let mut found =
            resting_on(&[beside, alone], Quantity::GeometryShared, labels, cost.map(|c| c - 1.0), Unit::Ratio);
        let level = seen.levels.iter().find(|(tier, _)| beside.labels.tier() == Some(*tier)).map(|(_, level)| level.ns);
        let fitted = level.zip(alone.value).is_none_or(|(level, ns)| ns <= FITTED * level);
        found.notes.extend(cost.map(|cost| note(cost, declared, fitted, alone.value.zip(beside.value))));
        if !fitted {
            found.verdict.suspect(Reason::Evicted);
        }
        findings.push(found);
    }
    findings
}

/// Conclusion on sharing from the cost.
fn note(cost: f64, declared: Option<bool>, fitted: bool, ns: Option<(f64, f64)>) -> Note {
    let ns = ns.map(|(little, full)| (little.into(), full.into()));
    if !fitted {
        return shapes::sharing_hidden_by_others(ns);
    }
    let seen = match cost {
        c if c >= SHARED => Some(true),
        c if c <= APART => Some(false),
        _ => None,
    };
    shapes::sharing(seen, declared, ns)
}

/// Whether the system says that the two cpus share the level.
fn declared(observation: &Observation, machine: &Machine) -> Option<bool> {
    let level: u8 = observation.labels.tier()?.level()?;
    let (a, b) = observation.labels.cpus()?.split_once(',')?;
    let (a, b): (CpuId, CpuId) = (a.parse().ok()?, b.parse().ok()?);
    machine.cache_of(a, level).map(|cache| cache.cpus.contains(b))
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::super::solve::{Count, Level};
    use super::*;
    use tiermark_model::Tier;
    use tiermark_model::{Grade, MIB, testing};

    /// What is said of a third level of 10 ns, shared or private as declared, by the times beside a small and a full
    /// neighbour.
    fn finding_of(little: f64, full: f64, declared: Option<bool>) -> Finding {
        let cache = |shared: bool| testing::cache(3, 32 * MIB, 0..1 + u32::from(shared));
        let machine = Machine { caches: declared.map(cache).into_iter().collect(), ..Machine::default() };
        let size = Count { value: 32 * MIB, low: 30 * MIB, high: Some(34 * MIB) };
        let levels = vec![(Tier::Cache(3), Level { ns: 10.0, next_ns: 100.0, size })];
        let seen = GeometryCurves {
            cpu: Some(0),
            chases: Vec::new(),
            strided: Vec::new(),
            levels,
            curve: Vec::new(),
            curve_layout: ChainLayout::Random,
        };
        let beside = |beside: &str, ns| {
            let labels = Labels::new().with_purpose(Purpose::Shared).with_tier(Tier::Cache(3)).with_cpus("0,1");
            fixtures::observation(beside, labels.with_relation("same L3").with_beside(beside), ns)
        };
        let mut found = findings(&[beside("full", full), beside("little", little)], &machine, &seen);
        assert_eq!(found.len(), 1);
        found.remove(0)
    }

    #[test]
    fn sharing_is_told_only_where_it_is_clear() {
        let (yes, no) = (Some(true), Some(false));
        for (little, full, declared, seen) in [
            (10.0, 30.0, yes, yes),
            (10.0, 30.0, no, yes),
            (10.0, 12.5, None, yes),
            (10.0, 10.5, no, no),
            (10.0, 11.0, yes, no),
            // Between the two nothing is known, whatever is declared.
            (10.0, 11.1, yes, None),
            (10.0, 12.4, no, None),
            (10.0, 11.5, None, None),
        ] {
            let found = finding_of(little, full, declared);
            assert_eq!(found.notes, [shapes::sharing(seen, declared, Some((little.into(), full.into())))]);
            assert!((found.value.unwrap() - (full / little - 1.0)).abs() < 1e-9);
            assert_eq!(found.verdict.grade, Grade::Trusted, "{:?}", found.verdict);
            let label = declared.map(|shared| if shared { "shared" } else { "private" });
            assert_eq!(found.labels.declared(), label);
        }
        // A chase that does not fit even beside a small neighbour is evicted by other programs.
        for (little, full) in [(16.0, 60.0), (60.0, 60.0)] {
            let found = finding_of(little, full, yes);
            assert_eq!(found.notes, [shapes::sharing_hidden_by_others(Some((little.into(), full.into())))]);
            assert_eq!(found.verdict.grade, Grade::Suspect, "{:?}", found.verdict);
        }
    }

    #[test]
    fn a_number_that_is_lacking_tells_nothing() {
        let seen = GeometryCurves {
            cpu: Some(0),
            chases: Vec::new(),
            strided: Vec::new(),
            levels: Vec::new(),
            curve: Vec::new(),
            curve_layout: ChainLayout::Random,
        };
        let labels = Labels::new().with_purpose(Purpose::Shared).with_tier(Tier::Cache(3)).with_relation("sibling");
        let mut full = fixtures::observation("full", labels.clone().with_beside("full"), 1.0);
        assert!(findings(&[full.clone()], &Machine::default(), &seen).is_empty());
        full.value = None;
        let little = fixtures::observation("little", labels.with_beside("little"), 1.0);
        let found = findings(&[full, little], &Machine::default(), &seen);
        assert_eq!((found[0].value, found[0].notes.len()), (None, 0));
    }
}
