//! Where a curve of latency by footprint leaves a level, and how well that is known.
//!
//! [`crate::tiers`] cuts a curve into levels; here the end of one level is fitted, with what is not known about it: how
//! the cache replaces its lines, whether pages lie at random, whether others evict it. The answer is a distribution
//! over sizes.

mod fit;
mod law;

use fit::{Extra, Fit, Hypothesis, INEXACT};
use law::Law;

/// One sample of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Footprint.
    pub size: f64,
    /// Lower envelope of the latency there.
    pub value: f64,
    /// Standard error of `value`, relative.
    pub sigma: f64,
}

/// The end of a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transition {
    /// Posterior median of the size at which the level is full.
    pub size: f64,
    /// Lower end of the central 98 % of the posterior.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Value of the level, by the best law.
    pub from: f64,
    /// Value of the level above, by the best law, at the size.
    pub to: f64,
    /// Posterior probability that the level does not end by its size, but hits fall because others evict what was
    /// touched.
    pub evicted: f64,
    /// Share of the samples that the best law takes for disturbed, or does not explain.
    pub outside: f64,
    /// How far the samples lie off the best law, in units of their standard errors: 1 where these are right and the law
    /// is.
    pub misfit: f64,
}

/// A bend inside a level where its pages outgrow a translation buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bend {
    /// Bytes the buffer reaches: one of the candidates.
    pub reach: f64,
    /// What a miss in the buffer adds, in units of the values.
    pub cost: f64,
    /// Value of the level before the bend.
    pub level: f64,
    /// Posterior probability that there is a bend at one of the candidates.
    pub probability: f64,
}

/// The level above is at least this multiple of the level, or nothing ends there.
const RISE: f64 = 1.15;
/// Sizes tried are this far apart (ratio): a fifth of the accuracy that makes a size resolved.
const GRID: f64 = 1.025;
/// The same where only bends are looked for.
const COARSE_GRID: f64 = 1.06;
/// A hypothesis this much (natural logarithm) less likely than the best on the coarse grid is not tried on the fine
/// one, nor are sizes beside it.
const RULED_OUT: f64 = 20.0;
/// Priors of one more term: mostly it has none.
const EXTRAS: [(Extra, f64); 3] = [(Extra::None, 0.6), (Extra::Climb, 0.2), (Extra::Below, 0.2)];
/// Probability left outside of the interval, on each side.
const TAIL: f64 = 0.01;
/// Samples needed: five times the terms of a model would be better, but levels of small caches are short.
const FEWEST: usize = 6;
/// A curve has left its level where two samples in a row, or the last, are this much above it.
const LEFT: f64 = 1.05;
/// Share of the way up at which the level is certainly full, whatever the law.
const FULL: f64 = 0.7;
/// Sizes are tried from this part of where the curve has left its level: crowded sets miss early.
const BEFORE: f64 = 0.9;
/// Up to this multiple of where it is certainly full.
const BEYOND: f64 = 1.15;
/// Noise may turn out this many times what the samples say (waves of a level count as noise); beyond, the fit is bad.
const WAVES: f64 = 8.0;

/// Fits the end of a level to the samples of that level, of the climb behind it and of the beginning of the next level,
/// sorted by size. `levels` are rough values of the two.
///
/// Averages over laws of replacement and of placement (a discrete Bayesian model average: Hoeting, Madigan, Raftery &
/// Volinsky, "Bayesian Model Averaging: A Tutorial", Statistical Science 14(4), 1999), with sizes uniform in their
/// logarithm, coefficients at their best fit, and samples that may be disturbed upwards. The noise is that of the
/// samples, or of the best fit's residuals where these are larger.
///
/// `luck` is the standard deviation of ln(size) that comes from which pages an allocation got; 0 where pages are too
/// large, or sets too few, for that to matter. Each sample is one allocation, so luck is noise of each; but a system
/// may hand out the same pages each time, and then the whole curve is shifted by it: what is known of the size is
/// widened too.
///
/// `None` with fewer than six samples, a value that is not finite and positive, or where the samples never leave the
/// level.
#[must_use]
pub fn transition(samples: &[Sample], levels: (f64, f64), luck: f64) -> Option<Transition> {
    let coarse = sizes(samples, levels, COARSE_GRID)?;
    // Hits fall by about one per unit of ln(size), so that luck of the size is luck of the hits too.
    let inexact = INEXACT.hypot(luck);
    let laws: Vec<&Law> = Law::all().iter().filter(|law| luck > 0.0 || !law.is_soft()).collect();
    let first = fits(samples, levels, &laws, &coarse, (1.0, inexact), |_, _, _| true);
    let best = best(&first)?;
    let factor = noise_factor(samples, best);
    let likely: Vec<&Weighed<'_>> = first.iter().filter(|w| w.weight > best.weight - factor * RULED_OUT).collect();
    // Between the sizes of the coarse grid lies one step of it.
    let step = COARSE_GRID.powf(1.01);
    let near = |law: &Law, extra: Extra, size: f64| {
        let beside = |other: f64| size < other * step && other < size * step;
        likely.iter().any(|w| std::ptr::eq(w.law, law) && w.hypothesis.extra == extra && beside(w.size))
    };
    let posterior = fits(samples, levels, &laws, &sizes(samples, levels, GRID)?, (factor, inexact), near);
    summary(&posterior, luck).map(|found| Transition { misfit: factor, ..found })
}

