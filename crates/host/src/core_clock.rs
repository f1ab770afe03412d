//! The core's clock, by chains of dependent operations whose length in cycles is known, and what the core does in a
//! cycle.

use serde::{Deserialize, Serialize};
use tiermark_engine::ClockLook;
use tiermark_stats::median;
use tiermark_system::Clock;

/// Operations of a chain of additions: 6 to 12 µs, long against a stamp and many steps of a counter at 2 GHz.
const CHAIN_LENGTH: u64 = 32_768;
/// Steps of the clock that a chain lasts at least: one step is then a tenth of a percent.
const STEPS: f64 = 1_000.0;
/// Additions of a chain in a nanosecond at most.
const FASTEST_GHZ: f64 = 6.0;
/// Counts of a look; the median counts.
const COUNTS: usize = 3;
/// A chain of multiplications that takes another number of cycles than usual was interrupted, or shared its unit with
/// the other hardware thread: then the additions may have been slowed down, too.
const RATIO_TOLERANCE: f64 = 0.02;
/// Looks from which the usual ratio is taken.
const LEARNED_FROM: usize = 9;
/// Operations of a count of the throughput: 2.5 µs where a core does 5.4 in a cycle of 3.7 GHz.
const THROUGHPUT_LENGTH: u64 = 49_152;
/// Steps of the clock that such a count lasts at least on the fastest and widest core. On others it lasts twice as many:
/// one step is half a percent.
const THROUGHPUT_STEPS: f64 = 100.0;
/// Counts of the throughput in a look; the best counts, since interruptions only lengthen one.
const THROUGHPUT_COUNTS: usize = 2;
/// Operations of the widest core in a cycle.
const WIDEST: f64 = 6.0;
/// Cycles of a multiplication: 2 to 5 on the cores known, with room for others.
const RATIOS: std::ops::RangeInclusive<f64> = 1.0..=12.0;

/// Looks at the core's clock, with what is known of this kind of core.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lookout {
    /// Cost of one stamp, ns.
    stamp_ns: f64,
    /// Operations of a chain of additions.
    length: u64,
    /// Cycles of a multiplication; `None` if they were not found, and are not compared.
    ratio: Option<f64>,
    /// Operations of a count of the throughput.
    many: u64,
}

/// What a look saw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// Cycles per second; `None` when the two chains do not agree on the length of a cycle.
    pub(crate) hz: Option<f64>,
    /// Independent operations (additions and loads from L1) in a cycle; `None` without a clock.
    throughput: Option<f64>,
}

impl Seen {
    /// The look, if it was at this time, ns.
    pub(crate) fn at(self, at_ns: f64) -> ClockLook {
        ClockLook { at_ns, hz: self.hz, throughput: self.throughput }
    }
}

impl Lookout {
    /// Learns how many cycles a multiplication takes here. Takes about half a millisecond.
    pub(crate) fn learn(clock: &Clock, resolution_ns: f64, stamp_ns: f64) -> Self {
        let length = CHAIN_LENGTH.max((STEPS * resolution_ns * FASTEST_GHZ) as u64);
        let many = THROUGHPUT_LENGTH.max((THROUGHPUT_STEPS * resolution_ns * FASTEST_GHZ * WIDEST) as u64);
        let unknown = Self { stamp_ns, length, ratio: None, many };
        let ratio = |_| unknown.multiplication_ns(clock) / unknown.addition_ns(clock);
        let ratios: [f64; LEARNED_FROM] = std::array::from_fn(ratio);
        // The cycles of an operation are a whole number.
        let cycles = median(&ratios).unwrap_or(f64::NAN).round();
        Self { ratio: RATIOS.contains(&cycles).then_some(cycles), ..unknown }
    }

    /// Cost of one stamp, ns.
    pub(crate) fn stamp_ns(&self) -> f64 {
        self.stamp_ns
    }

    /// Looks at the clock, and at what the core does in a cycle of it.
    pub(crate) fn look(&self, clock: &Clock) -> Seen {
        let hz = self.hz(clock);
        Seen { hz, throughput: hz.and_then(|hz| self.throughput(hz, clock)) }
    }

    fn throughput(&self, hz: f64, clock: &Clock) -> Option<f64> {
        let count = |_| self.operation_ns(tiermark_system::throughput, self.many, clock);
        let least_ns = (0..THROUGHPUT_COUNTS).map(count).fold(f64::INFINITY, f64::min);
        let in_a_cycle = 1e9 / hz / least_ns;
        (in_a_cycle.is_finite() && in_a_cycle > 0.0).then_some(in_a_cycle)
    }

    fn hz(&self, clock: &Clock) -> Option<f64> {
        let cycle_ns = self.addition_ns(clock);
        let agrees = |ratio: f64| {
            // Twice: one interrupt must not cost a look.
            (0..2).any(|_| (self.multiplication_ns(clock) / cycle_ns / ratio - 1.0).abs() <= RATIO_TOLERANCE)
        };
        let hz = 1e9 / cycle_ns;
        (hz.is_finite() && hz > 0.0 && self.ratio.is_none_or(agrees)).then_some(hz)
    }

    /// An addition of a chain, ns: the median of some counts.
    fn addition_ns(&self, clock: &Clock) -> f64 {
        let counts: [f64; COUNTS] =
            std::array::from_fn(|_| self.operation_ns(tiermark_system::alu_chain, self.length, clock));
        median(&counts).unwrap_or(f64::NAN)
    }

    /// A multiplication of a chain, ns.
    fn multiplication_ns(&self, clock: &Clock) -> f64 {
        // As long as the chain of additions, if a multiplication takes three cycles.
        self.operation_ns(tiermark_system::mul_chain, self.length / 3, clock)
    }

    fn operation_ns(&self, chain: impl Fn(u64) -> u64, length: u64, clock: &Clock) -> f64 {
        let start = clock.now();
        let ran = chain(length);
        (clock.between(start, clock.now()) - self.stamp_ns) / ran as f64
    }
}
