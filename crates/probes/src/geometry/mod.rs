//! `geometry`: line, size, ways and sets of each cache level, and which cpus share it, by measurement.

mod findings;
#[cfg(test)]
pub(crate) mod made;
mod shared;
pub mod solve;
mod solver_input;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tiermark_engine::{About, Lab, Probe, Subject};
use tiermark_model::messages::rules;
use tiermark_model::{
    CacheKind, ChainLayout, Effort, Finding, KIB, MIB, Machine, Observation, PageKind, Plan, Purpose, Refusal, Request,
    Step,
};

use crate::chasing::{Chase, Chaser, quarters};
use crate::footprints::dram_bytes;
use crate::sizes::{SMALLEST, grid};
use crate::steps::{asked, default_page, max_seconds, once, one_cpu};

use solver_input::GeometryCurves;

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
/// Footprint of the paired chain that misses the first level and stays in the second, where that is not declared to be
/// smaller.
const BEHIND_FIRST: u64 = 512 * KIB;

/// Parameters of the geometry probe: it has none yet.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GeometryParams {}

/// The probe of `tiermark geometry`; `docs/methods/geometry.md` describes the method.
pub struct Geometry;

static ABOUT: About = About {
    id: "geometry",
    method: 4,
    subject: Subject::Memory,
    summary: "Line, size, ways, sets and sharing of each cache level",
    page: include_str!("../../../../docs/methods/geometry.md"),
    shapes: &[],
};

impl Probe for Geometry {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn plan(&self, request: &Request, lab: Lab<'_>) -> Result<Plan, Refusal> {
        let planner = GeometryPlanner::new(request, lab)?;
        let mut plan = Plan::default();
        plan.rules.push(rules::chase_on(planner.chaser.cpu, planner.page));
        plan.later.push(rules::geometry_follows());
        let only = [planner.chaser.cpu].into_iter().collect();
        let memory = match dram_bytes(lab.machine, &only, request.scope.mem_node, &request.scope) {
            Ok((bytes, rule)) => {
                plan.rules.push(rules::memory_size("memory", &rule));
                bytes
            }
            Err(refusal) => {
                plan.refused.push(refusal);
                planner.behind_first() * 4
            }
        };
        for size in grid(SMALLEST, memory, 4) {
            plan.steps.push(planner.step(Purpose::Curve, size.0, ChainLayout::Random));
        }
        for apart in APART {
            for bytes in [planner.behind_first(), memory] {
                plan.steps.push(planner.step(Purpose::Shape, bytes, ChainLayout::Pair(apart)));
            }
        }
        for stride in MEETING {
            for nodes in NODES.chain(MORE_NODES) {
                plan.steps.push(planner.strided(stride, nodes));
            }
        }
        once(&mut plan.steps);
        plan.max_seconds = max_seconds(request, effort_seconds(request.effort), &plan.steps);
        // Ways are confirmed at every smaller distance, by small chains; some of them are known already, bounds and
        // sharing come instead.
        let confirmed = LEVELS_WITH_WAYS * NEAR_WAYS.len() * SMALLER.len();
        plan.later_seconds = confirmed as f64 * planner.strided(KIB, NODES_OF_MOST).expected_seconds();
        Ok(plan)
    }

    fn refine(&self, request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Step> {
        let Ok(planner) = GeometryPlanner::new(request, lab) else { return Vec::new() };
        let seen = GeometryCurves::new(observations, lab.machine);
        let known: BTreeSet<&str> = observations.iter().map(|o| o.step.as_str()).collect();
        let mut steps = planner.confirmed(&seen);
        steps.retain(|step| !known.contains(step.id.as_str()));
        if steps.is_empty() {
            // Sharing is measured once the ways have shown which levels there are; bounds only become finer.
            steps = shared::steps(&planner.chaser, lab, planner.page, &seen);
        }
        steps.extend(planner.bounded(&seen));
        steps
    }

    fn derive(&self, _request: &Request, lab: Lab<'_>, observations: &[Observation]) -> Vec<Finding> {
        let seen = GeometryCurves::new(observations, lab.machine);
        let mut found = findings::geometry(&seen, lab.machine);
        found.extend(shared::findings(observations, lab.machine, &seen));
        found
    }
}

/// What a table of latencies by footprint and stride says of line, sizes and ways; nothing where it has too few
/// strides.
pub(crate) fn of_table(observations: &[Observation], machine: &Machine) -> Vec<Finding> {
    findings::of_table(&GeometryCurves::of_table(observations, machine), machine)
}

/// Seconds an effort allows.
fn effort_seconds(effort: Effort) -> f64 {
    match effort {
        Effort::Quick => 15.0,
        Effort::Standard => 45.0,
        Effort::Full => 240.0,
    }
}

struct GeometryPlanner<'a> {
    chaser: Chaser<'a>,
    lab: Lab<'a>,
    page: PageKind,
}

impl<'a> GeometryPlanner<'a> {
    fn new(request: &'a Request, lab: Lab<'a>) -> Result<Self, Refusal> {
        let (GeometryParams {}, cpus) = asked(request, lab)?;
        let cpu = one_cpu(lab.machine, &cpus, "geometry")?;
        let page = request.scope.page.unwrap_or_else(|| default_page(lab.machine));
        Ok(Self { chaser: Chaser { probe: "geometry", request, cpu }, lab, page })
    }

    fn step(&self, purpose: Purpose, bytes: u64, layout: ChainLayout) -> Step {
        let chase = Chase { purpose, bytes, layout, page: self.page, chains: 1 };
        self.chaser.step(&chase, self.chaser.shape())
    }

    fn strided(&self, stride: u64, nodes: u64) -> Step {
        self.step(Purpose::Shape, stride * nodes, ChainLayout::Scatter(stride))
    }

    /// A footprint that misses the first level and stays in the second.
    fn behind_first(&self) -> u64 {
        let declared = self.lab.machine.cache_of(self.chaser.cpu, 2).filter(|c| c.kind != CacheKind::Instruction);
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
