//! `geometry`: line, size, ways and sets of each cache level, and which cpus share it, by measurement.

mod findings;
#[cfg(test)]
pub(crate) mod fixtures;
mod shared;
pub mod solve;
mod solver_input;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tiermark_engine::{Lab, Probe, Study, Subject};
use tiermark_model::messages::rules;
use tiermark_model::{
    CacheKind, ChainLayout, CpuId, Finding, KIB, Labels, MIB, Machine, Observation, PageKind, Plan, Purpose, Refusal,
    Request, Step,
};

use crate::chasing::{Chase, quarters, shape};
use crate::sizes::sweep;
use crate::task::Task;

use solver_input::{BEHIND_FIRST, GeometryCurves};

/// Distances within a block of a paired chain: words, half lines, a line, its neighbour, the next pair.
const APART: [u64; 6] = [8, 16, 32, 64, 128, 256];
/// Distances at which nodes meet in one set of the first two levels of every processor known: no way of a first level
/// is larger than 64 KiB, and of second levels few are larger than 256 KiB.
const MEETING: [u64; 3] = [64 * KIB, 256 * KIB, MIB];
/// Chains of so many nodes are tried at each: every number of ways up to 24, and the larger ones that are built.
const NODES: std::ops::RangeInclusive<u64> = 2..=26;
const MORE_NODES: [u64; 3] = [31, 32, 33];
/// Smaller distances, at which one node more than there are ways is tried: a way is as large as the smallest that still
/// meets.
const SMALLER: std::ops::Range<u32> = 6..18;
/// Levels whose ways are looked for.
const LEVELS_WITH_WAYS: usize = 2;
/// As many nodes as there are ways, and more: two, since one wild point is no edge.
const NEAR_WAYS: [u64; 3] = [0, 1, 2];
/// Ways that most first levels have.
const NODES_OF_MOST: u64 = 8;
/// Capacities are bounded to this ratio where the curve allows it.
const FINE: f64 = 1.03;
/// Capacities are resolved to whole multiples of this.
const STEP: u64 = KIB;

/// Parameters of the geometry probe: it has none yet.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GeometryParams {}

/// The probe of `tiermark geometry`; `docs/methods/geometry.md` describes the method.
pub static PROBE: Probe = Probe {
    id: "geometry",
    method: 4,
    subject: Subject::Memory,
    summary: "Line, size, ways, sets and sharing of each cache level",
    page: include_str!("../../../../docs/methods/geometry.md"),
    aids: &[],
    study: |request, lab| Ok(Box::new(GeometryStudy::new(request, lab)?)),
};

impl Study for GeometryStudy {
    fn plan(&self) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        plan.rules.push(rules::chase_on(self.cpu, self.page));
        plan.later.push(rules::geometry_follows());
        let memory = match self.task.dram_bytes(&[self.cpu], self.task.node()) {
            Ok((bytes, rule)) => {
                plan.rules.push(rules::memory_size("memory", &rule));
                bytes
            }
            Err(refusal) => {
                plan.refused.push(refusal);
                self.behind_first() * 4
            }
        };
        for size in sweep(memory, 4) {
            plan.steps.push(self.step(Purpose::Curve, size.0, ChainLayout::Random));
        }
        for apart in APART {
            for bytes in [self.behind_first(), memory] {
                plan.steps.push(self.step(Purpose::Shape, bytes, ChainLayout::Pair(apart)));
            }
        }
        for stride in MEETING {
            for nodes in NODES.chain(MORE_NODES) {
                plan.steps.push(self.strided(stride, nodes));
            }
        }
        self.task.limit(&mut plan, self.task.effort().choose([15.0, 45.0, 240.0]));
        // Ways are confirmed at every smaller distance, by small chains; some of them are known already, bounds and
        // sharing come instead.
        let confirmed = LEVELS_WITH_WAYS * NEAR_WAYS.len() * SMALLER.len();
        plan.later_seconds = confirmed as f64 * self.strided(KIB, NODES_OF_MOST).expected_seconds();
        Ok(plan)
    }

    fn refine(&self, observations: &[Observation]) -> Vec<Step> {
        let seen = GeometryCurves::new(observations, self.task.machine());
        let known: BTreeSet<&str> = observations.iter().map(|o| o.step.as_str()).collect();
        let mut steps = self.confirmed(&seen);
        steps.retain(|step| !known.contains(step.id.as_str()));
        if steps.is_empty() {
            // Sharing is measured once the ways have shown which levels there are; bounds only become finer.
            steps = shared::steps(&self.task, self.cpu, &seen);
        }
        steps.extend(self.bounded(&seen));
        steps
    }

    fn derive(&self, observations: &[Observation]) -> Vec<Finding> {
        let seen = GeometryCurves::new(observations, self.task.machine());
        let mut found = findings::geometry(&seen, self.task.machine());
        found.extend(shared::findings(observations, self.task.machine(), &seen));
        found
    }
}

