//! What disturbed the shots of a step.

use serde::{Deserialize, Serialize};

/// Disturbances of the shots of a step. Windows are pieces of a shot common to all its threads.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disturbance {
    /// Windows looked at.
    pub windows: u64,
    /// Windows in which every thread ran without a gap: the ones that count.
    pub clean_windows: u64,
    /// Shots taken.
    pub shots: u64,
    /// Shots set aside whole (migrated, major fault, no clean window).
    pub shots_set_aside: u64,
    /// Share of thread time inside gaps.
    pub gap_share: f64,
    /// The longest gap in ns.
    pub longest_gap_ns: f64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Minor faults inside shots.
    pub minor_faults: u64,
    /// Major faults inside shots.
    pub major_faults: u64,
    /// Shots in which a worker was seen on another cpu.
    pub migrations: u64,
    /// Thread cpu time over wall time (1.0 = never off the cpu).
    pub cpu_share: Option<f64>,
    /// Time runnable but waiting for a cpu, in ns, where the kernel says.
    pub run_delay_ns: Option<f64>,
    /// Shots whose caches and translations were still changing when the time allowed for settling them was over.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unsettled_shots: u64,
    /// Shots in L1 or L2 of which over half of the blocks were interrupted, so that uninterrupted ones cannot be told
    /// apart, and the share of the time is subtracted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub mostly_interrupted_shots: u64,
    /// Shots in which gaps took more time than lost cpu time and interruptions explain: the memory or its host stalls.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stalled_shots: u64,
    /// Share of the time of all shots in such gaps, beyond what is explained.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub stalled_share: f64,
    /// Time that settling took, seconds: of each shot, of the thread that took longest.
    #[serde(default)]
    pub settle_seconds: f64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_none_of_it(share: &f64) -> bool {
    *share == 0.0
}
