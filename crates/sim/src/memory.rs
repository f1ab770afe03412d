//! Memory of a simulated machine beyond its speed: what first touch costs, and what happens to memory that is left alone.

use std::cell::Cell;
use std::ops::Range;

use tiermark_stats::Rng;

/// Seconds it takes a thread to prepare a byte that is resident.
const PREPARE_SECONDS_PER_BYTE: f64 = 0.5e-9;
/// Bytes that the host of a guest takes back, and gives again, together.
const HOST_PAGE: u64 = 2 << 20;
/// How long an access waits whose page the host has let go, ns.
const STALLS_NS: Range<f64> = 100e3..140e3;
/// Seconds that touching takes for each byte that is resident: one load in each 32 KiB.
const TOUCH_SECONDS_PER_BYTE: f64 = 1.4e-3 / (1 << 30) as f64;

/// What the host of a simulated guest does to memory that the guest does not use for some time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeftAlone {
    /// Seconds after which the host has let go of all but 1/e of it. The next use of each 2 MiB that it let go takes
    /// 100 to 140 µs more.
    pub forgets_after_seconds: f64,
    /// Whether memory is touched just before each visit, so that the stalls are in the time of settling.
    pub touched_first: bool,
}

impl Default for LeftAlone {
    /// As recorded: 18 % of the memory after 0.3 s, half of it after 1 s, 82 % after 2.5 s.
    fn default() -> Self {
        Self { forgets_after_seconds: 1.44, touched_first: true }
    }
}

impl LeftAlone {
    /// Share of the memory that the host has let go after so many seconds without use.
    #[must_use]
    pub fn absent(&self, seconds: f64) -> f64 {
        1.0 - (-seconds.max(0.0) / self.forgets_after_seconds).exp()
    }

    /// How long it takes to touch so many bytes, of which this share is absent, ns.
    pub(super) fn touching_ns(bytes: f64, absent: f64) -> f64 {
        let stall = f64::midpoint(STALLS_NS.start, STALLS_NS.end);
        bytes * TOUCH_SECONDS_PER_BYTE * 1e9 + bytes / HOST_PAGE as f64 * absent * stall
    }
}

/// The parts of a thread's memory that the host has let go of and the thread has not used yet.
pub(super) struct Absent {
    /// Pages of the host in its memory, and those of them that are absent.
    pages: f64,
    left: f64,
    /// Work of one use of all of it.
    pass_work: f64,
    /// Whether it comes to pages in no order.
    is_random: bool,
}

impl Absent {
    pub(super) fn new(bytes: f64, share: f64, pass_work: f64, is_random: bool) -> Self {
        let pages = (bytes / HOST_PAGE as f64).ceil();
        Self { pages, left: (pages * share).round(), pass_work, is_random }
    }

    /// Stalls of a block of so much work that begins when so much was done, ns.
    pub(super) fn stalls_ns(&mut self, done: f64, work: f64, rng: &mut Rng) -> f64 {
        if self.left < 1.0 {
            return 0.0;
        }
        let expected = if self.is_random {
            self.left * (1.0 - (-work / self.pages).exp())
        } else {
            // Those absent are spread over the pages that it has not come to.
            let page = self.pass_work / self.pages;
            let before = (done / page).floor().min(self.pages);
            let after = ((done + work) / page).floor().min(self.pages);
            self.left * (after - before) / (self.pages - before).max(1.0)
        };
        let stalls = (expected + rng.unit()).floor().min(self.left);
        self.left -= stalls;
        (0..stalls as u64).map(|_| STALLS_NS.start + (STALLS_NS.end - STALLS_NS.start) * rng.unit()).sum()
    }
}

/// What filling memory costs. The one place for it: whoever makes memory asks here.
#[derive(Debug, Default)]
pub(super) struct Filling {
    /// Bytes per second of each thread that touches memory which the host must find first; `None` if all is resident.
    pub(super) first_touch: Option<f64>,
    touched: Cell<u64>,
}

impl Filling {
    pub(super) fn new(first_touch: Option<f64>) -> Self {
        Self { first_touch, touched: Cell::default() }
    }

    /// Seconds that so many cpus take, each its part of them, to make and fill bytes that are not resident yet. Memory
    /// that was freed is the host's again: it is not resident either.
    pub(super) fn seconds(&self, absent_bytes: u64, cpus: usize) -> f64 {
        self.touched.set(self.touched.get() + absent_bytes);
        let each = absent_bytes as f64 / cpus.max(1) as f64;
        Self::writing_seconds(absent_bytes, cpus) + self.first_touch.map_or(0.0, |rate| each / rate)
    }

    /// Seconds that so many cpus take, each its part, to write bytes that are resident.
    pub(super) fn writing_seconds(bytes: u64, cpus: usize) -> f64 {
        bytes as f64 * PREPARE_SECONDS_PER_BYTE / cpus.max(1) as f64
    }

    /// Bytes filled so far.
    pub(super) fn touched(&self) -> u64 {
        self.touched.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_lets_go_of_as_much_as_was_recorded() {
        // Of 128 MiB at 14.7 GB/s: the share of the time of a pass that stalls take.
        let stalls = |seconds: f64| {
            let stalls = LeftAlone::touching_ns(128e6, LeftAlone::default().absent(seconds)) - 128e6 * 1.4 / 1024.0;
            stalls / (stalls + 128e6 / 14.7)
        };
        for (seconds, low, high) in [(0.0, -0.01, 0.03), (0.3, 0.06, 0.21), (1.0, 0.24, 0.35), (2.5, 0.35, 0.5)] {
            assert!((low..high).contains(&stalls(seconds)), "{seconds}: {}", stalls(seconds));
        }
    }

    #[test]
    fn filling_costs_what_is_absent_and_is_shared_by_cpus() {
        let filling = Filling::new(Some(0.4e9));
        let (one, two) = (filling.seconds(800_000_000, 1), filling.seconds(800_000_000, 2));
        assert!((one - 2.4).abs() < 1e-9 && (two - 1.2).abs() < 1e-9, "{one} {two}");
        assert_eq!(filling.touched(), 1_600_000_000);
        assert!((Filling::default().seconds(1_000_000_000, 1) - 0.5).abs() < 1e-9);
    }
}
