//! Loading the memory while others are measured: short pieces of several kernels in turn, with pauses.

use std::sync::Arc;

use tiermark_kernels::{SPAN_QUANTUM, StreamSpec, clock::spin};
use tiermark_system::{Clock, LineOrder, MixCall};

use crate::region::Region;
use crate::streams::{STREAM_BLOCK_NS, Share, stream_plan};

/// Bytes of each stream in a piece that is followed by a pause: short, so that traffic is even and not in bursts, and
/// long against the 3 ns of a call.
const PIECE: usize = 2 << 10;
/// Without pauses pieces are as long as the blocks of a stream.
const PIECE_WITHOUT_PAUSE: usize = 64 << 10;
/// Turns of the waiting loop timed to learn their length, some 50 µs; of so many looks the shortest counts.
const SPIN_TRIAL: (u64, usize) = (200_000, 5);
/// Most rounds of a block: a pause that takes no time at all (a clock that stands still) must not make blocks endless.
const ROUNDS_MOST: usize = 1 << 16;

/// Kernels in turn through a region, block after block.
#[derive(Debug)]
pub(crate) struct LoadWork {
    call: MixCall,
    kernels: Vec<Turn>,
    /// Turns of the waiting loop after each piece.
    spins: u64,
    /// Rounds through all kernels in a block.
    rounds: usize,
    per_round: f64,
    block_ns: f64,
}

/// One kernel's place in the round.
#[derive(Debug)]
struct Turn {
    piece: usize,
    at: usize,
}

impl LoadWork {
    /// Prepares a load, calibrated; the order is for kernels that are random.
    ///
    /// # Errors
    /// A message: why kernels and region do not fit.
    pub(crate) fn new(
        region: &Arc<Region>,
        specs: &[&StreamSpec],
        order: Option<&LineOrder>,
        pause_ns: u32,
        share: Share,
        clock: &Clock,
    ) -> Result<Self, String> {
        let plans: Vec<_> =
            specs.iter().map(|spec| (*spec, stream_plan(region, usize::from(spec.info.op.streams())))).collect();
        let call = MixCall::new(&region.mapping, &plans, order)?;
        let piece = if pause_ns == 0 { PIECE_WITHOUT_PAUSE } else { PIECE };
        let spans: Vec<usize> = (0..specs.len()).map(|index| call.span(index)).collect();
        let starts = starts(&spans, share);
        let turn = |index: usize| {
            let (span, at) = (spans[index], starts[index]);
            Turn { piece: piece.min(span), at: at.min(span - piece.min(span)) }
        };
        let kernels: Vec<Turn> = (0..specs.len()).map(turn).collect();
        let useful = |spec: &StreamSpec| f64::from(spec.info.op.read_per_line() + spec.info.op.write_per_line()) / 64.0;
        let per_round = specs.iter().zip(&kernels).map(|(spec, turn)| useful(spec) * turn.piece as f64).sum();
        let spins = if pause_ns == 0 { 0 } else { (f64::from(pause_ns) * spins_per_ns(clock)).max(1.0) as u64 };
        let mut work = Self { call, kernels, spins, rounds: 1, per_round, block_ns: 0.0 };
        work.calibrate(clock);
        Ok(work)
    }

    /// Does one block. Returns a checksum of the values read.
    #[inline]
    pub(crate) fn block(&mut self) -> u64 {
        let mut sum = 0;
        for _ in 0..self.rounds {
            for (index, turn) in self.kernels.iter_mut().enumerate() {
                sum ^= self.call.run(index, turn.at, turn.piece);
                turn.at += turn.piece;
                if turn.at + turn.piece > self.call.span(index) {
                    turn.at = 0;
                }
                if self.spins > 0 {
                    spin(self.spins);
                }
            }
        }
        sum
    }

    /// Blocks of a pass over the longest of its spans.
    pub(crate) fn blocks(&self) -> usize {
        let pass = |(index, turn): (usize, &Turn)| self.call.span(index).div_ceil(turn.piece * self.rounds);
        self.kernels.iter().enumerate().map(pass).max().unwrap_or(1)
    }

    /// Reads a word of each so many bytes of all that its kernels walk.
    pub(crate) fn touch_translations(&self, step: usize, passes: usize) {
        for kernel in (0..passes).flat_map(|_| 0..self.kernels.len()) {
            self.call.touch_translations(kernel, 0, self.call.span(kernel), step);
        }
    }

    /// As [`MixCall::take`].
    pub(crate) fn take(&mut self) -> Result<(), String> {
        self.call.take()
    }

    /// As [`MixCall::rest`].
    pub(crate) fn rest(&mut self) {
        self.call.rest();
    }

    /// Useful bytes of a block.
    pub(crate) fn per_block(&self) -> f64 {
        self.per_round * self.rounds as f64
    }

    /// How long a block took when it was calibrated, ns.
    pub(crate) fn block_ns(&self) -> f64 {
        self.block_ns
    }

    fn calibrate(&mut self, clock: &Clock) {
        // A preempted block seems long enough: of so many the shortest counts.
        const LOOKS: usize = 3;
        loop {
            self.block_ns = f64::INFINITY;
            for _ in 0..LOOKS {
                let start = clock.now();
                std::hint::black_box(self.block());
                self.block_ns = self.block_ns.min(clock.between(start, clock.now()));
            }
            if self.block_ns >= STREAM_BLOCK_NS || self.rounds >= ROUNDS_MOST {
                return;
            }
            self.rounds *= 2;
        }
    }
}

/// Where each kernel begins, so that kernels and workers on the same memory are apart on it: equal parts of the
/// shortest span. Longer spans are multiples of it, so a reader would otherwise walk on a copy's own lines, in the
/// caches, for ever.
fn starts(spans: &[usize], share: Share) -> Vec<usize> {
    let least = spans.iter().copied().min().unwrap_or_default();
    let parts = (spans.len() * share.of).max(1);
    (0..spans.len())
        .map(|index| least / parts * (index * share.of + share.index) / SPAN_QUANTUM * SPAN_QUANTUM)
        .collect()
}

/// Turns of the waiting loop in a nanosecond, at the core's clock of the moment.
fn spins_per_ns(clock: &Clock) -> f64 {
    let (turns, looks) = SPIN_TRIAL;
    let look = |_| {
        let start = clock.now();
        spin(turns);
        clock.between(start, clock.now())
    };
    turns as f64 / (0..looks).map(look).fold(f64::INFINITY, f64::min).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_a_mix_never_walk_on_each_others_lines() {
        let whole = 96 << 20;
        // Two reads of all of it and a copy of halves, in any order.
        for spans in [[whole, whole, whole / 2], [whole, whole / 2, whole]] {
            for (index, of) in [(0, 1), (1, 2)] {
                let starts = starts(&spans, Share { index, of });
                let mut places: Vec<usize> = starts.iter().map(|at| at % (whole / 2)).collect();
                places.sort_unstable();
                assert!(places.windows(2).all(|w| w[1] - w[0] >= whole / 2 / 8), "{places:?}");
            }
        }
    }
}
