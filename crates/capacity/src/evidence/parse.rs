//! The formats in which the kernel counts.

use std::collections::BTreeMap;

use tiermark_machine::files::{Malformed, ProcessStat};
use tiermark_machine::{CpuTimes, swap_areas};
pub use tiermark_machine::{Zram, Zswap, zram, zswap};
use tiermark_model::Swap;

/// Bytes of a sector in every file of the block layer, whatever the device's own are.
const SECTOR: u64 = 512;

/// Stalls for want of a resource (PSI).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pressure {
    /// Share of the last 10 s in which some task waited, in percent.
    pub some_avg10: f64,
    /// All of that time so far, in µs.
    pub some_us: u64,
    /// Share of the last 10 s in which all tasks waited, in percent; `None` where the kernel does not report it (cpu,
    /// before Linux 5.13).
    pub full_avg10: Option<f64>,
    /// All of that time so far, in µs.
    pub full_us: Option<u64>,
}

/// A file of pressure, without its means over a minute and more.
///
/// # Errors
/// As [`tiermark_machine::pressure`].
pub fn pressure(text: &str) -> Result<Pressure, Malformed> {
    let stalls = tiermark_machine::pressure(text)?;
    let (full_avg10, full_us) = stalls.full.map(|full| (full.avg10, full.total_us)).unzip();
    Ok(Pressure { some_avg10: stalls.some.avg10, some_us: stalls.some.total_us, full_avg10, full_us })
}

/// Counters of one process, from `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Process {
    /// Page faults answered without a device.
    pub minor_faults: u64,
    /// Page faults that waited for a device.
    pub major_faults: u64,
    /// Ticks it ran in user mode.
    pub user_ticks: u64,
    /// Ticks it ran in the kernel.
    pub system_ticks: u64,
    /// Ticks it waited for block devices; 0 where delays are not counted.
    pub block_ticks: u64,
    /// Resident memory, in base pages.
    pub resident_pages: u64,
}

/// `/proc/PID/stat`.
///
/// # Errors
/// [`Malformed`] where a field is missing or no number.
pub fn process(text: &str) -> Result<Process, Malformed> {
    let stat = ProcessStat::parse(text).ok_or_else(|| Malformed::line(text))?;
    let field = |number: usize| stat.number(number).ok_or_else(|| Malformed::line(text));
    Ok(Process {
        minor_faults: field(10)?,
        major_faults: field(12)?,
        user_ticks: field(14)?,
        system_ticks: field(15)?,
        resident_pages: field(24)?,
        block_ticks: field(42)?,
    })
}

/// Counters of a block device since boot, from `/proc/diskstats`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Disk {
    /// Reads that ended.
    pub reads: u64,
    /// Bytes read from the device.
    pub read_bytes: u64,
    /// Time that all reads took together, in ms.
    pub read_ms: u64,
    /// Writes that ended.
    pub writes: u64,
    /// Bytes written to the device.
    pub written_bytes: u64,
    /// Time that all writes took together, in ms.
    pub write_ms: u64,
    /// Requests under way.
    pub in_flight: u64,
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
            sum.read_bytes = sum.read_bytes.saturating_add(disk.read_bytes);
            sum.read_ms = sum.read_ms.saturating_add(disk.read_ms);
            sum.writes = sum.writes.saturating_add(disk.writes);
            sum.written_bytes = sum.written_bytes.saturating_add(disk.written_bytes);
            sum.write_ms = sum.write_ms.saturating_add(disk.write_ms);
            sum.in_flight = sum.in_flight.saturating_add(disk.in_flight);
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
        let [reads, _, read, read_ms, writes, _, written, write_ms, in_flight, busy_ms, ..] = numbers[..] else {
            return Err(Malformed::line(line));
        };
        let (read_bytes, written_bytes) = (read.saturating_mul(SECTOR), written.saturating_mul(SECTOR));
        Ok((name, Disk { reads, read_bytes, read_ms, writes, written_bytes, write_ms, in_flight, busy_ms }))
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(line).collect()
}

/// A swap area of `/proc/swaps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapArea {
    /// Path of the device or file.
    pub path: String,
    /// Size of the area, bytes.
    pub size: u64,
    /// Bytes in use.
    pub used: u64,
    /// Higher is used first.
    pub priority: i32,
}

/// `/proc/swaps`: swap areas in order.
///
/// # Errors
/// [`Malformed`] with the first line that cannot be parsed.
pub fn swaps(text: &str) -> Result<Vec<SwapArea>, Malformed> {
    let area = |area: Result<Swap, &str>| {
        let Swap { path, bytes, used_bytes, priority, .. } = area.map_err(Malformed::line)?;
        Ok(SwapArea { path, size: bytes, used: used_bytes, priority })
    };
    swap_areas(text).map(area).collect()
}

/// Ticks of all cpus together, from the first line of `/proc/stat`.
///
/// # Errors
/// [`Malformed`] where it is not that.
pub fn cpu_ticks(text: &str) -> Result<CpuTimes, Malformed> {
    CpuTimes::of_all(text).ok_or_else(|| Malformed::line(text.lines().next().unwrap_or_default()))
}
