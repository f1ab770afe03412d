//! The reference of `selftest --continuous`: one chase that goes on and on, cut into blocks, to be believed by reading
//! it. It uses the standard library only, and pins its thread: neither the kernels, the clock nor the memory of the
//! runs that it checks.

use std::cell::Cell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};
use tiermark_stats::upper_median;

use super::cut::{LONG_NS, Recording};

/// A cache line of most processors; elsewhere the part of one that both ways use.
const LINE_BYTES: usize = 64;
/// Length of a short block, ns; the long ones beside it are twice as long.
const BLOCK_NS: f64 = 4_000.0;
/// Blocks of a chase at most, of 4 bytes each: half a minute of the shortest.
const BLOCKS_MOST: f64 = 8e6;
/// Steps of the clock that a short block lasts at least: one step is then half a percent of it.
const BLOCK_STEPS: f64 = 200.0;
/// Blocks that are looked at together, ns: as long as a window.
const STRETCH_NS: f64 = 250_000.0;
/// Cycles through all lines before anything counts.
const WARM_CYCLES: usize = 3;
/// Times that all lines are read in order after that: some last-level caches keep only lines that are used again, so
/// the latency depends on how often lines were used before.
const READS: usize = 3;
/// Accesses after that, or twice as many as there are lines if that is less: reading leaves other lines in the second
/// level than chasing does.
const SETTLES: usize = 32_768;
/// The warm-up takes at least this long, in which the core's clock rises …
const WARM_LEAST: Duration = Duration::from_millis(50);
/// … and at most this long: three cycles through 1 GiB would take seconds, and no cache keeps them.
const WARM_MOST: Duration = Duration::from_millis(200);
/// Accesses between two looks at the clock while warming up, and of one block that others are sized by.
const WARM_ACCESSES: usize = 4096;
/// Times that such a block is timed; the fastest counts.
const TRIALS: usize = 5;
/// Rounds of a short chain of the core's clock: 4 µs at 4 GHz. It lasts at least so many steps of the clock at 6 GHz.
const CHAIN_ROUNDS: usize = 2_048;
const CHAIN_LEAST: f64 = 1_000.0;
const FASTEST_GHZ: f64 = 6.0;
/// Cycles of a round of such a chain: four of exclusive ors, four of additions.
const ROUND_CYCLES: f64 = 8.0;
/// Counts of each length; the median counts.
const COUNTS: usize = 3;
/// Time for which the clock alone is watched before a chase, and after it.
const WATCH: Duration = Duration::from_millis(10);
/// A time between two readings of the clock from which something else had the cpu, ns.
const GAP_NS: f64 = 500.0;

/// One line, which holds only where to go next. The reference is a plain pointer: an access is one load, and its
/// address needs no arithmetic.
#[repr(align(64))]
struct Line<'a> {
    next: Cell<Option<&'a Line<'a>>>,
}

/// What is chased.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chase {
    /// Footprint.
    pub(super) bytes: usize,
    /// Places in memory, each of this footprint, that the time is divided among.
    pub(super) places: usize,
    /// Whether times are in cycles of the core: its clock is measured between stretches of blocks.
    pub(super) is_clocked: bool,
}

impl Chase {
    /// Chases on one cpu for so many seconds, in a thread of its own.
    ///
    /// # Errors
    /// A sentence if the thread cannot run on that cpu or the memory cannot be had.
    pub(super) fn run(self, cpu: usize, seconds: f64) -> Result<Recording, String> {
        let work = move || {
            pin(cpu)?;
            let (each, mut lines) = (self.bytes / LINE_BYTES, Vec::new());
            let count = each.saturating_mul(self.places);
            lines.try_reserve_exact(count).map_err(|e| format!("{} bytes: {e}", self.bytes))?;
            lines.extend((0..count).map(|_| Line { next: Cell::new(None) }));
            if lines.is_empty() {
                return Err(format!("{} bytes hold no line", self.bytes));
            }
            Ok(self.places_in_turn(&lines, each, seconds))
        };
        std::thread::spawn(work).join().unwrap_or_else(|_| Err("the chase panicked".to_owned()))
    }

