//! Findings of the cells: each by itself, the parts of mixed ones, and policies compared with plain placement.

use std::collections::BTreeSet;

use tiermark_model::messages::memory;
use tiermark_model::{
    Bench, Bytes, Finding, Grade, IdSet, KernelInfo, Labels, Machine, NodeId, Note, Observation, Quantity, Reason,
    Unit, Verdict,
};

use tiermark_engine::Lab;

use super::groups::CpuGroup;
use crate::bandwidth::mix;
use crate::ceilings::{Ceiling, Stated, shares_of_ceilings, traffic_for_each_byte};
use crate::ground::{Says, grounded};
use crate::ladder::{derived, finding, overhead_note, quotient};

/// The observations, with a doubt on those whose footprint the caches can hold: then it is not the node that answers.
pub(super) fn of_memory(observations: &[Observation], machine: &Machine) -> Vec<Observation> {
    /// Less than this many times the caches in reach, and they serve half of it or more.
    const TIMES: u64 = 2;
    let mut observations = observations.to_vec();
    for observation in observations.iter_mut().filter(|o| o.value.is_some()) {
        let cpus: IdSet =
            observation.labels.cpus().and_then(|cpus| IdSet::from_plain_list(cpus).ok()).unwrap_or_default();
        let caches = machine.reachable_cache_bytes(&cpus);
        let regions = if observation.labels.buffer().is_some() { 1 } else { cpus.len() as u64 };
        let Some(size) = observation.labels.size().map(|size| Bytes(size.0 * regions)) else { continue };
        if size.0 < TIMES * caches {
            let reason = Reason::CachesAnswer { bytes: size, caches: Bytes(caches), times: TIMES };
            observation.verdict.suspect(reason);
        }
    }
    observations
}

/// Whether caches answer it, so that it says nothing of lines of memory.
fn is_cached(seen: &Observation) -> bool {
    seen.verdict.reasons.iter().any(|reason| matches!(reason, Reason::CachesAnswer { .. }))
}

/// Every observation as a finding.
pub(super) fn cells(observations: &[Observation]) -> Vec<Finding> {
    let moved = |o: &Observation| Some(memory::bytes_moved(Bytes(o.moved?), Bytes(o.labels.total()?)));
    observations.iter().map(|o| finding(o, overhead_note(o).into_iter().chain(moved(o)))).collect()
}

/// Of every bandwidth of one node whose accesses move more than the program uses: the used share. Lines are counted as
/// its kernel touches them; where caches answer, nothing is known of them.
pub(super) fn used(observations: &[Observation], bench: &Bench) -> Vec<Finding> {
    let used_share = |o: &Observation| {
        let rate = o.value.filter(|_| o.labels.policy().is_none() && o.unit == Unit::BytesPerSecond)?;
        let id = o.labels.kernel()?;
        let (read, written) = bench.kernel(id)?.traffic();
        let share = 1.0 / (read + written);
        let found = derived(o, Quantity::MatrixUsed, o.labels.clone(), share, Unit::Ratio);
        (share < 1.0).then(|| found.with_notes([memory::bytes_beside((rate * read).into(), (rate * written).into())]))
    };
    observations.iter().filter(|o| !is_cached(o)).filter_map(used_share).collect()
}

/// The rate of each part of a mixed step.
pub(super) fn parts(observations: &[Observation]) -> Vec<Finding> {
    let part_rates = |o: &Observation| -> Vec<Finding> {
        let part = |part: &tiermark_model::PartResult| {
            let labels = o.labels.clone().with_part(&part.name);
            Some(derived(o, Quantity::BandwidthPart, labels, part.value?, part.unit))
        };
        o.parts.iter().filter_map(part).collect()
    };
    observations.iter().flat_map(part_rates).collect()
}