/// A hypothesis of the posterior.
struct Weighed<'a> {
    hypothesis: Hypothesis<'a>,
    law: &'a Law,
    size: f64,
    fit: Fit,
    /// ln of prior times likelihood.
    weight: f64,
}

fn fits(
    samples: &[Sample],
    levels: (f64, f64),
    laws: &[&'static Law],
    sizes: &[f64],
    (factor, inexact): (f64, f64),
    near: impl Fn(&Law, Extra, f64) -> bool,
) -> Vec<Weighed<'static>> {
    let ln_sizes = ln_sizes(samples);
    let mut out = Vec::new();
    for law in laws {
        for size in sizes {
            for (extra, prior) in EXTRAS {
                if !near(law, extra, *size) {
                    continue;
                }
                let hypothesis = Hypothesis { end: Some((*law, *size)), reach: None, extra, rise: RISE, inexact };
                let Some(fit) = hypothesis.fit(samples, &ln_sizes, levels, factor) else { continue };
                let weight = fit.likelihood + law.prior + prior.ln();
                out.push(Weighed { hypothesis, law, size: *size, fit, weight });
            }
        }
    }
    out
}

fn best<'a, 'b>(weighed: &'b [Weighed<'a>]) -> Option<&'b Weighed<'a>> {
    weighed.iter().max_by(|a, b| a.weight.total_cmp(&b.weight))
}

fn ln_sizes(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|s| s.size.ln()).collect()
}

/// How much noisier the best fit's residuals are than the samples say.
fn noise_factor(samples: &[Sample], best: &Weighed<'_>) -> f64 {
    let mut off = best.hypothesis.off(samples, &best.fit.terms);
    // One with a median: terms that were fitted take up part of the noise.
    let spread = crate::order::median_in_place(&mut off) * crate::special::MAD_TO_SIGMA;
    spread.clamp(1.0, WAVES)
}

fn summary(weighed: &[Weighed<'_>], luck: f64) -> Option<Transition> {
    let best = best(weighed)?;
    let probability = |w: &Weighed<'_>| (w.weight - best.weight).exp();
    let weighed_sizes = |is_cache: bool| -> Vec<(f64, f64)> {
        weighed.iter().filter(|w| w.law.is_cache() == is_cache).map(|w| (w.size, probability(w))).collect()
    };
    let (mut cache, others) = (weighed_sizes(true), weighed_sizes(false));
    let evicted = others.iter().map(|(_, p)| p).sum::<f64>();
    let whole = evicted + cache.iter().map(|(_, p)| p).sum::<f64>();
    if cache.is_empty() {
        // No size fits at all: the range is that of the footprints at which half are evicted.
        cache = others;
    }
    // Thousands of hypotheses share a few dozen sizes.
    cache.sort_by(|a, b| a.0.total_cmp(&b.0));
    cache.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0.0 };
        same
    });
    let quantile = |q: f64| quantile(&cache, q, luck);
    let half = if luck > 0.0 { 1.0 } else { GRID.sqrt() };
    Some(Transition {
        size: quantile(0.5),
        low: quantile(TAIL) / half,
        high: quantile(1.0 - TAIL) * half,
        from: best.fit.terms[0],
        to: best.fit.terms[1],
        evicted: evicted / whole,
        outside: best.fit.outside,
        misfit: 1.0,
    })
}

/// Size at a quantile of weighed sizes, each of them spread by `luck`.
fn quantile(sizes: &[(f64, f64)], q: f64, luck: f64) -> f64 {
    /// Halvings of the range, which is a few octaves: to a millionth.
    const HALVINGS: u32 = 24;
    /// Luck that reaches further has less than 1e-6.
    const SPREAD: f64 = 5.0;
    // Without luck each size stands for its step of the grid.
    let spread = luck.max(GRID.ln() / 12.0_f64.sqrt());
    let all: f64 = sizes.iter().map(|(_, p)| p).sum();
    let below =
        |ln: f64| sizes.iter().map(|(s, p)| p * crate::special::normal_below((ln - s.ln()) / spread)).sum::<f64>();
    let (least, most) = sizes.iter().fold((f64::MAX, f64::MIN), |(a, b), (s, _)| (a.min(s.ln()), b.max(s.ln())));
    let range = (least - SPREAD * spread, most + SPREAD * spread);
    let halved = |(low, high): (f64, f64), _| {
        let middle = 0.5 * (low + high);
        if below(middle) < q * all { (middle, high) } else { (low, middle) }
    };
    let (low, high) = (0..HALVINGS).fold(range, halved);
    (0.5 * (low + high)).exp()
}

