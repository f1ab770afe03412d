//! Interruptions of simulated cpus: time that somebody else takes of a cpu, whatever its thread does.
//!
//! The course of a cpu is decided by the seed alone. Each millisecond of it is drawn on its own, so that a visit at any
//! moment costs what it lasts, not what went before.

use std::ops::Range;
use std::str::FromStr;

use tiermark_model::CpuId;
use tiermark_stats::{Rng, split_mix};

use tiermark_engine::host::IdleWatch;

/// The part of a course that is drawn at once, ns.
const SLOT_NS: f64 = 1e6;
/// Lengths of the interruptions that come in numbers, ns: none is shorter or longer.
const LENGTHS_NS: Range<f64> = 1e3..100e3;
/// Lengths of the rare long ones, ns.
const LONG_NS: Range<f64> = 20e3..200e3;
/// Interruptions shorter than this are short, ns.
const SHORT_NS: f64 = 20e3;
/// A loop that watches the clock reports gaps from this length on, ns.
const LEAST_GAP_NS: f64 = 500.0;
/// How much longer the block after an interruption is, ns: 1.4 % of 4 µs in L1, 2 % for a chase in L2, 14 % for a
/// stream in L2.
const REFILL_NS: [[f64; 2]; 2] = [[56.0, 56.0], [80.0, 560.0]];

/// How often and for how long each cpu is interrupted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interruptions {
    /// Interruptions a second of each cpu, without the long ones.
    pub per_second: f64,
    /// Median of their length, ns.
    pub median_ns: f64,
    /// Standard deviation of the logarithm of their length.
    pub spread: f64,
    /// How they follow each other.
    pub arrangement: Arrangement,
    /// Long ones a second, 20 to 200 µs each, at random moments.
    pub long_per_second: f64,
    /// Whether what an interruption evicted from L1 and L2 is fetched again in the block after it.
    pub refill: bool,
}

impl Default for Interruptions {
    /// A guest on a busy hypervisor, as recorded.
    fn default() -> Self {
        Self {
            per_second: 18_000.0,
            median_ns: 2_300.0,
            spread: 0.5,
            arrangement: Arrangement::Periodic { jitter: 0.5 },
            long_per_second: 30.0,
            refill: true,
        }
    }
}

impl FromStr for Interruptions {
    type Err = String;

    /// Number a second, median length in µs, arrangement, long ones a second: `18000:2.3:periodic:30`.
    fn from_str(text: &str) -> Result<Self, String> {
        /// More would leave hardly any time for work.
        const MOST: f64 = 0.8;
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        let arrangement = |text: &str| match text {
            "periodic" => Some(Self::default().arrangement),
            "bursty" => Some(Arrangement::Bursty { share: 0.2, seconds: 0.01 }),
            "random" => Some(Arrangement::Random),
            _ => None,
        };
        let plan = |text: &str| {
            let [rate, us, how, long] = text.split(':').collect::<Vec<&str>>().try_into().ok()?;
            let (arrangement, median_ns) = (arrangement(how)?, number(us)? * 1e3);
            let plan = Self { per_second: number(rate)?, median_ns, arrangement, ..Self::default() };
            Some(Self { long_per_second: number(long)?, ..plan }).filter(|plan| plan.load() <= MOST)
        };
        plan(text).ok_or_else(|| {
            format!("'{text}': write interruptions a second, µs, how, and long ones a second: 18000:2.3:periodic:30")
        })
    }
}

/// How interruptions follow each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrangement {
    /// At equal distances, each displaced by up to half of this share of the distance (at most 1).
    Periodic {
        /// The share.
        jitter: f64,
    },
    /// All of them in bursts, at random moments within a burst.
    Bursty {
        /// Share of the time in bursts.
        share: f64,
        /// Seconds of a burst, in whole milliseconds. In each stretch of `seconds / share` one is somewhere.
        seconds: f64,
    },
    /// At random moments.
    Random,
}

/// What interruptions took of a cpu over some time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Taken {
    /// Interruptions below 20 µs.
    pub short: TakenRate,
    /// All others.
    pub long: TakenRate,
}

/// Number and time of interruptions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TakenRate {
    /// Interruptions a second.
    pub per_second: f64,
    /// Share of the time that they took.
    pub share: f64,
}

impl Interruptions {
    /// What interruptions take of a cpu in the first so many seconds of a run with this seed.
    #[must_use]
    pub fn seen(&self, seconds: f64, cpu: CpuId, seed: u64) -> Taken {
        let mut taken = Taken::default();
        let mut own = Interrupter::new(self, cpu, seed, 0.0);
        while let Some((from, to)) = own.next_before(seconds * 1e9) {
            let kind = if to - from < SHORT_NS { &mut taken.short } else { &mut taken.long };
            kind.per_second += 1.0 / seconds;
            kind.share += (to - from) / 1e9 / seconds;
        }
        taken
    }

    /// The largest share of the time, of that in bursts, that they ask for. From 1 on a thread would never get ahead.
    #[must_use]
    pub fn load(&self) -> f64 {
        let dense = match self.arrangement {
            Arrangement::Bursty { share, .. } => self.per_second / share,
            _ => self.per_second,
        };
        let mean = self.median_ns.clamp(LENGTHS_NS.start, LENGTHS_NS.end) * (self.spread * self.spread / 2.0).exp();
        (dense * mean + self.long_per_second * LONG_NS.end) / 1e9
    }

    /// How much longer the block after an interruption is, ns, in a cache level (0 is the first).
    pub(super) fn refill_ns(&self, level: u64, is_stream: bool) -> f64 {
        let of_level = REFILL_NS.get(level as usize).filter(|_| self.refill);
        of_level.map_or(0.0, |kinds| kinds[usize::from(is_stream)])
    }

