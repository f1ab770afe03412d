//! What the border of two blocks costs: stamping the clock, and what the work loses by being cut there.

use tiermark_system::Clock;

use super::Work;

/// Time of the blocks that are compared with as much work in one, ns: long against a border, short against a visit.
const PIECE_NS: f64 = 32_000.0;
/// Of the pieces, which are in one block: A B B A, so that what changes evenly meanwhile cancels.
const IN_ONE: [bool; 4] = [false, true, true, false];
/// From this length of a block on, ns, a border of 140 ns, the most that was seen, is a thousandth of it.
const LONG_BLOCK_NS: f64 = 140_000.0;

impl Work {
    /// Cost of a border between two blocks, ns, by as many blocks of the same work with and without borders. `None` of
    /// work that is neither a chase nor a stream, and of long blocks, of which a border is nothing.
    pub(crate) fn border_ns(&mut self, clock: &Clock) -> Option<f64> {
        let block_ns = self.block_ns();
        if !(self.can_do_in_one() && block_ns > 0.0 && block_ns < LONG_BLOCK_NS) {
            return None;
        }
        let blocks = ((PIECE_NS / block_ns).round() as usize).max(2);
        // The shorter of two: an interruption, or lines that something else evicted just before, only lengthens.
        let (mut with_ns, mut in_one_ns) = (f64::INFINITY, f64::INFINITY);
        for is_in_one in IN_ONE {
            // The first block of a piece is its ramp: a border lies before it in both kinds.
            std::hint::black_box(self.block());
            let started = clock.now();
            if is_in_one {
                let done = self.in_one(blocks);
                in_one_ns = in_one_ns.min(clock.between(started, clock.now()) * blocks as f64 / done as f64);
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
        Some((with_ns - in_one_ns) / (blocks - 1) as f64).filter(|ns| ns.is_finite())
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
