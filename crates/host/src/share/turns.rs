//! Turns passed to and fro: by compare-and-swap, by flags, and one way with the clock as the message.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::{FIRST, OVER, PLACES, ROUNDS, SECOND, ShareWork, Watch};
use crate::ended::Ended;

impl ShareWork {
    /// The lines of a block, by its number.
    fn words(&self, block: usize) -> PingWords<'_> {
        let word = |index: usize| self.lines.word(self.places[index]);
        let at = block % PLACES;
        PingWords { there: word(at), back: word(at + PLACES), note: self.lines.word(self.places[at + PLACES] + 8) }
    }

    /// Round trips in blocks, until the deadline; then the partner is notified on the line that it polls.
    pub(super) fn ping(
        &self,
        stamps: &mut [u64],
        watch: &Watch<'_>,
        round_trips: impl Fn(&PingWords<'_>) -> Result<(), Ended>,
    ) -> Result<usize, Ended> {
        // One block on each line brings all of them into the state they keep.
        for block in 0..PLACES {
            round_trips(&self.words(block))?;
        }
        let mut blocks = 0;
        stamps[0] = watch.clock.now();
        for slot in &mut stamps[1..] {
            round_trips(&self.words(blocks))?;
            let now = watch.clock.now();
            *slot = now;
            blocks += 1;
            // The warm-up was in the shot's time too; each line counts at least once.
            if now >= watch.deadline && blocks >= PLACES {
                break;
            }
        }
        self.words(blocks).there.store(OVER, Release);
        Ok(blocks)
    }

    pub(super) fn answer_swaps(&self, watch: &Watch<'_>) -> Result<(), Ended> {
        for block in 0.. {
            let turn = self.words(block).there;
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

    pub(super) fn answer_flags(&self, watch: &Watch<'_>) -> Result<(), Ended> {
        self.answer(watch, |_, _| ())
    }

    pub(super) fn receive(&self, watch: &Watch<'_>) -> Result<(), Ended> {
        self.answer(watch, |sent, note| note.store(way(sent, watch.clock.now()), Relaxed))
    }

    /// Sends back what comes, after `note` was made of it.
    #[inline(always)]
    fn answer(&self, watch: &Watch<'_>, note: impl Fn(u64, &AtomicU64)) -> Result<(), Ended> {
        for block in 0.. {
            let words = self.words(block);
            for _ in 0..ROUNDS {
                let seen = words.back.load(Relaxed);
                let mut sent = seen;
                watch.until(|| {
                    sent = words.there.load(Acquire);
                    sent != seen
                })?;
                if sent == OVER {
                    return Ok(());
                }
                note(sent, words.note);
                words.back.store(sent, Release);
            }
        }
        Ok(())
    }

    /// Sends the clock to and fro. The stamps add up what the receiver saw, so that only the way there is in them.
    pub(super) fn send(&self, stamps: &mut [u64], watch: &Watch<'_>) -> Result<usize, Ended> {
        // Each message holds one stamp; the analysis takes one out of each block.
        let own = watch.clock.ticks(watch.stamp_ns * (ROUNDS - 1) as f64);
        let mut at = watch.clock.now();
        let mut blocks = 0;
        stamps[0] = at;
        for slot in &mut stamps[1..] {
            let PingWords { there, back, note } = self.words(blocks);
            let mut sum = 0u64;
            for number in 1..=ROUNDS {
                let sent = message(watch.clock.now(), number);
                there.store(sent, Release);
                watch.until(|| back.load(Acquire) == sent)?;
                sum = sum.wrapping_add(note.load(Relaxed));
            }
            // Negative, or less than the stamps alone: one clock is behind the other.
            let took = sum.wrapping_sub(own).cast_signed();
            if took < 0 {
                self.words(blocks + 1).there.store(OVER, Release);
                let why = "messages arrive before they are sent: the clocks of the two cpus differ";
                return Err(Ended::Failed(why.to_owned()));
            }
            // A clock that steps more rarely than a block is long shows none of it; stamps rise all the same.
            at += took.cast_unsigned().max(1);
            *slot = at;
            blocks += 1;
            if watch.clock.now() >= watch.deadline && blocks >= PLACES {
                break;
            }
        }
        self.words(blocks).there.store(OVER, Release);
        Ok(blocks)
    }
}

/// Bits of a message that hold its number.
const NUMBER: u32 = 8;

/// The clock and a number in one word, so that one store sends both. The number makes messages differ where the clock
/// does not: generic timers of 25 MHz step once in several messages. It goes from 1 to [`ROUNDS`], so that none is the
/// next one's neighbour's, and none is [`OVER`].
#[inline(always)]
fn message(clock: u64, number: u64) -> u64 {
    const { assert!(ROUNDS < (1 << NUMBER) - 1) };
    clock << NUMBER | number
}

/// Ticks since a message was sent, negative ones in two's complement. The clock's highest bits are not in it;
/// differences are far smaller.
#[inline(always)]
fn way(message: u64, now: u64) -> u64 {
    ((now << NUMBER).wrapping_sub(message >> NUMBER << NUMBER).cast_signed() >> NUMBER).cast_unsigned()
}

/// The lines of one block: one that carries the turn there (and back, where both write it), one that carries it back,
/// and what the answer says, on the same line.
pub(super) struct PingWords<'a> {
    there: &'a AtomicU64,
    back: &'a AtomicU64,
    note: &'a AtomicU64,
}

impl PingWords<'_> {
    /// Both compare and swap the one word. The last turn is waited for, so that a block is whole round trips.
    #[inline(always)]
    pub(super) fn swap_turns(&self, watch: &Watch<'_>) -> Result<(), Ended> {
        for _ in 0..ROUNDS {
            watch.until(|| self.there.compare_exchange(FIRST, SECOND, Relaxed, Relaxed).is_ok())?;
        }
        watch.until(|| self.there.load(Relaxed) == FIRST)
    }

    /// Each stores to its own line and watches the other's.
    #[inline(always)]
    pub(super) fn raise_flags(&self, watch: &Watch<'_>) -> Result<(), Ended> {
        let begun = self.back.load(Relaxed);
        for round in 1..=ROUNDS {
            let flag = begun + round;
            self.there.store(flag, Release);
            watch.until(|| self.back.load(Acquire) == flag)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use tiermark_model::{PingOp, Role};
    use tiermark_system::{Clock, Mapping, SharedLines};

    use super::*;
    use crate::gate::StartGate;

    #[test]
    fn no_message_is_lost_within_one_step_of_the_clock() {
        const BYTES: usize = 64 << 10;
        let mapping = Arc::new(Mapping::reserve(BYTES, 4096).unwrap());
        let op = PingOp::OneWay;
        let [sender, receiver] = [Role::Ping { op }, Role::Echo { op }].map(|role| {
            let first = matches!(role, Role::Ping { .. });
            let mut work = ShareWork::new(SharedLines::new(&mapping, BYTES).unwrap(), &role, 2, 1).unwrap();
            work.lay_out(0, first);
            work
        });
        // Hundreds of messages a step.
        let (clock, gate, stopped) = (Clock::coarse(100_000), StartGate::new(2), AtomicBool::new(false));
        // It ends after one block on each line. Beside other work each message may wait for the partner's turn on a
        // cpu.
        let deadline = clock.now() + clock.ticks(60e9);
        let watch = Watch { gate: &gate, stopped: &stopped, clock: &clock, deadline, stamp_ns: 0.0 };
        let mut stamps = vec![0; PLACES + 1];
        let (sent, received) = std::thread::scope(|scope| {
            let receiving = scope.spawn(|| receiver.play(&mut [], &watch));
            let sent = sender.play(&mut stamps, &watch);
            (sent, receiving.join().unwrap())
        });
        let blocks = sent.unwrap();
        assert_eq!(received, Ok(0));
        assert!(blocks == PLACES && stamps[..=blocks].windows(2).all(|w| w[0] < w[1]), "{blocks} blocks");
    }

    #[test]
    fn messages_differ_where_the_clock_does_not() {
        assert_ne!(message(7, 1), message(7, 2));
        assert!(
            (1..=ROUNDS).all(|number| message(u64::MAX, number) != OVER && message(0, number) != super::super::FIRST)
        );
        // The last of one block on a line, and the first of the next.
        assert_ne!(message(7, ROUNDS), message(7, 1));
    }

    #[test]
    fn the_way_is_the_difference_of_two_clocks() {
        for sent in [0, 1_000, u64::MAX - 5, 1 << 60, (1 << 56) - 3] {
            for ticks in [0u64, 1, 90, 1 << 40] {
                assert_eq!(way(message(sent, 77), sent.wrapping_add(ticks)), ticks, "{sent}");
                assert_eq!(
                    way(message(sent, 77), sent.wrapping_sub(ticks)).cast_signed(),
                    -ticks.cast_signed(),
                    "{sent}"
                );
            }
        }
    }
}
