//! What a primitive is: its row, and the body that does its operation.

use std::hint::black_box;

use tiermark_model::{CpuId, MIB, Machine, Metric, OsCall, OsGroup, PrimitiveInfo, Refusal, Sweep};
use tiermark_system::Clock;

use crate::failure::Failure;

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
    pub(crate) make: Make,
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

/// Makes a body.
pub(crate) type Make = fn(&Order<'_>) -> Prepared;

impl Primitive {
    /// One number, a time, without anything to be seen beforehand.
    pub(crate) const fn new(group: OsGroup, id: &'static str, text: &'static str, make: Make) -> Self {
        Self {
            id,
            group,
            metric: Metric::Latency,
            text,
            sweeps: |_| Vec::new(),
            refuse: |_| None,
            subprocess: false,
            make,
        }
    }

    /// Bytes a second instead of a time.
    pub(crate) const fn bandwidth(self) -> Self {
        Self { metric: Metric::Bandwidth, ..self }
    }

    /// With these dimensions.
    pub(crate) const fn over(self, sweeps: fn(&Machine) -> Vec<Sweep>) -> Self {
        Self { sweeps, ..self }
    }

    /// Refused where the machine shows beforehand that it cannot be measured.
    pub(crate) const fn unless(self, refuse: fn(&Machine) -> Option<Refusal>) -> Self {
        Self { refuse, ..self }
    }

    /// With memory and caller in a small process of their own.
    pub(crate) const fn in_subprocess(self) -> Self {
        Self { subprocess: true, ..self }
    }

    pub(crate) fn info(&self, machine: &Machine) -> PrimitiveInfo {
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
struct Repeat<F>(F);

impl<F: FnMut() -> Result<(), Failure> + Send> Body for Repeat<F> {
    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        for _ in 0..times {
            (self.0)()?;
        }
        Ok(0)
    }
}

/// A body that repeats a call.
pub(crate) fn repeat(call: impl FnMut() -> Result<(), Failure> + Send + 'static) -> Prepared {
    Ok(Box::new(Repeat(call)))
}

/// A body that repeats a call which cannot fail.
pub(crate) fn repeat_value<T: 'static>(call: impl Fn() -> T + Send + 'static) -> Prepared {
    repeat(move || {
        black_box(call());
        Ok(())
    })
}

/// Bytes of which most are evicted from the caches when their turn comes again: four times the largest cache, within
/// limits.
pub(crate) fn beyond_caches(machine: &Machine, least: u64, most: u64) -> u64 {
    let largest = machine.data_caches().filter_map(|cache| cache.bytes).max().unwrap_or(0);
    (4 * largest).next_multiple_of(MIB).clamp(least, most)
}
