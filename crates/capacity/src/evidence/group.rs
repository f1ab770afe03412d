//! A control group's counters, the same whichever version holds them.

use tiermark_machine::files::{Counters, Malformed, counters, number, number_or_max};
use tiermark_machine::{Root, Stalls, pressure};

/// Where a group's files are, below the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupPaths {
    /// Version 2: one directory.
    V2(String),
    /// Version 1: a directory in each hierarchy.
    V1 {
        /// In the hierarchy of memory.
        memory: String,
        /// In that of cpuacct.
        cpu: Option<String>,
        /// The group in version 2 beside it, which reports pressure even without controllers.
        pressure: Option<String>,
    },
}

impl GroupPaths {
    /// Path of the file with the limit of memory, below the root.
    pub fn limit_file(&self) -> String {
        match self {
            Self::V2(dir) => format!("{dir}/memory.max"),
            Self::V1 { memory, .. } => format!("{memory}/memory.limit_in_bytes"),
        }
    }
}

/// What a group, and all below it, says at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GroupCounters {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Bytes swapped out.
    pub swap: Option<u64>,
    /// The largest use of memory since the group was made, in bytes; `None` if the kernel does not count it.
    pub peak: Option<u64>,
    /// Page faults that waited for a device.
    pub major_faults: Option<u64>,
    /// Processes killed for want of memory.
    pub oom_kills: Option<u64>,
    /// Time on cpus in µs.
    pub cpu_us: Option<u64>,
    /// Stalls for memory.
    pub memory_pressure: Option<Stalls>,
    /// Stalls for cpus.
    pub cpu_pressure: Option<Stalls>,
    /// Stalls for block devices.
    pub io_pressure: Option<Stalls>,
    /// Bytes of memory that it may take; `None` without a limit, too.
    pub limit: Option<u64>,
    /// Bytes of zswap's pool that `memory` counts already: version 2 does, version 1 does not.
    pub zswap: Option<u64>,
}

fn get(counters: Option<&Counters>, name: &str) -> Option<u64> {
    counters?.get(name).copied()
}

impl GroupCounters {
    /// Reads the files of a group.
    ///
    /// # Errors
    /// [`Malformed`] with path and text of the first file that makes no sense.
    pub fn read(root: &Root, paths: &GroupPaths) -> Result<Self, Malformed> {
        match paths {
            GroupPaths::V2(dir) => Self::version_2(root, dir),
            GroupPaths::V1 { memory, cpu, pressure } => {
                Self::version_1(root, memory, cpu.as_deref(), pressure.as_deref())
            }
        }
    }

    fn version_2(root: &Root, dir: &str) -> Result<Self, Malformed> {
        let at = |name: &str| format!("{dir}/{name}");
        let counted = |name: &str| root.parsed(&at(name), counters);
        let (stat, events, cpu) = (counted("memory.stat")?, counted("memory.events")?, counted("cpu.stat")?);
        Ok(Self {
            memory: root.parsed(&at("memory.current"), number)?,
            swap: root.parsed(&at("memory.swap.current"), number)?,
            peak: root.parsed(&at("memory.peak"), number)?,
            major_faults: get(stat.as_ref(), "pgmajfault"),
            oom_kills: get(events.as_ref(), "oom_kill"),
            cpu_us: get(cpu.as_ref(), "usage_usec"),
            memory_pressure: root.parsed(&at("memory.pressure"), pressure)?,
            cpu_pressure: root.parsed(&at("cpu.pressure"), pressure)?,
            io_pressure: root.parsed(&at("io.pressure"), pressure)?,
            limit: root.parsed(&at("memory.max"), number_or_max)?.flatten(),
            zswap: get(stat.as_ref(), "zswap"),
        })
    }

    fn version_1(root: &Root, memory: &str, cpu: Option<&str>, unified: Option<&str>) -> Result<Self, Malformed> {
        let at = |name: &str| format!("{memory}/{name}");
        let counted = |path: &str| root.parsed(path, counters);
        let (stat, oom) = (counted(&at("memory.stat"))?, counted(&at("memory.oom_control"))?);
        let used = root.parsed(&at("memory.usage_in_bytes"), number)?;
        // Memory and swap together; without accounting of swap there is no such file.
        let both = root.parsed(&at("memory.memsw.usage_in_bytes"), number)?;
        let nanoseconds = match cpu {
            Some(dir) => root.parsed(&format!("{dir}/cpuacct.usage"), number)?,
            None => None,
        };
        let stalls = |name: &str| match unified {
            Some(dir) => root.parsed(&format!("{dir}/{name}"), pressure),
            None => Ok(None),
        };
        Ok(Self {
            memory: used,
            // The two are not read at the same moment.
            swap: both.zip(used).map(|(both, used)| both.saturating_sub(used)),
            peak: root.parsed(&at("memory.max_usage_in_bytes"), number)?,
            major_faults: get(stat.as_ref(), "total_pgmajfault"),
            oom_kills: get(oom.as_ref(), "oom_kill"),
            cpu_us: nanoseconds.map(|ns| ns / 1000),
            memory_pressure: stalls("memory.pressure")?,
            cpu_pressure: stalls("cpu.pressure")?,
            io_pressure: stalls("io.pressure")?,
            limit: root.parsed(&at("memory.limit_in_bytes"), number)?,
            zswap: None,
        })
    }

    /// Share of what it holds that is in memory; `None` where swap is not counted, or it holds nothing.
    pub fn resident_share(&self) -> Option<f64> {
        let (memory, swap) = (self.memory? as f64, self.swap? as f64);
        (memory + swap > 0.0).then(|| memory / (memory + swap))
    }
}
