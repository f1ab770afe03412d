//! Whether the pages were on the requested nodes, and of the requested size.

use tiermark_model::{Machine, Observation, Reason, Step, Verdict};

use super::shares;

/// Share of sampled pages that must be on the requested nodes; beyond 1 % elsewhere the number is another node's.
const ON_TARGET: f64 = 0.99;
/// Share of the memory that must have the requested page size.
const PAGE_SHARE: f64 = 0.99;

/// Holds the proof of placement against the setup.
pub(super) fn judge_placement(step: &Step, seen: &Observation, machine: &Machine, verdict: &mut Verdict) {
    let Some(proof) = &seen.placement else { return };
    let single = machine.nodes.iter().filter(|n| n.memory_bytes != Some(0)).count() <= 1;
    // With one node, all present pages are on it; a proof that saw no page proves nothing.
    let known = single && proof.pages > 0;
    match proof.on_target {
        Some(share) if share < ON_TARGET => {
            verdict.invalid(Reason::Elsewhere { share: 1.0 - share, by_node: proof.by_node.clone() });
        }
        None if !known => verdict.suspect(Reason::PlaceUnseen { how: proof.how.clone() }),
        _ => {}
    }
    if let Some(wrong) = shares::wrong(step, seen, proof, machine) {
        verdict.invalid(wrong);
    }
    let asked = step.setup.regions.first().map(|r| r.page);
    match (proof.page_share, asked) {
        (Some(share), Some(asked)) if share < PAGE_SHARE => {
            verdict.suspect(Reason::OtherPages { asked, share: 1.0 - share });
        }
        (None, Some(_)) => verdict.suspect(Reason::PagesUnseen { how: proof.how.clone() }),
        _ => {}
    }
}
