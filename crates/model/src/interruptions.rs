//! What takes a cpu away from the threads that measure on it.

use serde::{Deserialize, Serialize};

use crate::CpuId;

/// The interruptions of a cpu over a run: times in which a thread that only read the clock did not run. In a guest they
/// are mostly exits of the virtual cpu, which stolen time does not count; on bare metal the kernel's ticks, other
/// interrupts and those of the firmware.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuInterruptions {
    /// The cpu.
    pub cpu: CpuId,
    /// Seconds for which it was watched, in pieces spread over the run.
    pub watched_seconds: f64,
    /// Interruptions longer than 0.5 µs.
    pub count: u64,
    /// Those longer than 20 µs.
    pub long: u64,
    /// Share of the time that all of them took.
    pub share: f64,
    /// Share of the time that those longer than 20 µs took.
    pub long_share: f64,
    /// The median length, ns; `None` without any.
    pub median_ns: Option<f64>,
    /// The 99th percentile of the lengths, ns.
    pub p99_ns: Option<f64>,
    /// The longest, ns.
    pub longest_ns: Option<f64>,
}
