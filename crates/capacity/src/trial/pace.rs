//! What is answered, second by second.

use tiermark_load::{Snapshot, TenantNow};
use tiermark_model::Note;
use tiermark_model::messages::trials as says;

use crate::evidence::{GroupCounters, Host};
use crate::guard::Answered;
use crate::steady::{HitRate, HitTrend, Window, hit_trend, restless};

/// Counters at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Counts {
    seconds: f64,
    done: u64,
    due: u64,
    gets: u64,
    misses: u64,
    response_ns: u64,
    /// Sum of the squares, ns².
    squares: f64,
    faults: Option<u64>,
    swapped_out: Option<u64>,
}

impl Counts {
    fn at(load: &Snapshot, host: &Host, group: &GroupCounters) -> Self {
        let sum = |field: fn(&TenantNow) -> u64| load.tenants.iter().map(field).sum();
        Self {
            seconds: load.seconds,
            done: load.done(),
            due: sum(|tenant| tenant.scheduled),
            gets: sum(|tenant| tenant.gets),
            misses: sum(|tenant| tenant.misses),
            response_ns: sum(|tenant| tenant.response_sum_ns),
            squares: load.tenants.iter().map(|tenant| tenant.response_squares).sum(),
            faults: group.major_faults,
            swapped_out: host.vmstat.as_ref().and_then(|vmstat| vmstat.get("pswpout").copied()),
        }
    }
}

/// The seconds of a trial under load.
#[derive(Debug, Default)]
pub(super) struct Pace {
    windows: Vec<Window>,
    /// Number of `windows` before the measurement.
    before_measuring: usize,
    /// Requests answered since the fill.
    answered: u64,
    /// The number of records: fewer requests cannot have touched all of them.
    pub(super) pass: u64,
    last: Option<Counts>,
}

impl Pace {
    /// The measurement begins now.
    pub(super) fn measures_from_here(&mut self) {
        self.before_measuring = self.windows.len();
    }

    /// The load ends, and counts from 0 when it begins again.
    pub(super) fn pauses(&mut self) {
        self.last = None;
    }

    /// The trend of the hit rate over the measurement.
    pub(super) fn hit_trend(&self) -> Option<HitTrend> {
        hit_trend(&self.windows[self.before_measuring..])
    }

    /// Why the system has not come to rest.
    pub(super) fn restless(&self) -> Option<Note> {
        restless(&self.windows)
    }

    /// Says that there were fewer requests than records, if so.
    pub(super) fn unasked(&self) -> Option<Note> {
        let share = self.answered as f64 / self.pass as f64;
        (share < 1.0).then(|| says::records_not_asked(share.into()))
    }

    /// Adds the window since the last call. Returns the requests answered in it, and its length in s; `None` at the
    /// first call of a stage, or if a counter went backwards.
    pub(super) fn step(&mut self, load: &Snapshot, host: &Host, group: &GroupCounters) -> Option<(Answered, f64)> {
        let now = Counts::at(load, host, group);
        let before = self.last.replace(now)?;
        let seconds = now.seconds - before.seconds;
        let window = Answered { done: now.done.checked_sub(before.done)?, due: now.due.checked_sub(before.due)? };
        let answered = window.done as f64;
        self.answered += window.done;
        if seconds <= 0.0 {
            return None;
        }
        if answered > 0.0 {
            let more = |now: Option<u64>, then: Option<u64>| Some(now?.checked_sub(then?)? as f64);
            let response_ns = now.response_ns.saturating_sub(before.response_ns) as f64 / answered;
            let variance = ((now.squares - before.squares) / answered - response_ns.powi(2)).max(0.0);
            self.windows.push(Window {
                response_ns,
                response_error: (variance / answered).sqrt(),
                faults: more(now.faults, before.faults),
                swapped_out: more(now.swapped_out, before.swapped_out),
                resident: group.memory.map(|bytes| bytes as f64),
                hits: HitRate::of(now.gets.saturating_sub(before.gets), now.misses.saturating_sub(before.misses)),
            });
        }
        Some((window, seconds))
    }
}
