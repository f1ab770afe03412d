//! Whether the pages were on the requested nodes, in the requested shares, and of the requested size. Pure.

use tiermark_model::{
    MIB, Machine, MemPolicy, Observation, PageKind, PlacementProof, Reason, RegionSetup, Step, Verdict, total,
};

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
    if let Some(wrong) = wrong_shares(step, seen, proof, machine) {
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

/// A sample of pages may be off by this many standard deviations: 1 in 400,000 at random, so that no run of a thousand
/// steps is called wrong by chance.
const SIGMAS: f64 = 4.5;

/// How the pages of a step do not lie in the shares of its policy; `None` where they do, or where the policy leaves it
/// open.
///
/// The tolerance has two parts. A region is dealt out page by page, so its last round may be cut short: off by one page
/// of all it has. And only a sample of the pages is looked at, one at random out of each stretch: off by no more than
/// what a sample at random all over would be.
fn wrong_shares(step: &Step, seen: &Observation, proof: &PlacementProof, machine: &Machine) -> Option<Reason> {
    let first = step.setup.regions.first()?;
    let nodes: Vec<u32> = first.nodes.iter().collect();
    let like_first = |r: &RegionSetup| r.policy == first.policy && r.nodes == first.nodes && r.bytes == first.bytes;
    // Regions that differ are proven by their own nodes; a sum over them has no shares of its own.
    if nodes.len() < 2 || first.policy == MemPolicy::Bind || !step.setup.regions.iter().all(like_first) {
        return None;
    }
    let shares = first.policy.shares(nodes.len());
    let (round, found): (u32, u64) = (shares.iter().sum(), total(proof.by_node.values().copied()));
    if round == 0 || found == 0 {
        return None;
    }
    let pages = (first.bytes.0 / page_bytes(first.page, machine)).max(1) as f64;
    // Each allocation is sampled twice, at much the same pages: together the samples say little more than one.
    let looks = 2 * u64::from(seen.allocations.max(1));
    let sample = (proof.pages / looks).max(1) as f64;
    let off = nodes.iter().zip(&shares).find(|(node, share)| {
        let wanted = f64::from(**share) / f64::from(round);
        let there = proof.by_node.get(node).copied().unwrap_or(0) as f64 / found as f64;
        let tolerance = 1.0 / pages + SIGMAS * (wanted * (1.0 - wanted) / sample).sqrt();
        (there - wanted).abs() > tolerance
    });
    off.map(|(node, share)| {
        let there = proof.by_node.get(node).copied().unwrap_or(0) as f64 / found as f64;
        Reason::Dealt { node: *node, share: there, wanted: *share, of: round }
    })
}

/// Bytes of the pages that are dealt out: huge ones if requested.
fn page_bytes(page: PageKind, machine: &Machine) -> u64 {
    match page {
        PageKind::Base => machine.page_bytes,
        PageKind::Thp => machine.system.thp_bytes.unwrap_or(2 * MIB),
        PageKind::Huge(bytes) => bytes,
    }
    .max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Layout, Metric, Setup, testing};

    fn step(policy: MemPolicy, page: PageKind, mib: u64) -> Step {
        let region = testing::region(mib * MIB, page, Layout::Data);
        let region = RegionSetup { policy, nodes: "0,2".parse().unwrap(), ..region };
        let setup = Setup { regions: vec![region], threads: Vec::new(), seed: 0 };
        Step { setup, ..testing::step("a", Metric::Bandwidth) }
    }

    fn judged(policy: MemPolicy, page: PageKind, mib: u64, on: [u64; 2]) -> Option<String> {
        let proof =
            PlacementProof { pages: on[0] + on[1], by_node: [(0, on[0]), (2, on[1])].into(), ..Default::default() };
        let machine = Machine { page_bytes: 4096, ..Machine::default() };
        let seen = crate::cell::Cell::new(step(policy.clone(), page, mib), &machine);
        let lab = &crate::Lab::new(machine.clone(), Default::default());
        let seen = seen.observe(&crate::Conditions::default(), lab);
        wrong_shares(&step(policy, page, mib), &seen, &proof, &machine).map(|reason| reason.to_string())
    }

    #[test]
    fn shares_are_what_was_asked_for() {
        let three_to_one = MemPolicy::Weighted(vec![3, 1]);
        assert_eq!(judged(three_to_one.clone(), PageKind::Base, 64, [1500, 500]), None);
        assert_eq!(judged(three_to_one.clone(), PageKind::Base, 64, [1530, 470]), None, "a sample scatters");
        let why = judged(three_to_one.clone(), PageKind::Base, 64, [1000, 1000]).unwrap();
        assert_eq!(why, "node 0 holds 50 % of the pages, not 3 of every 4");
        assert!(judged(three_to_one.clone(), PageKind::Base, 64, [2000, 0]).is_some());
        assert!(judged(MemPolicy::Interleave, PageKind::Base, 64, [2000, 0]).is_some());
        assert_eq!(judged(MemPolicy::Interleave, PageKind::Base, 64, [1010, 990]), None);
        // Of 4 huge pages one more or less lies here.
        assert_eq!(judged(MemPolicy::Interleave, PageKind::Thp, 10, [1536, 1024]), None);
    }

    #[test]
    fn what_the_policy_leaves_open_is_not_judged() {
        assert_eq!(judged(MemPolicy::Bind, PageKind::Base, 64, [2000, 0]), None);
        assert_eq!(judged(MemPolicy::SystemWeighted, PageKind::Base, 64, [2000, 0]), None);
        assert_eq!(judged(MemPolicy::Interleave, PageKind::Base, 64, [0, 0]), None, "nothing was seen");
    }
}