/// Every bandwidth of one node as shares of what its memory, and the link to it, carry in theory, where that is known.
pub(super) fn shares(observations: &[Observation], groups: &[CpuGroup], stated: Stated, lab: &Lab) -> Vec<Finding> {
    let machine = &lab.machine;
    let plain = observations.iter().filter(|o| o.labels.policy().is_none() && o.unit == Unit::BytesPerSecond);
    let plain = plain.filter(|o| !is_cached(o));
    let peak_shares = |o: &Observation| -> Option<Vec<(f64, Finding)>> {
        let (node, op) = (node_of(o)?, o.labels.op()?);
        let group = groups.iter().find(|group| o.labels.from() == Some(&group.name))?;
        let kernels = kernels_of(o, &lab.bench);
        // The channels carry all that is read and written; the link carries a line once, or once each way.
        let moved = o.value? * traffic_for_each_byte(&kernels)?;
        let lines = o.value? * kernels.first().map_or(1.0, |kernel| kernel.lines_for_each_byte());
        // What is read crosses it one way; a line that is written is read first and sent back, or only sent. A copy has
        // other rates each way.
        let is_even = op.starts_with("read") || op.starts_with("write");
        let link = stated.link(machine, &group.cpus, Some(node)).filter(|_| is_even);
        let share = |(of, rate, ceiling): (&str, f64, Ceiling)| {
            let labels = o.labels.clone().with_statistic(of);
            let found = derived(o, Quantity::MatrixShare, labels, rate / ceiling.rate, Unit::Ratio);
            (ceiling.rate, found.with_notes([ceiling.note]))
        };
        let peak = stated.peak(machine, Some(node));
        let known = [("of theoretical peak", moved, peak), ("of link", lines, link)];
        Some(known.into_iter().filter_map(|(of, rate, ceiling)| Some((of, rate, ceiling?))).map(share).collect())
    };
    shares_of_ceilings(plain.filter_map(peak_shares).flatten().collect())
}

/// The kernels that the threads of a cell ran: the one that was taken, or those of its mix in turn.
fn kernels_of<'a>(o: &Observation, bench: &'a Bench) -> Vec<&'a KernelInfo> {
    if let Some(id) = o.labels.kernel() {
        return bench.kernel(id).into_iter().collect();
    }
    let mix = o.labels.op().and_then(mix).and_then(|mix| mix.kernels(bench).ok());
    mix.into_iter().flatten().filter_map(|id| bench.kernel(&id.0)).collect()
}

/// Two observations as a ratio: as doubtful as the worse of both.
pub(super) fn ratio(quantity: Quantity, labels: Labels, of: &Observation, to: &Observation) -> Option<Finding> {
    let value = of.value? / to.value?;
    let interval = quotient(of, to);
    let found = Finding {
        interval,
        samples: of.visits.len().min(to.visits.len()) as u64,
        verdict: worse(&of.verdict, &to.verdict),
        evidence: vec![of.step.clone(), to.step.clone()],
        ..Finding::new(quantity, labels, Some(value), Unit::Ratio)
    };
    Some(found)
}

/// The doubts of both.
fn worse(one: &Verdict, other: &Verdict) -> Verdict {
    let mut verdict = one.clone();
    verdict.grade = verdict.grade.max(other.grade);
    for reason in &other.reasons {
        if !verdict.reasons.contains(reason) {
            verdict.reasons.push(reason.clone());
        }
    }
    verdict
}

/// Whether two observations were made by the same cpus with the same work.
fn alike(one: &Observation, other: &Observation) -> bool {
    one.labels.are_alike(&other.labels, |of| (of.from(), of.op(), of.span()))
}

/// Plain cells of the same cpus and work.
fn plain<'a>(of: &'a Observation, observations: &'a [Observation]) -> impl Iterator<Item = &'a Observation> {
    observations.iter().filter(move |o| o.labels.policy().is_none() && alike(of, o))
}

/// Every row's far memory, one node of each kind, against its own.
pub(super) fn far(
    observations: &[Observation],
    groups: &[CpuGroup],
    targets: &IdSet,
    machine: &Machine,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for group in groups {
        let row =
            || observations.iter().filter(|o| o.labels.policy().is_none() && o.labels.from() == Some(&group.name));
        for node in group.far_kinds(targets, machine) {
            for cell in row().filter(|o| node_of(o) == Some(node)) {
                let own = row().find(|o| alike(o, cell) && node_of(o).is_some_and(|node| group.homes.contains(node)));
                let against = own.and_then(|own| ratio(Quantity::MatrixFar, cell.labels.clone(), cell, own));
                found.extend(against.map(|one| one.with_notes(group.distance(node, machine).map(memory::at_distance))));
            }
        }
    }
    found
}

