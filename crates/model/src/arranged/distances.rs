//! Latency by how far the memory is: the same footprints and orders of access, by the same cpus, in the memory of
//! several nodes.

use std::collections::{BTreeMap, BTreeSet};

use crate::figure::{Distance, distance};
use crate::idset::NodeId;
use crate::machine::Machine;
use crate::observation::{Finding, Interval, Observation};
use crate::plan::Scope;
use crate::purpose::Purpose;
use crate::quantity::Quantity;
use crate::run::{Experiment, Run};
use crate::units::{Metric, Unit};

/// Latency by footprint of one order of access, by the cpus of one node in the memory of one node.
#[derive(Debug, Clone)]
pub struct DistantLatency<'a> {
    /// The number of its experiment, from 0.
    pub experiment: usize,
    /// The order of access: `stride:64`, `random`.
    pub layout: &'a str,
    /// The node of the cpus.
    pub from: NodeId,
    /// The node of the memory.
    pub to: NodeId,
    /// How far it is.
    pub distance: Distance,
    /// By footprint in bytes.
    pub seen: BTreeMap<u64, &'a Observation>,
}

/// A latency of far memory beside that of the cpus' own.
#[derive(Debug, Clone, Copy)]
pub struct FarLatency<'a> {
    /// Footprint in bytes.
    pub bytes: u64,
    /// Of the cpus' own memory.
    pub local: &'a Observation,
    /// Of the other.
    pub far: &'a Observation,
}

impl FarLatency<'_> {
    /// Far over local; `None` where one of them has no number.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.far.value? / self.local.value?).filter(|ratio| ratio.is_finite())
    }

    /// The interval of the ratio, by the ends of both.
    pub fn interval(&self) -> Option<Interval> {
        let (far, local) = (self.far.interval?, self.local.interval?);
        (local.low > 0.0).then(|| Interval { low: far.low / local.high, high: far.high / local.low, ..far })
    }

    /// Whether the two differ beyond their intervals.
    pub fn differs(&self) -> bool {
        self.interval().is_some_and(|range| range.low > 1.0 || range.high < 1.0)
    }

    /// Whether both can be quoted.
    pub fn is_trusted(&self) -> bool {
        self.far.verdict.grade.is_number() && self.local.verdict.grade.is_number()
    }
}

impl<'a> DistantLatency<'a> {
    /// Its points beside those of the cpus' own memory, by footprint.
    pub fn beside(&self, local: &Self) -> Vec<FarLatency<'a>> {
        let both = |(bytes, far): (&u64, &&'a Observation)| {
            Some(FarLatency { bytes: *bytes, local: local.seen.get(bytes).copied()?, far })
        };
        self.seen.iter().filter_map(both).collect()
    }
}

/// Several far nodes at one footprint.
#[derive(Debug, Clone)]
pub struct FarNodes<'a> {
    /// The order of access.
    pub layout: &'a str,
    /// The footprint in bytes.
    pub bytes: u64,
    /// Each node with its latency over that of local memory, by rising distance.
    pub ratios: Vec<(NodeId, f64)>,
}

/// What distance costs the cpus of a node.
#[derive(Debug, Clone)]
pub struct DistanceCost<'a> {
    /// The nearest node whose memory is not their own.
    pub node: NodeId,
    /// The order of access and the smallest footprint from which on that node's memory takes longer, and how much;
    /// `None` where that could not be shown.
    pub first: Option<(&'a str, FarLatency<'a>)>,
    /// The largest footprint up to which all orders of access are alike.
    pub alike_up_to: Option<u64>,
    /// Whether the caches hold that footprint.
    pub is_cached: bool,
    /// Of each order of access, the largest footprint.
    pub largest: Vec<(&'a str, FarLatency<'a>)>,
    /// The far nodes beside each other; `None` where there is but one.
    pub nodes: Option<FarNodes<'a>>,
    /// How many comparisons rest on numbers that can be quoted, and how many there are with numbers.
    pub trusted: (usize, usize),
}

impl DistanceCost<'_> {
    /// Whether random accesses cost more at a distance than lines in turn do, beyond the intervals of both ratios: what
    /// prefetchers cannot guess.
    pub fn grows_with_randomness(&self) -> bool {
        let range = |layout: &str| {
            let point = self.largest.iter().find(|(other, _)| *other == layout)?.1;
            point.interval().filter(|_| point.is_trusted())
        };
        let (random, in_turn) = (range(RANDOM), range(QUOTED));
        random.zip(in_turn).is_some_and(|(random, in_turn)| random.low > in_turn.high)
    }
}

