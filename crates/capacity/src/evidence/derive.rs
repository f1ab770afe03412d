//! What follows from two moments. A counter that went backwards was reset, and says nothing.

use tiermark_machine::Stalls;
use tiermark_model::capacity::Evidence;

use super::parse::Disk;
use super::{GroupCounters, Host, Link};

/// Later less earlier; `None` where it went backwards.
fn more(earlier: Option<u64>, later: Option<u64>) -> Option<u64> {
    later?.checked_sub(earlier?)
}

/// One over another; `None` for nothing.
fn ratio(of: f64, over: f64) -> Option<f64> {
    (over > 0.0).then(|| of / over)
}

/// A counter of /proc/vmstat.
fn counter(host: &Host, name: &str) -> Option<u64> {
    host.vmstat.as_ref()?.get(name).copied()
}

/// The sum of all counters whose names begin so; `None` if the kernel has no such counter.
fn counters(host: &Host, name: &str) -> Option<u64> {
    let parts = host.vmstat.as_ref()?.iter().filter(|(counter, _)| counter.starts_with(name));
    parts.map(|(_, n)| *n).reduce(u64::saturating_add)
}

/// Share of `seconds` in which at least one task waited, between two moments.
fn waited(earlier: Option<Stalls>, later: Option<Stalls>, seconds: f64) -> Option<f64> {
    let us = |stalls: Option<Stalls>| stalls.map(|stalls| stalls.some.total_us);
    ratio(more(us(earlier), us(later))? as f64 / 1e6, seconds)
}

/// Time of all cpus together, s: `seconds` times their number. `None` without valid cpu counters of both moments.
pub fn cpu_seconds(earlier: &Host, later: &Host, seconds: f64) -> Option<f64> {
    let (then, now) = earlier.ticks.zip(later.ticks)?;
    now.since(&then, seconds).map(|_| seconds * now.cpus as f64)
}

/// Evidence of the whole machine, from its counters at two moments that are `seconds` apart.
pub fn of_host(earlier: &Host, later: &Host, seconds: f64) -> Evidence {
    let counted = |name: &str| more(counter(earlier, name), counter(later, name));
    let shares = earlier.ticks.zip(later.ticks).and_then(|(then, now)| now.since(&then, seconds));
    let disk = |field: fn(&Disk) -> u64| more(earlier.disk.as_ref().map(field), later.disk.as_ref().map(field));
    let links = earlier.links.as_ref().zip(later.links.as_ref());
    let link = links.and_then(|(then, now)| Link::busiest(then, now, seconds));
    let mean = |ms: Option<u64>, count: Option<u64>| ratio(ms? as f64 * 1e6, count? as f64);
    Evidence {
        seconds,
        swapped_in: counted("pswpin"),
        swapped_out: counted("pswpout"),
        direct_reclaims: more(counters(earlier, "allocstall"), counters(later, "allocstall")),
        steal: shares.map(|shares| shares.steal),
        // What was stolen was used by others.
        cpu: shares.map(|shares| (shares.busy - shares.steal).clamp(0.0, 1.0)),
        read_ns: mean(disk(|d| d.read_ms), disk(|d| d.reads)),
        write_ns: mean(disk(|d| d.write_ms), disk(|d| d.writes)),
        device_busy: disk(|d| d.busy_ms).and_then(|ms| ratio(ms as f64 / 1000.0, seconds)),
        zswap_in: counted("zswpin"),
        zswap_out: counted("zswpout"),
        zswap_written_back: counted("zswpwb"),
        demoted: more(counters(earlier, "pgdemote_"), counters(later, "pgdemote_")),
        host_io_wait: waited(earlier.io, later.io, seconds),
        link_rate: link.map(|link| link.rate),
        link: link.and_then(|link| link.share),
        ..Evidence::default()
    }
}

/// Adds the tenants' part to the machine's evidence, from their group's counters at two moments. `cpu_seconds`: time of
/// all cpus together, s.
pub fn of_tenants(
    evidence: Evidence,
    (earlier, later): (&GroupCounters, &GroupCounters),
    cpu_seconds: Option<f64>,
    page: u64,
) -> Evidence {
    let each = |n: Option<u64>| ratio(n? as f64, evidence.requests as f64);
    let swapped = evidence.swapped_in.zip(evidence.swapped_out).map(|(i, o)| i.saturating_add(o).saturating_mul(page));
    let cpu_us = more(earlier.cpu_us, later.cpu_us);
    let waited = |field: fn(&GroupCounters) -> Option<Stalls>| waited(field(earlier), field(later), evidence.seconds);
    Evidence {
        faults_per_request: each(more(earlier.major_faults, later.major_faults)),
        swap_bytes_per_request: each(swapped),
        resident_share: later.resident_share(),
        // µs per request are the same number of seconds per million requests.
        cpu_seconds_per_million: each(cpu_us),
        memory_wait: waited(|group| group.memory_pressure),
        cpu_wait: waited(|group| group.cpu_pressure),
        io_wait: waited(|group| group.io_pressure),
        tenants_cpu: cpu_us.zip(cpu_seconds).and_then(|(us, all)| ratio(us as f64 / 1e6, all)),
        ..evidence
    }
}

/// Bytes that compressed memory holds over those that it takes, fragments included.
pub fn compression(host: &Host) -> Option<f64> {
    let zram = host.zram.map(|zram| (zram.original, zram.memory));
    let (original, memory) = zram.or(host.zswap.map(|zswap| (zswap.original, zswap.memory)))?;
    ratio(original as f64, memory as f64)
}