/// The node of a cell.
fn node_of(observation: &Observation) -> Option<NodeId> {
    observation.labels.node()
}

/// Every mixed total against all threads on local memory.
pub(super) fn mixed(observations: &[Observation], groups: &[CpuGroup]) -> Vec<Finding> {
    let is_mixed = |o: &&Observation| o.labels.policy() == Some("mixed");
    let against = |o: &Observation| {
        let group = groups.iter().find(|group| o.labels.from() == Some(&group.name))?;
        let local = plain(o, observations).find(|o| node_of(o).is_some_and(|node| group.homes.contains(node)))?;
        let remote = plain(o, observations).find(|cell| node_of(cell) == node_of(o));
        let found = ratio(Quantity::MixedAgainstLocal, o.labels.clone(), o, local)?;
        let part = |name: &str| o.parts.iter().find(|p| p.name == name).and_then(|p| p.value);
        let parts = [
            ("its local threads", part("local")),
            ("its remote threads", part("remote")),
            ("all local", local.value),
            ("all remote", remote.and_then(|cell| cell.value)),
        ];
        let parts = parts.into_iter().filter_map(|(name, rate)| Some((name, rate?.into())));
        Some(found.with_notes([memory::parts_of_mixed(parts.collect())]))
    };
    observations.iter().filter(is_mixed).filter_map(against).collect()
}

/// The best weights of every sweep, and the rates of the others.
pub(super) fn best_weights(observations: &[Observation]) -> Vec<Finding> {
    let weighted: Vec<&Observation> =
        observations.iter().filter(|o| o.labels.policy() == Some("weighted") && o.value.is_some()).collect();
    let mut reported: BTreeSet<String> = BTreeSet::new();
    let mut found = Vec::new();
    for first in &weighted {
        let same = |o: &&&Observation| alike(first, o) && o.labels.nodes() == first.labels.nodes();
        let sweep: Vec<&Observation> = weighted.iter().filter(same).copied().collect();
        let Some(best) = sweep.iter().max_by(|a, b| value(a).total_cmp(&value(b))) else { continue };
        if sweep.len() > 1 && reported.insert(best.step.clone()) {
            let mut one = derived(best, Quantity::InterleaveBest, best.labels.clone(), value(best), best.unit);
            one.interval = best.interval;
            let asked = observations.iter().filter(|o| o.labels.policy() == Some("weighted") && same(&o)).count();
            // Two that the user named are compared; the best of a sweep lies between others.
            let says = if asked > Says::Level.least() { Says::Level } else { Says::Quotient };
            found.push(grounded(one.with_notes(beside(best, &sweep, observations)), &sweep, asked, says));
        }
    }
    found
}

fn value(observation: &Observation) -> f64 {
    observation.value.unwrap_or_default()
}

/// Rates beside those of the best weights: weights as good, even shares, and the kernel's own.
fn beside(best: &Observation, sweep: &[&Observation], observations: &[Observation]) -> Vec<Note> {
    let overlaps = |o: &Observation| o.interval.zip(best.interval).is_some_and(|(a, b)| a.high >= b.low);
    let weights = |o: &Observation| o.labels.weights().unwrap_or_default().to_owned();
    let equals: Vec<String> = sweep.iter().filter(|o| o.step != best.step && overlaps(o)).map(|o| weights(o)).collect();
    let mut notes = Vec::new();
    if !equals.is_empty() {
        notes.push(memory::weights_as_good(&equals));
    }
    let same = |o: &&Observation| alike(best, o) && o.labels.nodes() == best.labels.nodes();
    for o in observations.iter().filter(same) {
        match o.labels.policy() {
            Some("interleave") => notes.extend(o.value.map(|rate| memory::even_shares(rate.into()))),
            Some("kernel weights") => notes.extend(kernels(o)),
            _ => {}
        }
    }
    if notes.is_empty() { vec![memory::weights_tried(sweep.len())] } else { notes }
}

/// The rate with the kernel's weights, and the shares of its pages.
fn kernels(observation: &Observation) -> Option<Note> {
    if observation.verdict.grade == Grade::Invalid {
        return None;
    }
    Some(memory::kernels_weights(observation.placement.as_ref()?.by_node.clone(), observation.value?.into()))
}
