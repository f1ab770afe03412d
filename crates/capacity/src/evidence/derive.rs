//! What follows from two moments.

use super::parse::{Disk, Pressure, Zram};
use super::{Group, Host};

/// What the whole machine did between two moments. A counter that went backwards was reset, and says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HostDelta {
    /// Pages read from swap.
    pub swapped_in: Option<u64>,
    /// Pages written to swap.
    pub swapped_out: Option<u64>,
    /// Page faults that waited for a device.
    pub major_faults: Option<u64>,
    /// Processes killed for want of memory.
    pub oom_kills: Option<u64>,
    /// Times a task had to free memory itself before it got some.
    pub direct_reclaims: Option<u64>,
    /// Share of the cpus' time that the hypervisor gave to others.
    pub steal: Option<f64>,
    /// Share of the cpus' time that was used.
    pub cpu: Option<f64>,
    /// Mean time of a read of the tier's device in ns; `None` where it read nothing.
    pub read_ns: Option<f64>,
    /// Mean time of a write to it in ns; `None` where nothing was written.
    pub write_ns: Option<f64>,
    /// Share of the time in which it had anything to do.
    pub device_busy: Option<f64>,
}

/// Later less earlier; `None` where it went backwards.
fn more(earlier: Option<u64>, later: Option<u64>) -> Option<u64> {
    later?.checked_sub(earlier?)
}

/// One over another; `None` for nothing.
fn ratio(of: f64, over: f64) -> Option<f64> {
    (over > 0.0).then(|| of / over)
}

impl HostDelta {
    /// What happened in some seconds between two moments.
    #[must_use]
    pub fn between(earlier: &Host, later: &Host, seconds: f64) -> Self {
        let counter = |host: &Host, name: &str| host.vmstat.as_ref()?.get(name).copied();
        let counted = |name: &str| more(counter(earlier, name), counter(later, name));
        let stalls = |host: &Host| -> Option<u64> {
            let counters = host.vmstat.as_ref()?.iter().filter(|(name, _)| name.starts_with("allocstall"));
            Some(counters.fold(0, |sum: u64, (_, n)| sum.saturating_add(*n)))
        };
        let ticks =
            |of: fn(&super::CpuTicks) -> u64| more(earlier.ticks.as_ref().map(of), later.ticks.as_ref().map(of));
        let (total, idle, steal) = (ticks(|t| t.total), ticks(|t| t.idle), ticks(|t| t.steal));
        let share = |part: Option<u64>| ratio(part? as f64, total? as f64);
        let disk = |of: fn(&Disk) -> u64| more(earlier.disk.as_ref().map(of), later.disk.as_ref().map(of));
        let mean = |ms: Option<u64>, count: Option<u64>| ratio(ms? as f64 * 1e6, count? as f64);
        Self {
            swapped_in: counted("pswpin"),
            swapped_out: counted("pswpout"),
            major_faults: counted("pgmajfault"),
            oom_kills: counted("oom_kill"),
            direct_reclaims: more(stalls(earlier), stalls(later)),
            steal: share(steal),
            // What was stolen was used by others.
            cpu: share(idle).zip(share(steal)).map(|(idle, steal)| (1.0 - idle - steal).clamp(0.0, 1.0)),
            read_ns: mean(disk(|d| d.read_ms), disk(|d| d.reads)),
            write_ns: mean(disk(|d| d.write_ms), disk(|d| d.writes)),
            device_busy: disk(|d| d.busy_ms).and_then(|ms| ratio(ms as f64 / 1000.0, seconds)),
        }
    }
}

/// Numbers by which probes are compared.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Derived {
    /// Major page faults a request.
    pub faults_per_request: Option<f64>,
    /// Bytes swapped in and out a request.
    pub swap_bytes_per_request: Option<f64>,
    /// Share of what the tenants hold that is in memory.
    pub resident_share: Option<f64>,
    /// Bytes held over bytes of memory taken for them, of a zram device.
    pub compression: Option<f64>,
    /// Seconds on cpus of a million requests.
    pub cpu_seconds_per_million: Option<f64>,
    /// Share of the time in which some tenant waited for memory.
    pub memory_wait: Option<f64>,
    /// Share of the time in which some tenant waited for a cpu.
    pub cpu_wait: Option<f64>,
}

impl Derived {
    /// What follows of `requests` that were answered in some seconds, between two moments of the tenants' group.
    #[must_use]
    pub fn between(earlier: &Group, later: &Group, host: &HostDelta, requests: u64, seconds: f64, page: u64) -> Self {
        let each = |n: Option<u64>| ratio(n? as f64, requests as f64);
        let swapped = host.swapped_in.zip(host.swapped_out).map(|(i, o)| i.saturating_add(o).saturating_mul(page));
        let waited = |of: fn(&Group) -> Option<Pressure>| {
            let us = |group: &Group| of(group).map(|pressure| pressure.some_us);
            ratio(more(us(earlier), us(later))? as f64 / 1e6, seconds)
        };
        Self {
            faults_per_request: each(more(earlier.major_faults, later.major_faults)),
            swap_bytes_per_request: each(swapped),
            resident_share: later.resident_share(),
            compression: None,
            // µs a request are seconds a million.
            cpu_seconds_per_million: each(more(earlier.cpu_us, later.cpu_us)),
            memory_wait: waited(|group| group.memory_pressure),
            cpu_wait: waited(|group| group.cpu_pressure),
        }
    }

    /// The same with what a zram device says: bytes held over memory taken, tables and fragments included.
    #[must_use]
    pub fn compressed_by(self, zram: &Zram) -> Self {
        Self { compression: ratio(zram.original as f64, zram.memory as f64), ..self }
    }
}
