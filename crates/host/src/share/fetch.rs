//! Lines fetched from another core, and a word that all add to.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use tiermark_model::LineState;

use super::{FETCHED, OVER, ShareWork, Watch};
use crate::ended::Ended;

impl ShareWork {
    pub(super) fn contend(&self, additions: u64, stamps: &mut [u64], watch: &Watch<'_>) -> usize {
        let word = self.lines.word(self.places[0]);
        let add = || {
            for _ in 0..additions {
                word.fetch_add(1, Relaxed);
            }
        };
        add();
        let mut blocks = 0;
        stamps[0] = watch.clock.now();
        for slot in &mut stamps[1..] {
            add();
            let now = watch.clock.now();
            *slot = now;
            blocks += 1;
            if now >= watch.deadline {
                break;
            }
        }
        blocks
    }

    /// The lines to fetch, and the words by which they are requested and reported as ready.
    fn fetched(&self) -> (&[usize], &AtomicU64, &AtomicU64) {
        let (data, turns) = self.places.split_at(FETCHED);
        (data, self.lines.word(turns[0]), self.lines.word(turns[1]))
    }

    /// Each line names the next.
    pub(super) fn write_chain(&self) {
        let (data, ..) = self.fetched();
        for (from, to) in data.iter().zip(data.iter().cycle().skip(1)) {
            self.lines.word(*from).store(*to as u64, Relaxed);
        }
    }

    /// Has the partner take all lines, then chases through them. The stamps' clock runs only while it chases.
    pub(super) fn take(&self, stamps: &mut [u64], watch: &Watch<'_>) -> Result<usize, Ended> {
        let (data, ask, ready) = self.fetched();
        let mut at = watch.clock.now();
        let mut blocks = 0;
        stamps[0] = at;
        for slot in &mut stamps[1..] {
            let number = blocks as u64 + 1;
            ask.store(number, Release);
            watch.until(|| ready.load(Acquire) == number)?;
            let start = watch.clock.now();
            let mut place = data[0];
            for _ in 0..FETCHED {
                place = self.lines.word(place).load(Relaxed) as usize;
            }
            std::hint::black_box(place);
            let end = watch.clock.now();
            at += end.saturating_sub(start).max(1);
            *slot = at;
            blocks += 1;
            if end >= watch.deadline {
                break;
            }
        }
        ask.store(OVER, Release);
        Ok(blocks)
    }

    pub(super) fn keep(&self, state: LineState, watch: &Watch<'_>) -> Result<(), Ended> {
        let (data, ask, ready) = self.fetched();
        for number in 1u64.. {
            let mut over = false;
            watch.until(|| {
                let asked = ask.load(Acquire);
                over = asked == OVER;
                over || asked == number
            })?;
            if over {
                return Ok(());
            }
            match state {
                LineState::Dirty => self.write_chain(),
                LineState::Clean => {
                    // Out of all caches first, or the partner would find its own copies of the last time.
                    data.iter().for_each(|place| self.lines.flush(*place));
                    for place in data {
                        std::hint::black_box(self.lines.word(*place).load(Relaxed));
                    }
                }
            }
            ready.store(number, Release);
        }
        Ok(())
    }
}
