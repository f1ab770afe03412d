//! The clock that stamps blocks: the processor's counter where it can be trusted, the system's raw clock otherwise.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tiermark_kernels::clock::stamp;
use tiermark_model::{ClockInfo, CpuModel, System};

use crate::ident::declared_counter_hz;
use crate::sched::raw_clock_ns;

/// Between the two calibration points. Brackets of about 100 ns make the rate good to some 5 parts per million over
/// this time, far below anything that memory does, and the whole set-up of the instruments stays under 0.1 s.
const CALIBRATION: Duration = Duration::from_millis(25);

/// A declared rate is believed when it is this close to the measured one: then every run uses the same rate.
const NOMINAL_TOLERANCE: f64 = 0.001;

/// Where ticks come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Source {
    /// The processor's counter: TSC or `cntvct_el0`.
    Counter,
    /// `CLOCK_MONOTONIC_RAW`; a tick is a nanosecond.
    System,
    /// The same in steps of so many nanoseconds, each a tick: what a slow counter would show.
    #[cfg(any(test, feature = "testing"))]
    Coarse(u64),
}

/// A calibrated clock. Processes of one machine share it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Clock {
    source: Source,
    hz: f64,
}

/// The processor's counter and the system's raw clock at one moment.
#[derive(Debug, Clone, Copy)]
struct ClockPair {
    ticks: u64,
    raw_ns: f64,
}

impl Clock {
    /// Chooses and calibrates the clock. Takes about 25 ms.
    pub fn choose(cpu: &CpuModel, system: &System) -> (Self, ClockInfo) {
        if let Some(why) = counter_refused(cpu, system) {
            return Self::system(&why);
        }
        let first = tightest_pair();
        std::thread::sleep(CALIBRATION);
        let second = tightest_pair();
        let measured = second.ticks.wrapping_sub(first.ticks) as f64 / (second.raw_ns - first.raw_ns) * 1e9;
        // Outside 1 MHz to 100 GHz it is no counter of time (some emulators return a constant).
        if !(1e6..1e11).contains(&measured) {
            return Self::system("the processor's counter does not count time");
        }
        let (hz, how) = match declared_counter_hz() {
            Some((nominal, from)) if (nominal / measured - 1.0).abs() <= NOMINAL_TOLERANCE => {
                let apart = (nominal / measured - 1.0).abs() * 1e6;
                (nominal, format!("rate declared by {from}, {apart:.0} ppm from CLOCK_MONOTONIC_RAW over 25 ms"))
            }
            Some((nominal, from)) => {
                let apart = (nominal / measured - 1.0).abs() * 100.0;
                (
                    measured,
                    format!(
                        "measured against CLOCK_MONOTONIC_RAW over 25 ms; {from} declares a rate {apart:.2} % off, \
                            not used"
                    ),
                )
            }
            None => (measured, "measured against CLOCK_MONOTONIC_RAW over 25 ms; no rate declared".to_owned()),
        };
        let source = if cfg!(target_arch = "x86_64") { "tsc" } else { "cntvct" };
        Self { source: Source::Counter, hz }.described(source, how)
    }

    fn system(why: &str) -> (Self, ClockInfo) {
        Self { source: Source::System, hz: 1e9 }.described("clock_monotonic_raw", format!("the system's clock: {why}"))
    }

    fn described(self, source: &str, how: String) -> (Self, ClockInfo) {
        let info = ClockInfo {
            source: source.to_owned(),
            hz: self.hz,
            resolution_ns: self.resolution_ns(),
            how,
            tick_hz: tick_hz(),
        };
        (self, info)
    }

