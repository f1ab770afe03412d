//! What follows from two moments.

use super::parse::{Disk, Pressure};
use super::{GroupCounters, Host, Link};

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
    /// Pages that came back out of zswap.
    pub zswap_in: Option<u64>,
    /// Pages that went into zswap.
    pub zswap_out: Option<u64>,
    /// Pages that zswap wrote on to the swap area behind it.
    pub zswap_written_back: Option<u64>,
    /// Pages that were moved to slower nodes.
    pub demoted: Option<u64>,
    /// Share of the time in which some task waited for a block device.
    pub io_wait: Option<f64>,
    /// Seconds that all cpus had together.
    pub cpu_seconds: Option<f64>,
    /// The busiest network interface.
    pub link: Option<Link>,
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
        // One counter for each zone, or for each way to it; `None` where the kernel has none of them.
        let began = |host: &Host, name: &str| -> Option<u64> {
            let counters = host.vmstat.as_ref()?.iter().filter(|(counter, _)| counter.starts_with(name));
            counters.map(|(_, n)| *n).reduce(u64::saturating_add)
        };
        let shares = earlier.ticks.zip(later.ticks).and_then(|(then, now)| now.since(&then, seconds));
        let disk = |of: fn(&Disk) -> u64| more(earlier.disk.as_ref().map(of), later.disk.as_ref().map(of));
        let io_us = |host: &Host| host.io.map(|pressure| pressure.some_us);
        let links = earlier.links.as_ref().zip(later.links.as_ref());
        let mean = |ms: Option<u64>, count: Option<u64>| ratio(ms? as f64 * 1e6, count? as f64);
        Self {
            swapped_in: counted("pswpin"),
            swapped_out: counted("pswpout"),
            major_faults: counted("pgmajfault"),
            oom_kills: counted("oom_kill"),
            direct_reclaims: more(began(earlier, "allocstall"), began(later, "allocstall")),
            steal: shares.map(|shares| shares.steal),
            // What was stolen was used by others.
            cpu: shares.map(|shares| (shares.busy - shares.steal).clamp(0.0, 1.0)),
            read_ns: mean(disk(|d| d.read_ms), disk(|d| d.reads)),
            write_ns: mean(disk(|d| d.write_ms), disk(|d| d.writes)),
            device_busy: disk(|d| d.busy_ms).and_then(|ms| ratio(ms as f64 / 1000.0, seconds)),
            zswap_in: counted("zswpin"),
            zswap_out: counted("zswpout"),
            zswap_written_back: counted("zswpwb"),
            demoted: more(began(earlier, "pgdemote_"), began(later, "pgdemote_")),
            io_wait: more(io_us(earlier), io_us(later)).and_then(|us| ratio(us as f64 / 1e6, seconds)),
            cpu_seconds: later.ticks.filter(|_| shares.is_some()).map(|now| seconds * now.cpus as f64),
            link: links.and_then(|(then, now)| Link::busiest(then, now, seconds)),
        }
    }
}

/// Numbers by which trials are compared.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Derived {
    /// Major page faults a request.
    pub faults_per_request: Option<f64>,
    /// Bytes swapped in and out a request.
    pub swap_bytes_per_request: Option<f64>,
    /// Share of what the tenants hold that is in memory.
    pub resident_share: Option<f64>,
    /// Bytes held over bytes of memory taken for them, of a zram device, or else of zswap.
    pub compression: Option<f64>,
    /// Seconds on cpus of a million requests.
    pub cpu_seconds_per_million: Option<f64>,
    /// Share of the time in which some tenant waited for memory.
    pub memory_wait: Option<f64>,
    /// Share of the time in which some tenant waited for a cpu.
    pub cpu_wait: Option<f64>,
    /// Share of the time in which some tenant waited for a block device.
    pub io_wait: Option<f64>,
    /// Share of all cpus' time that tenants used.
    pub tenants_cpu: Option<f64>,
}

impl Derived {
    /// What follows of `requests` that were answered in some seconds, between two moments of the tenants' group.
    #[must_use]
    pub fn between(
        earlier: &GroupCounters,
        later: &GroupCounters,
        host: &HostDelta,
        requests: u64,
        seconds: f64,
        page: u64,
    ) -> Self {
        let each = |n: Option<u64>| ratio(n? as f64, requests as f64);
        let swapped = host.swapped_in.zip(host.swapped_out).map(|(i, o)| i.saturating_add(o).saturating_mul(page));
        let waited = |of: fn(&GroupCounters) -> Option<Pressure>| {
            let us = |group: &GroupCounters| of(group).map(|pressure| pressure.some_us);
            ratio(more(us(earlier), us(later))? as f64 / 1e6, seconds)
        };
        let cpu_us = more(earlier.cpu_us, later.cpu_us);
        Self {
            faults_per_request: each(more(earlier.major_faults, later.major_faults)),
            swap_bytes_per_request: each(swapped),
            resident_share: later.resident_share(),
            compression: None,
            // µs a request are seconds a million.
            cpu_seconds_per_million: each(cpu_us),
            memory_wait: waited(|group| group.memory_pressure),
            cpu_wait: waited(|group| group.cpu_pressure),
            io_wait: waited(|group| group.io_pressure),
            tenants_cpu: cpu_us.zip(host.cpu_seconds).and_then(|(us, all)| ratio(us as f64 / 1e6, all)),
        }
    }

    /// The same with what compressed memory says: bytes held over memory taken, fragments included.
    #[must_use]
    pub fn compressed(self, later: &Host) -> Self {
        let zram = later.zram.map(|zram| (zram.original, zram.memory));
        let of = zram.or(later.zswap.map(|zswap| (zswap.original, zswap.memory)));
        Self { compression: of.and_then(|(original, memory)| ratio(original as f64, memory as f64)), ..self }
    }
}
