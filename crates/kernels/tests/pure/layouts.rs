//! Layouts: one cycle, every node once, pages exhausted one by one, and a proof that believes nothing else.

use std::cell::Cell;

use proptest::prelude::*;
use tiermark_kernels::layout::{
    LayoutError, ProofError, cycle, is_node, permutation, places, prove, prove_permutation, write_chain,
};
use tiermark_model::setup::ChainLayout;

/// Nodes of a group of `groups`.
const GROUP_NODES: usize = (ChainLayout::GROUP_BYTES / ChainLayout::GROUP_PITCH) as usize;

/// Any address that is a multiple of a page: pure code does not care where memory lies.
const BASE: u64 = 0x7f00_1234_5000;

fn any_layout() -> impl Strategy<Value = ChainLayout> {
    prop_oneof![
        Just(ChainLayout::Random),
        Just(ChainLayout::PageRandom),
        Just(ChainLayout::Groups),
        (1u64..40).prop_map(|words| ChainLayout::Stride(words * 8)),
        (1u64..40).prop_map(|words| ChainLayout::Scatter(words * 8)),
        (1u64..64).prop_map(|words| ChainLayout::Pair(words * 8)),
        (1u8..=8).prop_map(ChainLayout::Long),
    ]
}

/// The first node of a chain.
fn first(layout: ChainLayout) -> usize {
    usize::from(layout == ChainLayout::Groups)
}

/// Follows a chain from its first node until it comes back, serially.
fn round(words: &[u64], first: usize) -> Vec<usize> {
    let mut at = first;
    let mut seen = Vec::new();
    loop {
        seen.push(at);
        at = ((words[at] - BASE) / 8) as usize;
        if at == first || seen.len() > words.len() {
            return seen;
        }
    }
}

