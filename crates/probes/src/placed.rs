//! Where a program is on the loaded-latency curves of a run.

use std::collections::BTreeMap;

use tiermark_model::messages::placed as says;
use tiermark_model::{
    BoxPlace, Labels, NodeId, Observation, PlacedAxis, PlacedCurve, PlacedCurves, PlacedKnee, PlacedPoint, Purpose,
    Refusal, Traffic, TrafficSum, WatchSample,
};

use crate::loaded::pauses::{LoadPoint, knee_of, monotone, rising};

/// Places whose curves are used, the first that a run has: all nodes at once, and threads beside their memory. Programs
/// do not keep to remote or far memory.
const PLACES: [&str; 2] = [SYSTEM, "local"];
/// Threads of all nodes, each beside its own memory.
const SYSTEM: &str = "system";

/// A point of a curve with the observation behind it.
type Seen<'a> = (LoadPoint, &'a Observation);

/// The curves of a run, by its id and observations.
///
/// # Errors
/// A [`Refusal`] if it has none.
pub fn curves_of(run: &str, observations: &[&Observation]) -> Result<PlacedCurves, Refusal> {
    let of_place =
        |place: &'static str| observations.iter().copied().filter(move |o| o.labels.is(Labels::PLACE, place));
    let is_loaded = |place: &&'static str| of_place(place).any(|o| o.labels.is_for(Purpose::Load));
    let place = PLACES.into_iter().find(is_loaded).ok_or_else(|| says::run_without_curve(run))?;
    let mut found: BTreeMap<(Option<u64>, String), Vec<Seen<'_>>> = BTreeMap::new();
    for seen in of_place(place) {
        let Some(mix) = seen.labels.get(Labels::MIX).filter(|_| seen.labels.is_for(Purpose::Load)) else { continue };
        let key = (seen.labels.number(Labels::NODE), mix.to_owned());
        found.entry(key).or_default().extend(point(seen).map(|point| (point, seen)));
    }
    // Counted rates only if every point of every curve has them: one axis is of one kind.
    let counted = found.values().flatten().all(|(_, seen)| counted_rate(seen).is_some());
    let axis = if counted { PlacedAxis::Counted } else { PlacedAxis::Useful };
    let idle = |node: Option<u64>| {
        let fits = |o: &&Observation| o.labels.is_for(Purpose::Unloaded) && o.labels.number(Labels::NODE) == node;
        of_place(place).find(fits).and_then(|o| o.value)
    };
    let curves: Vec<PlacedCurve> =
        found.iter().filter_map(|((node, mix), seen)| curve(*node, mix, idle(*node), seen, axis)).collect();
    if curves.is_empty() {
        return Err(says::run_without_curve(run));
    }
    Ok(PlacedCurves { run: run.to_owned(), place: place.to_owned(), axis, curves })
}

/// The point of an observation under load; `None` if it has no number.
fn point(seen: &Observation) -> Option<LoadPoint> {
    let pause = seen.labels.number(Labels::PAUSE).and_then(|pause| u32::try_from(pause).ok())?;
    let rate = seen.parts.iter().find(|part| part.unit == tiermark_model::Unit::BytesPerSecond)?.value?;
    Some(LoadPoint { pause: Some(pause), rate, latency: seen.value? })
}

/// Bytes a second on the channels during a point, and the share of reads; `None` without counts.
fn counted_rate(seen: &Observation) -> Option<(f64, Option<f64>)> {
    seen.traffic.as_ref()?.counted.rate()
}