    /// Ticks now; work before has finished, work after has not begun.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        match self.source {
            Source::Counter => stamp(),
            Source::System => raw_clock_ns() as u64,
            #[cfg(any(test, feature = "testing"))]
            Source::Coarse(step_ns) => raw_clock_ns() as u64 / step_ns,
        }
    }

    /// A clock with long steps, for tests of code that reads it.
    #[cfg(any(test, feature = "testing"))]
    pub fn coarse(step_ns: u64) -> Self {
        Self { source: Source::Coarse(step_ns), hz: 1e9 / step_ns as f64 }
    }

    /// Length of a number of ticks, ns.
    #[inline]
    pub fn ns(&self, ticks: f64) -> f64 {
        ticks * 1e9 / self.hz
    }

    /// How many ticks a time takes.
    #[inline]
    pub fn ticks(&self, ns: f64) -> u64 {
        (ns * self.hz / 1e9) as u64
    }

    /// Nanoseconds from one stamp to a later one; 0 where they are out of order.
    #[inline]
    pub fn between(&self, from: u64, to: u64) -> f64 {
        self.ns(to.saturating_sub(from) as f64)
    }

    /// The smallest step ever seen between two stamps, ns: of stamps back to back, the greatest common divisor is the
    /// tick.
    fn resolution_ns(&self) -> f64 {
        let mut stamps = [0u64; 256];
        for stamp in &mut stamps {
            *stamp = self.now();
        }
        let tick = stamps.windows(2).map(|w| w[1].saturating_sub(w[0])).fold(0, gcd);
        self.ns(tick.max(1) as f64)
    }
}

/// Euclid.
fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Why the processor's counter cannot be the clock here.
fn counter_refused(cpu: &CpuModel, system: &System) -> Option<String> {
    if !cfg!(target_arch = "x86_64") {
        // The Arm architecture guarantees a constant, system-wide counter.
        return None;
    }
    let missing: Vec<&str> =
        ["constant_tsc", "nonstop_tsc"].into_iter().filter(|flag| !cpu.flags.iter().any(|f| f == flag)).collect();
    if !missing.is_empty() {
        return Some(format!("the time stamp counter is not invariant (no {})", missing.join(", ")));
    }
    // The kernel removes the TSC from its list when it has caught it running apart on different cpus.
    if !system.clocksources.is_empty() && !system.clocksources.iter().any(|source| source == "tsc") {
        return Some("the kernel does not offer the time stamp counter as a clock source".to_owned());
    }
    None
}

/// Timer ticks of the kernel a second: the steps of its coarse clock. `None` where it says none.
fn tick_hz() -> Option<f64> {
    let step = rustix::time::clock_getres(rustix::time::ClockId::MonotonicCoarse);
    let ns = step.tv_sec as f64 * 1e9 + step.tv_nsec as f64;
    (ns >= 1e5).then(|| (1e9 / ns).round())
}

/// Reads both clocks at one moment: of several tries the one with the least time between its two stamps.
fn tightest_pair() -> ClockPair {
    let mut best = (u64::MAX, ClockPair { ticks: 0, raw_ns: 0.0 });
    for _ in 0..32 {
        let before = stamp();
        let raw_ns = raw_clock_ns();
        let width = stamp().wrapping_sub(before);
        if width < best.0 {
            best = (width, ClockPair { ticks: before.wrapping_add(width / 2), raw_ns });
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_is_not_invariant_is_not_used() {
        let (clock, info) = Clock::choose(&CpuModel::default(), &System::default());
        if cfg!(target_arch = "x86_64") {
            assert_eq!(info.source, "clock_monotonic_raw");
            assert!(info.how.contains("not invariant"), "{}", info.how);
            assert_eq!(clock.hz, 1e9);
        }
    }

    #[test]
    fn ticks_and_nanoseconds_agree() {
        let clock = Clock { source: Source::Counter, hz: 2.5e9 };
        assert_eq!(clock.ns(25.0), 10.0);
        assert_eq!(clock.ticks(10.0), 25);
        assert_eq!(clock.between(100, 350), 100.0);
        assert_eq!(clock.between(350, 100), 0.0);
    }

    #[test]
    fn the_greatest_common_divisor_finds_the_tick() {
        assert_eq!([26, 52, 78, 130].into_iter().fold(0, gcd), 26);
        assert_eq!([25, 26].into_iter().fold(0, gcd), 1);
    }
}