proptest! {
    #[test]
    fn every_layout_is_one_cycle_over_all_its_nodes(layout in any_layout(), lines in 1usize..700, seed: u64) {
        let mut words = vec![u64::MAX; lines * 8 + 3];
        let count = places(layout, words.len() * 8);
        prop_assume!(count.is_ok());
        write_chain(&mut words, BASE, layout, 1024, seed, &|| false).unwrap();
        let depth = match layout {
            ChainLayout::Long(n) => usize::from(n),
            ChainLayout::Pair(_) => 2,
            _ => 1,
        };
        let nodes = count.unwrap() * depth;
        let mut seen = round(&words, first(layout));
        prop_assert_eq!(seen.len(), nodes);
        seen.sort_unstable();
        seen.dedup();
        prop_assert_eq!(seen.len(), nodes);
        // Words that are no nodes were left alone.
        let untouched = words.iter().filter(|w| **w == u64::MAX).count();
        prop_assert_eq!(untouched, words.len() - nodes);
        let before = words.clone();
        let proof = prove(&mut words, BASE, layout, &|| false).unwrap();
        prop_assert_eq!(proof.nodes, nodes as u64);
        prop_assert!(words == before, "the proof left marks");
    }

    #[test]
    fn starts_are_equally_spaced(layout in any_layout(), lines in 64usize..3000, chains in 1u8..=32, seed: u64) {
        let mut words = vec![0; lines * 8];
        write_chain(&mut words, BASE, layout, 4096, seed, &|| false).unwrap();
        let proof = prove(&mut words, BASE, layout, &|| false).unwrap();
        let starts = proof.starts(&words, BASE, chains);
        let place: std::collections::HashMap<u64, usize> =
            round(&words, first(layout)).into_iter().enumerate().map(|(i, word)| (BASE + word as u64 * 8, i)).collect();
        let nodes = proof.nodes as usize;
        for pair in 0..usize::from(chains) {
            let next = (pair + 1) % usize::from(chains);
            let gap = (place[&starts[next]] + nodes - place[&starts[pair]]) % nodes;
            let want = nodes / usize::from(chains);
            let even = chains == 1 || gap == want || gap == want + 1;
            prop_assert!(even, "chain {} of {}: {} not {}", pair, chains, gap, want);
        }
    }

    #[test]
    fn page_random_stays_in_a_page_until_it_is_exhausted(pages in 1usize..40, seed: u64) {
        // The last page is half full.
        let nodes = pages * 64 - 32;
        let next = cycle(ChainLayout::PageRandom, nodes, 4096, seed, &|| false).unwrap();
        let mut at = 0usize;
        let mut crossings = 0;
        for _ in 0..nodes {
            let to = next[at] as usize;
            crossings += usize::from(to / 64 != at / 64);
            at = to;
        }
        prop_assert_eq!(at, 0);
        prop_assert_eq!(crossings, if pages == 1 { 0 } else { pages });
    }

    #[test]
    fn groups_are_random_inside_and_follow_each_other(groups in 1usize..4, nodes in 1usize..=GROUP_NODES, seed: u64) {
        // The last group is as full as `nodes` says, or the only one.
        let nodes = (groups - 1) * GROUP_NODES + nodes;
        let next = cycle(ChainLayout::Groups, nodes, 4096, seed, &|| false).unwrap();
        let (mut at, mut crossings, mut rising) = (0usize, 0, 0);
        let mut seen = vec![false; nodes];
        for _ in 0..nodes {
            prop_assert!(!std::mem::replace(&mut seen[at], true));
            let to = next[at] as usize;
            crossings += usize::from(to / GROUP_NODES != at / GROUP_NODES);
            rising += usize::from(to == at + 1);
            at = to;
        }
        prop_assert_eq!(at, 0);
        prop_assert_eq!(crossings, if groups == 1 { 0 } else { groups });
        // About one node of a random order is followed by its neighbour; a small cycle may be in order by chance.
        prop_assert!(nodes < 64 || rising < 24, "{} of {} nodes lead to their neighbour", rising, nodes);
    }

    #[test]
    fn permutations_are_proven_and_faults_are_found(lines in 2usize..5000, seed: u64, at: prop::sample::Index) {
        let mut order = permutation(lines, seed, &|| false).unwrap();
        prop_assert_eq!(prove_permutation(&order, lines, &|| false), Ok(()));
        let at = at.index(lines);
        let other = order[(at + 1) % lines];
        let good = std::mem::replace(&mut order[at], other);
        let doubled = matches!(prove_permutation(&order, lines, &|| false), Err(ProofError::NotAPermutation { .. }));
        prop_assert!(doubled);
        order[at] = lines as u32;
        let outside = matches!(prove_permutation(&order, lines, &|| false), Err(ProofError::NotAPermutation { .. }));
        prop_assert!(outside);
        order[at] = good;
        order.pop();
        let short = matches!(prove_permutation(&order, lines, &|| false), Err(ProofError::Incomplete { .. }));
        prop_assert!(short);
    }

    #[test]
    fn a_chain_cut_into_two_cycles_is_rejected(
        lines in 2usize..3000, seed: u64, a: prop::sample::Index, b: prop::sample::Index
    ) {
        let mut words = vec![0; lines * 8];
        write_chain(&mut words, BASE, ChainLayout::Random, 4096, seed, &|| false).unwrap();
        let (a, b) = (a.index(lines) * 8, b.index(lines) * 8);
        prop_assume!(a != b);
        // Exchanging two successors of one cycle always makes two.
        words.swap(a, b);
        let before = words.clone();
        let rejected = matches!(prove(&mut words, BASE, ChainLayout::Random, &|| false), Err(ProofError::NotOneCycle { .. }));
        prop_assert!(rejected);
        prop_assert!(words == before);
        // Two nodes with the same successor: some node has none.
        words.swap(a, b);
        words[a] = words[b];
        let rejected = matches!(prove(&mut words, BASE, ChainLayout::Random, &|| false), Err(ProofError::NotOneCycle { .. }));
        prop_assert!(rejected);
    }
}

#[test]
fn pointers_that_lead_nowhere_are_rejected() {
    for wrong in [0, BASE - 64, BASE + 64 * 100, BASE + 8, BASE + 1, u64::MAX] {
        let mut words = vec![0; 800];
        write_chain(&mut words, BASE, ChainLayout::Random, 4096, 1, &|| false).unwrap();
        words[80] = wrong;
        assert_eq!(
            prove(&mut words, BASE, ChainLayout::Random, &|| false),
            Err(ProofError::Astray { word: 80, pointer: wrong }),
            "{wrong:#x}"
        );
    }
}

#[test]
fn a_long_chain_that_mixes_its_permutations_is_rejected() {
    let mut words = vec![0; 800];
    let long = ChainLayout::Long(2);
    write_chain(&mut words, BASE, long, 4096, 1, &|| false).unwrap();
    // A second way out of permutation 0, and a second way back: still one cycle perhaps, but not one after the other.
    let line = (0..100).find(|line| words[line * 8].is_multiple_of(64)).unwrap();
    words[line * 8] += 8;
    assert_eq!(prove(&mut words, BASE, long, &|| false), Err(ProofError::Exits { permutation: 0, exits: 2 }));
}

