//! What the system says while a trial runs: counters before and after, and what follows from them.
//!
//! Absent is never zero: a file that is not there gives `None`, a counter that went backwards too, and one that makes
//! no sense is an error with its path.

mod derive;
mod group;
mod link;
pub mod parse;
mod pool;
mod vitals;

use tiermark_machine::files::{self, Malformed};
use tiermark_machine::{CpuTimes, Root, Stalls};
use tiermark_model::Swap;

pub use derive::{compression, cpu_seconds, of_host, of_tenants};
pub use group::{GroupCounters, GroupPaths};
pub use link::{Link, Links};
pub use parse::{Disk, Zram, Zswap};
pub use pool::Pools;
pub use tiermark_machine::files::Counters;
pub use vitals::Vitals;

/// What the whole machine says at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Host {
    /// /proc/vmstat.
    pub vmstat: Option<Counters>,
    /// Stalls for devices.
    pub io: Option<Stalls>,
    /// Ticks of the cpus.
    pub ticks: Option<CpuTimes>,
    /// Areas that are swapped to.
    pub swaps: Option<Vec<Swap>>,
    /// Counters of the tier's block devices, added up; `None` if the tier has no such device, or the kernel does not
    /// report them.
    pub disk: Option<Disk>,
    /// Sizes of the tier's zram device; `None` if the tier has no zram, or the kernel does not report them.
    pub zram: Option<Zram>,
    /// Sizes of zswap; `None` before Linux 5.19.
    pub zswap: Option<Zswap>,
    /// Network interfaces.
    pub links: Option<Links>,
}

impl Host {
    /// Reads it. `devices` are the names of the tier's block devices (`nvme0n1`, `zram1`).
    ///
    /// # Errors
    /// [`Malformed`] with path and text of the first file that makes no sense.
    pub fn read(root: &Root, devices: &[String]) -> Result<Self, Malformed> {
        let disks = root.parsed("proc/diskstats", parse::disks)?;
        let zram = match devices.iter().find(|name| name.starts_with("zram")) {
            Some(name) => root.parsed(&format!("sys/block/{name}/mm_stat"), parse::zram)?,
            None => None,
        };
        Ok(Self {
            vmstat: root.parsed("proc/vmstat", files::counters)?,
            io: root.parsed("proc/pressure/io", parse::pressure)?,
            ticks: root.parsed("proc/stat", parse::cpu_ticks)?,
            swaps: root.parsed("proc/swaps", parse::swaps)?,
            disk: disks.and_then(|disks| Disk::together(devices.iter().filter_map(|name| disks.get(name)))),
            zram,
            zswap: root.parsed("proc/meminfo", parse::zswap)?.flatten(),
            links: root.parsed("proc/net/dev", link::links)?.map(|links| link::with_speeds(root, links)),
        })
    }
}

/// MemAvailable of /proc/meminfo in bytes; `None` before Linux 3.14.
///
/// # Errors
/// [`Malformed`] where it is no number.
pub fn available(root: &Root) -> Result<Option<u64>, Malformed> {
    Ok(root.parsed("proc/meminfo", |text| files::kilobytes(text, "MemAvailable"))?.flatten())
}

#[cfg(test)]
mod tests;
