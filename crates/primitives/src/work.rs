//! A primitive in blocks, as a step measures it.

use tiermark_model::{Metric, Refusal};
use tiermark_system::Clock;

use crate::body::{Body, Order};
use crate::failure::{Failure, failed};
use crate::table::find;

/// A block of operations takes at least this long, ns: long against a stamp, short against a time slice.
const BLOCK_NS: f64 = 20_000.0;
/// Operations of a block at most.
const TIMES_MOST: u64 = 1 << 20;
/// Blocks of a shot at least, that one long one shows among them.
const BLOCKS_LEAST: usize = 5;
/// How much longer than requested a shot may be for their sake, ns.
const LONGER_NS: f64 = 200e6;
/// Blocks timed at each size of a calibration; the shortest counts.
const TRIALS: usize = 3;

/// A primitive at work, in blocks.
pub struct OsWork {
    pub(crate) body: Box<dyn Body>,
    pub(crate) times: u64,
    /// Useful bytes of an operation, where bytes are counted.
    pub(crate) bytes: Option<u64>,
    pub(crate) block_ns: f64,
}

impl std::fmt::Debug for OsWork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OsWork").field("times", &self.times).field("block_ns", &self.block_ns).finish_non_exhaustive()
    }
}

impl OsWork {
    /// Makes the body of a call and sizes its blocks.
    ///
    /// # Errors
    /// A [`Refusal`] when the system will not do it.
    pub fn new(order: &Order<'_>) -> Result<Self, Refusal> {
        let primitive = find(order.call)?;
        let body = (primitive.make)(order)?;
        let bytes = body.bytes().or(order.call.bytes);
        let bytes = (primitive.metric == Metric::Bandwidth).then(|| bytes.unwrap_or(1));
        let times = body.least().clamp(1, TIMES_MOST);
        let mut work = Self { body, times, bytes, block_ns: 0.0 };
        work.calibrate(order.clock).map_err(|failure| failed(primitive.id, failure))?;
        Ok(work)
    }

    /// Operations of a block, or their useful bytes.
    pub fn per_block(&self) -> f64 {
        self.times as f64 * self.bytes.map_or(1.0, |bytes| bytes as f64)
    }

    /// How long a block took when it was calibrated, ns.
    pub fn block_ns(&self) -> f64 {
        self.block_ns
    }

    /// Major page faults so far that are the measured operation.
    pub fn major_faults(&self) -> u64 {
        self.body.major_faults()
    }

    /// Doubles the operations of a block until it is long enough.
    fn calibrate(&mut self, clock: &Clock) -> Result<(), Failure> {
        loop {
            let mut best = f64::INFINITY;
            for _ in 0..TRIALS {
                let start = clock.now();
                let idle = self.body.run(self.times)?;
                let ticks = clock.now().saturating_sub(start).saturating_sub(idle);
                best = best.min(clock.between(start, start + ticks));
                // One of a process's children is long enough to be timed once.
                if best > 50.0 * BLOCK_NS {
                    break;
                }
            }
            self.block_ns = best;
            if best >= BLOCK_NS || self.times >= TIMES_MOST || self.body.single() {
                return Ok(());
            }
            self.times *= 2;
        }
    }

    /// The timed loop: the start, then a stamp after each block until the deadline has passed. Time that does not count
    /// is taken out of all stamps behind it. Returns the blocks done.
    ///
    /// # Errors
    /// A [`Failure`]: what went wrong.
    pub fn play(&mut self, stamps: &mut [u64], clock: &Clock, deadline: u64) -> Result<usize, Failure> {
        // One block is ramp.
        self.body.run(self.times)?;
        stamps[0] = clock.now();
        let latest = deadline.saturating_add(clock.ticks(LONGER_NS));
        let mut idle = 0;
        let mut blocks = 0;
        for slot in &mut stamps[1..] {
            idle += self.body.run(self.times)?;
            let now = clock.now();
            *slot = now - idle;
            blocks += 1;
            if now >= deadline && (blocks >= BLOCKS_LEAST || now >= latest) {
                break;
            }
        }
        Ok(blocks)
    }
}