    /// Draws the interruptions that begin in a slot, by their beginning: beginning and end, ns.
    fn draw(&self, cpu_seed: u64, slot: u64, into: &mut Vec<(f64, f64)>) {
        into.clear();
        let mut rng = Rng::new(split_mix(cpu_seed ^ slot.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let (from, to) = (slot as f64 * SLOT_NS, (slot + 1) as f64 * SLOT_NS);
        let short = |rng: &mut Rng| {
            (self.median_ns * (self.spread * rng.normal()).exp()).clamp(LENGTHS_NS.start, LENGTHS_NS.end)
        };
        match self.arrangement {
            Arrangement::Periodic { jitter } if self.per_second > 0.0 => {
                let apart = 1e9 / self.per_second;
                let phase = Rng::new(cpu_seed).unit();
                let mut number = (from / apart - phase).ceil();
                while (number + phase) * apart < to {
                    let begin = (number + phase + jitter.clamp(0.0, 1.0) * (rng.unit() - 0.5)) * apart;
                    into.push((begin, begin + short(&mut rng)));
                    number += 1.0;
                }
            }
            Arrangement::Periodic { .. } => {}
            Arrangement::Bursty { share, seconds } => {
                let burst = (seconds * 1e9 / SLOT_NS).round().max(1.0);
                let stretch = (burst / share).round().max(burst);
                let begins = Rng::new(split_mix(!cpu_seed ^ (slot / stretch as u64))).unit() * (stretch - burst + 1.0);
                let is_on = (0..burst as u64).contains(&(slot % stretch as u64).wrapping_sub(begins as u64));
                let per_second = if is_on { self.per_second * stretch / burst } else { 0.0 };
                at_random(&mut rng, per_second, from..to, into, short);
            }
            Arrangement::Random => at_random(&mut rng, self.per_second, from..to, into, short),
        }
        let long = |rng: &mut Rng| LONG_NS.start * (rng.unit() * (LONG_NS.end / LONG_NS.start).ln()).exp();
        at_random(&mut rng, self.long_per_second, from..to, into, long);
        into.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    }
}

/// A Poisson process over a span of time.
fn at_random(
    rng: &mut Rng,
    per_second: f64,
    span: Range<f64>,
    into: &mut Vec<(f64, f64)>,
    length: impl Fn(&mut Rng) -> f64,
) {
    // None come where the rate is 0: the distance is infinite.
    let apart = |rng: &mut Rng| -(1.0 - rng.unit()).ln() * 1e9 / per_second;
    let mut at = span.start + apart(rng);
    while at < span.end {
        into.push((at, at + length(rng)));
        at += apart(rng);
    }
}

/// The interruptions of one cpu in order, from some moment on. Those that overlap are one.
pub(super) struct Interrupter<'a> {
    plan: &'a Interruptions,
    cpu_seed: u64,
    slot: u64,
    drawn: Vec<(f64, f64)>,
    index: usize,
    /// Read in advance.
    next: (f64, f64),
}

impl<'a> Interrupter<'a> {
    /// From this moment of the simulated run on, ns.
    pub(super) fn new(plan: &'a Interruptions, cpu: CpuId, seed: u64, at: f64) -> Self {
        let cpu_seed = split_mix(seed ^ split_mix(0x1e7e ^ u64::from(cpu)));
        // One that began in the slot before may last.
        let slot = ((at / SLOT_NS) as u64).saturating_sub(1);
        let mut own = Self { plan, cpu_seed, slot, drawn: Vec::new(), index: 0, next: (f64::INFINITY, f64::INFINITY) };
        if plan.per_second > 0.0 || plan.long_per_second > 0.0 {
            plan.draw(cpu_seed, slot, &mut own.drawn);
            own.advance();
            while own.next.1 <= at {
                own.advance();
            }
        }
        own
    }

    /// The next one as it was drawn.
    fn drawn(&mut self) -> (f64, f64) {
        while self.index == self.drawn.len() {
            self.slot += 1;
            self.index = 0;
            self.plan.draw(self.cpu_seed, self.slot, &mut self.drawn);
        }
        self.drawn[self.index]
    }

    fn advance(&mut self) {
        self.next = self.drawn();
        self.index += 1;
        while self.drawn().0 <= self.next.1 {
            self.next.1 = self.next.1.max(self.drawn().1);
            self.index += 1;
        }
    }

    /// The next one that begins before this moment.
    fn next_before(&mut self, until: f64) -> Option<(f64, f64)> {
        let next = self.next;
        if next.0 >= until {
            return None;
        }
        self.advance();
        Some(next)
    }

    /// Time taken of work that begins at `from` and needs `work` ns of the cpu, ns.
    pub(super) fn taken(&mut self, from: f64, work: f64) -> f64 {
        let mut taken = 0.0;
        while let Some((begin, end)) = self.next_before(from + work + taken) {
            taken += (end - begin.max(from)).max(0.0);
        }
        taken
    }

    /// What a loop sees that reads the clock from this moment on for so many ns.
    pub(super) fn watch(&mut self, from: f64, ns: f64) -> IdleWatch {
        let mut watch = IdleWatch { ns, gaps_ns: Vec::new() };
        while let Some((begin, end)) = self.next_before(from + ns) {
            let gap = end - begin.max(from);
            if gap >= LEAST_GAP_NS {
                watch.gaps_ns.push(gap as f32);
            }
            // The last one ends the loop late.
            watch.ns = watch.ns.max(end - from);
        }
        watch
    }
}

#[cfg(test)]
mod tests;
