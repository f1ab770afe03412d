//! Simulated visits whose true level is known.

use tiermark_stats::{Rng, VisitWindows};

/// Simulated visits, and the truth about them.
pub(crate) struct Run {
    pub(crate) visits: Vec<VisitWindows>,
    /// The level, or the mean of noise.
    pub(crate) truth: f64,
    /// Visits at the level.
    pub(crate) at_level: usize,
}

/// A whole number from `low` to `high`.
fn whole(rng: &mut Rng, low: usize, high: usize) -> usize {
    low + rng.below(high - low + 1)
}

fn between(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * rng.unit()
}

/// An exponential deviate with mean 1.
fn exponential(rng: &mut Rng) -> f64 {
    -(1.0 - rng.unit()).ln()
}

/// When visits are: 20 to 150 over 10 to 60 s.
pub(crate) fn times(rng: &mut Rng) -> Vec<f64> {
    let (count, span) = (whole(rng, 20, 150), between(rng, 10.0, 60.0));
    (0..count).map(|visit| (visit as f64 + 0.8 * rng.unit()) * span / count as f64).collect()
}

/// Shapes of noise with one peak.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    Normal,
    Lognormal,
    /// A gamma with a skewness of 0.5, its long tail to the fast side.
    FastTail,
    /// The same with its tail to the slow side.
    SlowTail,
}

pub(crate) const NOISES: [Noise; 4] = [Noise::Normal, Noise::Lognormal, Noise::FastTail, Noise::SlowTail];

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
pub(crate) fn noise(noise: Noise, sd: f64, correlation: f64, seed: u64) -> Run {
    let mut rng = Rng::new(seed);
    let visits = times(&mut rng).into_iter().map(|at| {
        let own = deviate(noise, &mut rng);
        let windows = whole(&mut rng, 6, 8);
        let value = |_| {
            let z = correlation.sqrt() * own + (1.0 - correlation).sqrt() * deviate(noise, &mut rng);
            if noise == Noise::Lognormal { (sd * z - sd * sd / 2.0).exp() } else { 1.0 + sd * z }
        };
        VisitWindows { at, values: (0..windows).map(value).collect() }
    });
    Run { visits: visits.collect(), truth: 1.0, at_level: 0 }
}

/// Normal noise that wanders: each visit's part is correlated with the one before it, over so many seconds.
pub(crate) fn wandering(sd: f64, seconds: f64, seed: u64) -> Run {
    let mut rng = Rng::new(seed);
    let (mut own, mut before) = (rng.normal(), 0.0);
    let visits = times(&mut rng).into_iter().map(|at| {
        let kept: f64 = (-(at - before) / seconds).exp();
        own = kept * own + (1.0 - kept * kept).sqrt() * rng.normal();
        before = at;
        let windows = whole(&mut rng, 6, 8);
        let value = |_| 1.0 + sd * (0.95 * own + 0.31 * rng.normal());
        VisitWindows { at, values: (0..windows).map(value).collect() }
    });
    Run { visits: visits.collect(), truth: 1.0, at_level: 0 }
}

/// What the visits away from the level are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rest {
    /// Delays with an exponential law and a mean of 3 to 40 %, one a visit.
    Delays,
    /// One or two other states at 0.5 to 0.9 of the rate.
    States,
    /// Visits of which half of the windows are delayed.
    Partly,
    /// Delays, and half of the windows of the visits at the level are delayed, too.
    Half,
    /// A pile of most of the rest at 0.93 of the rate.
    Second,
}

pub(crate) const RESTS: [Rest; 5] = [Rest::Delays, Rest::States, Rest::Partly, Rest::Half, Rest::Second];

/// What a planted machine is; two runs of it differ in their seed only.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planted {
    pub(crate) rest: Rest,
    /// Standard deviation of windows at the level.
    pub(crate) sd: f64,
    pub(crate) share: f64,
    delay: f64,
    states: [f64; 2],
}

impl Planted {
    pub(crate) fn new(rest: Rest, seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x5eed);
        Self {
            rest,
            sd: between(&mut rng, 0.002, 0.006),
            share: between(&mut rng, 0.08, 0.6),
            delay: between(&mut rng, 0.03, 0.4),
            states: [between(&mut rng, 0.5, 0.9), between(&mut rng, 0.5, 0.9)],
        }
    }

    /// A run with so many visits too fast.
    pub(crate) fn run(&self, lucky: usize, seed: u64) -> Run {
        let mut rng = Rng::new(seed);
        let times = times(&mut rng);
        let count = times.len();
        let mut order: Vec<usize> = (0..count).collect();
        (1..count).rev().for_each(|last| order.swap(last, rng.below(last + 1)));
        // Two visits at least: what is seen once cannot be known from luck.
        let at_level = ((self.share * count as f64).ceil() as usize).max(2);
        let mut visits: Vec<VisitWindows> = Vec::new();
        for (at, rank) in times.into_iter().zip(order) {
            let mut values = self.values(rank < at_level, &mut rng);
            if rank >= count - lucky {
                let factor = 1.0 + between(&mut rng, 0.05, 0.4);
                values.iter_mut().for_each(|value| *value = factor * (1.0 + self.sd * rng.normal()));
            }
            visits.push(VisitWindows { at, values });
        }
        Run { visits, truth: 1.0, at_level }
    }

    fn values(&self, is_at_level: bool, rng: &mut Rng) -> Vec<f64> {
        // Part of the noise is the visit's.
        let own = rng.normal();
        let visit = if is_at_level { 1.0 } else { self.slower(rng) };
        let is_mixed = self.rest == if is_at_level { Rest::Half } else { Rest::Partly };
        let windows = whole(rng, 6, 8);
        let value = |_| {
            let noise = self.sd * (0.7 * own + 0.714 * rng.normal());
            let level = if is_mixed && rng.below(2) == 1 { self.delayed(rng) } else { visit };
            level * (1.0 + noise)
        };
        (0..windows).map(value).collect()
    }

    fn delayed(&self, rng: &mut Rng) -> f64 {
        1.0 / (1.0 + self.delay * exponential(rng))
    }

    /// The level of a visit that is disturbed.
    fn slower(&self, rng: &mut Rng) -> f64 {
        match self.rest {
            Rest::States => self.states[rng.below(2)],
            Rest::Second if rng.below(3) > 0 => 0.93,
            Rest::Partly => 1.0,
            Rest::Delays | Rest::Half | Rest::Second => self.delayed(rng),
        }
    }
}
