//! How hits fall as a footprint outgrows a cache.

/// Tables hold one share of hits every this much of ln(footprint / size), up to [`SPAN`] either side: finer than the
/// grid of sizes.
const STEP: f64 = 0.01;
const SPAN: f64 = 5.0;
/// Rounds of the fixed point of [`Kind::Evicted`]: by then it moves less than the noise of any curve.
const ROUNDS: u32 = 60;

/// What makes hits fall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// Least-recently-used replacement and pages in order: every way's worth of lines beyond the size crowds the next
    /// sets, and crowded sets miss all, so that one way beyond the size nothing hits.
    Ways(f64),
    /// None is lost up to the size, then exp(−(x − 1)/width) hit, where x = footprint / size: width 0.27 was measured
    /// on the L2 of a Zen 5; 0.5 is near random replacement.
    Onset(f64),
    /// min(1, 1/x) hit: what is optimal, and what replacement that resists scans comes near.
    Share,
    /// Least-recently-used replacement and small pages at random: the sets that a page takes miss all when more pages
    /// lie there than there are ways. Pages a set are Poisson, and the share of accesses to sets with no more than
    /// `ways` is P(X < ways) (Kessler & Hill, "Page placement algorithms for large real-indexed caches", ACM TOCS
    /// 10(4), 1992).
    Crowded(u32),
    /// The same with replacement that is not least-recently-used: a set of `ways` that k pages share hits as
    /// [`Kind::Onset`] of this width does at x = k/ways. What the L2 of a Zen 5 does on 4 KiB pages: the first sets
    /// miss at half its size, and half of all accesses still hit at 1.2 times its size.
    Softly(u32, f64),
    /// Others evict what was touched, at a constant rate, whatever the footprint: exp(−revisit time) hit, and the time
    /// between two visits grows with the footprint and with the misses, each of which costs the given multiple of a
    /// hit. Half hit at x = 1, which is no size of a cache.
    Evicted(f64),
}

/// Kinds by family. Families are equally likely, and members of a family too, so that one with more members is not
/// favoured. Members are so near to each other that one between them is within [`super::fit`]'s allowance for laws that
/// are not exact.
const FAMILIES: [&[Kind]; 5] = [
    &[Kind::Ways(8.0), Kind::Ways(12.0), Kind::Ways(20.0)],
    &[Kind::Onset(0.12), Kind::Onset(0.18), Kind::Onset(0.27), Kind::Onset(0.36), Kind::Onset(0.5)],
    &[Kind::Share],
    &[Kind::Crowded(8), Kind::Crowded(11), Kind::Crowded(16), Kind::Crowded(23), Kind::Crowded(32)],
    &[Kind::Evicted(1.0), Kind::Evicted(4.0), Kind::Evicted(10.0)],
];
/// One more family, where pages are known to lie at random.
const AT_RANDOM: &[Kind] = &[
    Kind::Softly(8, 0.15),
    Kind::Softly(8, 0.27),
    Kind::Softly(8, 0.5),
    Kind::Softly(16, 0.15),
    Kind::Softly(16, 0.27),
    Kind::Softly(16, 0.5),
];

/// A kind with its table.
#[derive(Debug)]
pub(super) struct Law {
    pub(super) kind: Kind,
    /// ln of the prior.
    pub(super) prior: f64,
    hits: Vec<f64>,
}

impl Law {
    fn new(kind: Kind, prior: f64) -> Self {
        let count = (2.0 * SPAN / STEP).round() as u32;
        let hits = (0..=count).map(|i| share(kind, (f64::from(i) * STEP - SPAN).exp())).collect();
        Self { kind, prior: prior.ln(), hits }
    }