/// Far memory costs something from this ratio on: less is what two places in one memory may differ by.
const COSTS: f64 = 1.05;
/// The order of access whose first difference is quoted where it has one: whole lines in turn.
const QUOTED: &str = "stride:64";
const RANDOM: &str = "random";

/// The points of the memory of a node beside those of the cpus' own, by order of access.
fn beside<'a>(here: &[&DistantLatency<'a>], to: NodeId) -> Vec<(&'a str, Vec<FarLatency<'a>>)> {
    let local: BTreeMap<&str, &DistantLatency<'a>> =
        here.iter().filter(|of| of.distance == Distance::Local).map(|of| (of.layout, *of)).collect();
    let far = here.iter().filter(|of| of.to == to && of.distance != Distance::Local);
    let points = far.filter_map(|of| Some((of.layout, of.beside(local.get(of.layout)?))));
    let known = |of: &FarLatency<'_>| of.ratio().is_some() && of.interval().is_some();
    points.map(|(layout, points)| (layout, points.into_iter().filter(known).collect())).collect()
}

/// What distance costs the cpus of a node, of the tables of a run; `None` where they have no far memory.
pub fn cost_of_distance<'a>(all: &[DistantLatency<'a>], from: NodeId, machine: &Machine) -> Option<DistanceCost<'a>> {
    let here: Vec<&DistantLatency<'a>> = all.iter().filter(|of| of.from == from).collect();
    let hops = |to: NodeId| machine.node(from).and_then(|node| node.distances.get(&to).copied());
    let far: BTreeSet<NodeId> = here.iter().filter(|of| of.distance != Distance::Local).map(|of| of.to).collect();
    let mut far: Vec<NodeId> = far.into_iter().collect();
    // What the system gives no distance for comes last.
    far.sort_by_key(|to| (hops(*to).is_none(), hops(*to), *to));
    let node = *far.first()?;
    let layouts = beside(&here, node);
    let points = || layouts.iter().flat_map(|(layout, points)| points.iter().map(move |point| (*layout, *point)));
    let costs = |of: &FarLatency<'_>| of.is_trusted() && of.differs() && of.ratio().is_some_and(|ratio| ratio >= COSTS);
    // From there on every footprint of that order has to cost more: one cell may be noise.
    let mut firsts: Vec<(&str, FarLatency<'a>)> = Vec::new();
    for (layout, points) in &layouts {
        let costly = points.iter().rev().take_while(|point| costs(point)).last();
        firsts.extend(costly.map(|point| (*layout, *point)));
    }
    firsts.sort_by_key(|(layout, point)| (point.bytes, *layout != QUOTED));
    let differs = |of: &FarLatency<'_>| of.ratio().is_some_and(|ratio| ratio >= COSTS || ratio <= 1.0 / COSTS);
    let odd = points().filter(|(_, point)| differs(point)).map(|(_, point)| point.bytes).min();
    let alike = points().map(|(_, point)| point.bytes).filter(|bytes| odd.is_none_or(|odd| *bytes < odd)).max();
    let cache = machine.data_caches().filter_map(|cache| cache.bytes).max();
    let most = points().map(|(_, point)| point.bytes).max();
    Some(DistanceCost {
        node,
        first: firsts.first().copied(),
        alike_up_to: alike,
        is_cached: alike.zip(cache).is_some_and(|(bytes, cache)| bytes <= cache),
        largest: points().filter(|(_, point)| Some(point.bytes) == most).collect(),
        nodes: several(&here, &far),
        trusted: (points().filter(|(_, point)| point.is_trusted()).count(), points().count()),
    })
}

/// Several far nodes over the largest footprint that all have, in the last order of access that all have.
fn several<'a>(here: &[&DistantLatency<'a>], far: &[NodeId]) -> Option<FarNodes<'a>> {
    if far.len() < 2 {
        return None;
    }
    type Ratios<'a> = BTreeMap<(&'a str, u64), f64>;
    let ratios = |to: NodeId| -> Ratios<'a> {
        let points = beside(here, to).into_iter();
        let each = points.flat_map(|(layout, points)| points.into_iter().map(move |point| (layout, point)));
        each.filter_map(|(layout, point)| Some(((layout, point.bytes), point.ratio()?))).collect()
    };
    let all: Vec<(NodeId, Ratios<'a>)> = far.iter().map(|to| (*to, ratios(*to))).collect();
    let common = all[0].1.keys().filter(|key| all.iter().all(|(_, ratios)| ratios.contains_key(*key)));
    let (layout, bytes) = *common.max_by_key(|(layout, bytes)| (*bytes, *layout == RANDOM))?;
    let ratios = all.iter().filter_map(|(to, ratios)| Some((*to, *ratios.get(&(layout, bytes))?))).collect();
    Some(FarNodes { layout, bytes, ratios })
}

