//! Where a program is on the loaded-latency curves of a run.

mod command;

use std::collections::BTreeMap;

use tiermark_model::messages::curve_profile as says;
use tiermark_model::{
    BoxKind, Distance, IdSet, Machine, NodeId, Note, Observation, ProfileAxis, ProfileCurve, ProfileCurves,
    ProfileKnee, ProfileOther, ProfilePoint, Purpose, Refusal, Run, RunCounters, Traffic, TrafficSum, WatchSample,
};

use crate::loaded::pauses::{LoadPoint, knee_of, monotone, rising};
use crate::memory_kinds::local_cpus;
pub use command::ProfiledCommand;

/// Places whose curves are used, the first that a run has: threads beside their memory, and all nodes at once, which
/// has fewer mixes and is divided by node. Programs do not keep to remote or far memory.
const PLACES: [Distance; 2] = [Distance::Local, Distance::System];
/// Difference between the share of reads of a program and of its curve from which on a note says so: curves of mixes
/// whose shares differ by a sixth (read, 2:1) have knees some 10 % apart.
const MIX_APART: f64 = 0.1;

/// Part of what fits below the knee from which on the traffic before a command is not that of an idle machine, which
/// moves some 100 MB/s a socket.
const BUSY: f64 = 0.1;

/// A point of a curve with the observation behind it.
type Seen<'a> = (LoadPoint, &'a Observation);

/// The curves of a run: each is of one node.
///
/// # Errors
/// A [`Refusal`] if it has none.
fn curves_of(run: &Run) -> Result<ProfileCurves, Refusal> {
    let observations: Vec<&Observation> = run.observations().collect();
    let cpus = local_cpus(&run.machine, &run.machine.online());
    let nodes: IdSet = cpus.iter().filter_map(|cpu| run.machine.node_of(cpu)).collect();
    curves(&run.id, &observations, run.counters.as_ref(), nodes.len())
}

/// The curves in the observations of a run on a machine of so many nodes.
fn curves(
    run: &str,
    observations: &[&Observation],
    counters: Option<&RunCounters>,
    nodes: usize,
) -> Result<ProfileCurves, Refusal> {
    let of_place = |place: Distance| observations.iter().copied().filter(move |o| o.labels.place() == Some(place));
    let is_loaded = |place: &Distance| of_place(*place).any(|o| o.labels.is_for(Purpose::Load));
    let place = PLACES.into_iter().find(is_loaded).ok_or_else(|| says::run_without_curve(run))?;
    let mut found: BTreeMap<(Option<NodeId>, String), Vec<Seen<'_>>> = BTreeMap::new();
    for seen in of_place(place) {
        let Some(mix) = seen.labels.mix().filter(|_| seen.labels.is_for(Purpose::Load)) else { continue };
        let key = (seen.labels.node(), mix.to_owned());
        found.entry(key).or_default().extend(point(seen).map(|point| (point, seen)));
    }
    // Counted rates only if every point of every curve has them: one axis is of one kind.
    let is_trusted = counters.is_some_and(RunCounters::can_be_trusted);
    let counted = is_trusted && found.values().flatten().all(|(_, seen)| amplification(seen).is_some());
    let axis = if counted { ProfileAxis::Counted } else { ProfileAxis::Useful };
    let idle = |node: Option<NodeId>| {
        let fits = |o: &&Observation| o.labels.is_for(Purpose::Unloaded) && o.labels.node() == node;
        of_place(place).find(fits).and_then(|o| o.value)
    };
    // Nodes of a machine are taken to be alike: each carries its part of what all carry.
    let part = if place == Distance::System { 1.0 / nodes.max(1) as f64 } else { 1.0 };
    let curves: Vec<ProfileCurve> =
        found.iter().filter_map(|((node, mix), seen)| curve(*node, mix, idle(*node), seen, (axis, part))).collect();
    if curves.is_empty() {
        return Err(says::run_without_curve(run));
    }
    Ok(ProfileCurves { run: run.to_owned(), place: place.to_string(), axis, curves })
}

/// The point of an observation under load; `None` if it has no number.
fn point(seen: &Observation) -> Option<LoadPoint> {
    let pause = seen.labels.pause().and_then(|pause| u32::try_from(pause).ok())?;
    let rate = seen.parts.iter().find(|part| part.unit == tiermark_model::Unit::BytesPerSecond)?.value?;
    Some(LoadPoint { pause: Some(pause), rate, latency: seen.value? })
}

