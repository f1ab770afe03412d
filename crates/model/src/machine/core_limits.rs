//! What a core can do at most by design.

use serde::{Deserialize, Serialize};

/// Published limits of a core: latencies that no access undercuts, and rates that no code exceeds.
///
/// A figure beyond a limit was measured wrongly, or at another clock than assumed. No figure is rounded to a limit: the
/// reader of a limit chooses its tolerance.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreLimits {
    /// The vendor's name of the core (`Golden Cove`).
    pub name: String,
    /// Cycles from a load that hits L1 to its use by the next load (a pointer chase), at least; `None` where no source
    /// has it, as for all numbers below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_l1_cycles: Option<f64>,
    /// Bytes that loads take from L1 in a cycle, at most, by the widest vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_bytes_per_cycle: Option<f64>,
    /// Bytes that stores write to L1 in a cycle, at most, by the widest vectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_bytes_per_cycle: Option<f64>,
    /// Cycles from a load that hits L2 to its use, at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_l2_cycles: Option<f64>,
    /// Bytes that L2 delivers to the core in a cycle, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2_bytes_per_cycle: Option<f64>,
    /// The documents that have the numbers.
    pub source: String,
}
