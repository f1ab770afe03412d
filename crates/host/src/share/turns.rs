//! Turns passed to and fro: by compare-and-swap, by flags, and one way with the clock as the message.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::{FIRST, OVER, PLACES, ROUNDS, SECOND, ShareWork, Watch};

impl ShareWork {
    /// The lines of a block, by its number.
    fn pair(&self, block: usize) -> Pair<'_> {
        let word = |index: usize| self.lines.word(self.places[index]);
        let at = block % PLACES;
        Pair { there: word(at), back: word(at + PLACES), note: self.lines.word(self.places[at + PLACES] + 8) }
    }

    /// Round trips in blocks, until the deadline; then the partner is told on the line where it waits.
    pub(super) fn ping(
        &self,
        stamps: &mut [u64],
        watch: &Watch<'_>,
        round_trips: impl Fn(&Pair<'_>) -> Result<(), String>,
    ) -> Result<usize, String> {
        // One block on each line brings all of them into the state they keep.
        for block in 0..PLACES {
            round_trips(&self.pair(block))?;
        }
        let mut blocks = 0;
        stamps[0] = watch.clock.now();
        for slot in &mut stamps[1..] {
            round_trips(&self.pair(blocks))?;
            let now = watch.clock.now();
            *slot = now;
            blocks += 1;
            // The warm-up was in the shot's time too; each line counts at least once.
            if now >= watch.deadline && blocks >= PLACES {
                break;
            }
        }
        self.pair(blocks).there.store(OVER, Release);
        Ok(blocks)
    }

    pub(super) fn answer_swaps(&self, watch: &Watch<'_>) -> Result<(), String> {
        for block in 0.. {
            let turn = self.pair(block).there;
            for _ in 0..ROUNDS {
                let mut over = false;
                watch.until(|| match turn.compare_exchange(SECOND, FIRST, Relaxed, Relaxed) {
                    Ok(_) => true,
                    Err(found) => {
                        over = found == OVER;
                        over
                    }
                })?;
                if over {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    pub(super) fn answer_flags(&self, watch: &Watch<'_>) -> Result<(), String> {
        for block in 0.. {
            let Pair { there, back, .. } = self.pair(block);
            for _ in 0..ROUNDS {
                let seen = back.load(Relaxed);
                let mut found = seen;
                watch.until(|| {
                    found = there.load(Acquire);
                    found != seen
                })?;
                if found == OVER {
                    return Ok(());
                }
                back.store(found, Release);
            }
        }
        Ok(())
    }

    /// Sends the clock to and fro. The stamps add up what the receiver saw, so that only the way there is in them.
    pub(super) fn send(&self, stamps: &mut [u64], watch: &Watch<'_>) -> Result<usize, String> {
        // Each message holds one stamp; the analysis takes one out of each block.
        let own = watch.clock.ticks(watch.stamp_ns * (ROUNDS - 1) as f64);
        let mut at = watch.clock.now();
        let mut blocks = 0;
        stamps[0] = at;
        for slot in &mut stamps[1..] {
            let Pair { there, back, note } = self.pair(blocks);
            let mut sum = 0u64;
            for _ in 0..ROUNDS {
                let sent = watch.clock.now();
                there.store(sent, Release);
                watch.until(|| back.load(Acquire) == sent)?;
                sum = sum.wrapping_add(note.load(Relaxed));
            }
            // Negative, or less than the stamps alone: one clock is behind the other.
            if sum.cast_signed() <= own.cast_signed() {
                self.pair(blocks + 1).there.store(OVER, Release);
                return Err("messages arrive before they are sent: the clocks of the two cpus differ".to_owned());
            }
            at += sum - own;
            *slot = at;
            blocks += 1;
            if watch.clock.now() >= watch.deadline && blocks >= PLACES {
                break;
            }
        }
        self.pair(blocks).there.store(OVER, Release);
        Ok(blocks)
    }

    pub(super) fn receive(&self, watch: &Watch<'_>) -> Result<(), String> {
        for block in 0.. {
            let Pair { there, back, note } = self.pair(block);
            for _ in 0..ROUNDS {
                let seen = back.load(Relaxed);
                let mut sent = seen;
                watch.until(|| {
                    sent = there.load(Acquire);
                    sent != seen
                })?;
                if sent == OVER {
                    return Ok(());
                }
                note.store(watch.clock.now().wrapping_sub(sent), Relaxed);
                back.store(sent, Release);
            }
        }
        Ok(())
    }
}

/// The lines of one block: one that carries the turn there (and back, where both write it), one that carries it back, and
/// what the answer says, on the same line.
pub(super) struct Pair<'a> {
    there: &'a AtomicU64,
    back: &'a AtomicU64,
    note: &'a AtomicU64,
}

impl Pair<'_> {
    /// Both compare and swap the one word. The last turn is waited for, so that a block is whole round trips.
    #[inline(always)]
    pub(super) fn swap_turns(&self, watch: &Watch<'_>) -> Result<(), String> {
        for _ in 0..ROUNDS {
            watch.until(|| self.there.compare_exchange(FIRST, SECOND, Relaxed, Relaxed).is_ok())?;
        }
        watch.until(|| self.there.load(Relaxed) == FIRST)
    }

    /// Each stores to its own line and watches the other's.
    #[inline(always)]
    pub(super) fn raise_flags(&self, watch: &Watch<'_>) -> Result<(), String> {
        let begun = self.back.load(Relaxed);
        for round in 1..=ROUNDS {
            let flag = begun + round;
            self.there.store(flag, Release);
            watch.until(|| self.back.load(Acquire) == flag)?;
        }
        Ok(())
    }
}
