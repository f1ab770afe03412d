//! Settling: untimed work that brings caches and address translation into the state that they keep while a worker is
//! measured.
//!
//! Between two visits other steps evict what a step left. What it then finds, and what its first milliseconds bring
//! back, is neither the hardware's speed nor that of a program that runs on: a chase over 8 MiB took 75 ns there and 34
//! ns in steady state (Emerald Rapids), one over 1 GiB 208 and 139 ns.

use tiermark_engine::Settling;
use tiermark_model::{ChainLayout, Layout, PageKind};
use tiermark_system::Clock;

use crate::region::Region;
use crate::work::{ChaseWork, Work};

/// The fewest and the most passes over a footprint that caches may hold. The fewest: a last-level cache that does not
/// include the second level keeps a line only once it is used again. The most: a cache that takes what the second level
/// evicts, or a clock that rises from rest, needs more than six short passes. Noise ends the passes sooner.
const PASSES: std::ops::RangeInclusive<usize> = 3..=30;
/// A pass that is faster than all before it by more than this shows that the caches are still filling.
const FLAT: f64 = 0.03;
/// A pass is repeated until it takes this long, ns: a thousand steps of the clock of most machines.
const PASS_NS: f64 = 10_000.0;
/// The same where caches that others use hold the footprint: one that other work has emptied takes it in again over
/// milliseconds, by less than [`FLAT`] from one pass of 30 µs to the next. Reads of 2 MiB came to 60 GB/s after passes of
/// 0.25 ms, and to 67 where nothing else was measured (Zen 3, other guests on the same L3).
const SHARED_PASS_NS: f64 = 1_000_000.0;
/// Repeats of a short pass at most: a nanosecond each.
const REPEATS_MOST: f64 = SHARED_PASS_NS;
/// Time of all passes at most, ns. A footprint that takes longer is not held by caches of today.
const PASSES_NS: f64 = 15e6;
/// Passes over the page tables of a footprint in memory: after one an access took 236 ns, after two 153, after three
/// 148 (1 GiB).
const TRANSLATION_PASSES: usize = 3;
/// Accesses of a chase after its translations were touched: at least so many, and so many for each line of page-table
/// entries, which others evict between two of its uses. Over 1 GiB on base pages beside busy neighbours (Zen 4) visits
/// after 512 accesses took 253 ns, and a chase that goes on 290 to 390.
const ACCESSES_BEHIND: usize = 512;
const ACCESSES_A_LINE: usize = 2;
/// Cycles of a chase after its lines were read in order: a pass in another order leaves other lines in the second level,
/// and where others use the last one, lines that are used once in 1 ms are evicted more often than lines that were just
/// read three times in 0.1 ms. Over 4 MiB beside busy neighbours (Zen 4) the latency rose by 10 % within a visit that
/// began after two cycles of 1 ms.
const CYCLES: usize = 8;
/// Accesses between two looks at the clock, and the time of these accesses at most, ns.
const PIECE: usize = 4_096;
const ACCESSES_NS: f64 = 8e6;
/// What a stream over memory moves before it counts, in multiples of the largest cache, and its time at most, ns. The
/// cache first takes what is written, and gives up what other steps left in it: two threads that write began 11 % above
/// the mean of their visits, and ended 8 % below it (Zen 4, 32 MiB).
const OVERFLOWS: usize = 2;
const OVERFLOW_NS: f64 = 6e6;
/// Base pages of a footprint up to which each of them is touched: in a guest, pages that follow each other need not do
/// so in the host, so that each has an entry in another line there. More would take over 5 ms, and evict what they
/// bring.
const PAGES_TOUCHED: usize = 1 << 16;
/// Time of a pass after the last thread has settled at most, ns.
const REFRESH_NS: f64 = 500_000.0;
/// Bytes of a line.
const LINE: usize = 64;

