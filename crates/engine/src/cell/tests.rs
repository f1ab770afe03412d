use tiermark_model::messages::setup as says;
use tiermark_model::{
    Grade, Layout, Machine, Metric, Node, PageKind, Reason, ReasonCode, RegionSetup, Setup, Window, testing,
};

use super::*;
use crate::Lab;

fn cell(regions: Vec<RegionSetup>) -> Cell {
    let setup = Setup { regions, threads: Vec::new(), seed: 1 };
    Cell::new(Step { setup, ..testing::step("a", Metric::Latency) }, &Machine::default())
}

#[test]
fn one_proof_that_saw_nothing_is_told_of_whichever_it_was() {
    let region = |page| testing::region(64 << 20, page, Layout::Data);
    let seen = PlacementProof {
        how: says::placement_seen("move_pages", 64, 1, true, None),
        pages: 64,
        on_target: Some(1.0),
        page_share: Some(1.0),
        page: "base".into(),
        ..PlacementProof::default()
    };
    let no_sizes = PlacementProof {
        how: says::placement_seen("move_pages", 64, 1, false, None),
        page_share: None,
        ..seen.clone()
    };
    let none = PlacementProof { how: says::placement_lost("it ended"), ..PlacementProof::default() };
    let node = |id| Node { id, memory_bytes: Some(1 << 30), ..Node::default() };
    let doubts = |page, nodes: u32, proofs: &[&PlacementProof]| {
        let mut cell = cell(vec![region(page)]);
        for at in 0..10 {
            let windows = vec![Window { clean: true, values: vec![Some(20.0)], ..Window::default() }; 8];
            cell.visits.push(Visit { at: f64::from(at), windows, ..Visit::default() });
        }
        proofs.iter().for_each(|proof| cell.prove((*proof).clone()));
        let machine = Machine { nodes: (0..nodes).map(node).collect(), ..Machine::default() };
        let verdict = cell.observe(&Conditions::default(), &Lab::new(machine, Default::default())).verdict;
        assert_eq!(verdict.grade == Grade::Trusted, verdict.reasons.is_empty(), "{verdict:?}");
        verdict.reasons
    };
    for page in [PageKind::Base, PageKind::Thp, PageKind::Huge(2 << 20)] {
        for nodes in [1, 2] {
            assert_eq!(doubts(page, nodes, &[&seen, &seen]), []);
            // First, between others, and last: no other hides it.
            for proofs in [[&none, &seen, &seen], [&seen, &none, &seen], [&seen, &seen, &none]] {
                let found = doubts(page, nodes, &proofs);
                let codes: Vec<ReasonCode> = found.iter().map(tiermark_model::Reason::code).collect();
                // On one node, pages that were seen in any of the proofs are where they have to be.
                let place: &[ReasonCode] = if nodes > 1 { &[ReasonCode::Unproven] } else { &[] };
                assert_eq!(codes, [place, &[ReasonCode::PageSize]].concat(), "{page} {nodes}");
                assert!(found.iter().all(|reason| reason.to_string().ends_with(": it ended)")), "{found:?}");
            }
            let found = doubts(page, nodes, &[&seen, &no_sizes, &seen]);
            assert_eq!(found, [Reason::PagesUnseen { how: no_sizes.how.clone() }], "{page}");
        }
        // Where nothing was ever seen, one node proves nothing either.
        let codes: Vec<ReasonCode> =
            doubts(page, 1, &[&none, &none]).iter().map(tiermark_model::Reason::code).collect();
        assert_eq!(codes, [ReasonCode::Unproven, ReasonCode::PageSize]);
    }
}
