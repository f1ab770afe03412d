//! The reference of `selftest --continuous`: one chase that nothing interrupts, to be believed by reading it. It uses
//! the standard library only, and pins its thread: neither the kernels nor the memory of the runs that it checks.

use std::cell::Cell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};

/// A cache line of most processors; elsewhere the part of one that both ways use.
const LINE_BYTES: usize = 64;
/// Length of a block, ns: as long as a window of a visit. Reading the clock takes tens of ns, which does not count.
const BLOCK_NS: f64 = 250_000.0;
/// Cycles through all lines before anything counts.
const WARM_CYCLES: usize = 3;
/// Times that all lines are read in order after that: some last-level caches keep only lines that are used again, so
/// the latency depends on how often lines were used before.
const READS: usize = 3;
/// The warm-up takes at least this long, in which the core's clock rises …
const WARM_LEAST: Duration = Duration::from_millis(50);
/// … and at most this long: three cycles through 1 GiB would take seconds, and no cache keeps them.
const WARM_MOST: Duration = Duration::from_millis(200);
/// Accesses between two looks at the clock while warming up.
const WARM_ACCESSES: usize = 4096;

/// One line, which holds only where to go next. The reference is a plain pointer: an access is one load, and its
/// address needs no arithmetic.
#[repr(align(64))]
struct Line<'a> {
    next: Cell<Option<&'a Line<'a>>>,
}

/// Percentiles of the blocks of one continuous run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Level {
    /// The 2nd percentile, ns per access.
    pub(super) low: f64,
    /// The median, ns per access.
    pub(super) median: f64,
}

/// Chases through `bytes` on one cpu for `seconds`, in a thread of its own.
///
/// # Errors
/// A sentence if the thread cannot run on that cpu or the memory cannot be had.
pub(super) fn run(bytes: usize, cpu: usize, seconds: f64) -> Result<Level, String> {
    let work = move || {
        pin(cpu)?;
        let mut lines = Vec::new();
        lines.try_reserve_exact(bytes / LINE_BYTES).map_err(|e| format!("{bytes} bytes: {e}"))?;
        lines.extend((0..bytes / LINE_BYTES).map(|_| Line { next: Cell::new(None) }));
        link(&lines);
        let first = lines.first().ok_or_else(|| format!("{bytes} bytes hold no line"))?;
        level(blocks(first, &lines, seconds)).ok_or_else(|| "no time".to_owned())
    };
    std::thread::spawn(work).join().unwrap_or_else(|_| Err("the chase panicked".to_owned()))
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
    for _ in 0..accesses {
        // A branch that never ends the loop early: it is predicted, and costs the chain nothing.
        let Some(next) = at.next.get() else { break };
        at = next;
    }
    black_box(at)
}

/// Warms up, reads all lines, then chases for `seconds`: ns per access of each block.
fn blocks<'a>(first: &'a Line<'a>, lines: &[Line<'a>], seconds: f64) -> Vec<f64> {
    let (mut at, mut accesses, began) = (first, 0, Instant::now());
    let warm = |accesses: usize, time: Duration| accesses >= WARM_CYCLES * lines.len() && time >= WARM_LEAST;
    while began.elapsed() < WARM_MOST && !warm(accesses, began.elapsed()) {
        at = follow(at, WARM_ACCESSES);
        accesses += WARM_ACCESSES;
    }
    let expected = began.elapsed().as_nanos() as f64 / accesses.max(1) as f64;
    let in_block = (BLOCK_NS / expected).max(1.0) as usize;
    let mut found = Vec::with_capacity((seconds * 2e9 / BLOCK_NS) as usize);
    for line in (0..READS).flat_map(|_| lines) {
        black_box(line.next.get());
    }
    let begin = Instant::now();
    let mut before = begin;
    while before.duration_since(begin).as_secs_f64() < seconds {
        at = follow(at, in_block);
        let now = Instant::now();
        found.push(now.duration_since(before).as_nanos() as f64 / in_block as f64);
        before = now;
    }
    found
}

/// The percentiles of blocks; `None` of none.
fn level(mut blocks: Vec<f64>) -> Option<Level> {
    blocks.sort_unstable_by(f64::total_cmp);
    // The nearest rank: the first value that so large a part of all values do not exceed.
    let percentile = |share: f64| {
        let rank = (share * blocks.len() as f64).ceil().max(1.0) as usize;
        blocks.get(rank - 1).copied()
    };
    Some(Level { low: percentile(0.02)?, median: percentile(0.5)? })
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn percentiles_are_those_of_the_sorted_blocks() {
        let blocks: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(level(blocks), Some(Level { low: 2.0, median: 50.0 }));
        assert_eq!(level(vec![7.0]), Some(Level { low: 7.0, median: 7.0 }));
        assert_eq!(level(Vec::new()), None);
    }

    #[test]
    fn what_cannot_be_chased_is_a_sentence() {
        assert!(run(0, 0, 0.0).is_err());
        assert!(run(64, usize::MAX, 0.0).unwrap_err().contains("only cpus below"));
        assert!(run(usize::MAX / 2, 0, 0.0).is_err());
    }
}