/// The caches and pages that a worker settles in.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Surroundings {
    /// The largest cache that the cpu reaches.
    pub(crate) cache_bytes: usize,
    /// Whether that cache may hold the memory of all threads of the setup.
    pub(crate) may_hold: bool,
    /// Its second level.
    pub(crate) second_level_bytes: usize,
    /// Bytes of a base page.
    pub(crate) page_bytes: usize,
    /// Bytes that one line of page-table entries translates.
    pub(crate) translated_by_line: usize,
    /// The shortest block that the clock resolves well, ns.
    pub(crate) least_block_ns: f64,
}

impl Surroundings {
    /// How long a pass over a region is to take at least, ns.
    fn pass_ns(&self, region: &Region) -> f64 {
        if region.bytes > self.second_level_bytes { SHARED_PASS_NS } else { PASS_NS }
    }
}

/// What passes over a footprint showed.
struct Passes {
    /// Whether the last one was no faster than those before it.
    is_flat: bool,
    /// Whether there was no time for as many as are needed: caches cannot hold the footprint.
    is_too_long: bool,
}

/// Settles a worker's work before a visit of so many ns. Returns how, and a checksum of the values read.
pub(crate) fn settle(
    work: &mut Work,
    region: &Region,
    around: Surroundings,
    budget_ns: f64,
    clock: &Clock,
) -> (Settling, u64) {
    let start = clock.now();
    let mut checksum = 0;
    let is_settled = match work {
        Work::Chase(chase) => chase_settles(chase, region, around, clock),
        Work::Stream(_) | Work::Load(_) => {
            let blocks = work.blocks();
            let mut pass =
                |work: &mut Work, until: &Deadline<'_>| until.within(blocks, 1, |_| checksum ^= work.block());
            let passes = around.may_hold.then(|| passes(clock, around.pass_ns(region), |until| pass(work, until)));
            match passes {
                Some(passes) if !passes.is_too_long => passes.is_flat,
                _ => {
                    let overflow = OVERFLOWS * around.cache_bytes / (region.bytes / blocks.max(1)).max(1);
                    Deadline::after(OVERFLOW_NS, clock).within(overflow, 1, |_| checksum ^= work.block());
                    // A stream may be faster than when its blocks were timed.
                    work.touch_ahead(2.0 * budget_ns, around.translated_by_line, TRANSLATION_PASSES);
                    true
                }
            }
        }
        // They touch their memory themselves, or have none.
        Work::Revisit(_) | Work::Share(_) | Work::Os(_) => return (Settling::default(), 0),
    };
    (Settling { ns: clock.between(start, clock.now()), is_settled }, checksum)
}

/// Reads each line of other memory once, in order, instead of settling: what the visit before left in caches and in
/// page-table entries is evicted, as by other work. The work's own memory is touched before: a hypervisor takes away
/// what was left alone for a second, and to get it back takes 0.1 ms for each huge page, which is no latency.
pub(crate) fn read_other(
    work: &Work,
    region: &Region,
    other: &Region,
    around: Surroundings,
    clock: &Clock,
) -> Settling {
    let start = clock.now();
    if let Work::Chase(chase) = work {
        let (from, bytes) = chase.translated(region);
        chase.touch_translations(from, bytes, around.translated_by_line);
    }
    other.mapping.touch_translations(0, other.bytes, LINE);
    Settling { ns: clock.between(start, clock.now()), is_settled: true }
}

/// Goes on with a worker's work for one pass or a short time, while other threads that took longer to settle do the
/// same. Returns a checksum.
pub(crate) fn refresh(work: &mut Work, around: Surroundings, clock: &Clock) -> u64 {
    if !around.may_hold {
        return 0;
    }
    let mut checksum = 0;
    let _ = Deadline::after(REFRESH_NS, clock).within(work.blocks(), 1, |_| checksum ^= work.block());
    checksum
}

