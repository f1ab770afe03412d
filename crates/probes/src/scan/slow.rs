//! Which regions are slower than the others of their node. Pure.

use std::collections::BTreeMap;

use tiermark_model::messages::scan as says;
use tiermark_model::{Finding, Grade, Labels, Metric, NodeId, Note, Observation, Purpose, Quantity, Unit};
use tiermark_stats::{OUTLYING, max, median, min, modified_z};

use crate::chasing::resting_on;
use crate::ground::{Says, grounded};
use crate::ladder::{quotient, with_purpose, with_range};

/// A region is slow from this many times the median on: where all others agree within a percent, two percent more are
/// far away by any statistic, and no fault.
const SLOW: f64 = 1.1;
/// A region whose pages reach over so many times its size has other memory between them.
const SCATTERED: u64 = 2;
/// Fewer regions have no median that one of them could be compared with.
const FEWEST: usize = 5;

/// Where a region lies in physical memory, of its latency alone: its bandwidth is of the same pages.
pub(super) fn place(seen: &Observation) -> Option<Note> {
    if seen.metric != Metric::Latency {
        return None;
    }
    let [low, high] = seen.placement.as_ref()?.physical?;
    let size = seen.labels.size()?.0;
    Some(says::physical_range(low, high, high - low > SCATTERED * size))
}

/// Medians of every node, and its slow regions.
pub(super) fn compared(observations: &[Observation]) -> Vec<Finding> {
    let mut groups: BTreeMap<(NodeId, &str), Vec<&Observation>> = BTreeMap::new();
    for seen in with_purpose(observations, Purpose::Scan).filter(|seen| seen.value.is_some()) {
        if let Some(key) = seen.labels.node().zip(seen.labels.op()) {
            groups.entry(key).or_default().push(seen);
        }
    }
    groups.into_iter().flat_map(|((node, op), seen)| of_node(node, op, seen)).collect()
}

fn of_node(node: NodeId, op: &str, mut seen: Vec<&Observation>) -> Vec<Finding> {
    let all = seen.len();
    // What is in doubt, as with pages of another size, is slow for another reason.
    seen.retain(|o| o.verdict.grade <= Grade::Bound);
    let values: Vec<f64> = seen.iter().filter_map(|o| o.value).collect();
    let (Some(centre), Some(low), Some(high)) = (median(&values), min(&values), max(&values)) else {
        return Vec::new();
    };
    let labels = Labels::new().with_node(node).with_op(op);
    let away = |o: &&&Observation| (o.value.unwrap_or(f64::INFINITY) - centre).abs();
    let Some(middle) = seen.iter().min_by(|a, b| away(a).total_cmp(&away(b))) else { return Vec::new() };
    let count = values.len() as u64;
    let mut found = resting_on(&[middle], Quantity::ScanMedian, labels, Some(centre), middle.unit);
    found.notes.push(match middle.unit {
        Unit::Ns => says::region_times_compared(count, low.into(), high.into()),
        _ => says::region_rates_compared(count, low.into(), high.into()),
    });
    if all > seen.len() {
        found.notes.push(says::regions_not_compared((all - seen.len()) as u64));
    }
    if values.len() < FEWEST {
        found.notes.push(says::too_few_regions(count, FEWEST as u64));
        return vec![found];
    }
    let scores = modified_z(&values).unwrap_or_default();
    let best = median(&seen.iter().filter_map(|o| undisturbed(o)).collect::<Vec<f64>>()).unwrap_or(centre);
    let slow = seen.iter().zip(scores).filter_map(|(seen, score)| slow(seen, score, (centre, best), middle));
    std::iter::once(found).chain(slow).collect()
}

/// The best that a region sustained, which it also shows beside other work.
fn undisturbed(seen: &Observation) -> Option<f64> {
    seen.best.or(seen.value)
}

