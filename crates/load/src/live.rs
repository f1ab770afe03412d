//! Progress of a run.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::clock::SECOND;

/// A tenant's counters so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TenantNow {
    /// Requests that were due by now; in a closed loop those that were sent.
    pub scheduled: u64,
    /// Requests sent.
    pub sent: u64,
    /// Answers, errors among them.
    pub done: u64,
    /// Answers that refused.
    pub errors: u64,
    /// GETs among the answers.
    pub gets: u64,
    /// GETs of keys that are not there.
    pub misses: u64,
    /// Sum of the response times of the answers, ns.
    pub response_sum_ns: u64,
    /// Sum of the squares of those, ns².
    pub response_squares: f64,
    /// How far its requests are behind the times at which they are due, ns; 0 in a closed loop.
    pub behind_ns: u64,
    /// The longest that an answer is being waited for, ns.
    pub waiting_ns: u64,
    /// Whether the tenant was given up.
    pub is_lost: bool,
}

/// A run at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Time since the common start, s.
    pub seconds: f64,
    /// Each tenant, in the order of the targets.
    pub tenants: Vec<TenantNow>,
    /// How long ago the slowest of the client's threads last came to note anything, s: more than a fraction of a second
    /// says that the client itself does not get to run.
    pub client_silent: f64,
}

impl Snapshot {
    /// Answers of all tenants so far.
    pub fn done(&self) -> u64 {
        self.tenants.iter().map(|tenant| tenant.done).sum()
    }

    /// Errors of all tenants so far.
    pub fn errors(&self) -> u64 {
        self.tenants.iter().map(|tenant| tenant.errors).sum()
    }
}

#[derive(Debug, Default)]
struct Slot {
    scheduled: AtomicU64,
    sent: AtomicU64,
    done: AtomicU64,
    errors: AtomicU64,
    gets: AtomicU64,
    misses: AtomicU64,
    response_sum: AtomicU64,
    /// The bits of a floating-point number.
    response_squares: AtomicU64,
    behind: AtomicU64,
    waiting: AtomicU64,
    lost: AtomicU64,
}

/// Where threads note, ten times a second, how their tenants are doing.
#[derive(Debug)]
pub(crate) struct Live {
    tenants: Vec<Slot>,
    /// When each thread last noted anything, ns on the monotonic clock; 0 once it is done.
    beats: Vec<AtomicU64>,
}

impl Live {
    /// Of a run that begins at `now` on the monotonic clock.
    pub(crate) fn new(tenants: usize, threads: usize, now: u64) -> Self {
        Self {
            tenants: (0..tenants).map(|_| Slot::default()).collect(),
            beats: (0..threads).map(|_| AtomicU64::new(now)).collect(),
        }
    }

    pub(crate) fn note(&self, tenant: usize, now: TenantNow) {
        let slot = &self.tenants[tenant];
        // Nothing else is ordered by these: a reader may see them of two moments, a tenth of a second apart.
        slot.scheduled.store(now.scheduled, Ordering::Relaxed);
        slot.sent.store(now.sent, Ordering::Relaxed);
        slot.done.store(now.done, Ordering::Relaxed);
        slot.errors.store(now.errors, Ordering::Relaxed);
        slot.gets.store(now.gets, Ordering::Relaxed);
        slot.misses.store(now.misses, Ordering::Relaxed);
        slot.response_sum.store(now.response_sum_ns, Ordering::Relaxed);
        slot.response_squares.store(now.response_squares.to_bits(), Ordering::Relaxed);
        slot.behind.store(now.behind_ns, Ordering::Relaxed);
        slot.waiting.store(now.waiting_ns, Ordering::Relaxed);
        slot.lost.store(u64::from(now.is_lost), Ordering::Relaxed);
    }

    pub(crate) fn beat(&self, thread: usize, now: u64) {
        self.beats[thread].store(now, Ordering::Relaxed);
    }

    /// The run as it is at `now` on the monotonic clock, begun at `start` on it.
    pub(crate) fn snapshot(&self, start: u64, now: u64) -> Snapshot {
        let tenants = self.tenants.iter().map(|slot| TenantNow {
            scheduled: slot.scheduled.load(Ordering::Relaxed),
            sent: slot.sent.load(Ordering::Relaxed),
            done: slot.done.load(Ordering::Relaxed),
            errors: slot.errors.load(Ordering::Relaxed),
            gets: slot.gets.load(Ordering::Relaxed),
            misses: slot.misses.load(Ordering::Relaxed),
            response_sum_ns: slot.response_sum.load(Ordering::Relaxed),
            response_squares: f64::from_bits(slot.response_squares.load(Ordering::Relaxed)),
            behind_ns: slot.behind.load(Ordering::Relaxed),
            waiting_ns: slot.waiting.load(Ordering::Relaxed),
            is_lost: slot.lost.load(Ordering::Relaxed) != 0,
        });
        let beats = self.beats.iter().map(|beat| beat.load(Ordering::Relaxed)).filter(|beat| *beat > 0);
        let silent = beats.map(|beat| now.saturating_sub(beat)).max().unwrap_or(0);
        Snapshot {
            seconds: now.saturating_sub(start) as f64 / SECOND as f64,
            tenants: tenants.collect(),
            client_silent: silent as f64 / SECOND as f64,
        }
    }
}
