//! One hypothesis held against the samples: weighted least squares, with a mixture that lets samples be too high.

use super::{Sample, law::Law};

/// Share of samples that were disturbed in every visit. Latencies of a curve's lower envelope are wrong upwards only.
const DISTURBED: f64 = 0.08;
/// A disturbed sample is up to a factor of 3 too high (in the logarithm), any factor as likely as another.
const LN_DISTURBED_FACTOR: f64 = 1.098_612_288_668_109_8;
/// Standard deviations beyond which a sample is certainly not a good one.
const FARTHEST: f64 = 30.0;
const ROOT_OF_TWO_PI: f64 = 2.506_628_274_631_000_7;
/// Share of samples that no hypothesis explains, on either side: keeps one from ruling out all.
const UNEXPLAINED: f64 = 1e-4;
/// No law is exact: half-way, the share of hits is off by this much (standard deviation).
pub(super) const INEXACT: f64 = 0.04;
/// Solutions of the least squares, each with the weights of the one before it (the EM algorithm): it settles in two or
/// three. The noise is taken for this many times larger at first, so that samples which a term not yet fitted would
/// explain are not held for disturbed (annealing: Ueda & Nakano, "Deterministic annealing EM algorithm", Neural
/// Networks 11(2), 1998).
const ANNEALED: [f64; 3] = [4.0, 1.0, 1.0];
/// As above where translation is a term, of which nothing is known beforehand.
const ANNEALED_BENT: [f64; 4] = [40.0, 6.0, 1.5, 1.0];
/// Terms of the model: the level below, the level above, what a miss of translation adds, and [`Extra`].
const TERMS: usize = 4;

/// One more term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extra {
    None,
    /// The level above climbs with the footprint, as it does where others evict more the longer a line lies.
    Climb,
    /// The level below still serves a part, which falls as 1/footprint.
    Below,
}

/// What is supposed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hypothesis<'a> {
    /// How the level ends and its size; `None` where it does not end.
    pub(super) end: Option<(&'a Law, f64)>,
    /// Bytes that translation reaches.
    pub(super) reach: Option<f64>,
    pub(super) extra: Extra,
    /// The level above is at least this multiple of the level.
    pub(super) rise: f64,
    /// Half-way, the share of hits is off by this much (standard deviation): [`INEXACT`], or more where allocations
    /// differ.
    pub(super) inexact: f64,
}

/// A hypothesis with the coefficients that fit best.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit {
    /// ln of the likelihood.
    pub(super) likelihood: f64,
    /// Level, level above, translation, extra; 0 where there is no such term.
    pub(super) terms: [f64; TERMS],
    /// Samples that the hypothesis holds for disturbed or does not explain, as a share.
    pub(super) outside: f64,
}

impl Hypothesis<'_> {
    /// The terms' factors for one sample; `first` is the smallest footprint of all.
    fn row(&self, sample: &Sample, ln_size: f64, first: f64) -> [f64; TERMS] {
        let (hits, climb) = match self.end {
            Some((law, size)) => (law.hits(ln_size - size.ln()), sample.size / size - 1.0),
            None => (1.0, 0.0),
        };
        let misses = 1.0 - hits;
        // Pages come in random order within the cycle of lines, so a full buffer holds any one with probability
        // reach/footprint.
        let walks = self.reach.map_or(0.0, |reach| (1.0 - reach / sample.size).max(0.0));
        let extra = match self.extra {
            Extra::None => 0.0,
            Extra::Climb => misses * climb.max(0.0),
            Extra::Below => -hits * first / sample.size,
        };
        [hits, misses, walks, extra]
    }

    /// How far each sample lies off the model, in standard deviations.
    pub(super) fn off(&self, samples: &[Sample], terms: &[f64; TERMS]) -> Vec<f64> {
        let off = |s: &Sample| {
            let row = self.row(s, s.size.ln(), samples[0].size);
            (s.value / value(&row, terms)).ln().abs() / sigma(s, &row, terms, 1.0, self.inexact)
        };
        samples.iter().map(off).filter(|z| z.is_finite()).collect()
    }

    fn uses(&self) -> [bool; TERMS] {
        [true, self.end.is_some(), self.reach.is_some(), self.extra != Extra::None]
    }

    /// Fits it, from the levels `start`; `None` where the best coefficients are impossible.
    ///
    /// `ln_sizes` are those of the samples, which thousands of hypotheses share.
    pub(super) fn fit(
        &self,
        samples: &[Sample],
        ln_sizes: &[f64],
        start: (f64, f64),
        sigma_factor: f64,
    ) -> Option<Fit> {
        let rows: Vec<[f64; TERMS]> =
            samples.iter().zip(ln_sizes).map(|(s, ln)| self.row(s, *ln, samples[0].size)).collect();
        let mut terms = [start.0, start.1, 0.0, 0.0];
        let rounds: &[f64] = if self.reach.is_some() { &ANNEALED_BENT } else { &ANNEALED };
        for round in rounds {
            terms = self.solve(samples, &rows, &terms, sigma_factor * round)?;
        }
        let [below, above, translation, extra] = terms;
        let rises = self.end.is_none() || above >= self.rise * below;
        if below <= 0.0 || !rises || translation < 0.0 || extra < 0.0 {
            return None;
        }
        let (mut likelihood, mut outside) = (0.0, 0.0);
        for (sample, row) in samples.iter().zip(&rows) {
            let Density { density, inlier, .. } = density(sample, row, &terms, sigma_factor, self.inexact);
            likelihood += density.ln();
            outside += 1.0 - inlier;
        }
        Some(Fit { likelihood, terms, outside: outside / samples.len() as f64 })
    }

    fn solve(
        &self,
        samples: &[Sample],
        rows: &[[f64; TERMS]],
        last: &[f64; TERMS],
        factor: f64,
    ) -> Option<[f64; TERMS]> {
        let uses = self.uses();
        let mut normal = [[0.0; TERMS + 1]; TERMS];
        for (sample, row) in samples.iter().zip(rows) {
            let Density { inlier, sigma, .. } = density(sample, row, last, factor, self.inexact);
            let weight = inlier.max(1e-6) / (sample.value * sigma).powi(2);
            for i in 0..TERMS {
                for j in i..TERMS {
                    normal[i][j] += weight * row[i] * row[j];
                }
                normal[i][TERMS] += weight * row[i] * sample.value;
            }
        }
        let upper = normal;
        for (i, row) in normal.iter_mut().enumerate() {
            for (j, x) in row.iter_mut().enumerate().take(TERMS) {
                // Symmetric; a term that is not used is 0.
                let used = uses[i] && uses[j];
                *x = if used { upper[i.min(j)][i.max(j)] } else { f64::from(u8::from(i == j)) };
            }
            row[TERMS] *= f64::from(u8::from(uses[i]));
        }
        solved(normal)
    }
}