/// The node whose cpus an experiment measures from; `None` where they are of several.
pub fn cpu_node(scope: &Scope, machine: &Machine) -> Option<NodeId> {
    let nodes: BTreeSet<NodeId> = scope.cpus.as_ref()?.iter().filter_map(|cpu| machine.node_of(cpu)).collect();
    nodes.first().copied().filter(|_| nodes.len() == 1)
}

/// Tables of latency by footprint, of cpus measured with their own and with other memory, or on a machine with one
/// memory node; empty if a machine with several memory nodes was measured at one distance only. Sorted by layout (in
/// the run's order), then by node of the cpus, their own memory first.
pub fn latency_by_distance(run: &Run) -> Vec<DistantLatency<'_>> {
    let mut all: Vec<DistantLatency<'_>> = Vec::new();
    for (number, experiment) in run.experiments.iter().enumerate() {
        add(&mut all, number, experiment, &run.machine);
    }
    let has_local: BTreeSet<NodeId> =
        all.iter().filter(|of| of.distance == Distance::Local).map(|of| of.from).collect();
    let has_far: BTreeSet<NodeId> = all.iter().filter(|of| of.distance != Distance::Local).map(|of| of.from).collect();
    let has_all = run.machine.memory_nodes().len() == 1;
    all.retain(|of| has_local.contains(&of.from) && (has_all || has_far.contains(&of.from)));
    let mut layouts: Vec<&str> = Vec::new();
    for of in &all {
        if !layouts.contains(&of.layout) {
            layouts.push(of.layout);
        }
    }
    let place = |of: &DistantLatency<'_>| layouts.iter().position(|layout| *layout == of.layout);
    all.sort_by_key(|of| (place(of), of.from, of.distance != Distance::Local, of.to));
    all
}

fn add<'a>(all: &mut Vec<DistantLatency<'a>>, number: usize, experiment: &'a Experiment, machine: &Machine) {
    let scope = &experiment.request.scope;
    let Some(from) = cpu_node(scope, machine) else { return };
    for seen in experiment.observations.iter().filter(|o| o.metric == Metric::Latency) {
        let labels = &seen.labels;
        let is_point = labels.is_for(Purpose::Table) && labels.chains().is_none_or(|chains| chains == 1);
        let (true, Some(layout), Some(bytes)) = (is_point, labels.layout(), labels.bytes()) else { continue };
        let (Some(to), Some(distance)) = (labels.node().or(scope.mem_node), distance(labels, scope, machine)) else {
            continue;
        };
        let known = all.iter_mut().find(|of| of.layout == layout && of.from == from && of.to == to);
        let series = match known {
            Some(series) => series,
            None => {
                all.push(DistantLatency { experiment: number, layout, from, to, distance, seen: BTreeMap::new() });
                let last = all.len() - 1;
                &mut all[last]
            }
        };
        series.seen.entry(bytes).or_insert(seen);
    }
}

/// How many times the latency of local memory far memory has: a finding for each footprint and order of access, with
/// the number of its experiment.
pub(super) fn far_latencies(run: &Run) -> Vec<(usize, Finding)> {
    let all = latency_by_distance(run);
    let local = |of: &DistantLatency<'_>| {
        let mut same = all.iter().filter(|other| other.layout == of.layout && other.from == of.from);
        same.find(|other| other.distance == Distance::Local)
    };
    let far = all.iter().filter(|of| of.distance != Distance::Local);
    let found = far.flat_map(|of| {
        let points = local(of).map(|local| of.beside(local)).unwrap_or_default();
        points.into_iter().map(|point| (of.experiment, ratio(of, &point))).collect::<Vec<_>>()
    });
    found.collect()
}

fn ratio(of: &DistantLatency<'_>, point: &FarLatency<'_>) -> Finding {
    let labels = point.far.labels.clone().with_from(format!("node:{}", of.from)).with_node(of.to);
    Finding {
        interval: point.interval(),
        samples: [point.far, point.local].iter().map(|seen| seen.visits.len() as u64).sum(),
        verdict: point.far.verdict.clone().and(&point.local.verdict),
        evidence: vec![point.far.step.clone(), point.local.step.clone()],
        ..Finding::new(Quantity::LatencyFar, labels.with_place(of.distance), point.ratio(), Unit::Ratio)
    }
}