    /// Every law, made once.
    pub(super) fn all() -> &'static [Law] {
        static ALL: std::sync::OnceLock<Vec<Law>> = std::sync::OnceLock::new();
        ALL.get_or_init(|| {
            let prior = |family: &[Kind]| 1.0 / (FAMILIES.len() * family.len()) as f64;
            let families = FAMILIES.iter().chain(std::iter::once(&AT_RANDOM));
            families.flat_map(|f| f.iter().map(move |kind| Law::new(*kind, prior(f)))).collect()
        })
    }

    /// Whether it supposes that pages lie at random and is no sharper for it.
    pub(super) fn is_soft(&self) -> bool {
        matches!(self.kind, Kind::Softly(..))
    }

    /// Whether its size is a cache's.
    pub(super) fn is_cache(&self) -> bool {
        !matches!(self.kind, Kind::Evicted(_))
    }

    /// Whether it is the middle one of its family, for where the end of a level only has to be allowed for.
    pub(super) fn is_typical(&self) -> bool {
        matches!(self.kind, Kind::Ways(12.0) | Kind::Onset(0.27) | Kind::Share | Kind::Crowded(11))
    }

    /// Share of hits at ln(footprint / size).
    pub(super) fn hits(&self, ln_x: f64) -> f64 {
        let place = ((ln_x + SPAN) / STEP).clamp(0.0, (self.hits.len() - 1) as f64);
        let low = (place as usize).min(self.hits.len() - 2);
        self.hits[low] + (place - low as f64) * (self.hits[low + 1] - self.hits[low])
    }
}

/// Share of hits at `x` = footprint / size.
fn share(kind: Kind, x: f64) -> f64 {
    match kind {
        Kind::Ways(ways) => (1.0 - (x - 1.0) * ways).clamp(0.0, 1.0),
        Kind::Onset(width) => (-(x - 1.0).max(0.0) / width).exp(),
        Kind::Share => (1.0 / x).min(1.0),
        Kind::Crowded(ways) => {
            let mean = x * f64::from(ways);
            // P(X = k) from P(X = k − 1); beyond e^-700 nothing is left to add up.
            let (mut term, mut below) = ((-mean).max(-700.0).exp(), 0.0);
            for k in 1..=ways {
                below += term;
                term *= mean / f64::from(k);
            }
            if mean < 700.0 { below } else { 0.0 }
        }
        Kind::Softly(ways, width) => crowded_softly(x, f64::from(ways), width),
        Kind::Evicted(ratio) => {
            // Half hit where the time between visits is ln 2 and an access costs the mean of hit and miss.
            let scale = x * std::f64::consts::LN_2 * 2.0 / (1.0 + ratio);
            (0..ROUNDS).fold(1.0, |hit: f64, _| (-scale * (hit + ratio * (1.0 - hit))).exp())
        }
    }
}

/// [`Kind::Softly`]: pages beside the one accessed are Poisson, k − 1 of them with a mean of x·ways.
fn crowded_softly(x: f64, ways: f64, width: f64) -> f64 {
    /// Nothing hits from here on: exp(−7/0.5).
    const NONE: f64 = 8.0;
    if x > NONE {
        return 0.0;
    }
    let mean = x * ways;
    // Ten standard deviations beyond the mean.
    let most = (mean + 10.0 * mean.sqrt() + 10.0) as u32;
    let (mut term, mut sum) = ((-mean).exp(), 0.0);
    for k in 1..=most {
        sum += term * share(Kind::Onset(width), f64::from(k) / ways);
        term *= mean / f64::from(k);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_fall_from_all_to_none_and_the_priors_are_whole() {
        for law in Law::all() {
            assert!(law.hits(-5.0) > 0.9 && law.hits(4.9) < 0.05, "{:?}", law.kind);
            assert!((-400..400).all(|i| law.hits(f64::from(i) / 80.0) >= law.hits(f64::from(i + 1) / 80.0) - 1e-12));
        }
        let whole: f64 = Law::all().iter().filter(|law| !law.is_soft()).map(|law| law.prior.exp()).sum();
        assert!((whole - 1.0).abs() < 1e-9);
        let evicted = Law::new(Kind::Evicted(4.0), 1.0);
        assert!((evicted.hits(0.0) - 0.5).abs() < 0.01, "{}", evicted.hits(0.0));
    }
}