/// Settles a chase; returns whether its caches no longer fill.
fn chase_settles(chase: &mut ChaseWork, region: &Region, around: Surroundings, clock: &Clock) -> bool {
    let nodes = nodes(region);
    if around.may_hold {
        // A chain with a node in each line is read in order, which takes a tenth of the time; of others only their own
        // lines count.
        let is_dense = nodes * LINE >= region.bytes;
        let lines = region.bytes / LINE;
        let passes = passes(clock, around.pass_ns(region), |until| match is_dense {
            true => until.within(lines, PIECE, |piece| {
                region.mapping.read_lines_within(piece.start * LINE, piece.len() * LINE);
            }),
            false => until.within(nodes, PIECE, |piece| chase.run(piece.len())),
        });
        if !passes.is_too_long {
            run_for(chase, CYCLES * nodes, clock);
            return passes.is_flat;
        }
    }
    let (from, bytes) = chase.translated(region);
    let has_few_pages = region.page == PageKind::Base && bytes / around.page_bytes.max(1) <= PAGES_TOUCHED;
    let step = if has_few_pages { around.page_bytes.min(around.translated_by_line) } else { around.translated_by_line };
    for _ in 0..TRANSLATION_PASSES {
        chase.touch_translations(from, bytes, step);
    }
    let lines = bytes / around.translated_by_line.max(1);
    run_for(chase, ACCESSES_BEHIND.max(ACCESSES_A_LINE * lines), clock);
    true
}

/// Nodes of the chain of a region.
fn nodes(region: &Region) -> usize {
    let Layout::Chain(chain) = region.layout else { return (region.bytes / LINE).max(1) };
    let apart = match chain {
        // Two nodes in each block.
        ChainLayout::Pair(_) => chain.pitch() / 2,
        ChainLayout::Random
        | ChainLayout::PageRandom
        | ChainLayout::Stride(_)
        | ChainLayout::Scatter(_)
        | ChainLayout::Groups
        | ChainLayout::Long(_) => chain.pitch(),
    };
    (region.bytes / (apart as usize).max(LINE)).max(1)
}

/// Follows a chain for so many accesses, as long as there is time.
fn run_for(chase: &mut ChaseWork, accesses: usize, clock: &Clock) {
    Deadline::after(ACCESSES_NS, clock).within(accesses, PIECE, |piece| chase.run(piece.len()));
}

/// A moment at which work ends that goes on in pieces.
struct Deadline<'a> {
    clock: &'a Clock,
    at: u64,
}

impl<'a> Deadline<'a> {
    fn after(ns: f64, clock: &'a Clock) -> Self {
        Self { clock, at: clock.now() + clock.ticks(ns) }
    }

    /// Calls `work` for the indices from 0 to `all`, `piece` of them at a time. Returns whether all calls began in
    /// time.
    fn within(&self, all: usize, piece: usize, mut work: impl FnMut(std::ops::Range<usize>)) -> bool {
        for from in (0..all).step_by(piece) {
            if self.clock.now() >= self.at {
                return false;
            }
            work(from..all.min(from + piece));
        }
        true
    }
}

/// Makes passes, each repeated until it takes this long, until one is no faster than those before it. A pass returns
/// whether it ended in time.
fn passes(clock: &Clock, pass_ns: f64, mut pass: impl FnMut(&Deadline<'_>) -> bool) -> Passes {
    let until = Deadline::after(PASSES_NS, clock);
    let mut timed = |repeats: usize| {
        let start = clock.now();
        (0..repeats).all(|_| pass(&until)).then(|| clock.between(start, clock.now()))
    };
    let (mut least, mut is_flat, mut passes) = (f64::INFINITY, false, 0);
    let mut repeats = 1;
    while passes < *PASSES.end() && !(is_flat && passes >= *PASSES.start()) {
        // Not begun if it cannot end in time.
        let is_in_time = !least.is_finite() || clock.now() + clock.ticks(least) <= until.at;
        let Some(time) = is_in_time.then(|| timed(repeats)).flatten() else {
            return Passes { is_flat, is_too_long: passes < *PASSES.start() };
        };
        let wanted = (pass_ns / time.max(1.0)).ceil().clamp(1.0, REPEATS_MOST) as usize;
        if passes == 0 && repeats == 1 && wanted > 1 {
            // A short pass is repeated and compared with others like it.
            repeats = wanted;
            continue;
        }
        passes += 1;
        is_flat = time > least * (1.0 - FLAT);
        least = least.min(time);
    }
    Passes { is_flat, is_too_long: false }
}