/// The sizes to try: around where the curve leaves its level.
fn sizes(samples: &[Sample], (from, to): (f64, f64), step: f64) -> Option<Vec<f64>> {
    if samples.len() < FEWEST || !is_usable(samples) || to <= from {
        return None;
    }
    let above = |i: usize, mark: f64| samples.get(i).is_none_or(|s| s.value > mark);
    let crosses = |mark: f64| (0..samples.len()).find(|&i| above(i, mark) && above(i + 1, mark));
    // The last sample still on the level bounds it from below: nothing makes a sample too low.
    let left = crosses(LEFT * from).filter(|i| *i > 0)?;
    let full = crosses(from + FULL * (to - from)).map_or(samples.len() - 1, |i| (i + 1).min(samples.len() - 1));
    let low = BEFORE * samples[left - 1].size;
    let high = BEYOND * samples[full.max(left)].size;
    let count = ((high / low).ln() / step.ln()).ceil() as i32;
    Some((0..=count).map(|i| low * step.powi(i)).collect())
}

fn is_usable(samples: &[Sample]) -> bool {
    let positive = |v: f64| v.is_finite() && v > 0.0;
    samples.iter().all(|s| positive(s.size) && positive(s.value) && positive(s.sigma))
}

/// Looks for a bend at one of the `reaches` within a level, whose end may be among the samples too. `levels` as for
/// [`transition`].
///
/// Accesses to a buffer of pages come in random order, so that beyond its reach the share of misses is 1 − reach/size.
/// That is how some caches are outgrown too: a miss in a buffer costs at most the share `most` of the level, and a
/// level above that is nearer is taken for none. The hypotheses with a bend together have the prior of those without.
///
/// `None` where no hypothesis fits at all, or there is nothing to choose from.
#[must_use]
pub fn bend(samples: &[Sample], levels: (f64, f64), reaches: &[f64], most: f64) -> Option<Bend> {
    if samples.len() < FEWEST || !is_usable(samples) || reaches.is_empty() {
        return None;
    }
    let ends = sizes(samples, levels, COARSE_GRID).unwrap_or_default();
    let laws = Law::all().iter().filter(|law| law.is_typical());
    let ended = laws.flat_map(|law| ends.iter().map(move |size| Some((law, *size))));
    let ends: Vec<Option<(&Law, f64)>> = std::iter::once(None).chain(ended).collect();
    let ln_sizes = ln_sizes(samples);
    let weigh = |reach: Option<f64>, prior: f64| {
        let mut fits = Vec::new();
        for end in &ends {
            // A bend behind the end of its own level does not belong to it.
            if reach.zip(*end).is_some_and(|(reach, (_, size))| reach > INSIDE * size) {
                continue;
            }
            for extra in [Extra::None, Extra::Below] {
                let hypothesis = Hypothesis { end: *end, reach, extra, rise: 1.0 + most, inexact: INEXACT };
                let Some(fit) = hypothesis.fit(samples, &ln_sizes, levels, 1.0) else { continue };
                fits.push((fit.likelihood + prior.ln() + end.map_or(0.0, |(law, _)| law.prior), fit));
            }
        }
        fits
    };
    let none = weigh(None, 0.5);
    let bent: Vec<(f64, Vec<(f64, Fit)>)> =
        reaches.iter().map(|reach| (*reach, weigh(Some(*reach), 0.5 / reaches.len() as f64))).collect();
    let top = none.iter().chain(bent.iter().flat_map(|(_, f)| f)).map(|(w, _)| *w).fold(f64::MIN, f64::max);
    let mass = |fits: &[(f64, Fit)]| fits.iter().map(|(w, _)| (w - top).exp()).sum::<f64>();
    let all: f64 = bent.iter().map(|(_, fits)| mass(fits)).sum();
    let (reach, fits) = bent.iter().max_by(|a, b| mass(&a.1).total_cmp(&mass(&b.1)))?;
    let (_, fit) = fits.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Bend { reach: *reach, cost: fit.terms[2], level: fit.terms[0], probability: all / (all + mass(&none)) })
}

/// A bend lies within this part of its level: nearer to its end it cannot be separated from that end.
const INSIDE: f64 = 0.7;
