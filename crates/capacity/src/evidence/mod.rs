//! What the system says while a trial runs: counters before and after, and what follows from them.
//!
//! Absent is never zero: a file that is not there gives `None`, a counter that went backwards too, and one that makes no sense
//! is an error with its path.

mod derive;
mod group;
mod link;
pub mod parse;
mod pool;

use std::fmt;

use tiermark_machine::CpuTimes;
use tiermark_machine::Root;

pub use derive::{Derived, HostDelta};
pub use group::{Group, GroupPaths};
pub use link::{Link, Links};
pub use parse::{Counters, Disk, Pressure, Process, SwapArea, Zram, Zswap};
pub use pool::Pools;

/// Characters of a malformed file that are quoted.
const QUOTED: usize = 60;

/// Text that is not what the kernel writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Path of the file; empty where only text was given.
    pub path: String,
    /// The start of what makes no sense.
    pub text: String,
}

impl Malformed {
    fn line(text: &str) -> Self {
        let text = text.trim().chars().take(QUOTED).map(|c| if c.is_control() { '.' } else { c }).collect();
        Self { path: String::new(), text }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: '{}' makes no sense", self.path, self.text)
    }
}

impl std::error::Error for Malformed {}

/// Reads and parses a file; `None` where there is none, or where it may not be read.
fn file<T>(root: &Root, path: &str, parse: impl Fn(&str) -> Result<T, Malformed>) -> Result<Option<T>, Malformed> {
    match root.read(path) {
        Ok(Some(text)) => parse(&text).map(Some).map_err(|error| Malformed { path: path.to_owned(), ..error }),
        // The kernel refuses some files of a group that is just going away.
        Ok(None) | Err(_) => Ok(None),
    }
}

/// A number that fills a file.
fn number(text: &str) -> Result<u64, Malformed> {
    text.trim().parse().map_err(|_| Malformed::line(text))
}

/// What the whole machine says at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Host {
    /// /proc/vmstat.
    pub vmstat: Option<Counters>,
    /// Stalls for memory.
    pub memory: Option<Pressure>,
    /// Stalls for cpus.
    pub cpu: Option<Pressure>,
    /// Stalls for devices.
    pub io: Option<Pressure>,
    /// Ticks of the cpus.
    pub ticks: Option<CpuTimes>,
    /// Areas that are swapped to.
    pub swaps: Option<Vec<SwapArea>>,
    /// The tier's block device.
    pub disk: Option<Disk>,
    /// The tier's zram device.
    pub zram: Option<Zram>,
    /// What zswap holds.
    pub zswap: Option<Zswap>,
    /// Network interfaces.
    pub links: Option<Links>,
    /// Bytes that can be had without swapping.
    pub available: Option<u64>,
}

impl Host {
    /// Reads it. `device` is the name of the tier's block device (`nvme0n1`, `zram1`), where it has one.
    ///
    /// # Errors
    /// [`Malformed`] with path and text of the first file that makes no sense.
    pub fn read(root: &Root, device: Option<&str>) -> Result<Self, Malformed> {
        let disks = file(root, "proc/diskstats", parse::disks)?;
        let zram = match device.filter(|name| name.starts_with("zram")) {
            Some(name) => file(root, &format!("sys/block/{name}/mm_stat"), parse::zram)?,
            None => None,
        };
        Ok(Self {
            vmstat: file(root, "proc/vmstat", parse::counters)?,
            memory: file(root, "proc/pressure/memory", parse::pressure)?,
            cpu: file(root, "proc/pressure/cpu", parse::pressure)?,
            io: file(root, "proc/pressure/io", parse::pressure)?,
            ticks: file(root, "proc/stat", parse::cpu_ticks)?,
            swaps: file(root, "proc/swaps", parse::swaps)?,
            disk: device.and_then(|name| disks.as_ref()?.get(name).copied()),
            zram,
            zswap: file(root, "proc/meminfo", parse::zswap)?.flatten(),
            links: file(root, "proc/net/dev", link::links)?.map(|links| link::with_speeds(root, links)),
            available: file(root, "proc/meminfo", available)?.flatten(),
        })
    }

    /// Bytes of swap in use, and of all.
    #[must_use]
    pub fn swap(&self) -> Option<(u64, u64)> {
        let areas = self.swaps.as_ref()?;
        let sum = |of: fn(&SwapArea) -> u64| areas.iter().fold(0u64, |sum, area| sum.saturating_add(of(area)));
        Some((sum(|area| area.used), sum(|area| area.size)))
    }
}

/// Reads a process's counters; `None` where there is no such process.
///
/// # Errors
/// [`Malformed`] where its file makes no sense.
pub fn process(root: &Root, pid: u32) -> Result<Option<Process>, Malformed> {
    file(root, &format!("proc/{pid}/stat"), parse::process)
}

/// MemAvailable of /proc/meminfo in bytes; `None` before Linux 3.14.
fn available(text: &str) -> Result<Option<u64>, Malformed> {
    parse::kibibytes(text, "MemAvailable:")
}

#[cfg(test)]
mod tests;