#[test]
fn long_chains_walk_each_permutation_in_another_order() {
    let mut words = vec![0; 8 * 512];
    write_chain(&mut words, BASE, ChainLayout::Long(4), 4096, 3, &|| false).unwrap();
    let visits = round(&words, 0);
    let orders: Vec<Vec<usize>> =
        (0..4).map(|j| visits.iter().filter(|word| **word % 8 == j).map(|word| word / 8).collect()).collect();
    for j in 0..4 {
        assert_eq!(orders[j].len(), 512);
        // Of 511 neighbours about one is a neighbour in another random order too.
        let pairs: std::collections::HashSet<_> = orders[j].windows(2).collect();
        for other in (0..4).filter(|other| *other != j) {
            let shared = orders[other].windows(2).filter(|pair| pairs.contains(pair)).count();
            assert!(shared <= 8, "permutations {j} and {other} share {shared} neighbours");
        }
    }
}

#[test]
fn seeds_decide_the_cycle() {
    for layout in [ChainLayout::Random, ChainLayout::PageRandom, ChainLayout::Groups] {
        let make = |seed| cycle(layout, 1000, 4096, seed, &|| false).unwrap();
        assert_eq!(make(1), make(1), "{layout}");
        assert_ne!(make(1), make(2), "{layout}");
    }
}

#[test]
fn seeds_decide_the_order_of_groups() {
    // The last group has one node: the group before it differs from seed to seed.
    let next = |seed| cycle(ChainLayout::Groups, 3 * GROUP_NODES + 1, 4096, seed, &|| false).unwrap();
    let before = |seed| next(seed).iter().position(|to| *to as usize == 3 * GROUP_NODES).unwrap() / GROUP_NODES;
    let orders: std::collections::HashSet<usize> = (0..12).map(before).collect();
    assert!(orders.len() > 1, "{orders:?}");
}

#[test]
fn groups_share_their_lines_with_a_random_chain() {
    // 40 MiB and 72 bytes: two groups, the second of them short, and no whole place at the end.
    let mut words = vec![0; (40 << 20) / 8 + 9];
    write_chain(&mut words, BASE, ChainLayout::Random, 4096, 1, &|| false).unwrap();
    let lines = words.len() / 8;
    // Both write into the same memory: neither overwrites a word of the other.
    write_chain(&mut words, BASE, ChainLayout::Groups, 4096, 2, &|| false).unwrap();
    assert_eq!(prove(&mut words, BASE, ChainLayout::Random, &|| false).unwrap().nodes, lines as u64);
    let proof = prove(&mut words, BASE, ChainLayout::Groups, &|| false).unwrap();
    assert_eq!(proof.nodes, (40 << 20) / 128);
    assert!(proof.starts(&words, BASE, 4).iter().all(|start| (start - BASE) % 128 == 8));
}

#[test]
fn groups_of_whole_places() {
    assert_eq!((ChainLayout::Groups.pitch(), places(ChainLayout::Groups, 383)), (128, Ok(2)));
    let too_small = LayoutError::TooSmall { layout: ChainLayout::Groups, bytes: 127, needed: 128 };
    assert_eq!(places(ChainLayout::Groups, 127), Err(too_small));
}

#[test]
fn cycles_of_four_lines_are_equally_likely() {
    let mut counts = std::collections::HashMap::new();
    for seed in 0..6000 {
        *counts.entry(cycle(ChainLayout::Random, 4, 4096, seed, &|| false).unwrap()).or_insert(0i32) += 1;
    }
    // There are (4 - 1)! cyclic permutations of four; 5 standard deviations of a count of 1000 are 144.
    assert_eq!(counts.len(), 6);
    assert!(counts.values().all(|n| (n - 1000).abs() < 144), "{counts:?}");
}

#[test]
fn layouts_that_cannot_be_built_say_why() {
    let too_small = write_chain(&mut [0; 7], BASE, ChainLayout::Random, 4096, 1, &|| false).unwrap_err();
    assert_eq!(too_small, LayoutError::TooSmall { layout: ChainLayout::Random, bytes: 56, needed: 64 });
    assert!(too_small.to_string().contains("at least 64 bytes"));
    assert!(matches!(places(ChainLayout::Random, 1 << 40), Err(LayoutError::TooLarge { .. })));
    assert!(matches!(places(ChainLayout::Scatter(12), 4096), Err(LayoutError::Stride { stride: 12 })));
    assert_eq!(places(ChainLayout::Stride(12), 4096), Ok(341));
    assert!(matches!(places(ChainLayout::Stride(0), 4096), Err(LayoutError::Stride { stride: 0 })));
    assert!(matches!(places(ChainLayout::Long(9), 4096), Err(LayoutError::Permutations { count: 9 })));
    assert!(matches!(
        cycle(ChainLayout::PageRandom, 64, 100, 1, &|| false),
        Err(LayoutError::Page { page_bytes: 100 })
    ));
    assert!(matches!(places(ChainLayout::Pair(512), 4096), Err(LayoutError::Pair { apart: 512 })));
    assert_eq!(ChainLayout::Stride(4096).pitch(), 4096);
    assert_eq!(places(ChainLayout::Stride(4096), 32 << 10), Ok(8));
}

