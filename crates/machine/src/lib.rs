//! The description of this machine, read from `/sys`, `/proc`, control groups and SMBIOS.
//!
//! Every reader starts from a [`Root`]: the running system, a captured directory, or an archive of one. Nothing here
//! makes a system call but to read files below that root; facts that need one come in as [`LiveFacts`]. An absent file
//! means "not said"; one that makes no sense is treated as absent and named in the machine's `unseen`.

#![forbid(unsafe_code)]

mod arm;
mod blocks;
mod caches;
mod capture;
mod cgroup;
mod compressed;
mod core_limits;
mod cpufreq;
mod cpuinfo;
mod cpus;
mod discover;
mod disks;
pub mod dmi;
mod energy;
mod error;
mod event_sources;
pub mod files;
mod health;
mod identity;
mod kinds;
mod nodes;
mod open;
mod pages;
mod pressure;
mod processors;
mod reader;
mod root;
mod sharing;
mod stat;
mod swaps;
pub mod synth;
mod system;
mod totals;
mod virt;

pub use capture::{CaptureSummary, capture};
pub use cgroup::{IsolatedCpus, isolated_cpus, own_group, own_huge_limits, own_limits, own_memory_room};
pub use compressed::{Zram, Zswap, zram, zswap};
pub use discover::{LiveFacts, Uname, discover};
pub use disks::{disk_of, resolve_disk};
pub use energy::Energy;
pub use error::{DiscoverError, excerpt};
pub use event_sources::{EVENT_SOURCES, EventSource, event_sources, perf_event_paranoid};
pub use health::HealthCounts;
pub use open::OpenFile;
pub use pressure::{Stall, Stalls, pressure};
pub use root::Root;
pub use stat::{CpuShares, CpuTimes, ProcessTime, start_ticks};
pub use swaps::{swap_areas, swap_names};
