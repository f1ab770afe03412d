//! The formats in which the kernel counts.

use std::collections::BTreeMap;

use tiermark_machine::files::Malformed;
use tiermark_machine::{CpuTimes, swap_areas};
pub use tiermark_machine::{Zram, Zswap, pressure, zram, zswap};
use tiermark_model::Swap;

/// Counters of a block device since boot, from `/proc/diskstats`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Disk {
    /// Reads that ended.
    pub reads: u64,
    /// Time that all reads took together, in ms.
    pub read_ms: u64,
    /// Writes that ended.
    pub writes: u64,
    /// Time that all writes took together, in ms.
    pub write_ms: u64,
    /// Time in which any was, in ms.
    pub busy_ms: u64,
}

impl Disk {
    /// Several devices as one: counters added up, the busy time as a mean. `None` for no device.
    pub fn together<'a>(disks: impl Iterator<Item = &'a Self>) -> Option<Self> {
        let (mut sum, mut count) = (Self::default(), 0);
        for disk in disks {
            count += 1;
            sum.reads = sum.reads.saturating_add(disk.reads);
            sum.read_ms = sum.read_ms.saturating_add(disk.read_ms);
            sum.writes = sum.writes.saturating_add(disk.writes);
            sum.write_ms = sum.write_ms.saturating_add(disk.write_ms);
            sum.busy_ms = sum.busy_ms.saturating_add(disk.busy_ms);
        }
        (count > 0).then(|| Self { busy_ms: sum.busy_ms / count, ..sum })
    }
}

/// `/proc/diskstats`: devices by name.
///
/// # Errors
/// [`Malformed`] with the first line that cannot be parsed.
pub fn disks(text: &str) -> Result<BTreeMap<String, Disk>, Malformed> {
    let line = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip(2);
        let name = words.next().ok_or_else(|| Malformed::line(line))?.to_owned();
        let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        // reads merged sectors ms writes merged sectors ms in-flight busy-ms …
        let [reads, _, _, read_ms, writes, _, _, write_ms, _, busy_ms, ..] = numbers[..] else {
            return Err(Malformed::line(line));
        };
        Ok((name, Disk { reads, read_ms, writes, write_ms, busy_ms }))
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(line).collect()
}

/// `/proc/swaps`: swap areas in order.
///
/// # Errors
/// [`Malformed`] with the first line that cannot be parsed.
pub fn swaps(text: &str) -> Result<Vec<Swap>, Malformed> {
    swap_areas(text).map(|area| area.map_err(Malformed::line)).collect()
}

/// Ticks of all cpus together, from the first line of `/proc/stat`.
///
/// # Errors
/// [`Malformed`] where it is not that.
pub fn cpu_ticks(text: &str) -> Result<CpuTimes, Malformed> {
    CpuTimes::of_all(text).ok_or_else(|| Malformed::line(text.lines().next().unwrap_or_default()))
}
