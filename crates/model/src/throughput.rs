//! What a core does in a cycle, which shows whether its other hardware thread is busy.

use serde::{Deserialize, Serialize};

use crate::CoreKind;

/// The throughput of cores of one kind: independent operations (additions and loads from L1). If the other hardware
/// thread works, there are fewer in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreThroughput {
    /// The kind of core on a hybrid machine.
    pub kind: Option<CoreKind>,
    /// Operations per cycle of an undisturbed core: the most frequent value within 3 % of the highest that enough visits of
    /// this run reached.
    pub per_cycle: f64,
    /// The same by earlier runs of the machine, if there is a record: the limit follows from the higher of both.
    pub record: Option<f64>,
    /// Share of the looks at the clock that were disturbed: throughput over 3 % too low, or no clock (other hardware
    /// thread busy, interruption, emulated core).
    pub beside: f64,
}