/// Runs a job that is never stopped, then one that is stopped at its first look, at one in the middle and at its last.
/// Returns how often the first one looked.
fn stopped_at_any_look(mut job: impl FnMut(&dyn Fn() -> bool) -> Result<(), ProofError>) -> usize {
    let looks = Cell::new(0);
    let count = |at: usize| {
        looks.set(0);
        let looks = &looks;
        move || {
            looks.set(looks.get() + 1);
            looks.get() > at
        }
    };
    assert_eq!(job(&count(usize::MAX)), Ok(()));
    let all = looks.get();
    for at in [0, all / 2, all - 1] {
        assert_eq!(job(&count(at)), Err(ProofError::Layout(LayoutError::Stopped)), "look {at} of {all}");
        // Nothing goes on after it was told to stop.
        assert_eq!(looks.get(), at + 1);
    }
    all
}

#[test]
fn building_and_proving_stop_when_told_to() {
    const MILLIONS: usize = 3;
    let lines = MILLIONS << 20;
    let mut words = vec![0u64; lines];
    // One node a word, so that millions of nodes take little memory.
    let tight = ChainLayout::Stride(8);
    let looks = stopped_at_any_look(|stopped| {
        write_chain(&mut words, BASE, tight, 4096, 1, stopped)?;
        prove(&mut words, BASE, tight, stopped).map(|_| ())
    });
    assert!(looks >= 4 * MILLIONS, "{looks} looks");
    let order = permutation(lines, 1, &|| false).unwrap();
    let looks = stopped_at_any_look(|stopped| permutation(lines, 1, stopped).map(|_| ()).map_err(Into::into));
    assert!(looks >= 2 * MILLIONS - 1, "{looks} looks");
    let looks = stopped_at_any_look(|stopped| prove_permutation(&order, lines, stopped));
    assert!(looks >= MILLIONS, "{looks} looks");
    for layout in [ChainLayout::Random, ChainLayout::PageRandom, ChainLayout::Groups, ChainLayout::Long(2)] {
        let looks =
            stopped_at_any_look(|stopped| cycle(layout, lines, 4096, 1, stopped).map(|_| ()).map_err(Into::into));
        assert!(looks >= 2 * MILLIONS - 1, "{layout}: {looks} looks");
    }
    // A proof that was stopped leaves no marks.
    write_chain(&mut words, BASE, tight, 4096, 1, &|| false).unwrap();
    let before = words.clone();
    let looks = Cell::new(0);
    let late = || looks.replace(looks.get() + 1) > MILLIONS;
    assert!(prove(&mut words, BASE, tight, &late).is_err());
    assert!(words == before, "the proof left marks");
}

#[test]
fn nodes_lie_where_the_layout_puts_them() {
    assert!(is_node(ChainLayout::Random, 4, 192) && !is_node(ChainLayout::Random, 4, 256));
    assert!(!is_node(ChainLayout::Random, 4, 8) && !is_node(ChainLayout::Random, 4, 65));
    assert!(is_node(ChainLayout::Groups, 4, 128 + 8) && !is_node(ChainLayout::Groups, 4, 128));
    assert!(!is_node(ChainLayout::Groups, 4, 64 + 8) && !is_node(ChainLayout::Groups, 4, 4 * 128 + 8));
    assert!(is_node(ChainLayout::Pair(64), 2, 576) && !is_node(ChainLayout::Pair(64), 2, 128));
    assert!(is_node(ChainLayout::Stride(3), 4, 9) && !is_node(ChainLayout::Stride(3), 4, 12));
    assert!(is_node(ChainLayout::Stride(256), 4, 768) && !is_node(ChainLayout::Stride(256), 4, 64));
    assert!(is_node(ChainLayout::Long(3), 4, 64 + 16) && !is_node(ChainLayout::Long(3), 4, 64 + 24));
}
