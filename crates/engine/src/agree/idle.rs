//! A load makes nothing faster: latency without a load is not above latency beside one.

use tiermark_model::{Machine, Purpose, Reason};

use super::{Doubts, Figure, TOLERANCE, doubt};
use crate::agree::moments::{basis, middle};
use crate::states::Conditions;

/// Doubts latencies without a load that are above those of the same chain under a load of the same experiment, together
/// with these.
pub(super) fn not_above_loaded<'a>(
    figures: &[Figure<'a>],
    conditions: &Conditions,
    machine: &Machine,
    doubts: &mut Doubts,
) {
    for idle in figures.iter().filter(|figure| figure.seen.labels.is_for(Purpose::Unloaded)) {
        let is_beside = |other: &&Figure<'a>| {
            other.experiment == idle.experiment && other.seen.labels.is_for(Purpose::Load) && is_same_chain(idle, other)
        };
        let beside: Vec<Figure<'a>> = figures.iter().filter(is_beside).copied().collect();
        let basis = basis(&[&[*idle], &beside[..]].concat());
        let Some((alone, _)) = middle(idle, basis, conditions, machine) else { continue };
        let above = |other: &Figure<'a>| {
            let (loaded, _) = middle(other, basis, conditions, machine)?;
            let is_above = alone.median > loaded.median * (1.0 + TOLERANCE) && alone.is_apart(&loaded);
            is_above.then_some((*other, loaded.median))
        };
        let faster: Vec<(Figure<'a>, f64)> = beside.iter().filter_map(above).collect();
        let reason = |with: &Figure<'_>, loaded| Reason::IdleAboveLoaded {
            with: with.step.id.clone(),
            idle: alone.median,
            loaded,
        };
        faster.iter().for_each(|(other, loaded)| doubt(other, reason(idle, *loaded), doubts));
        if let Some((other, loaded)) = faster.iter().min_by(|a, b| a.1.total_cmp(&b.1)) {
            doubt(idle, reason(other, *loaded), doubts);
        }
    }
}

/// Whether the chaser of both is the same, on the same memory.
fn is_same_chain(one: &Figure<'_>, other: &Figure<'_>) -> bool {
    let chain = |figure: &Figure<'_>| {
        let setup = &figure.step.setup;
        let thread = setup.threads.first()?;
        Some((thread.cpu, thread.role.clone(), setup.regions.get(thread.region)?.clone()))
    };
    let pair = chain(one).zip(chain(other));
    pair.is_some_and(|(one, other)| one == other)
}
