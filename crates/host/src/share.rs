//! Threads that meet on shared lines: turns passed to and fro, lines fetched from another core, a word that all add to.
//!
//! Nobody waits for ever: whoever waits long looks whether another worker has failed, whether the user has stopped the run,
//! and at the clock.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use tiermark_kernels::rng::Rng;
use tiermark_model::{LineState, PingOp, Refusal, Role, Setup};

use crate::clock::Clock;
use crate::gate::StartGate;
use crate::sys::{self, SharedLines};

/// Lines that are used are at least this far apart: adjacent-line prefetchers pair lines of 64 bytes, and some Arm cores
/// have lines of 128.
const APART: usize = 128;
/// Round trips of a block: some 10 µs between neighbours, long against a stamp, short against a time slice.
const ROUNDS: u64 = 128;
/// Lines that a shot goes round, a block on each: where a line's home in the caches lies changes its latency, and the median
/// over several says more of the pair than any one of them.
const PLACES: usize = 16;
/// Lines that a chase through another core's cache takes: some 10 µs, and they fit any first level.
const FETCHED: usize = 128;
/// What a region of shared lines holds at least: all of the lines above and the two that carry the turns, with as many left
/// out again, so that their choice is one.
pub(crate) const LEAST_BYTES: u64 = 2 * ((FETCHED + 2) * APART) as u64;
/// Additions of a block by all threads together, and by each at least: some 40 µs.
const ADDITIONS: (u64, u64) = (2048, 16);
/// Looks at a line between two looks at everything else: about 100 µs, far more than any line takes.
const LOOKS: u32 = 4096;
/// How long a shot waits for a partner beyond its own end, ns: some scheduler slices on a crowded machine.
const PATIENCE_NS: f64 = 2e9;

/// The word of a turn: who may go on.
const FIRST: u64 = 0;
const SECOND: u64 = 1;
/// The game is over.
const OVER: u64 = u64::MAX;

/// A thread's part in a game on shared lines.
#[derive(Debug)]
pub(crate) struct ShareWork {
    lines: SharedLines,
    part: Part,
    seed: u64,
    /// Offsets of the lines of the coming shot.
    places: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Ping(PingOp),
    Echo(PingOp),
    /// So many additions in a block.
    Contend(u64),
    Take,
    Keep(LineState),
}

/// What a waiting thread looks at from time to time.
pub(crate) struct Watch<'a> {
    pub(crate) gate: &'a StartGate,
    pub(crate) stopped: &'a AtomicBool,
    pub(crate) clock: &'a Clock,
    /// The end of the shot.
    pub(crate) deadline: u64,
    /// What a stamp costs, ns.
    pub(crate) stamp_ns: f64,
}

impl Watch<'_> {
    /// Waits until a line says so.
    #[inline(always)]
    fn until(&self, mut ready: impl FnMut() -> bool) -> Result<(), String> {
        let mut looks = 0;
        while !ready() {
            looks += 1;
            if looks == LOOKS {
                looks = 0;
                self.look()?;
            }
        }
        Ok(())
    }

    /// Whether waiting on makes sense. Lets others have the cpu: on a crowded machine the partner may be waiting for it.
    #[cold]
    fn look(&self) -> Result<(), String> {
        if self.stopped.load(Relaxed) {
            return Err("the run was stopped".to_owned());
        }
        if self.gate.is_broken() {
            return Err("another worker failed".to_owned());
        }
        if self.clock.now() > self.deadline + self.clock.ticks(PATIENCE_NS) {
            return Err(format!("its partner on another cpu did not answer for {} s", PATIENCE_NS / 1e9));
        }
        sys::yield_now();
        Ok(())
    }
}

