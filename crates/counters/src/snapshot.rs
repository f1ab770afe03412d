//! Counts at one moment.

use std::time::Duration;

use tiermark_model::{BoxKind, BoxPlace};

use crate::family::Of;

/// One count.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Number of the count within its source: the same in all snapshots.
    pub id: usize,
    /// Whose it is.
    pub place: BoxPlace,
    /// What is counted.
    pub of: Of,
    /// The count since the source was opened, or since any earlier moment.
    pub count: u64,
    /// Bytes of one count; transfers of one count for clocks.
    pub each: f64,
    /// Bits of the counter: a count less than the one before wrapped around.
    pub bits: u32,
    /// Bytes a second that the source rounds to 0; 0 of a source that counts each.
    pub least: f64,
    /// Time since the counter was opened, in nanoseconds.
    pub enabled_ns: u64,
    /// Time during which it counted, in nanoseconds.
    pub running_ns: u64,
}

impl Reading {
    /// A count of bytes by a source without turns.
    pub(crate) fn of(id: usize, place: BoxPlace, of: Of, count: u64) -> Self {
        Self { id, place, of, count, each: 1.0, bits: u64::BITS, least: 0.0, enabled_ns: 0, running_ns: 0 }
    }
}

impl Snapshot {
    /// The same counts when all of them were 0, at a moment.
    pub(crate) fn zero(&self, at: Duration) -> Self {
        let readings = self.readings.iter().map(|reading| Reading { count: 0, ..reading.clone() }).collect();
        Self { at, readings, ..Self::default() }
    }

    /// Whether time has passed since the counts began at 0, and no memory moved a byte: the source opens, and does not
    /// count.
    pub(crate) fn counted_nothing(&self) -> bool {
        let mut memory = self.readings.iter().filter(|reading| reading.place.kind != BoxKind::Link).peekable();
        self.at > Duration::ZERO && memory.peek().is_some() && memory.all(|reading| reading.count == 0)
    }
}

/// Counts that a source had after one of its intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Its end by the clock of the day in some time zone, in seconds since midnight; `None` if the source does not say
    /// when it ended.
    pub of_day: Option<f64>,
    /// The counts at its end.
    pub counts: Snapshot,
}

/// All counts of a source at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    /// When, since a fixed moment: when the counts were read, or the time of the last line of a file. 0 if the counts
    /// begin with it.
    pub at: Duration,
    /// The counts. A count that can no longer be read is missing.
    pub readings: Vec<Reading>,
    /// The boxes of counts that could not be read.
    pub lost: Vec<BoxPlace>,
}
