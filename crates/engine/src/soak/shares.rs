//! Which cpu writes and reads which part of the memory of a soak.

use std::ops::Range;

/// Bytes of a block: a huge page of x86-64, and of aarch64 with base pages of 4 KiB.
pub const BLOCK: u64 = 2 << 20;
/// Blocks of a chunk: a thread that has one asks nobody for 64 MiB.
const CHUNK: u64 = 32;

/// Blocks that lie side by side in the memory of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chunk {
    /// Index of the node in the soak.
    pub part: usize,
    /// The first block.
    pub first: u64,
    /// How many there are.
    pub blocks: u64,
}

/// Which part of each thread's share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Half {
    /// All of it.
    #[default]
    Both,
    /// The first half of the chunks; empty if there is only one.
    First,
    /// The other chunks.
    Second,
}

impl Half {
    /// The indices of its chunks in a share of so many.
    #[must_use]
    pub fn of(self, chunks: usize) -> Range<usize> {
        match self {
            Self::Both => 0..chunks,
            Self::First => 0..chunks / 2,
            Self::Second => chunks / 2..chunks,
        }
    }
}

/// The chunks of each thread: every block of `parts` (blocks of each node) once, on a thread of its own node, where it
/// has one. `homes` has the node of each thread.
#[must_use]
pub fn shares(parts: &[u64], homes: &[Option<usize>]) -> Vec<Vec<Chunk>> {
    let mut shares = vec![Vec::new(); homes.len()];
    for (part, blocks) in parts.iter().enumerate() {
        let own: Vec<usize> = (0..homes.len()).filter(|thread| homes[*thread] == Some(part)).collect();
        let threads = if own.is_empty() { (0..homes.len()).collect() } else { own };
        let mut first = 0;
        for (index, thread) in threads.iter().enumerate() {
            let end = blocks * (index as u64 + 1) / threads.len() as u64;
            // Two at least, so that one half can be copied over the other.
            let chunk = CHUNK.min(((end - first) / 2).max(1));
            while first < end {
                let blocks = chunk.min(end - first);
                shares[*thread].push(Chunk { part, first, blocks });
                first += blocks;
            }
        }
    }
    shares
}

/// The thread whose share a thread reads: the next one, or one half of all further on, where the other nodes are.
#[must_use]
pub fn partner(thread: usize, threads: usize, is_far: bool) -> usize {
    let on = if is_far { threads / 2 } else { 1 };
    (thread + on) % threads.max(1)
}

/// What a thread copies: from which chunk of its partner's share to which one of its own. The first half of each share
/// is copied over the second half of another.
#[must_use]
pub fn copies(shares: &[Vec<Chunk>], thread: usize) -> Vec<(Chunk, Chunk)> {
    let (from, to) = (&shares[partner(thread, shares.len(), true)], &shares[thread]);
    let sources = &from[..from.len() / 2];
    let targets = &to[to.len().div_ceil(2)..];
    let pair = |(from, to): (&Chunk, &Chunk)| {
        let blocks = from.blocks.min(to.blocks);
        (Chunk { blocks, ..*from }, Chunk { blocks, ..*to })
    };
    sources.iter().zip(targets).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeSet;

    use proptest::prelude::*;

    fn blocks(chunks: &[Chunk]) -> Vec<(usize, u64)> {
        chunks.iter().flat_map(|chunk| (0..chunk.blocks).map(|at| (chunk.part, chunk.first + at))).collect()
    }

    proptest! {
        #[test]
        fn every_block_has_one_thread_and_is_copied_at_most_once(
            parts in prop::collection::vec(0u64..400, 1..4),
            homes in prop::collection::vec(prop::option::of(0usize..4), 1..9),
        ) {
            let shares = shares(&parts, &homes);
            let all: Vec<_> = shares.iter().flat_map(|share| blocks(share)).collect();
            let distinct: BTreeSet<_> = all.iter().copied().collect();
            prop_assert_eq!(all.len() as u64, parts.iter().sum::<u64>());
            prop_assert_eq!(distinct.len(), all.len());
            let copies: Vec<_> = (0..homes.len()).flat_map(|thread| copies(&shares, thread)).collect();
            let from: BTreeSet<_> = copies.iter().flat_map(|(from, _)| blocks(&[*from])).collect();
            let to: Vec<_> = copies.iter().flat_map(|(_, to)| blocks(&[*to])).collect();
            // No source is written over.
            prop_assert!(to.iter().all(|block| !from.contains(block)));
            prop_assert_eq!(to.iter().collect::<BTreeSet<_>>().len(), to.len());
        }
    }

    #[test]
    fn a_thread_writes_memory_of_its_own_node() {
        let shares = shares(&[100, 60], &[Some(0), Some(0), Some(1), Some(1)]);
        assert!(shares[..2].iter().flatten().all(|chunk| chunk.part == 0));
        assert!(shares[2..].iter().flatten().all(|chunk| chunk.part == 1));
        // Memory without cpus is everybody's.
        let shares = super::shares(&[100, 60], &[Some(0), Some(0)]);
        assert!(shares.iter().all(|share| share.iter().any(|chunk| chunk.part == 1)));
        assert_eq!([partner(3, 4, false), partner(1, 4, true), partner(0, 1, false)], [0, 3, 0]);
    }
}
