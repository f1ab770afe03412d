//! Counts at one moment.

use std::time::Duration;

use tiermark_model::NodeId;

use crate::family::{Of, UnitKind};

/// Whose traffic a count is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The socket; `None` if the source does not name it.
    pub socket: Option<u32>,
    /// The NUMA node; `None` if the socket has several and the source does not say whose a box is.
    pub node: Option<NodeId>,
    /// What the box is.
    pub kind: UnitKind,
    /// Its name in the source: `uncore_imc_0`.
    pub unit: String,
}

/// One count.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Number of the count within its source: the same in all snapshots.
    pub id: usize,
    /// Whose it is.
    pub place: Place,
    /// What is counted.
    pub of: Of,
    /// The count since the source was opened, or since any earlier moment.
    pub count: u64,
    /// Bytes of one count; transfers of one count for clocks.
    pub each: f64,
    /// Bits of the counter: a count less than the one before wrapped around.
    pub bits: u32,
    /// Time since the counter was opened, in nanoseconds.
    pub enabled_ns: u64,
    /// Time during which it counted, in nanoseconds.
    pub running_ns: u64,
}

/// All counts of a source at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    /// When: time since any fixed moment.
    pub at: Duration,
    /// The counts. A count that can no longer be read is missing.
    pub readings: Vec<Reading>,
}