/// Checks that every region of shared lines has the threads that a game needs.
///
/// # Errors
/// A [`Refusal`] of the first that has not.
pub(crate) fn complete(setup: &Setup) -> Result<(), Refusal> {
    for region in 0..setup.regions.len() {
        let roles: Vec<&Role> = setup.threads.iter().filter(|t| t.region == region).map(|t| &t.role).collect();
        if !roles.iter().any(|role| role.shares_lines()) {
            continue;
        }
        let whole = match roles.as_slice() {
            [Role::Ping { op }, Role::Echo { op: answer }] => op == answer,
            [Role::Take, Role::Keep { .. }] => true,
            all => all.iter().all(|role| **role == Role::Contend),
        };
        if !whole {
            let why = format!("region {region} needs a ping and an echo alike, one who takes and one who keeps, or contenders only");
            return Err(Refusal::new("threads on shared lines", why, "correct the plan"));
        }
    }
    Ok(())
}

impl ShareWork {
    /// The part of a role among `of` threads on these lines; `None` for roles that share none.
    pub(crate) fn new(lines: SharedLines, role: &Role, of: usize, seed: u64) -> Option<Self> {
        let part = match role {
            Role::Ping { op } => Part::Ping(*op),
            Role::Echo { op } => Part::Echo(*op),
            Role::Contend => Part::Contend((ADDITIONS.0 / of.max(1) as u64).max(ADDITIONS.1)),
            Role::Take => Part::Take,
            Role::Keep { state } => Part::Keep(*state),
            _ => return None,
        };
        Some(Self { lines, part, seed, places: Vec::new() })
    }

    /// Round trips, additions or lines of a block.
    pub(crate) fn per_block(&self) -> f64 {
        match self.part {
            Part::Ping(_) => ROUNDS as f64,
            Part::Contend(additions) => additions as f64,
            Part::Take => FETCHED as f64,
            Part::Echo(_) | Part::Keep(_) => 1.0,
        }
    }

    /// No block is shorter, ns: no round trip takes less than 10 ns, no other access less than one.
    pub(crate) fn block_ns(&self) -> f64 {
        match self.part {
            Part::Ping(_) => ROUNDS as f64 * 10.0,
            Part::Contend(_) | Part::Take => self.per_block(),
            Part::Echo(_) | Part::Keep(_) => f64::INFINITY,
        }
    }

    /// Chooses the lines of a shot by its number; the first thread of a region also brings them into their first state.
    pub(crate) fn lay_out(&mut self, shot: u64, first: bool) {
        let mut rng = Rng::new(self.seed.wrapping_add(shot.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let mut all: Vec<usize> = (0..self.lines.len() / APART).map(|index| index * APART).collect();
        let wanted = (FETCHED + 2).min(all.len());
        for at in 0..wanted {
            let rest = u32::try_from(all.len() - at).unwrap_or(u32::MAX);
            all.swap(at, at + rng.below(rest) as usize);
        }
        all.truncate(wanted);
        self.places = all;
        if !first {
            return;
        }
        for place in &self.places {
            (0..APART / 8).for_each(|word| self.lines.word(place + word * 8).store(FIRST, Relaxed));
        }
        if self.part == Part::Take {
            self.write_chain();
        }
    }

    /// Plays one shot: stamps the start and the end of each block, and returns the number of blocks; none for those who serve.
    ///
    /// # Errors
    /// In words, when the partner failed, or takes too long.
    pub(crate) fn play(&self, stamps: &mut [u64], watch: &Watch<'_>) -> Result<usize, String> {
        match self.part {
            Part::Ping(PingOp::Cas) => self.ping(stamps, watch, |pair| pair.swap_turns(watch)),
            Part::Ping(PingOp::Flag) => self.ping(stamps, watch, |pair| pair.raise_flags(watch)),
            Part::Ping(PingOp::OneWay) => self.send(stamps, watch),
            Part::Echo(PingOp::Cas) => self.answer_swaps(watch).map(|()| 0),
            Part::Echo(PingOp::Flag) => self.answer_flags(watch).map(|()| 0),
            Part::Echo(PingOp::OneWay) => self.receive(watch).map(|()| 0),
            Part::Contend(additions) => Ok(self.contend(additions, stamps, watch)),
            Part::Take => self.take(stamps, watch),
            Part::Keep(state) => self.keep(state, watch).map(|()| 0),
        }
    }

    /// The lines of a block, by its number.
    fn pair(&self, block: usize) -> Pair<'_> {
        let word = |index: usize| self.lines.word(self.places[index]);
        let at = block % PLACES;
        Pair { there: word(at), back: word(at + PLACES), note: self.lines.word(self.places[at + PLACES] + 8) }
    }

    /// Round trips in blocks, until the deadline; then the partner is told on the line where it waits.
    fn ping(
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
            if now >= watch.deadline {
                break;
            }
        }
        self.pair(blocks).there.store(OVER, Release);
        Ok(blocks)
    }