/// Bytes on the channels for each useful byte of a point; `None` without counts. Both are of the same time, which has
/// the start of the threads that the time of the counters has beside that of the rate.
fn amplification(seen: &Observation) -> Option<f64> {
    seen.traffic.as_ref()?.amplification()
}

/// A curve on an axis, of a part of the rates; `None` if it has fewer than two points.
fn curve(
    node: Option<NodeId>,
    mix: &str,
    idle: Option<f64>,
    seen: &[Seen<'_>],
    (axis, part): (ProfileAxis, f64),
) -> Option<ProfileCurve> {
    let is_counted = axis == ProfileAxis::Counted;
    let factor = |o: &Observation| part * amplification(o).filter(|_| is_counted).unwrap_or(1.0);
    let on_axis = |(point, o): &Seen<'_>| LoadPoint { rate: point.rate * factor(o), ..*point };
    let mut points: Vec<LoadPoint> = seen.iter().map(on_axis).collect();
    points.extend(idle.map(|latency| LoadPoint { pause: None, rate: 0.0, latency }));
    let rising = monotone(&rising(&points));
    if rising.len() < 2 {
        return None;
    }
    let knee = knee_of(&points).and_then(|knee| {
        let at = rising.iter().position(|point| point.pause == knee.pause)?;
        let (low, high) = (rising[at.saturating_sub(1)].rate, rising.get(at + 1).unwrap_or(&knee).rate);
        Some(ProfileKnee { at: knee.rate, low, high })
    });
    let share = |o: &Observation| o.traffic.as_ref().filter(|_| is_counted)?.counted.whole().read_share();
    let shares: Vec<f64> = seen.iter().filter_map(|(_, o)| share(o)).collect();
    let read_share = if shares.is_empty() {
        on_channels(mix, seen.first()?.1.labels.reads()?)
    } else {
        shares.iter().sum::<f64>() / shares.len() as f64
    };
    Some(ProfileCurve {
        mix: mix.to_owned(),
        node,
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

/// Where a sample is on the curves: of several nodes, the one with the least head room for its curve. `None` if no
/// traffic is counted, no time has passed, or the traffic is not known by node.
fn place(on: &ProfileCurves, sample: &WatchSample, machine: &Machine) -> Option<ProfilePoint> {
    let traffic = sample.traffic.as_ref().filter(|traffic| traffic.seconds > 0.0)?;
    let nodes = by_node(traffic, machine)?;
    let points = nodes.into_iter().filter_map(|(node, sum)| on_curve(on, sample, traffic.seconds, node, sum));
    points.min_by(|a, b| a.head_room.total_cmp(&b.head_room))
}

/// Whether a sample has traffic that is not known by node, so that it is on no curve of a node.
fn lacks_nodes(sample: &WatchSample, machine: &Machine) -> bool {
    let counted = sample.traffic.as_ref().filter(|traffic| traffic.seconds > 0.0 && !traffic.boxes.is_empty());
    counted.is_some_and(|traffic| by_node(traffic, machine).is_none())
}

/// What a reader should know of points on curves.
fn notes(on: &ProfileCurves, points: &[ProfilePoint]) -> Vec<Note> {
    let mut notes = Vec::new();
    if on.place == Distance::System.word() {
        notes.push(says::curve_of_all_nodes());
    }
    if points.iter().any(|point| point.read_share.is_none() && point.bytes_per_second > 0.0) {
        notes.push(says::mix_not_counted());
    }
    let apart = |point: &ProfilePoint| {
        // Between two curves nothing is far from what was measured.
        let curve = on.curves.get(point.curve).filter(|_| point.other.is_none())?;
        point.read_share.map(|share| (share - curve.read_share).abs()).filter(|apart| *apart > MIX_APART)
    };
    let seconds: f64 = points.iter().filter(|point| apart(point).is_some()).map(|point| point.seconds).sum();
    if let Some(widest) = points.iter().filter_map(apart).reduce(f64::max) {
        notes.push(says::mix_far_from_curve(widest, seconds));
    }
    notes.extend(between(on, points));
    notes
}

/// A note that names the pairs of curves between which points lie, most seconds first.
fn between(on: &ProfileCurves, points: &[ProfilePoint]) -> Option<Note> {
    let mut pairs: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for point in points {
        let Some(other) = point.other else { continue };
        let mix = |at: usize| on.curves.get(at).map(|curve| curve.mix.as_str());
        let (a, b) = mix(point.curve).zip(mix(other.curve))?;
        *pairs.entry((a.min(b), a.max(b))).or_default() += point.seconds;
    }
    let mut sorted: Vec<((&str, &str), f64)> = pairs.into_iter().collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    let seconds = sorted.iter().map(|(_, seconds)| seconds).sum();
    let names: Vec<String> = sorted.iter().map(|((a, b), _)| format!("{a} and {b}")).collect();
    (!names.is_empty()).then(|| says::between_curves(&names.join("; "), seconds))
}

/// What the traffic before the command says: so much of it is subtracted.
fn idle_notes(on: &ProfileCurves, idle: &Traffic, machine: &Machine) -> Vec<Note> {
    let Some(rate) = idle.whole().total.map(|total| total / idle.seconds).filter(|rate| rate.is_finite()) else {
        return Vec::new();
    };
    let mut notes = vec![says::idle_subtracted(rate.into(), idle.seconds)];
    let fits = on.curves.iter().map(|curve| curve.part(0.0).1).filter(|room| *room > 0.0).reduce(f64::min);
    let nodes = by_node(idle, machine).unwrap_or_default();
    let busiest = nodes.values().filter_map(|sum| sum.total).map(|total| total / idle.seconds).reduce(f64::max);
    let part = busiest.zip(fits).map(|(rate, room)| rate / room);
    notes.extend(part.filter(|part| *part > BUSY).map(|part| says::busy_before_command(part.into())));
    notes
}

/// Traffic by node. A box without node belongs to the one node of its socket. `None` if the node of one is not known:
/// the sum of several nodes is on no curve of one.
fn by_node(traffic: &Traffic, machine: &Machine) -> Option<BTreeMap<NodeId, TrafficSum>> {
    // Traffic of a last-level cache may be to the memory of any node.
    let is_of_caches = traffic.boxes.iter().any(|own| own.place.kind == BoxKind::Cache);
    if is_of_caches && machine.nodes.len() > 1 {
        return None;
    }
    let mut known = traffic.clone();
    let places = known.boxes.iter_mut().map(|own| &mut own.place);
    for place in places.chain(known.missing.iter_mut().filter(|place| place.kind != BoxKind::Link)) {
        place.node = Some(place.node.or_else(|| only_node(machine, place.socket))?);
    }
    Some(known.nodes())
}

/// The node of a socket, or of a machine, that has just one.
fn only_node(machine: &Machine, socket: Option<u32>) -> Option<NodeId> {
    let cpus = machine.cpus.iter().filter(|cpu| socket.is_none_or(|socket| cpu.socket == socket));
    let nodes: IdSet = cpus.filter_map(|cpu| machine.node_of(cpu.id)).collect();
    nodes.first().filter(|_| nodes.len() == 1)
}

fn on_curve(
    on: &ProfileCurves,
    sample: &WatchSample,
    seconds: f64,
    node: NodeId,
    sum: TrafficSum,
) -> Option<ProfilePoint> {
    let total = sum.total?;
    let (rate, read_share) = (total / seconds, sum.read_share());
    // Without a share of reads, the reads: the mix of every first curve.
    let away = |curve: &ProfileCurve| (curve.read_share - read_share.unwrap_or(1.0)).abs();
    let fits = |curve: &ProfileCurve| curve.node.is_none_or(|own| own == node);
    let all = || on.curves.iter().enumerate().filter(|(_, curve)| fits(curve));
    let (at, curve) = all().min_by(|(_, a), (_, b)| away(a).total_cmp(&away(b)))?;
    // The nearest on the other side of the share of reads, if there is one.
    let is_across = |own: &ProfileCurve, share: f64| (own.read_share - share) * (curve.read_share - share) < 0.0;
    let across = read_share.and_then(|share| {
        all().filter(|(_, own)| is_across(own, share)).min_by(|(_, a), (_, b)| away(a).total_cmp(&away(b)))
    });
    let other = across
        .map(|(place, own)| (own, ProfileOther { curve: place, weight: away(curve) / (away(curve) + away(own)) }));
    let found = match other {
        Some((own, ProfileOther { weight, .. })) => curve.at_between(own, weight, rate)?,
        None => curve.at(rate)?,
    };
    Some(ProfilePoint {
        time: sample.time.clone(),
        seconds,
        node: Some(node),
        bytes_per_second: rate,
        read_share,
        curve: at,
        other: other.map(|(_, other)| other),
        ns: found.ns,
        beyond: found.beyond,
        part: found.part,
        head_room: found.head_room,
    })
}

#[cfg(test)]
mod tests;
