//! Chases against a walk in Rust, and layouts through them.

use crate::guard::{Flush, Guarded};
use tiermark_kernels::layout::{prove, write_chain};
use tiermark_kernels::{ChaseArgs, MAX_CHAINS, chase};
use tiermark_model::setup::ChainLayout;

fn follow(words: &[u64], base: u64, mut at: u64, steps: usize) -> u64 {
    for _ in 0..steps {
        at = words[((at - base) / 8) as usize];
    }
    at
}

#[test]
fn every_chase_follows_its_chains_and_leaves_the_others() {
    let mut buffer = Guarded::new(64 * 1000, Flush::Back);
    let base = buffer.ptr() as u64;
    for layout in [ChainLayout::Random, ChainLayout::Long(3)] {
        write_chain(buffer.words(), base, layout, 4096, 9).unwrap();
        let proof = prove(buffer.words(), base, layout).unwrap();
        for chains in 1..=MAX_CHAINS {
            let run = chase(chains).unwrap();
            let starts = proof.starts(buffer.words(), base, chains);
            for steps in [1, 2, 7, 8, 9, 16, 131] {
                let mut args = ChaseArgs { steps, ..ChaseArgs::EMPTY };
                let sentinel = 0x5a5a_usize as *const u8;
                args.heads = [sentinel; 32];
                for (head, start) in args.heads.iter_mut().zip(&starts) {
                    *head = *start as *const u8;
                }
                // SAFETY: the heads are nodes of a chain proven to be one cycle.
                unsafe { run(&mut args) };
                for (chain, head) in args.heads.iter().enumerate() {
                    let want = starts.get(chain).map_or(0x5a5a, |at| follow(buffer.words(), base, *at, steps));
                    assert_eq!(*head as u64, want, "chain {chain} of {chains}, {steps} steps, {layout}");
                }
                assert_eq!(args.steps, steps);
            }
        }
    }
    assert!(chase(0).is_none() && chase(33).is_none());
}
