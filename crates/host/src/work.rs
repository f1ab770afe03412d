//! The work between two stamps: blocks of equal work, sized by a short calibration.

mod border;

use std::sync::Arc;

use tiermark_kernels::{Fill, SPAN_QUANTUM, StreamSpec};
use tiermark_model::kernel::StoreKind;
use tiermark_model::{Layout, Pattern};
use tiermark_primitives::OsWork;
use tiermark_system::{ChaseCall, Clock, LineOrder, StreamCall};

pub(crate) use border::Border;

use crate::load::LoadWork;
use crate::region::Region;
use crate::revisit::RevisitWork;
use crate::settle::Surroundings;
use crate::share::ShareWork;
use crate::streams::{OWN_BLOCK_NS, STREAM_BLOCK_NS, stream_plan};

/// A chase block takes at least this long where 4,096 accesses a chain allow: short enough that a preemption spoils
/// few blocks, long enough that a stamp (some 10 ns) stays below half a percent.
const CHASE_BLOCK_NS: f64 = 4_000.0;
/// Accesses of a block, all chains together, at least; per chain, at most.
const CHASE_ACCESSES: (usize, usize) = (64, 4_096);
/// A stream block covers at least this much where its span does, so that prefetchers run up once for many lines.
const STREAM_BLOCK_LEAST: usize = 64 << 10;
/// String instructions choose how their stores reach memory by the length of the one call: measured on a Zen 5 with
/// 32 MiB of last-level cache, `rep stosb` and `rep movsb` keep to ordinary cached stores below 32 MiB and write around
/// the caches from there on. A large fill in small blocks would be another experiment, so where a span is larger than
/// the last-level cache, blocks are too, by an eighth.
const STRING_BLOCK: (usize, usize) = (9, 8);
/// A string block covers no more of each stream: on every machine measured so far the change has happened well below,
/// and nine eighths of a socket's 500 MiB would take some 20 ms, so that a shot held few blocks and one preemption
/// spoiled much.
const STRING_BLOCK_MOST: usize = 64 << 20;
/// Blocks timed at each size of a calibration; the shortest counts, the others may have been disturbed.
const TRIALS: usize = 4;
/// Blocks thrown away after the gate opened, while frequencies, prefetchers and the other threads settle.
const RAMP_BLOCKS: usize = 3;
/// One block is ramp enough where it takes this long, ns.
const RAMP_LONG_NS: f64 = 100_000.0;

/// Places that are tried for the next streams.
const CANDIDATES: usize = 16;
/// Destinations of non-temporal stores up to this size are flushed first.
const FLUSHED_MOST: usize = 4 << 20;

/// Work in blocks.
#[derive(Debug)]
pub(crate) enum Work {
    Stream(StreamWork),
    Chase(ChaseWork),
    Load(LoadWork),
    /// One round a shot, of which only the chase is stamped.
    Revisit(RevisitWork),
    /// Not in blocks of its own: it plays with others, a whole shot at a time.
    Share(ShareWork),
    /// System calls, without blocks of memory.
    Os(OsWork),
}

/// Streams through a region, block after block, round and round.
#[derive(Debug)]
pub(crate) struct StreamWork {
    call: StreamCall,
    /// Arrays that it walks.
    streams: usize,
    /// Whether it takes lines in random order.
    is_random: bool,
    useful_per_byte: f64,
    /// Bytes of each stream in a block, walked `passes` times.
    bytes: usize,
    passes: usize,
    /// Blocks of the whole span.
    blocks: usize,
    next: usize,
    block_ns: f64,
}

/// Follows chains, block after block.
#[derive(Debug)]
pub(crate) struct ChaseWork {
    call: ChaseCall,
    chains: usize,
    steps: usize,
    block_ns: f64,
}

impl Work {
    /// Major page faults so far that are the measured operation.
    pub(crate) fn major_faults(&self) -> u64 {
        if let Self::Os(work) = self { work.major_faults() } else { 0 }
    }