    fn answer_swaps(&self, watch: &Watch<'_>) -> Result<(), String> {
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

    fn answer_flags(&self, watch: &Watch<'_>) -> Result<(), String> {
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
    fn send(&self, stamps: &mut [u64], watch: &Watch<'_>) -> Result<usize, String> {
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
            if watch.clock.now() >= watch.deadline {
                break;
            }
        }
        self.pair(blocks).there.store(OVER, Release);
        Ok(blocks)
    }

    fn receive(&self, watch: &Watch<'_>) -> Result<(), String> {
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

    fn contend(&self, additions: u64, stamps: &mut [u64], watch: &Watch<'_>) -> usize {
        let word = self.lines.word(self.places[0]);
        let add = || (0..additions).for_each(|_| drop(word.fetch_add(1, Relaxed)));
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

    /// The lines to fetch, and those that ask for them and say that they are ready.
    fn fetched(&self) -> (&[usize], &AtomicU64, &AtomicU64) {
        let (data, turns) = self.places.split_at(FETCHED);
        (data, self.lines.word(turns[0]), self.lines.word(turns[1]))
    }

    /// Each line names the next.
    fn write_chain(&self) {
        let (data, ..) = self.fetched();
        for (from, to) in data.iter().zip(data.iter().cycle().skip(1)) {
            self.lines.word(*from).store(*to as u64, Relaxed);
        }
    }

    /// Has the partner take all lines, then chases through them. The stamps' clock runs only while it chases.
    fn take(&self, stamps: &mut [u64], watch: &Watch<'_>) -> Result<usize, String> {
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

    fn keep(&self, state: LineState, watch: &Watch<'_>) -> Result<(), String> {
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
                    data.iter().for_each(|place| drop(std::hint::black_box(self.lines.word(*place).load(Relaxed))));
                }
            }
            ready.store(number, Release);
        }
        Ok(())
    }
}

/// The lines of one block: one that carries the turn there (and back, where both write it), one that carries it back, and
/// what the answer says, on the same line.
struct Pair<'a> {
    there: &'a AtomicU64,
    back: &'a AtomicU64,
    note: &'a AtomicU64,
}

impl Pair<'_> {
    /// Both compare and swap the one word. The last turn is waited for, so that a block is whole round trips.
    #[inline(always)]
    fn swap_turns(&self, watch: &Watch<'_>) -> Result<(), String> {
        for _ in 0..ROUNDS {
            watch.until(|| self.there.compare_exchange(FIRST, SECOND, Relaxed, Relaxed).is_ok())?;
        }
        watch.until(|| self.there.load(Relaxed) == FIRST)
    }

    /// Each stores to its own line and watches the other's.
    #[inline(always)]
    fn raise_flags(&self, watch: &Watch<'_>) -> Result<(), String> {
        let begun = self.back.load(Relaxed);
        for round in 1..=ROUNDS {
            let flag = begun + round;
            self.there.store(flag, Release);
            watch.until(|| self.back.load(Acquire) == flag)?;
        }
        Ok(())
    }
}
