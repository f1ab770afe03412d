//! What a core does in a cycle, which shows whether its other hardware thread is busy.

use serde::{Deserialize, Serialize};

use crate::CoreKind;

/// The throughput of cores of one kind: additions and loads from the first level that wait for nothing but room in the
/// core. If the other hardware thread works, there are fewer in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreThroughput {
    /// The kind of core on a hybrid machine.
    pub kind: Option<CoreKind>,
    /// Operations in a cycle: the highest level that visits of this run reached.
    pub per_cycle: f64,
    /// The same of earlier runs of the machine, where it is known: this run was held against the higher of both.
    pub record: Option<f64>,
    /// Share of the looks beside a busy hardware thread: their throughput fell short by over 3 %, or they have no clock.
    pub beside: f64,
}
