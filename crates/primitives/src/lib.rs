//! Operations of the operating system: each primitive is a row with a body, in the file of its group.
//!
//! A body does its operation so many times between two stamps. It makes everything that it needs (files, children,
//! mappings) when it is prepared, and removes it when it is dropped; every wait has a limit.

// Nothing is unsafe here but to fork a process of several threads; each of those forks says why its child may do what
// it does.
#![deny(unsafe_code)]

mod arithmetic;
mod bound_memory;
mod channels;
mod failure;
mod faults;
mod files;
mod libc;
mod locks;
mod mapped;
mod numa;
mod numa_exec;
mod pair;
mod processes;
mod readiness;
mod reexec;
mod ring;
mod signals;
mod switches;
mod syscalls;
mod watch;

pub use bound_memory::BoundMemory;
pub use failure::{FILTERED, Failure, no_more, unavailable};
pub use numa_exec::PLACE;
pub use reexec::{able, reexec};

use tiermark_model::messages::setup as says;
use tiermark_model::{CpuId, MIB, Machine, Metric, OsCall, OsGroup, PrimitiveInfo, Refusal, Sweep};

use tiermark_system::Clock;

use failure::{failed, refused_by};

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

/// A primitive: its description, and how its body is made.
pub(crate) struct Primitive {
    /// Its name, in the terms of the manual page of the call.
    pub(crate) id: &'static str,
    pub(crate) group: OsGroup,
    pub(crate) metric: Metric,
    /// How it is measured, and what its number does not include.
    pub(crate) text: &'static str,
    /// Its dimensions on a machine; empty for a single number.
    pub(crate) sweeps: fn(&Machine) -> Vec<Sweep>,
    /// Why it cannot be measured here, if this can be seen beforehand; `None`: it may.
    pub(crate) refuse: fn(&Machine) -> Option<Refusal>,
    /// Whether memory and caller are in a small process of their own: its cost depends on the size of the process.
    pub(crate) subprocess: bool,
    /// Makes its body.
    pub(crate) make: fn(&Order<'_>) -> Result<Box<dyn Body>, Refusal>,
}

/// Input for making a body.
pub struct Order<'a> {
    /// The primitive and the point to measure.
    pub call: &'a OsCall,
    /// The cpu that the caller runs on.
    pub cpu: CpuId,
    /// The clock that stamps.
    pub clock: &'a Clock,
}

/// A body that was prepared, or why it cannot be had here.
pub(crate) type Prepared = Result<Box<dyn Body>, Refusal>;

/// An operation, ready to be done.
pub(crate) trait Body: Send {
    /// Does it so many times. Returns the time that does not count (what had to be made ready in between), in ticks of
    /// the clock.
    ///
    /// # Errors
    /// A [`Failure`]: what went wrong.
    fn run(&mut self, times: u64) -> Result<u64, Failure>;

    /// Operations of a block at least: more than one where single ones take turns at being short and long.
    fn least(&self) -> u64 {
        1
    }

    /// Whether each operation is a block: the distribution of single operations is measured.
    fn single(&self) -> bool {
        false
    }

    /// Useful bytes of an operation, where they are not those of the call.
    fn bytes(&self) -> Option<u64> {
        None
    }

    /// Major page faults that it has caused on purpose so far: no sign that memory is short.
    fn major_faults(&self) -> u64 {
        0
    }
}

/// A body that only repeats one call.
pub(crate) struct Repeat<F>(pub(crate) F);

impl<F: FnMut() -> Result<(), Failure> + Send> Body for Repeat<F> {
    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        for _ in 0..times {
            (self.0)()?;
        }
        Ok(0)
    }
}

/// Every primitive there is.
fn all() -> impl Iterator<Item = &'static Primitive> {
    let groups = [
        syscalls::PRIMITIVES,
        signals::PRIMITIVES,
        readiness::PRIMITIVES,
        locks::PRIMITIVES,
        files::PRIMITIVES,
        processes::PRIMITIVES,
        switches::PRIMITIVES,
        channels::PRIMITIVES,
        faults::PRIMITIVES,
        numa::PRIMITIVES,
        libc::PRIMITIVES,
        arithmetic::PRIMITIVES,
    ];
    groups.into_iter().flatten()
}

/// Names of the primitives, which are the same everywhere.
pub fn primitive_names() -> impl Iterator<Item = &'static str> {
    all().map(|primitive| primitive.id)
}

/// The primitives, and what each is measured over on a machine. What the running system refuses is not known here.
pub fn primitives(machine: &Machine) -> Vec<PrimitiveInfo> {
    all().map(|primitive| primitive.info(machine)).collect()
}

/// The primitives on this running system, with its refusals.
pub fn present_primitives(machine: &Machine) -> Vec<PrimitiveInfo> {
    let present = |p: &Primitive| {
        let mut info = PrimitiveInfo { refusal: (p.refuse)(machine), ..p.info(machine) };
        info.here = match p.id {
            _ if p.group == OsGroup::Libc => Some(libc::measured_library()),
            "major fault" => faults::measured_store(),
            "getdents" => syscalls::read_entries(),
            "file create" => files::used_directory(),
            _ => None,
        };
        info
    };
    all().map(present).collect()
}

/// The primitive of a call.
///
/// # Errors
/// A [`Refusal`] if no primitive has this name.
fn find(call: &OsCall) -> Result<&'static Primitive, Refusal> {
    all().find(|primitive| primitive.id == call.primitive.0).ok_or_else(|| says::primitive_unknown(&call.primitive.0))
}

/// Whether memory and caller of a call are in a small process of their own; `false` where there is no such primitive.
pub fn wants_subprocess(call: &OsCall) -> bool {
    find(call).is_ok_and(|primitive| primitive.subprocess)
}

impl Primitive {
    fn info(&self, machine: &Machine) -> PrimitiveInfo {
        PrimitiveInfo {
            id: self.id.into(),
            group: self.group,
            metric: self.metric,
            text: self.text.to_owned(),
            here: None,
            sweeps: (self.sweeps)(machine),
            refusal: None,
        }
    }
}

/// A primitive at work, in blocks.
pub struct OsWork {
    body: Box<dyn Body>,
    times: u64,
    /// Useful bytes of an operation, where bytes are counted.
    bytes: Option<u64>,
    block_ns: f64,
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

/// Bytes of which most are evicted from the caches when their turn comes again: four times the largest cache, within
/// limits.
fn beyond_caches(machine: &Machine, least: u64, most: u64) -> u64 {
    let largest = machine.data_caches().filter_map(|cache| cache.bytes).max().unwrap_or(0);
    (4 * largest).next_multiple_of(MIB).clamp(least, most)
}

#[cfg(test)]
tiermark_system::before_main!(crate::reexec);

/// The body of a call on the first cpu that may be used, for tests.
#[cfg(test)]
fn body(call: &OsCall) -> Result<Box<dyn Body>, Refusal> {
    use tiermark_system::testing::{clock, first_cpu};

    (find(call)?.make)(&Order { call, cpu: first_cpu(), clock: &clock() })
}