    /// Prepares streams with a kernel, calibrated, that begin at this share of the span.
    ///
    /// # Errors
    /// A message: why kernel and region do not fit.
    pub(crate) fn stream(
        region: &Region,
        spec: &StreamSpec,
        order: Option<LineOrder>,
        from: f64,
        around: Surroundings,
        clock: &Clock,
    ) -> Result<Self, String> {
        let cache_bytes = around.cache_bytes;
        let streams = usize::from(spec.info.op.streams());
        let plan = stream_plan(region, streams);
        let call = StreamCall::new(&region.mapping, spec, plan, order)?;
        let useful_per_byte = f64::from(spec.info.op.read_per_line() + spec.info.op.write_per_line()) / 64.0;
        let mut work = StreamWork {
            bytes: call.span(),
            call,
            streams,
            is_random: spec.info.op.pattern() == Pattern::Random,
            useful_per_byte,
            passes: 1,
            blocks: 1,
            next: 0,
            block_ns: 0.0,
        };
        if region.bytes <= cache_bytes {
            // Cached lines in the pages of a destination slow non-temporal stores to its other lines: 106 GB/s of
            // triad.nt in 16 KiB where flushed pages take 132 (Zen 5, `benches/nt_neighbours.c`). The warm-up of a
            // larger one leaves no such lines, and a flush takes 20 to 40 ns a line.
            if spec.info.store_kind == StoreKind::NonTemporal && region.bytes <= FLUSHED_MOST {
                work.call.flush_written();
            }
            std::hint::black_box(work.block());
        }
        // Half a span away: what the calibration leaves in the caches would make the first shots of a footprint in
        // memory too fast.
        let wanted_ns = if region.bytes <= around.second_level_bytes { OWN_BLOCK_NS } else { STREAM_BLOCK_NS };
        let wanted_ns = wanted_ns.max(around.least_block_ns);
        let least = least_block(spec, work.call.span(), cache_bytes);
        work.calibrate((least, wanted_ns), (from + 0.5).fract(), clock);
        work.next = (from.fract() * work.blocks as f64).round() as usize % work.blocks;
        Ok(Self::Stream(work))
    }

    /// Prepares a chase from the given starts, calibrated.
    ///
    /// # Errors
    /// A message: why it cannot be.
    pub(crate) fn chase(
        region: &Arc<Region>,
        starts: &[u64],
        around: Surroundings,
        clock: &Clock,
    ) -> Result<Self, String> {
        let call = ChaseCall::new(&region.mapping, starts)?;
        let mut work = ChaseWork { call, chains: starts.len(), steps: 1, block_ns: 0.0 };
        // Calibrated cold, blocks would be sized for another tier than the one that is measured.
        if region.bytes <= around.cache_bytes {
            region.mapping.read_lines(region.bytes);
        }
        work.calibrate(CHASE_BLOCK_NS.max(around.least_block_ns), clock);
        Ok(Self::Chase(work))
    }

    /// Does one block. Returns a checksum of the values read, if the kernel makes one, so that the compiler keeps every
    /// load.
    #[inline]
    pub(crate) fn block(&mut self) -> u64 {
        match self {
            Self::Stream(work) => work.block(),
            Self::Chase(work) => {
                work.call.run(work.steps);
                0
            }
            Self::Load(work) => work.block(),
            Self::Revisit(_) | Self::Share(_) | Self::Os(_) => 0,
        }
    }

    /// Takes up the right to its memory, which other work may have used since.
    ///
    /// # Errors
    /// A message: why it cannot be had.
    pub(crate) fn take(&mut self) -> Result<(), String> {
        match self {
            Self::Stream(work) => work.call.take(),
            Self::Chase(work) => work.call.take(),
            Self::Load(work) => work.take(),
            Self::Revisit(work) => work.take(),
            Self::Share(_) | Self::Os(_) => Ok(()),
        }
    }

    /// Gives up the right to its memory until the next visit.
    pub(crate) fn rest(&mut self) {
        match self {
            Self::Stream(work) => work.call.rest(),
            Self::Chase(work) => work.call.rest(),
            Self::Load(work) => work.rest(),
            Self::Revisit(work) => work.rest(),
            Self::Share(_) | Self::Os(_) => {}
        }
    }

    /// Accesses of a chase block, useful bytes of any other block.
    pub(crate) fn per_block(&self) -> f64 {
        match self {
            Self::Stream(work) => work.useful_per_byte * (work.bytes * work.passes) as f64,
            Self::Chase(work) => (work.steps * work.chains) as f64,
            Self::Load(work) => work.per_block(),
            Self::Revisit(work) => work.per_block(),
            Self::Share(work) => work.per_block(),
            Self::Os(work) => work.per_block(),
        }
    }

    /// How long a block took when it was calibrated, ns.
    pub(crate) fn block_ns(&self) -> f64 {
        match self {
            Self::Stream(work) => work.block_ns,
            Self::Chase(work) => work.block_ns,
            Self::Load(work) => work.block_ns(),
            Self::Revisit(work) => work.block_ns(),
            Self::Share(work) => work.block_ns(),
            Self::Os(work) => work.block_ns(),
        }
    }