/// What a table of latencies by footprint and stride says of line, sizes and ways; nothing where it has too few
/// strides.
pub(crate) fn of_table(observations: &[Observation], machine: &Machine) -> Vec<Finding> {
    findings::of_table(&GeometryCurves::of_table(observations, machine), machine)
}

struct GeometryStudy {
    task: Task,
    cpu: CpuId,
    page: PageKind,
}

impl GeometryStudy {
    fn new(request: &Request, lab: &Lab) -> Result<Self, Refusal> {
        let (task, GeometryParams {}) = Task::new(request, lab)?;
        let cpu = task.one_cpu()?;
        let page = task.page();
        Ok(Self { task, cpu, page })
    }

    fn step(&self, purpose: Purpose, bytes: u64, layout: ChainLayout) -> Step {
        let chase = Chase { cpu: self.cpu, bytes, node: self.task.node(), layout, page: self.page, chains: 1 };
        let labels = Labels::new().with_purpose(purpose);
        chase.step("geometry", labels, self.task.request.seed, shape(&self.task))
    }

    fn strided(&self, stride: u64, nodes: u64) -> Step {
        self.step(Purpose::Shape, stride * nodes, ChainLayout::Scatter(stride))
    }

    /// A footprint that misses the first level and stays in the second.
    fn behind_first(&self) -> u64 {
        let declared = self.task.machine().cache_of(self.cpu, 2).filter(|c| c.kind != CacheKind::Instruction);
        declared.and_then(|c| c.bytes).map_or(BEHIND_FIRST / 2, |bytes| (bytes / 2).min(BEHIND_FIRST))
    }

    /// Footprints between the bounds of each level that are still far apart.
    fn bounded(&self, seen: &GeometryCurves<'_>) -> Vec<Step> {
        let mut steps = Vec::new();
        for (_, level) in &seen.levels {
            let (low, Some(high)) = (level.size.low, level.size.high) else { continue };
            if high as f64 / low as f64 <= FINE {
                continue;
            }
            let inside = quarters(low, high, STEP);
            steps.extend(inside.into_iter().map(|bytes| self.step(Purpose::Curve, bytes, ChainLayout::Random)));
        }
        steps
    }

    /// As many nodes as there are ways, and one more, at every smaller distance.
    fn confirmed(&self, seen: &GeometryCurves<'_>) -> Vec<Step> {
        let mut steps = Vec::new();
        for (_, level) in seen.levels.iter().take(LEVELS_WITH_WAYS) {
            let Some(ways) = solve::ways(&seen.strided, level.ns, level.next_ns) else { continue };
            for stride in SMALLER.map(|shift| 1 << shift) {
                steps.extend(NEAR_WAYS.map(|more| self.strided(stride, ways.ways.value + more)));
            }
        }
        // A chain needs two nodes and a region one line.
        steps.retain(|step| step.setup.total_bytes().0 >= KIB);
        steps
    }
}
