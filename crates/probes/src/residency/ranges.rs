//! The ranges that were visited: what each visit gave, by range, use and wait.

use tiermark_model::{CpuId, Machine, Observation, Tier};
use tiermark_stats::{Edge, Side, VisitWindows, edge};

use super::{TOUCHED, Use, inner_bytes, shared_cache};
use crate::ladder::with_purpose;

/// Shares of hits that differ by less than this are the same.
pub(super) const AGREE: f64 = 0.1;
/// Below this share an exponential says nothing between two waits, and a straight line is drawn.
pub(super) const FAINT: f64 = 0.05;

/// The number of the visits to one range after one use and wait.
pub(super) struct WaitPoint<'a> {
    pub(super) seen: &'a Observation,
    bytes: u64,
    used: Use,
    pub(super) wait_ns: f64,
    pub(super) median: f64,
    pub(super) edge: Edge,
}

#[cfg(test)]
impl<'a> WaitPoint<'a> {
    /// A point without windows.
    pub(super) fn new(seen: &'a Observation, bytes: u64, used: Use, wait_ns: f64) -> Self {
        let median = seen.value.unwrap_or(f64::NAN);
        let edge = edge(&[VisitWindows { at: 0.0, values: vec![median] }], Side::Low).expect("one window");
        Self { seen, bytes, used, wait_ns, median, edge }
    }
}

/// One range after one use: its points by rising wait, and the share of hits at each.
pub(super) struct Range<'a> {
    pub(super) bytes: u64,
    pub(super) used: Use,
    pub(super) points: Vec<WaitPoint<'a>>,
    pub(super) held: Vec<f64>,
}

/// The tier of the shared cache of an observation's core.
pub(super) fn tier_of(machine: &Machine, seen: &Observation) -> Option<Tier> {
    Some(Tier::Cache(shared_cache(machine, cpu_of(seen)?)?.level))
}

/// What was done with the range before the wait. Before there was a single use, steps had no such label.
fn use_of(seen: &Observation) -> Use {
    if seen.labels.used() == Some(Use::Once.word()) { Use::Once } else { Use::Again }
}

/// The ranges that were measured, those used again first, rising, each with its points by rising wait.
pub(super) fn ranges(observations: &[Observation]) -> Vec<Range<'_>> {
    let point = |seen: &'_ Observation| {
        let windows = |visit: &tiermark_model::Visit| VisitWindows {
            at: visit.at,
            values: visit.windows.iter().filter(|w| w.clean).filter_map(|w| w.value()).collect(),
        };
        let visits: Vec<VisitWindows> = seen.visits.list.iter().map(windows).collect();
        Some((seen.labels.bytes()?, seen.labels.wait()?, seen.value?, visits))
    };
    let mut points: Vec<WaitPoint<'_>> = with_purpose(observations, TOUCHED)
        .filter_map(|seen| {
            let (bytes, wait, median, visits) = point(seen)?;
            let edge = edge(&visits, Side::Low)?;
            Some(WaitPoint { seen, bytes, used: use_of(seen), wait_ns: wait as f64, median, edge })
        })
        .collect();
    let key = |point: &WaitPoint<'_>| (point.used == Use::Once, point.bytes);
    points.sort_by(|a, b| key(a).cmp(&key(b)).then(a.wait_ns.total_cmp(&b.wait_ns)));
    let mut ranges: Vec<Range<'_>> = Vec::new();
    for point in points {
        match ranges.last_mut().filter(|range| (range.bytes, range.used) == (point.bytes, point.used)) {
            Some(range) => range.points.push(point),
            None => ranges.push(Range { bytes: point.bytes, used: point.used, points: vec![point], held: Vec::new() }),
        }
    }
    ranges
}

fn cpu_of(seen: &Observation) -> Option<CpuId> {
    seen.labels.cpus()?.parse().ok()
}

/// Size of the caches closer to an observation's core.
pub(super) fn inner_of(machine: &Machine, seen: &Observation) -> u64 {
    cpu_of(seen).map_or(0, |cpu| inner_bytes(machine, cpu))
}
