//! What the border of two blocks costs: stamping the clock, and what the work loses by being cut there.

use tiermark_system::Clock;

use super::Work;

/// Time of the blocks that are compared with as much work in one, ns: long against a border, short against a visit.
const PIECE_NS: f64 = 32_000.0;
/// Whether each piece is one block. Order A B B A: neither kind is always the first or the last.
const IN_ONE: [bool; 4] = [false, true, true, false];
/// Borders of longer blocks are not measured, ns: the largest border seen, 300 ns, is 0.2 % of such a block.
const LONG_BLOCK_NS: f64 = 140_000.0;

/// The border between two blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Border {
    /// What it costs, ns.
    pub(crate) ns: f64,
    /// Blocks of work that were done to measure it.
    pub(crate) blocks: usize,
}

impl Work {
    /// Measures the border between two blocks, by as many blocks of the same work with and without borders. `None`, and
    /// nothing done, of work that is neither a chase nor a stream, and of long blocks, of which a border is nothing.
    pub(crate) fn border(&mut self, clock: &Clock) -> Option<Border> {
        let block_ns = self.block_ns();
        if !(self.can_do_in_one() && block_ns > 0.0 && block_ns < LONG_BLOCK_NS) {
            return None;
        }
        let blocks = ((PIECE_NS / block_ns).round() as usize).max(2);
        // The shorter of two: an interruption, or lines that something else evicted just before, only lengthens.
        let (mut with_ns, mut in_one_ns, mut in_one, mut done) = (f64::INFINITY, f64::INFINITY, blocks, 0);
        for is_in_one in IN_ONE {
            // The first block of a piece is its ramp: a border lies before it in both kinds.
            std::hint::black_box(self.block());
            done += 1 + if is_in_one { 0 } else { blocks };
            let started = clock.now();
            if is_in_one {
                in_one = self.in_one(blocks);
                done += in_one;
                in_one_ns = in_one_ns.min(clock.between(started, clock.now()) * blocks as f64 / in_one as f64);
            } else {
                let mut ended = started;
                for _ in 0..blocks {
                    std::hint::black_box(self.block());
                    ended = std::hint::black_box(clock.now());
                }
                with_ns = with_ns.min(clock.between(started, ended));
            }
        }
        // Both kinds end with a border: the others are what they differ by.
        let borders = blocks as f64 * (1.0 - 1.0 / in_one as f64);
        Some(Border { ns: (with_ns - in_one_ns) / borders, blocks: done })
    }

    fn can_do_in_one(&self) -> bool {
        matches!(self, Self::Chase(_) | Self::Stream(_))
    }

    /// Does the work of at least so many blocks without a border. Returns the blocks that this would have been.
    pub(super) fn in_one(&mut self, blocks: usize) -> usize {
        match self {
            Self::Chase(work) => work.call.run(work.steps * blocks),
            Self::Stream(work) if work.blocks > blocks => {
                if work.next + blocks > work.blocks {
                    work.next = 0;
                }
                std::hint::black_box(work.call.run(work.next * work.bytes, work.bytes * blocks, 1));
                work.next = (work.next + blocks) % work.blocks;
            }
            Self::Stream(work) => {
                let rounds = blocks.div_ceil(work.blocks);
                std::hint::black_box(work.call.run(0, work.bytes * work.blocks, work.passes * rounds));
                return work.blocks * rounds;
            }
            _ => return 0,
        }
        blocks
    }
}