    fn places_in_turn<'a>(self, lines: &'a [Line<'a>], each: usize, seconds: f64) -> Recording {
        lines.chunks(each).for_each(link);
        let resolution = resolution_ns();
        let block_ns = BLOCK_NS.max(BLOCK_STEPS * resolution);
        let chain = CHAIN_ROUNDS.max((CHAIN_LEAST * resolution * FASTEST_GHZ / ROUND_CYCLES) as usize);
        let in_stretch = 2 * ((STRETCH_NS / (3.0 * block_ns)) as usize).max(1);
        // Written here: a page that is written first while a block runs would lengthen the block.
        let room = (seconds * 1e9 / block_ns).min(BLOCKS_MOST);
        let (mut blocks, mut filled) = (vec![1.0_f32; room as usize + in_stretch], 0);
        let (mut accesses, mut cycles_ns, mut firsts) = (0, Vec::new(), Vec::new());
        let mut watched = watch();
        for place in lines.chunks(each) {
            let mut at = warmed(place);
            if accesses == 0 {
                accesses = (block_ns / access_ns(at)).max(1.0) as usize;
            }
            firsts.push(filled / in_stretch);
            let begin = Instant::now();
            while begin.elapsed().as_secs_f64() < seconds / self.places as f64 && filled + in_stretch <= blocks.len() {
                let before = self.is_clocked.then(|| cycle_ns(chain));
                at = stretch(at, accesses, &mut blocks[filled..][..in_stretch]);
                cycles_ns.extend(before.map(|before| [before, cycle_ns(chain)]));
                filled += in_stretch;
            }
        }
        let after = watch();
        watched.0 += after.0;
        watched.1 += after.1;
        blocks.truncate(filled);
        Recording { accesses, in_stretch, blocks, cycles_ns, firsts, short_share: watched.0 / watched.1.max(1.0) }
    }
}

fn pin(cpu: usize) -> Result<(), String> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(format!("cpu {cpu}: only cpus below {} can be named", CpuSet::MAX_CPU));
    }
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only).map_err(|e| format!("cpu {cpu}: {e}"))
}

/// Makes one cycle in random order of all lines: Sattolo's shuffle, which swaps each line's successor with that of an
/// earlier line.
fn link<'a>(lines: &'a [Line<'a>]) {
    lines.iter().for_each(|line| line.next.set(Some(line)));
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for at in (1..lines.len()).rev() {
        // xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        lines[at].next.swap(&lines[(state % at as u64) as usize].next);
    }
}

/// Follows the chain; each load needs the one before it.
fn follow<'a>(mut at: &'a Line<'a>, accesses: usize) -> &'a Line<'a> {
    // Counted by hand: the iterator of a range is a call where dependencies are not optimised.
    let mut left = accesses;
    while left > 0 {
        left -= 1;
        // A branch that never ends the loop early: it is predicted, and costs the chain nothing.
        let Some(next) = at.next.get() else { break };
        at = next;
    }
    black_box(at)
}

/// Follows the chain until caches and clock are steady, then reads all lines in order, and goes on. Returns where it
/// stopped.
fn warmed<'a>(lines: &'a [Line<'a>]) -> &'a Line<'a> {
    let (mut at, mut accesses, began) = (&lines[0], 0, Instant::now());
    let warm = |accesses: usize, time: Duration| accesses >= WARM_CYCLES * lines.len() && time >= WARM_LEAST;
    while began.elapsed() < WARM_MOST && !warm(accesses, began.elapsed()) {
        at = follow(at, WARM_ACCESSES);
        accesses += WARM_ACCESSES;
    }
    for line in (0..READS).flat_map(|_| lines) {
        black_box(line.next.get());
    }
    follow(at, SETTLES.min(2 * lines.len()))
}

/// An access, ns.
fn access_ns<'a>(mut at: &'a Line<'a>) -> f64 {
    let mut trial = || {
        let begin = Instant::now();
        at = follow(at, WARM_ACCESSES);
        ns_since(begin)
    };
    (0..TRIALS).map(|_| trial()).fold(f64::INFINITY, f64::min) / WARM_ACCESSES as f64
}

/// Times blocks, a short and a long one in turn. Returns where the chase stopped.
fn stretch<'a>(mut at: &'a Line<'a>, accesses: usize, blocks: &mut [f32]) -> &'a Line<'a> {
    let mut before = Instant::now();
    for (index, block) in blocks.iter_mut().enumerate() {
        at = follow(at, accesses << (index % 2));
        let now = Instant::now();
        *block = now.duration_since(before).as_nanos() as f32;
        before = now;
    }
    at
}

fn ns_since(begin: Instant) -> f64 {
    begin.elapsed().as_nanos() as f64
}

