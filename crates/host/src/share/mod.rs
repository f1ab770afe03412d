//! Threads that meet on shared lines: turns passed to and fro, lines fetched from another core, a word that all add to.
//!
//! No thread waits for ever: a thread that waits long checks whether another worker has failed, whether the user has
//! stopped the run, and the clock.

mod fetch;
mod turns;

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use tiermark_kernels::rng::Rng;
use tiermark_model::messages::setup as says;
use tiermark_model::{LineState, PingOp, Refusal, Role, Setup};
use tiermark_system::{Clock, SharedLines};

use crate::ended::Ended;
use crate::gate::StartGate;

/// Lines that are used are at least this far apart: adjacent-line prefetchers pair lines of 64 bytes, and some Arm
/// cores have lines of 128.
const APART: usize = 128;
/// Round trips of a block: some 10 µs between neighbours, long against a stamp, short against a time slice.
const ROUNDS: u64 = 128;
/// Lines that a shot goes round, a block on each: where a line's home in the caches lies changes its latency, and the
/// median over several says more of the pair than any one of them.
const PLACES: usize = 16;
/// Lines that a chase through another core's cache takes: some 10 µs, and they fit any first level.
const FETCHED: usize = 128;
/// Least size of a region of shared lines, bytes: all of the lines above and the two that carry the turns, twice, so
/// that the lines in use can be chosen at random.
pub(crate) const LEAST_BYTES: u64 = 2 * ((FETCHED + 2) * APART) as u64;
/// Additions of a block by all threads together, and by each at least. A core that has the line adds some ten times
/// before the next one takes it, so that a block of as few would be one burst with a stamp in it, or one wait; the
/// least is a dozen of them.
const ADDITIONS: (u64, u64) = (2048, 128);
/// No contender gets more than so many times its even part of the turns for a whole shot: room for its stamps.
const WINNER: f64 = 8.0;
/// Looks at a line between two looks at everything else: about 100 µs, far more than any line takes.
const LOOKS: u32 = 4096;
/// How long a shot waits for a partner beyond its own end, ns: some scheduler slices on a crowded machine.
const PATIENCE_NS: f64 = 2e9;

/// The word of a turn: which side may continue.
const FIRST: u64 = 0;
const SECOND: u64 = 1;
/// The game is over.
const OVER: u64 = u64::MAX;

/// A thread's part in a game on shared lines.
#[derive(Debug)]
pub(crate) struct ShareWork {
    lines: SharedLines,
    part: ShareRole,
    seed: u64,
    /// Offsets of the lines of the coming shot.
    places: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShareRole {
    Ping(PingOp),
    Echo(PingOp),
    /// One of so many.
    Contend(u64),
    Take,
    Keep(LineState),
}

/// Conditions that a waiting thread checks from time to time.
pub(crate) struct Watch<'a> {
    pub(crate) gate: &'a StartGate,
    pub(crate) stopped: &'a AtomicBool,
    pub(crate) clock: &'a Clock,
    /// The end of the shot.
    pub(crate) deadline: u64,
    /// Cost of a stamp, ns.
    pub(crate) stamp_ns: f64,
}

impl Watch<'_> {
    /// Waits until a line says so.
    #[inline(always)]
    fn until(&self, mut ready: impl FnMut() -> bool) -> Result<(), Ended> {
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

    /// Whether waiting on makes sense. Lets others have the cpu: on a crowded machine the partner may be waiting for
    /// it.
    #[cold]
    fn look(&self) -> Result<(), Ended> {
        if self.stopped.load(Relaxed) {
            return Err(Ended::Failed("the run was stopped".to_owned()));
        }
        if self.gate.is_broken() {
            return Err(Ended::Followed);
        }
        if self.clock.now() > self.deadline + self.clock.ticks(PATIENCE_NS) {
            return Err(Ended::Failed(format!(
                "its partner on another cpu did not answer for {} s",
                PATIENCE_NS / 1e9
            )));
        }
        tiermark_system::yield_now();
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
            let why = format!(
                "region {region} needs a ping and an echo of the same operation, a taker and a keeper, or contenders \
                    only"
            );
            return Err(says::setup_inconsistent("threads on shared lines", &why));
        }
    }
    Ok(())
}

