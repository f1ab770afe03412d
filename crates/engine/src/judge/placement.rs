//! Whether the pages were where they were asked for, and of that size.

use tiermark_model::{Machine, Observation, PageKind, ReasonCode, Step, Verdict};

use super::{percent, shares};

/// Share of sampled pages that must be on the nodes asked for; beyond 1 % elsewhere the number is another node's.
const ON_TARGET: f64 = 0.99;
/// Share of the memory that must have the page size asked for.
const PAGE_SHARE: f64 = 0.99;

/// Holds the proof of placement against the setup.
pub(super) fn judge_placement(step: &Step, seen: &Observation, machine: &Machine, verdict: &mut Verdict) {
    let Some(proof) = &seen.placement else { return };
    let single = machine.nodes.iter().filter(|n| n.memory_bytes != Some(0)).count() <= 1;
    // With one node, pages that are there are on it; of a proof that saw none, nobody knows whether they are.
    let known = single && proof.pages > 0;
    match proof.on_target {
        Some(share) if share < ON_TARGET => {
            let nodes: Vec<String> =
                proof.by_node.iter().map(|(node, pages)| format!("node {node}: {pages} pages")).collect();
            verdict.invalid(
                ReasonCode::WrongNode,
                format!("{} of the pages were elsewhere ({})", percent(1.0 - share), nodes.join(", ")),
            );
        }
        None if !known => {
            verdict.suspect(ReasonCode::Unproven, format!("where the pages were could not be seen ({})", proof.how));
        }
        _ => {}
    }
    if let Some(why) = shares::wrong(step, seen, proof, machine) {
        verdict.invalid(ReasonCode::WrongNode, why);
    }
    let asked = step.setup.regions.first().map(|r| r.page);
    match (proof.page_share, asked) {
        (Some(share), Some(asked)) if share < PAGE_SHARE => {
            let got = if asked == PageKind::Base { "huge pages" } else { "base pages" };
            verdict.suspect(
                ReasonCode::PageSize,
                format!("asked for {} pages, got {got} for {}", proof.page, percent(1.0 - share)),
            );
        }
        (None, Some(_)) => {
            verdict.suspect(ReasonCode::PageSize, format!("which page size it got could not be seen ({})", proof.how));
        }
        _ => {}
    }
}
