//! Simulated visits whose true level is known.

use tiermark_stats::{Rng, VisitValue};

/// Simulated visits, and the truth about them.
pub(super) struct Run {
    pub(super) visits: Vec<VisitValue>,
    /// The level, or the mean of noise.
    pub(super) truth: f64,
}

fn between(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * rng.unit()
}

/// An exponential deviate with mean 1.
fn exponential(rng: &mut Rng) -> f64 {
    -(1.0 - rng.unit()).ln()
}

/// When visits are: 20 to 150 over 10 to 60 s.
fn times(rng: &mut Rng) -> Vec<f64> {
    let (count, span) = (20 + rng.below(131), between(rng, 10.0, 60.0));
    (0..count).map(|visit| (visit as f64 + 0.8 * rng.unit()) * span / count as f64).collect()
}

/// Shapes of noise with one peak.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Noise {
    Normal,
    Lognormal,
    /// A gamma with a skewness of 0.5, its long tail to the fast side.
    FastTail,
    /// The same with its tail to the slow side.
    SlowTail,
}

pub(super) const NOISES: [Noise; 4] = [Noise::Normal, Noise::Lognormal, Noise::FastTail, Noise::SlowTail];

/// A deviate with mean 0 and variance 1.
fn deviate(noise: Noise, rng: &mut Rng) -> f64 {
    // The sum of 16 exponentials has a mean of 16, a standard deviation of 4 and a skewness of 0.5.
    let gamma = |rng: &mut Rng| ((0..16).map(|_| exponential(rng)).sum::<f64>() - 16.0) / 4.0;
    match noise {
        Noise::Normal | Noise::Lognormal => rng.normal(),
        Noise::FastTail => gamma(rng),
        Noise::SlowTail => -gamma(rng),
    }
}

/// Noise with one peak, a mean of 1, and nothing piled up.
pub(super) fn noise(noise: Noise, sd: f64, seed: u64) -> Run {
    let mut rng = Rng::new(seed);
    let visits = times(&mut rng).into_iter().map(|at| {
        let z = deviate(noise, &mut rng);
        let value = if noise == Noise::Lognormal { (sd * z - sd * sd / 2.0).exp() } else { 1.0 + sd * z };
        VisitValue { at, value }
    });
    Run { visits: visits.collect(), truth: 1.0 }
}

/// Normal noise that wanders: each visit is correlated with the one before it, over so many seconds.
pub(super) fn wandering(sd: f64, seconds: f64, seed: u64) -> Run {
    let mut rng = Rng::new(seed);
    let (mut own, mut before) = (rng.normal(), 0.0);
    let visits = times(&mut rng).into_iter().map(|at| {
        let kept: f64 = (-(at - before) / seconds).exp();
        own = kept * own + (1.0 - kept * kept).sqrt() * rng.normal();
        before = at;
        VisitValue { at, value: 1.0 + sd * own }
    });
    Run { visits: visits.collect(), truth: 1.0 }
}

/// What the visits away from the level are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Rest {
    /// Delays with an exponential law and a mean of 3 to 40 %, one a visit.
    Delays,
    /// One or two other states at 0.5 to 0.9 of the rate.
    States,
    /// A pile of most of the rest at 0.93 of the rate.
    Second,
}

pub(super) const RESTS: [Rest; 3] = [Rest::Delays, Rest::States, Rest::Second];

/// What a planted machine is; two runs of it differ in their seed only.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planted {
    rest: Rest,
    /// Standard deviation of visits at the level.
    sd: f64,
    share: f64,
    delay: f64,
    states: [f64; 2],
}

impl Planted {
    pub(super) fn new(rest: Rest, seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x5eed);
        Self {
            rest,
            sd: between(&mut rng, 0.002, 0.006),
            share: between(&mut rng, 0.15, 0.6),
            delay: between(&mut rng, 0.03, 0.4),
            states: [between(&mut rng, 0.5, 0.9), between(&mut rng, 0.5, 0.9)],
        }
    }

    /// A run with so many visits too fast.
    pub(super) fn run(&self, lucky: usize, seed: u64) -> Run {
        let mut rng = Rng::new(seed);
        let times = times(&mut rng);
        let count = times.len();
        let mut order: Vec<usize> = (0..count).collect();
        (1..count).rev().for_each(|last| order.swap(last, rng.below(last + 1)));
        // Two visits at least: what is seen once cannot be known from luck.
        let at_level = ((self.share * count as f64).ceil() as usize).max(2);
        let visit = |(at, rank): (f64, usize)| {
            let level = match rank {
                rank if rank >= count - lucky => 1.0 + between(&mut rng, 0.05, 0.4),
                rank if rank < at_level => 1.0,
                _ => self.slower(&mut rng),
            };
            VisitValue { at, value: level * (1.0 + self.sd * rng.normal()) }
        };
        Run { visits: times.into_iter().zip(order).map(visit).collect(), truth: 1.0 }
    }

    /// The level of a visit that is disturbed.
    fn slower(&self, rng: &mut Rng) -> f64 {
        match self.rest {
            Rest::States => self.states[rng.below(2)],
            Rest::Second if rng.below(3) > 0 => 0.93,
            Rest::Delays | Rest::Second => 1.0 / (1.0 + self.delay * exponential(rng)),
        }
    }
}
