//! Families of numbers judged by their mean: a change that all share is seen where each alone may be chance.

use std::collections::BTreeMap;

use tiermark_model::{ChangeVerdict, ComparedFamily, ConditionDifference, Doubt, Interval, RunScatter};
use tiermark_stats::Between;

use crate::evidence::{self, Weighed, between_places};
use crate::judge::{CONFIDENCE, ComparedPair, Members};
use crate::scatter::{Family, Noise, Scatters};
use crate::{LEVEL, Rules};

/// The noise of each family that has a tested number.
pub(crate) fn noises(pairs: &[ComparedPair], scatters: &Scatters) -> BTreeMap<Family, Noise> {
    let mut seen: BTreeMap<Family, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for (family, own, between_runs) in pairs.iter().filter_map(ComparedPair::offsets) {
        let (offsets, scatter) = seen.entry(family.clone()).or_default();
        offsets.extend(own);
        scatter.extend(between_runs);
    }
    let noise = |(family, (offsets, assumed)): (Family, (Vec<f64>, Vec<f64>))| {
        let usual = scatters.of(&family);
        // The variance of a mean is that of all its parts.
        let mean_square = assumed.iter().map(|sd| sd * sd).sum::<f64>() / assumed.len() as f64;
        let scatter = usual.at_least(Some(mean_square.sqrt()).filter(|sd| sd.is_finite()));
        let places = if scatter.runs == 0 { between_places(&offsets).powi(2) } else { 0.0 };
        (family, Noise { scatter, usual, places })
    };
    seen.into_iter().map(noise).collect()
}

/// The mean of a family's differences.
pub(crate) struct Mean {
    pub(crate) family: Family,
    pub(crate) differs: Vec<ConditionDifference>,
    numbers: usize,
    pub(crate) weighed: Weighed,
    less_is_better: bool,
}

/// The means of all families that have at least two tested numbers of a tier.
pub(crate) fn means(
    pairs: &[ComparedPair],
    weighed: &[Option<Weighed>],
    noises: &BTreeMap<Family, Noise>,
) -> Vec<Mean> {
    let mut all: BTreeMap<Members<'_>, (Vec<Weighed>, bool)> = BTreeMap::new();
    for (pair, weighed) in pairs.iter().zip(weighed) {
        if let (Some((family, less_is_better)), Some(weighed)) = (pair.family(), weighed) {
            all.entry(family).or_insert_with(|| (Vec::new(), less_is_better)).0.push(*weighed);
        }
    }
    let mean = |((family, differs), (numbers, less_is_better)): (Members<'_>, (Vec<Weighed>, bool))| {
        let n = numbers.len();
        let sum = |field: fn(&Weighed) -> f64| numbers.iter().map(field).sum::<f64>();
        // Where some numbers are of fewer runs, the widest.
        let factor = numbers.iter().map(|one| one.factor).fold(0.0, f64::max);
        let own = sum(|one| one.own) / (n * n) as f64;
        let scatter = noises.get(family)?.scatter;
        let weighed = evidence::weighed(sum(|one| one.difference) / n as f64, own, factor, n, scatter)?;
        let (family, differs) = (family.clone(), differs.to_vec());
        (n > 1).then_some(Mean { family, differs, numbers: n, weighed, less_is_better })
    };
    all.into_iter().filter_map(mean).collect()
}

impl Mean {
    /// The family with its verdict, by the p-value that counts for all tests.
    pub(crate) fn judged(&self, p_value: f64, rules: Rules) -> ComparedFamily {
        let value = self.weighed.difference.exp();
        let exact = Between { value, low: value, high: value };
        let wide = evidence::widened(exact, self.weighed.whole);
        let is_beyond = |ratio: f64| (ratio - 1.0).abs() > rules.threshold;
        let verdict = match (is_beyond(value), p_value <= LEVEL) {
            (true, true) if self.less_is_better == (value < 1.0) => ChangeVerdict::Better,
            (true, true) => ChangeVerdict::Worse,
            (true, false) => ChangeVerdict::Unsure(Doubt::MayBeChance),
            (false, _) => ChangeVerdict::Same,
        };
        ComparedFamily {
            quantity: self.family.quantity.clone(),
            tier: self.family.tier.clone(),
            differs: self.differs.clone(),
            figures: self.numbers as u64,
            change: value - 1.0,
            interval: Interval { low: wide.low - 1.0, high: wide.high - 1.0, level: CONFIDENCE },
            p_value,
            verdict,
        }
    }
}

/// The scatter of each family as a comparison reports it.
pub(crate) fn reported(noises: &BTreeMap<Family, Noise>) -> Vec<RunScatter> {
    let one = |(family, Noise { scatter, .. }): (&Family, &Noise)| RunScatter {
        quantity: family.quantity.clone(),
        tier: family.tier.clone(),
        sd: scatter.of_one(),
        common: scatter.common,
        runs: scatter.runs as u64,
    };
    noises.iter().map(one).collect()
}
