//! Chase through a range used before: reads a region once or three times, or flushes it, waits, and stamps a bounded
//! chase through it.

use std::sync::Arc;

use tiermark_model::Before;
use tiermark_system::{ChaseCall, Clock};

use crate::region::Region;

/// Accesses of a block: 2 µs of hits, so that a stamp is 1 % of it, and a preemption spoils few.
const BLOCK: usize = 128;
/// If a wait ends so much too late, ns, other work had the cpu, and changed the caches in another way than neighbours
/// do.
const LATE_NS: f64 = 20_000.0;
/// Times that lines used again are read. A last-level cache that does not include the second level keeps a line only
/// once it is used again: of 37 MiB that were read once it held nothing, of the same read three times 98 % (Emerald
/// Rapids).
const AGAIN: usize = 3;
/// Rounds begun again for that reason; a shot without an undisturbed one has no stamps and is set aside.
const TRIES: usize = 3;

/// Kind of a round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    /// Between touch and chase, ns.
    pub(crate) wait_ns: u32,
    /// Of the chase.
    pub(crate) accesses: u32,
    /// What is done with the lines before the wait.
    pub(crate) before: Before,
    /// Whether the chase goes through what the round before read.
    pub(crate) since_last: bool,
}

/// One round of reading, waiting and chasing a shot.
#[derive(Debug)]
pub(crate) struct RevisitWork {
    region: Arc<Region>,
    call: ChaseCall,
    wait_ns: f64,
    before: Before,
    since_last: bool,
    block: usize,
    blocks: usize,
}

impl RevisitWork {
    /// Prepares it. Reads or flushes nothing that each round does itself: a rig takes up a role before each visit, and
    /// to flush 65 MiB takes 160 ms.
    ///
    /// # Errors
    /// A message: why region and chain do not fit.
    pub(crate) fn new(region: &Arc<Region>, starts: &[u64], round: Round) -> Result<Self, String> {
        let call = ChaseCall::new(&region.mapping, starts)?;
        let Round { wait_ns, accesses, before, since_last } = round;
        let accesses = accesses.max(1) as usize;
        let block = BLOCK.min(accesses);
        let (wait_ns, blocks) = (f64::from(wait_ns), accesses / block);
        let work = Self { region: Arc::clone(region), call, wait_ns, before, since_last, block, blocks };
        if since_last {
            // The first chase looks at it.
            work.touch();
        }
        Ok(work)
    }

    /// As [`ChaseCall::take`].
    pub(crate) fn take(&mut self) -> Result<(), String> {
        self.call.take()
    }

    /// As [`ChaseCall::rest`].
    pub(crate) fn rest(&mut self) {
        self.call.rest();
    }

    /// Accesses of a block.
    pub(crate) fn per_block(&self) -> f64 {
        self.block as f64
    }

    /// The least that a round takes, ns: its budget does not decide how many blocks it has.
    pub(crate) fn block_ns(&self) -> f64 {
        self.wait_ns
    }

    /// One round: stamps the start of the chase and the end of each of its blocks. Returns the blocks done: none where
    /// other work had the cpu in each of the waits.
    pub(crate) fn play(&mut self, stamps: &mut [u64], clock: &Clock) -> usize {
        if !self.since_last && !(0..TRIES).any(|_| self.touched_in_peace(clock)) {
            return 0;
        }
        let blocks = self.blocks.min(stamps.len().saturating_sub(1));
        stamps[0] = clock.now();
        for slot in &mut stamps[1..=blocks] {
            self.call.run(self.block);
            *slot = clock.now();
        }
        if self.since_last {
            self.touch();
        }
        blocks
    }

    fn touch(&self) {
        let (mapping, bytes) = (&self.region.mapping, self.region.bytes);
        if self.before != Before::UsedAgain {
            mapping.flush_lines(0, bytes);
        }
        let reads = match self.before {
            Before::UsedAgain => AGAIN,
            Before::UsedOnce => 1,
            Before::Flushed => 0,
        };
        (0..reads).for_each(|_| mapping.read_lines(bytes));
    }

    /// Touches all of the region and waits; returns whether the wait was as long as requested.
    fn touched_in_peace(&self, clock: &Clock) -> bool {
        self.touch();
        let touched = clock.now();
        let until = touched + clock.ticks(self.wait_ns);
        let mut now = touched;
        while now < until {
            tiermark_system::relax();
            now = clock.now();
        }
        clock.between(touched, now) < self.wait_ns + LATE_NS
    }
}