/// Additions of each of so many contenders in a block.
fn additions(of: u64) -> u64 {
    (ADDITIONS.0 / of).max(ADDITIONS.1)
}

impl ShareWork {
    /// The part of a role among `of` threads on these lines; `None` for roles that share none.
    pub(crate) fn new(lines: SharedLines, role: &Role, of: usize, seed: u64) -> Option<Self> {
        let part = match role {
            Role::Ping { op } => ShareRole::Ping(*op),
            Role::Echo { op } => ShareRole::Echo(*op),
            Role::Contend => ShareRole::Contend(of.max(1) as u64),
            Role::Take => ShareRole::Take,
            Role::Keep { state } => ShareRole::Keep(*state),
            _ => return None,
        };
        Some(Self { lines, part, seed, places: Vec::new() })
    }

    /// Round trips, additions or lines of a block.
    pub(crate) fn per_block(&self) -> f64 {
        match self.part {
            ShareRole::Ping(_) => ROUNDS as f64,
            ShareRole::Contend(of) => additions(of) as f64,
            ShareRole::Take => FETCHED as f64,
            ShareRole::Echo(_) | ShareRole::Keep(_) => 1.0,
        }
    }

    /// No block is shorter, ns: no round trip takes less than 10 ns, no other access less than one, and of many
    /// contenders none has all turns.
    pub(crate) fn block_ns(&self) -> f64 {
        match self.part {
            ShareRole::Ping(_) => ROUNDS as f64 * 10.0,
            ShareRole::Contend(of) => self.per_block() * (of as f64 / WINNER).max(1.0),
            ShareRole::Take => self.per_block(),
            ShareRole::Echo(_) | ShareRole::Keep(_) => f64::INFINITY,
        }
    }

    /// Chooses the lines of a shot by its number; the first thread of a region also brings them into their first state.
    pub(crate) fn lay_out(&mut self, shot: u64, first: bool) {
        let mut rng = Rng::new(self.seed.wrapping_add(shot.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let mut all: Vec<usize> = (0..self.lines.bytes() / APART).map(|index| index * APART).collect();
        let wanted = (FETCHED + 2).min(all.len());
        for at in 0..wanted {
            let left = all.len() - at;
            all.swap(at, at + rng.below(left));
        }
        all.truncate(wanted);
        self.places = all;
        if !first {
            return;
        }
        for place in &self.places {
            (0..APART / 8).for_each(|word| self.lines.word(place + word * 8).store(FIRST, Relaxed));
        }
        if self.part == ShareRole::Take {
            self.write_chain();
        }
    }

    /// Plays one shot: stamps the start and the end of each block, and returns the number of blocks; 0 for threads that
    /// only answer.
    ///
    /// # Errors
    /// The partner failed, or takes too long.
    pub(crate) fn play(&self, stamps: &mut [u64], watch: &Watch<'_>) -> Result<usize, Ended> {
        match self.part {
            ShareRole::Ping(PingOp::Cas) => self.ping(stamps, watch, |words| words.swap_turns(watch)),
            ShareRole::Ping(PingOp::Flag) => self.ping(stamps, watch, |words| words.raise_flags(watch)),
            ShareRole::Ping(PingOp::OneWay) => self.send(stamps, watch),
            ShareRole::Echo(PingOp::Cas) => self.answer_swaps(watch).map(|()| 0),
            ShareRole::Echo(PingOp::Flag) => self.answer_flags(watch).map(|()| 0),
            ShareRole::Echo(PingOp::OneWay) => self.receive(watch).map(|()| 0),
            ShareRole::Contend(of) => Ok(self.contend(additions(of), stamps, watch)),
            ShareRole::Take => self.take(stamps, watch),
            ShareRole::Keep(state) => self.keep(state, watch).map(|()| 0),
        }
    }
}