/// A curve; `None` if it has fewer than two points.
fn curve(node: Option<u64>, mix: &str, idle: Option<f64>, seen: &[Seen<'_>], axis: PlacedAxis) -> Option<PlacedCurve> {
    let counted = |o: &Observation| counted_rate(o).filter(|_| axis == PlacedAxis::Counted);
    let on_axis = |(point, o): &Seen<'_>| LoadPoint { rate: counted(o).map_or(point.rate, |(rate, _)| rate), ..*point };
    let mut points: Vec<LoadPoint> = seen.iter().map(on_axis).collect();
    points.extend(idle.map(|latency| LoadPoint { pause: None, rate: 0.0, latency }));
    let rising = monotone(&rising(&points));
    if rising.len() < 2 {
        return None;
    }
    let knee = knee_of(&points).and_then(|knee| {
        let at = rising.iter().position(|point| point.pause == knee.pause)?;
        let (low, high) = (rising[at.saturating_sub(1)].rate, rising.get(at + 1).unwrap_or(&knee).rate);
        Some(PlacedKnee { at: knee.rate, low, high })
    });
    let shares: Vec<f64> = seen.iter().filter_map(|(_, o)| counted(o)?.1).collect();
    let read_share = if shares.is_empty() {
        on_channels(mix, seen.first()?.1.labels.number(Labels::READS)?)
    } else {
        shares.iter().sum::<f64>() / shares.len() as f64
    };
    Some(PlacedCurve {
        mix: mix.to_owned(),
        node: node.and_then(|node| NodeId::try_from(node).ok()),
        read_share,
        points: rising.iter().map(|point| (point.rate, point.latency)).collect(),
        knee,
    })
}

/// Share of reads on the channels of a mix that reads so many percent of its useful bytes. An ordinary store reads its
/// line before it is written, a non-temporal one does not.
fn on_channels(mix: &str, reads: u64) -> f64 {
    let reads = reads as f64 / 100.0;
    if mix.ends_with(".nt") { reads } else { 1.0 / (2.0 - reads) }
}

/// Where a sample is on the curves: of several memories, the one with the least head room for its curve. `None` if no
/// traffic is counted, or no time has passed.
pub fn place(on: &PlacedCurves, sample: &WatchSample) -> Option<PlacedPoint> {
    let traffic = sample.traffic.as_ref().filter(|traffic| traffic.seconds > 0.0)?;
    let memories = memories(on, traffic);
    let points = memories.into_iter().filter_map(|(node, sum)| on_curve(on, sample, traffic.seconds, node, sum));
    points.min_by(|a, b| a.head_room.total_cmp(&b.head_room))
}

/// The memories that are placed by themselves: the nodes, where the curves are of one node and traffic is counted by
/// node; else all memory together.
fn memories(on: &PlacedCurves, traffic: &Traffic) -> Vec<(Option<NodeId>, TrafficSum)> {
    let nodes = traffic.nodes();
    let by_node = on.place != SYSTEM && traffic.boxes.iter().all(|own| own.place.node.is_some());
    let has_curve = |node: NodeId| on.curves.iter().any(|curve| curve.node.is_none_or(|own| own == node));
    let placed: Vec<_> = nodes.iter().filter(|(node, _)| by_node && has_curve(**node)).collect();
    if placed.is_empty() {
        let all = |_: &BoxPlace| true;
        return vec![(None, traffic.sum(all))];
    }
    placed.into_iter().map(|(node, sum)| (Some(*node), *sum)).collect()
}

fn on_curve(
    on: &PlacedCurves,
    sample: &WatchSample,
    seconds: f64,
    node: Option<NodeId>,
    sum: TrafficSum,
) -> Option<PlacedPoint> {
    let total = sum.total?;
    let (rate, read_share) = (total / seconds, sum.read_share());
    // Without a share of reads, the reads: the mix of every first curve.
    let away = |curve: &PlacedCurve| (curve.read_share - read_share.unwrap_or(1.0)).abs();
    let fits = |curve: &PlacedCurve| node.is_none() || curve.node.is_none_or(|own| Some(own) == node);
    let (at, curve) = on
        .curves
        .iter()
        .enumerate()
        .filter(|(_, curve)| fits(curve))
        .min_by(|(_, a), (_, b)| away(a).total_cmp(&away(b)))?;
    let (ns, beyond) = curve.latency(rate)?;
    let (part, head_room) = curve.part(rate);
    Some(PlacedPoint {
        time: sample.time.clone(),
        seconds,
        node,
        bytes_per_second: rate,
        read_share,
        curve: at,
        ns,
        beyond,
        part,
        head_room,
    })
}

#[cfg(test)]
mod tests;
