//! What the system counted during a trial.

use serde::{Deserialize, Serialize};

use crate::refusal::Note;

/// Counters of the system during the measurement of a trial. A counter that the system does not report is `None`, never
/// zero.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Seconds that were measured.
    pub seconds: f64,
    /// Requests that were answered in them.
    pub requests: u64,
    /// Why the system was not steady when it was measured; `None` if it was.
    pub not_steady: Option<Note>,
    /// Major page faults a request.
    pub faults_per_request: Option<f64>,
    /// Bytes swapped in and out a request, of the whole machine.
    pub swap_bytes_per_request: Option<f64>,
    /// Resident share of the tenants' memory, 0 to 1.
    pub resident_share: Option<f64>,
    /// Bytes held over bytes of memory taken for them, of a zram device, or else of zswap.
    pub compression: Option<f64>,
    /// Bytes of DRAM that the server stands for: what tenants hold and the pool of compressed memory have to be within
    /// it; `None` where a node is the tier, or tenants run elsewhere.
    pub dram_budget: Option<u64>,
    /// Bytes of the budget in use at the end of the trial: by tenants, and by the pool.
    pub dram_used: Option<u64>,
    /// Bytes of them that compressed memory (zram, zswap) took and no control group counts; `None` without such a tier.
    pub pool: Option<u64>,
    /// Memory limit of the tenants at the end of the trial, bytes: the budget less the compressed pool.
    pub tenants_limit: Option<u64>,
    /// Mean time of a read of the tier's device in ns.
    pub read_ns: Option<f64>,
    /// Mean time of a write to it in ns.
    pub write_ns: Option<f64>,
    /// Share of the time in which the device was busy.
    pub device_busy: Option<f64>,
    /// Seconds of the tenants on cpus, a million requests.
    pub cpu_seconds_per_million: Option<f64>,
    /// Seconds of the client on cpus, a million requests.
    pub client_seconds_per_million: Option<f64>,
    /// Share of the time in which the busiest thread of the client ran.
    pub client_cpu: Option<f64>,
    /// Share of the requests that the client sent later than it meant to though there was room for them.
    pub late_sends: Option<f64>,
    /// Share of the answers that may have lain in the socket for as long while the client was at work elsewhere.
    #[serde(default)]
    pub late_answers: Option<f64>,
    /// By how much the client was late with a request on average, in ns.
    #[serde(default)]
    pub late_mean_ns: Option<f64>,
    /// Share of the time in which some tenant waited for memory (PSI some).
    pub memory_wait: Option<f64>,
    /// Share of the time in which some tenant waited for a cpu (PSI some).
    pub cpu_wait: Option<f64>,
    /// Share of the time in which some tenant waited for a block device (PSI some).
    pub io_wait: Option<f64>,
    /// The same of the whole machine.
    pub host_io_wait: Option<f64>,
    /// Share of the cpus' time that was used, by anyone.
    pub cpu: Option<f64>,
    /// Share of the cpus' time that tenants used.
    pub tenants_cpu: Option<f64>,
    /// Share of the cpus' time that all threads of the client used, where it runs beside the tenants' servers; inside
    /// guests it is the tenants'.
    pub client_share: Option<f64>,
    /// Share of the cpus' time that the hypervisor gave to others.
    pub steal: Option<f64>,
    /// Pages read from swap, of the whole machine.
    pub swapped_in: Option<u64>,
    /// Pages written to swap, of the whole machine.
    pub swapped_out: Option<u64>,
    /// Pages that came back out of zswap, of the whole machine.
    pub zswap_in: Option<u64>,
    /// Pages that went into zswap, of the whole machine.
    pub zswap_out: Option<u64>,
    /// Pages that zswap wrote on to the swap area behind it, of the whole machine.
    pub zswap_written_back: Option<u64>,
    /// Pages that the kernel moved to slower nodes, of the whole machine.
    pub demoted: Option<u64>,
    /// Bytes a second on the busiest network interface but loopback, in its busier direction; `None` where tenants are
    /// on this machine.
    pub link_rate: Option<f64>,
    /// `network` over the capacity of the interface; `None` if the interface does not report its speed.
    pub link: Option<f64>,
    /// Times that a task had to reclaim memory itself before its allocation, of the whole machine.
    pub direct_reclaims: Option<u64>,
    /// Processes of tenants that the kernel killed for want of memory, since the trial began.
    pub oom_kills: Option<u64>,
    /// Share of the GETs that found their key: below 1 if servers evict keys. `None` without a GET, and in older
    /// documents.
    #[serde(default)]
    pub hit_share: Option<f64>,
    /// The cpu quota of the control group that this program was started in; `None` without one, and in older documents.
    #[serde(default)]
    pub quota: Option<QuotaUse>,
}

/// A cpu quota, and how often the kernel enforced it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuotaUse {
    /// Cpus that it allows: 0.4 is 40 ms every 100 ms.
    pub cpus: f64,
    /// The file that sets it.
    pub file: String,
    /// Periods during the measurement in which the kernel stopped the group (`nr_throttled`).
    pub throttled: u64,
}

impl QuotaUse {
    /// Whether the kernel enforced it often enough to explain a lack of cpus: a burst at the start of a trial stops the
    /// group once or twice, in periods of mostly 0.1 s.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        const OFTEN: u64 = 10;
        self.throttled >= OFTEN
    }
}

/// Share of the cpus' time from which on other programs, and not the tenants, are why cpus ran out. The kernel's work
/// for tenants that no control group counts (interrupts) is a part of what others seem to use: a tenth of the busy time
/// on a quiet machine.
pub const OTHERS_DECIDE: f64 = 0.2;

impl Evidence {
    /// Share of the cpus' time that other programs used, and the kernel for them; `None` where one of the shares is not
    /// known, as with tenants elsewhere.
    #[must_use]
    pub fn others_cpu(&self) -> Option<f64> {
        Some((self.cpu? - self.tenants_cpu? - self.client_share?).max(0.0))
    }
}