    /// Whether a shot begins with filling the caches.
    pub(crate) fn fills(&self, region: &Region, cache_bytes: usize) -> bool {
        region.bytes <= cache_bytes && matches!(self, Self::Stream(_) | Self::Chase(_) | Self::Load(_))
    }

    /// Blocks of a pass over its memory.
    pub(crate) fn blocks(&self) -> usize {
        match self {
            Self::Stream(work) => work.blocks,
            Self::Load(work) => work.blocks(),
            _ => 1,
        }
    }

    /// Reads a word of each so many bytes of what it will walk in so many ns, and of all where it takes lines in random
    /// order: translations come near, and so does memory that a host has let go of, which a guest's memory that was left
    /// alone for a second costs 0.1 ms for each 2 MiB.
    pub(crate) fn touch_ahead(&self, ns: f64, step: usize, passes: usize) {
        match self {
            Self::Stream(work) if work.is_random => {
                (0..passes).for_each(|_| work.call.touch_translations(0, work.call.span(), step));
            }
            Self::Stream(work) => work.touch_ahead(ns, step),
            Self::Load(work) => work.touch_translations(step, passes),
            _ => {}
        }
    }

    /// Where the next streams of a kernel with so many arrays begin after this work, as a share of their span: where
    /// this one stopped or, if another number of streams has other spans, as far as possible before the lines that are
    /// still in the caches.
    pub(crate) fn next_from(&self, region: &Region, streams: usize) -> Option<f64> {
        let Self::Stream(work) = self else { return None };
        let share = work.next as f64 / work.blocks as f64;
        if work.streams == streams {
            return Some(share);
        }
        let at = |streams: usize, share: f64| {
            let plan = stream_plan(region, streams);
            plan.offsets.into_iter().take(streams).map(move |offset| offset as f64 + share * plan.span as f64)
        };
        let size = region.bytes as f64;
        let behind = |from: f64| {
            let pairs = at(streams, from).flat_map(|next| at(work.streams, share).map(move |old| old - next));
            pairs.map(|distance| distance.rem_euclid(size)).fold(f64::INFINITY, f64::min)
        };
        let candidates = (0..CANDIDATES).map(|part| part as f64 / CANDIDATES as f64);
        candidates.max_by(|a, b| behind(*a).total_cmp(&behind(*b)))
    }

    /// The nodes that a chase follows next; empty for other work.
    pub(crate) fn heads(&self) -> Vec<u64> {
        if let Self::Chase(work) = self { work.call.heads(work.chains) } else { Vec::new() }
    }

    /// The blocks after the gate that do not count.
    pub(crate) fn ramp(&mut self) -> u64 {
        let blocks = self.ramp_blocks().unwrap_or(0);
        (0..blocks).fold(0, |sum, _| sum ^ self.block())
    }

    /// The blocks of the ramp; `None` of work that has none.
    pub(crate) fn ramp_blocks(&self) -> Option<usize> {
        match self {
            Self::Stream(_) | Self::Chase(_) | Self::Load(_) => {
                Some(if self.block_ns() > RAMP_LONG_NS { 1 } else { RAMP_BLOCKS })
            }
            Self::Revisit(_) | Self::Share(_) | Self::Os(_) => None,
        }
    }
}

/// The least bytes of each stream in a block.
fn least_block(spec: &StreamSpec, span: usize, cache_bytes: usize) -> usize {
    let string = spec.info.op.name().ends_with(".rep") && spec.info.fill != Fill::Zero;
    let past_cache = cache_bytes / STRING_BLOCK.1 * STRING_BLOCK.0;
    if string && span >= past_cache { past_cache.min(STRING_BLOCK_MOST) } else { STREAM_BLOCK_LEAST }
}

impl StreamWork {
    #[inline]
    fn block(&mut self) -> u64 {
        let sum = self.call.run(self.next * self.bytes, self.bytes, self.passes);
        self.next += 1;
        if self.next == self.blocks {
            self.next = 0;
        }
        sum
    }

    /// Touches the blocks that follow, as many as take so long.
    fn touch_ahead(&self, ns: f64, step: usize) {
        let blocks = (ns / self.block_ns.max(1.0)).ceil() as usize + RAMP_BLOCKS;
        let (from, span) = (self.next * self.bytes, self.call.span());
        let bytes = blocks.saturating_mul(self.bytes).min(span);
        let upto_end = bytes.min(span - from);
        self.call.touch_translations(from, upto_end, step);
        self.call.touch_translations(0, bytes - upto_end, step);
    }