/// A step of the clock, ns: the smallest one, where two readings may be of one step; else at most the smallest
/// difference of two times.
fn resolution_ns() -> f64 {
    let mut times: Vec<u128> = (0..WARM_ACCESSES).map(|_| Instant::now().elapsed().as_nanos()).collect();
    times.sort_unstable();
    times.dedup();
    let least = if times[0] == 0 { times.get(1).copied() } else { times.windows(2).map(|two| two[1] - two[0]).min() };
    least.unwrap_or(times[0].max(1)) as f64
}

/// A chain of operations of registers, each of which needs the one before it and takes one cycle on every core. Two
/// kinds in turn, of values that the compiler does not know: nothing shorter gives the same. The loop has eight cycles
/// for its own counting.
fn chain(rounds: usize) {
    let (mask, term) = (black_box(0x9e37_79b9_7f4a_7c15_u64), black_box(0xd134_2543_de82_ef95_u64));
    let (mut state, mut left) = (black_box(1_u64), rounds);
    while left > 0 {
        left -= 1;
        state = (state ^ mask).wrapping_add(term);
        state = (state ^ mask).wrapping_add(term);
        state = (state ^ mask).wrapping_add(term);
        state = (state ^ mask).wrapping_add(term);
    }
    black_box(state);
}

/// A cycle of the core, ns: by the difference of two lengths of the chain, which no stamp is part of.
fn cycle_ns(rounds: usize) -> f64 {
    let median = |rounds: usize| {
        let count = |_| {
            let begin = Instant::now();
            chain(rounds);
            ns_since(begin)
        };
        upper_median((0..COUNTS).map(count).collect()).unwrap_or_default()
    };
    (median(2 * rounds) - median(rounds)) / (ROUND_CYCLES * rounds as f64)
}

/// Reads the clock and does nothing else. Returns what interruptions of up to 20 µs took, and the time without longer
/// ones, ns.
fn watch() -> (f64, f64) {
    let (begin, mut last, mut short, mut long) = (Instant::now(), 0.0, 0.0, 0.0);
    while last < WATCH.as_nanos() as f64 {
        let now = ns_since(begin);
        let gap = now - last;
        if gap > LONG_NS {
            long += gap;
        } else if gap > GAP_NS {
            short += gap;
        }
        last = now;
    }
    (short, last - long)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHASE: Chase = Chase { bytes: 4096, places: 2, is_clocked: true };

    fn address(line: &Line<'_>) -> usize {
        std::ptr::from_ref(line).addr()
    }

    #[test]
    fn the_chain_is_one_cycle_through_all_lines() {
        for count in [1, 2, 3, 64, 1000, 4096] {
            let lines: Vec<Line<'_>> = (0..count).map(|_| Line { next: Cell::new(None) }).collect();
            link(&lines);
            let start = address(&lines[0]);
            let mut seen = vec![false; count];
            let mut at = &lines[0];
            for _ in 0..count {
                assert!(
                    !std::mem::replace(&mut seen[(address(at) - start) / LINE_BYTES], true),
                    "a line twice among {count}"
                );
                at = follow(at, 1);
            }
            assert_eq!(address(at), start, "back at the first of {count}");
        }
        assert_eq!(size_of::<Line<'_>>(), LINE_BYTES);
    }

    #[test]
    fn a_recording_has_whole_stretches_with_a_clock_on_both_sides() {
        let cpu = tiermark_system::affinity().unwrap().iter().next().unwrap() as usize;
        let found = CHASE.run(cpu, 0.01).unwrap();
        let stretches = found.blocks.len() / found.in_stretch;
        assert!(stretches > 0 && found.blocks.len() == stretches * found.in_stretch && found.accesses > 0);
        assert_eq!((found.cycles_ns.len(), found.in_stretch % 2), (stretches, 0));
        assert!((0.0..1.0).contains(&found.short_share));
        let shared = Chase { is_clocked: false, ..CHASE }.run(cpu, 0.01).unwrap();
        assert!(shared.cycles_ns.is_empty() && shared.firsts.len() == 2);
    }

    #[test]
    fn what_cannot_be_chased_is_a_sentence() {
        assert!(Chase { bytes: 0, ..CHASE }.run(0, 0.0).is_err());
        assert!(CHASE.run(usize::MAX, 0.0).unwrap_err().contains("only cpus below"));
        assert!(Chase { bytes: usize::MAX / 2, ..CHASE }.run(0, 0.0).is_err());
    }
}
