//! Chases against a walk in Rust, and layouts through them.

use crate::guard::{Flush, Guarded};
use tiermark_kernels::layout::{prove, write_chain};
use tiermark_kernels::{ByteArgs, ChaseArgs, MAX_CHAINS, byte_chase, chase};
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
        write_chain(buffer.words(), base, layout, 4096, 9, &|| false).unwrap();
        let proof = prove(buffer.words(), base, layout, &|| false).unwrap();
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

#[test]
fn every_byte_decides_where_the_next_is_read() {
    const BYTES: usize = 4096;
    let mut buffer = Guarded::new(BYTES, Flush::Back);
    let base = buffer.ptr();
    let mut rng = tiermark_kernels::rng::Rng::new(5);
    let mut bytes = vec![0u8; BYTES];
    bytes.iter_mut().for_each(|byte| *byte = rng.below(4) as u8);
    for (word, eight) in buffer.words().iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(eight.try_into().unwrap());
    }
    let (run, _) = byte_chase();
    for stride in [1, 3, 12, 100] {
        for steps in [1, 2, 7, 8, 9, 16, 39] {
            let mut args = ByteArgs { at: base, stride, steps, last: 2 };
            // SAFETY: 39 steps of at most 100 bytes, and 3 more, end inside the buffer.
            unsafe { run(&raw mut args) };
            let want = (0..steps).fold(2, |last, step| usize::from(bytes[step * stride + last]));
            assert_eq!(args.last, want, "{steps} steps of {stride} bytes");
        }
    }
}

#[test]
fn a_chain_of_bytes_is_proven_by_its_zeros_and_ends_inside() {
    const BYTES: usize = 1000;
    let mut buffer = Guarded::new(BYTES, Flush::Back);
    let base = buffer.ptr() as u64;
    buffer.words().fill(7);
    for stride in [1, 12, 999] {
        let layout = ChainLayout::Stride(stride);
        assert!(layout.is_of_bytes() && prove(buffer.words(), base, layout, &|| false).is_err());
        write_chain(buffer.words(), base, layout, 4096, 1, &|| false).unwrap();
        let proof = prove(buffer.words(), base, layout, &|| false).unwrap();
        assert_eq!((proof.nodes, proof.starts(buffer.words(), base, 1)), (BYTES as u64 / stride, vec![base]));
        let mut args =
            ByteArgs { at: base as *const u8, stride: stride as usize, steps: proof.nodes as usize, last: 0 };
        // SAFETY: all bytes are zero, and there are that many strides; a byte further the guard page ends the test.
        unsafe { byte_chase().0(&raw mut args) };
        assert_eq!(args.last, 0);
        let last = buffer.words().len() - 1;
        buffer.words()[last] = 1 << 56;
        assert!(prove(buffer.words(), base, layout, &|| false).is_err(), "the last byte is not zero");
    }
}