fn value(row: &[f64; TERMS], terms: &[f64; TERMS]) -> f64 {
    row.iter().zip(terms).map(|(x, c)| x * c).sum()
}

/// Relative standard deviation of a sample from a law: its own, and the law's.
fn sigma(sample: &Sample, row: &[f64; TERMS], terms: &[f64; TERMS], factor: f64, inexact: f64) -> f64 {
    let inexact = inexact * 4.0 * row[0] * row[1] * (terms[1] - terms[0]).abs() / sample.value;
    // Neither is near the limits of a float, where hypot would be needed: it is several times slower.
    let own = sample.sigma * factor;
    (own * own + inexact * inexact).sqrt()
}

/// A sample under the model's value.
struct Density {
    /// Of ln(value).
    density: f64,
    /// Probability that it is neither disturbed nor unexplained.
    inlier: f64,
    /// Relative standard deviation.
    sigma: f64,
}

/// Density of a sample under the model's value. A mixture of good and bad samples as in Hogg, Bovy & Lang 2010, "Data
/// analysis recipes: fitting a model to data" (arXiv 1008.4686), section 3; bad ones lie above.
fn density(sample: &Sample, row: &[f64; TERMS], terms: &[f64; TERMS], sigma_factor: f64, inexact: f64) -> Density {
    let sigma = sigma(sample, row, terms, sigma_factor, inexact);
    let off = (sample.value / value(row, terms).max(f64::MIN_POSITIVE)).ln();
    let z = off / sigma;
    // Beyond, exp is next to nothing and takes several times as long.
    let bell = if z.abs() < FARTHEST { (-0.5 * z * z).exp() } else { 0.0 };
    let good = (1.0 - DISTURBED) * bell / (sigma * ROOT_OF_TWO_PI);
    let range = LN_DISTURBED_FACTOR;
    let high = if off > 0.0 && off < range { DISTURBED / range } else { 0.0 };
    let density = good + high + UNEXPLAINED / range;
    Density { density, inlier: good / density, sigma }
}

/// Gaussian elimination with partial pivoting; `None` if the terms are linearly dependent.
fn solved(mut m: [[f64; TERMS + 1]; TERMS]) -> Option<[f64; TERMS]> {
    /// A pivot this small beside the diagonal it began with is rounding.
    const SINGULAR: f64 = 1e-9;
    let scale: [f64; TERMS] = std::array::from_fn(|i| m[i][i].abs());
    for i in 0..TERMS {
        let pivot = (i..TERMS).max_by(|a, b| m[*a][i].abs().total_cmp(&m[*b][i].abs()))?;
        m.swap(i, pivot);
        if m[i][i].abs().partial_cmp(&(SINGULAR * scale[i])) != Some(std::cmp::Ordering::Greater) {
            return None;
        }
        for row in i + 1..TERMS {
            let by = m[row][i] / m[i][i];
            let above = m[i];
            m[row].iter_mut().zip(above).for_each(|(x, a)| *x -= by * a);
        }
    }
    let mut out = [0.0; TERMS];
    for i in (0..TERMS).rev() {
        let rest: f64 = (i + 1..TERMS).map(|j| m[i][j] * out[j]).sum();
        out[i] = (m[i][TERMS] - rest) / m[i][i];
    }
    Some(out)
}