/// A region that is slow: beyond Iglewicz and Hoaglin's limit, and by enough to matter also where other work has left it
/// alone.
fn slow(seen: &Observation, score: f64, (centre, best): (f64, f64), middle: &Observation) -> Option<Finding> {
    let value = seen.value?;
    let alone = match seen.metric {
        Metric::Latency => undisturbed(seen)? / best,
        Metric::Bandwidth => best / undisturbed(seen)?,
    };
    let (times, far, range) = match seen.metric {
        Metric::Latency => (value / centre, score, quotient(seen, middle)),
        Metric::Bandwidth => (centre / value, -score, quotient(middle, seen)),
    };
    if times.min(alone) < SLOW || far <= OUTLYING {
        return None;
    }
    let mut found = resting_on(&[seen], Quantity::ScanSlow, seen.labels.clone(), Some(times), Unit::Ratio);
    found.notes.push(says::slow_region(times, Some(far).filter(|far| far.is_finite())));
    if seen.verdict.grade == Grade::Bound {
        found.notes.push(says::slow_if_bound_is_true());
    }
    Some(grounded(with_range(found, range, 0.0), &[seen, middle], 2, Says::Quotient))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Verdict;

    fn seen(region: u64, op: &str, value: f64) -> Observation {
        let metric = if op == "latency" { Metric::Latency } else { Metric::Bandwidth };
        let labels = Labels::new().with_purpose(Purpose::Scan).with_region(region).with_node(0).with_op(op);
        let verdict = Verdict::trusted();
        Observation { value: Some(value), verdict, ..Observation::new(format!("scan/{op}/{region}"), labels, metric) }
    }

    /// Regions with these values.
    fn all(op: &str, values: &[f64]) -> Vec<Observation> {
        (0..).zip(values).map(|(region, value)| seen(region, op, *value)).collect()
    }

    fn slow_regions(observations: &[Observation]) -> Vec<u64> {
        let found = compared(observations).into_iter().filter(|f| f.quantity == Quantity::ScanSlow);
        found.map(|f| f.labels.region().unwrap()).collect()
    }

    #[test]
    fn slow_is_far_from_the_others_and_by_enough_to_matter() {
        assert_eq!(slow_regions(&all("latency", &[100.0, 101.0, 99.0, 140.0, 100.5])), [3]);
        assert_eq!(slow_regions(&all("read", &[20e9, 20.1e9, 14e9, 19.9e9, 20.2e9])), [2]);
        // Far by the statistic, and nothing to worry about.
        assert!(slow_regions(&all("latency", &[100.0, 100.1, 99.9, 105.0, 100.0])).is_empty());
        // Fast is not slow.
        assert!(slow_regions(&all("latency", &[100.0, 101.0, 99.0, 60.0, 100.5])).is_empty());
        assert!(slow_regions(&all("read", &[20e9, 20.1e9, 30e9, 19.9e9, 20.2e9])).is_empty());
        // As far as the others are from one another.
        assert!(slow_regions(&all("latency", &[100.0, 120.0, 90.0, 140.0, 75.0, 130.0])).is_empty());
        // Two of six are slow: the median does not follow them.
        assert_eq!(slow_regions(&all("latency", &[100.0, 180.0, 100.0, 180.0, 101.0, 99.0])), [1, 3]);
    }

    #[test]
    fn too_few_regions_name_none() {
        let few = all("latency", &[100.0, 100.0, 300.0, 100.0]);
        let found = compared(&few);
        assert_eq!((found.len(), found[0].quantity.clone()), (1, Quantity::ScanMedian));
        assert!(found[0].noted(&says::codes::too_few_regions).is_some());
    }

    #[test]
    fn a_region_in_doubt_is_not_judged_and_a_bound_is_to_be_confirmed() {
        let mut regions = all("latency", &[100.0, 101.0, 99.0, 140.0, 100.5, 100.0]);
        regions[3].verdict.grade = Grade::Bound;
        let bound = compared(&regions).into_iter().find(|f| f.quantity == Quantity::ScanSlow).unwrap();
        assert!(bound.noted(&says::codes::slow_if_bound_is_true).is_some() && bound.verdict.grade == Grade::Bound);
        regions[3].verdict.grade = Grade::Suspect;
        assert!(slow_regions(&regions).is_empty());
        let found = compared(&regions);
        assert_eq!(found[0].noted(&says::codes::regions_not_compared).unwrap().data["regions"], 1);
    }

    #[test]
    fn a_region_whose_pages_lie_far_apart_is_scattered() {
        let at = |high: u64| {
            let proof = tiermark_model::PlacementProof { physical: Some([1 << 30, high]), ..Default::default() };
            let seen = seen(0, "latency", 100.0);
            let labels = seen.labels.clone().with_size(1 << 30);
            place(&Observation { labels, placement: Some(proof), ..seen }).unwrap().data["scattered"].clone()
        };
        assert_eq!((at((2 << 30) - 1), at((3 << 30) + 1)), (false.into(), true.into()));
        assert!(place(&seen(0, "read", 1e9)).is_none());
    }
}
