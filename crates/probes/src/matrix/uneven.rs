//! Pairs that should be alike and are not: both directions between two nodes, and cells at the same distance.

use std::collections::BTreeMap;

use tiermark_model::messages::memory;
use tiermark_model::{Finding, Labels, Machine, NodeId, Observation, Purpose, Quantity, Unit, Work};

use super::findings::ratio;
use super::groups::{CpuGroup, memory_only};

/// Differences up to this are not named: allocations differ by some percent, and cells are wanted to 1 % and 2 %.
const VISIBLE: f64 = 1.05;

/// A cell with where it begins and ends.
struct ComparedCell<'a> {
    seen: &'a Observation,
    group: &'a CpuGroup,
    node: NodeId,
}

/// Names every pair that differs visibly and beyond its intervals; of operations without such a pair, the widest.
pub(super) fn uneven(observations: &[Observation], groups: &[CpuGroup], machine: &Machine) -> Vec<Finding> {
    let mut kinds: BTreeMap<Work<'_>, Vec<ComparedCell<'_>>> = BTreeMap::new();
    for seen in observations.iter().filter(|o| o.labels.policy().is_none() && o.value.is_some()) {
        let group = groups.iter().find(|group| seen.labels.from() == Some(group.name.as_str()));
        if let (Some(group), Some(node)) = (group, seen.labels.node()) {
            kinds.entry(Work::of(&seen.labels)).or_default().push(ComparedCell { seen, group, node });
        }
    }
    let of_kind = |cells: &Vec<ComparedCell<'_>>| {
        let mut found = directions(cells);
        found.extend(distances(cells, machine));
        found
    };
    kinds.values().flat_map(of_kind).collect()
}

/// A to B against B to A.
fn directions(cells: &[ComparedCell<'_>]) -> Vec<Finding> {
    let home = |cell: &ComparedCell<'_>| cell.group.homes.first().filter(|_| cell.group.homes.len() == 1);
    let mut found = Vec::new();
    let mut widest: Option<Finding> = None;
    for there in cells {
        // Each pair once, from its lower node; rows of caches share a node, and have no direction of their own.
        let back = cells.iter().find(|back| home(back) == Some(there.node) && Some(back.node) == home(there));
        let own = |cell: &ComparedCell<'_>| {
            cells.iter().filter(|c| home(c) == home(cell)).map(|c| &c.group.name).all(|n| *n == cell.group.name)
        };
        let Some(back) = back.filter(|_| home(there).is_some_and(|from| from < there.node) && own(there)) else {
            continue;
        };
        if !own(back) {
            continue;
        }
        let Some(pair) = compared(Quantity::MatrixAsymmetry, there, back) else { continue };
        if is_visible(&pair) {
            found.push(pair);
        } else if widest.as_ref().and_then(|w| w.value) < pair.value {
            widest = Some(pair);
        }
    }
    if found.is_empty() {
        found.extend(widest.map(|mut pair| {
            pair.labels = pair.labels.with_statistic("widest");
            pair.with_notes([memory::directions_alike()])
        }));
    }
    found
}

/// Cells at the same distance: the extremes of each class.
fn distances(cells: &[ComparedCell<'_>], machine: &Machine) -> Vec<Finding> {
    let mut classes: BTreeMap<(bool, u32), Vec<&ComparedCell<'_>>> = BTreeMap::new();
    for cell in cells {
        if let Some(distance) = cell.group.distance(cell.node, machine) {
            classes.entry((memory_only(cell.node, machine), distance)).or_default().push(cell);
        }
    }
    let mut found = Vec::new();
    for ((_, distance), class) in classes {
        let value = |cell: &&&ComparedCell<'_>| cell.seen.value.unwrap_or_default();
        let low = class.iter().min_by(|a, b| value(a).total_cmp(&value(b)));
        let high = class.iter().max_by(|a, b| value(a).total_cmp(&value(b)));
        let Some((low, high)) = low.zip(high).filter(|(low, high)| low.seen.step != high.seen.step) else { continue };
        // Two directions of one pair are reported as such.
        let is_pair = high.group.homes.contains(low.node) && low.group.homes.contains(high.node) && class.len() == 2;
        let pair = compared(Quantity::MatrixUneven, high, low).filter(|pair| is_visible(pair) && !is_pair);
        found.extend(pair.map(|pair| pair.with_notes([memory::both_at_distance(distance)])));
    }
    found
}

/// How much the larger of two cells is above the other, with both in words.
fn compared<'a>(quantity: Quantity, one: &ComparedCell<'a>, other: &ComparedCell<'a>) -> Option<Finding> {
    let (large, small) = if one.seen.value? >= other.seen.value? { (one, other) } else { (other, one) };
    let labels = Labels::new()
        .with_purpose(Purpose::Matrix)
        .with_op(one.seen.labels.op().unwrap_or_default())
        .with_from(&large.group.name)
        .with_node(large.node)
        .with_against(format!("{} node {}", small.group.name, small.node));
    let note = match one.seen.unit {
        Unit::Ns => memory::compared_ns(cell(large), cell(small)),
        _ => memory::compared_rates(cell(large), cell(small)),
    };
    Some(ratio(quantity, labels, large.seen, small.seen)?.with_notes([note]))
}

/// A cell as a sentence names it: the cpus, the node and the number.
fn cell<'a, T: From<f64>>(of: &ComparedCell<'a>) -> (&'a str, NodeId, T) {
    (&of.group.name, of.node, of.seen.value.unwrap_or_default().into())
}

/// Whether a ratio is beyond what allocations differ by, and beyond its interval.
fn is_visible(pair: &Finding) -> bool {
    pair.value.is_some_and(|value| value > VISIBLE) && pair.interval.is_some_and(|interval| interval.low > 1.0)
}