    /// Doubles the work of a block until its length can be measured, then cuts the span into equal blocks of the target
    /// length. No block covers less than `least` bytes of each stream.
    fn calibrate(&mut self, (least, wanted_ns): (usize, f64), from: f64, clock: &Clock) {
        let span = self.call.span();
        let mut amount = least.min(span);
        let mut at = (from * span as f64) as usize / SPAN_QUANTUM * SPAN_QUANTUM;
        let best = loop {
            let best = (0..TRIALS).map(|_| self.trial(amount, &mut at, clock)).fold(f64::INFINITY, f64::min);
            // 1 GiB in less than half a block means a clock that stands still; any block size will do then.
            if best >= wanted_ns / 2.0 || amount >= 1 << 30 {
                break best;
            }
            amount *= 2;
        };
        let ideal = (amount as f64 * wanted_ns / best.max(1.0)).max(least as f64);
        let rounds = ideal / span as f64;
        if rounds >= 1.0 {
            (self.bytes, self.passes, self.blocks) = (span, rounds.round() as usize, 1);
        } else {
            // Rounded down: no block is shorter than the least.
            let blocks = (1.0 / rounds).max(1.0) as usize;
            // Whole lines, and the same number in each block: the last few lines of the span are not used.
            let bytes = (span / blocks / SPAN_QUANTUM * SPAN_QUANTUM).max(SPAN_QUANTUM);
            (self.bytes, self.passes, self.blocks) = (bytes, 1, span / bytes);
        }
        self.block_ns = best * (self.bytes * self.passes) as f64 / amount as f64;
    }

    /// Times so many bytes of each stream, going on through the span so that no data is met again too soon.
    fn trial(&self, amount: usize, at: &mut usize, clock: &Clock) -> f64 {
        let span = self.call.span();
        let (bytes, passes) =
            if amount <= span { (amount / SPAN_QUANTUM * SPAN_QUANTUM, 1) } else { (span, amount / span) };
        if *at + bytes > span {
            *at = 0;
        }
        let start = clock.now();
        std::hint::black_box(self.call.run(*at, bytes, passes));
        let time = clock.between(start, clock.now());
        *at += bytes;
        time * amount as f64 / (bytes * passes) as f64
    }
}

impl ChaseWork {
    /// Follows its chains for so many accesses in all.
    pub(crate) fn run(&mut self, accesses: usize) {
        self.call.run(accesses.div_ceil(self.chains));
    }

    /// The part of a region whose translations its next accesses need: all of it, or the group that its head is in.
    pub(crate) fn translated(&self, region: &Region) -> (usize, usize) {
        let group = match region.layout {
            Layout::Chain(chain) if self.chains == 1 => chain.group_bytes(),
            _ => None,
        };
        match (group, self.call.heads(1).first()) {
            (Some(group), Some(head)) => {
                let group = group as usize;
                let from = (*head as usize - region.mapping.address()) / group * group;
                (from, group.min(region.bytes.saturating_sub(from)))
            }
            _ => (0, region.bytes),
        }
    }

    /// Reads a word of each `step` bytes of a part of the region.
    pub(crate) fn touch_translations(&self, from: usize, bytes: usize, step: usize) {
        self.call.touch_translations(from, bytes, step);
    }

    fn calibrate(&mut self, wanted_ns: f64, clock: &Clock) {
        self.steps = CHASE_ACCESSES.0.div_ceil(self.chains);
        loop {
            let trial = |_| {
                let start = clock.now();
                self.call.run(self.steps);
                clock.between(start, clock.now())
            };
            self.block_ns = (0..TRIALS).map(trial).fold(f64::INFINITY, f64::min);
            if self.block_ns >= wanted_ns {
                // Back to the wanted length: blocks have doubled.
                let share = (wanted_ns / self.block_ns).max(0.5);
                let least = CHASE_ACCESSES.0.div_ceil(self.chains);
                let steps = ((self.steps as f64 * share).ceil() as usize).max(least.min(self.steps));
                self.block_ns *= steps as f64 / self.steps as f64;
                self.steps = steps;
                return;
            }
            if self.steps * 2 > CHASE_ACCESSES.1 {
                self.block_ns *= CHASE_ACCESSES.1 as f64 / self.steps as f64;
                self.steps = CHASE_ACCESSES.1;
                return;
            }
            self.steps *= 2;
        }
    }
}

#[cfg(test)]
mod tests;
