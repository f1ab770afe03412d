//! How much the values of one number differ between runs of an unchanged machine: other pages, another hour, another
//! clock. Estimated from the machine's history, else a default.
//!
//! A value (of L1 and L2: per cycle) is, on logarithms, its level, plus an error that all numbers of its family share
//! in a run (the clock, of what is not counted in cycles), plus one of its own (pages). A change of a whole family is
//! judged by the mean, in which own errors cancel and the common one does not. (Two-way random effects: Searle, Casella
//! & McCulloch, "Variance Components", 1992, §4.)

use std::collections::BTreeMap;

use tiermark_model::{Labels, Quantity};
use tiermark_stats::{mad, median};

use crate::kernels;
use crate::scale::Scale;
use crate::series::{OneRun, Reading, by_kernel, newest_series};

/// The fewest runs of a history that scatter is estimated from: with fewer the estimate says less than the default.
pub const FEWEST_RUNS: usize = 5;
/// Runs of a history beyond which older ones are not used: they may be of another system.
pub const MOST_RUNS: usize = 100;

/// The scatter of a machine that is no guest. One number differs by 1 % (0.6 and 0.8 in squares): between six
/// recordings on a quiet guest (2-cpu Zen 4) 57 sharp edges had 0.7 %, and the shared part of rates was 0.2 to 0.9 %. A
/// higher default would hide a loss of 8 % of one number from a run compared with one other.
const MACHINE: Scatter = Scatter { common: 0.006, own: 0.008, degrees: None, runs: 0 };
/// The scatter of a guest. Six surveys of an unchanged guest within 7 minutes (Emerald Rapids) had a shared part of 2.2
/// to 2.6 % in the rates of every tier, since the host's clock changes, and an own part of 0.8 to 2.1 %. Numbers per
/// cycle have the scatter of a machine of its own: 13 surveys of a guest (Zen 5) differed by 0.02 to 0.5 % there.
const GUEST: Scatter = Scatter { common: 0.024, own: 0.014, degrees: None, runs: 0 };

/// The scatter of the share of the time that interruptions take, and of that of the long ones: on an idle guest (Emerald
/// Rapids) it changed within hours from 2.3 to 6.3 %, and from 0.2 to 0.8 %.
const INTERRUPTIONS: Scatter = Scatter { common: 0.0, own: 0.45, degrees: None, runs: 0 };

/// The scatter of the size of a cache that a latency curve shows: twice that of its interval, which is ±3.8 % (98 %). Of
/// 30 quick surveys of simulated servers, with a scatter of 1 % between runs, all resolved L3, within 0.3 % (0.06 %).
const SIZES: Scatter = Scatter { common: 0.0, own: 0.03, degrees: None, runs: 0 };

/// Weight of the default beside an estimate, in degrees of freedom: those of five runs, so that the estimate of five
/// runs and the default count alike (moderated variances: Smyth, Stat. Appl. Genet. Mol. Biol. 3(1), 2004).
const PRIOR: f64 = 4.0;
/// The smallest own part. No recording had less than 0.1 %; three times that, so that numbers that happened to repeat
/// in a few runs are not believed to repeat always.
const FLOOR: f64 = 0.003;
/// Standard deviations beyond which a value counts as one at this distance: one run beside a neighbour must not widen
/// the scatter of all. The rest of a normal distribution then has this share of its variance.
const CLIP: f64 = 2.5;
const CLIPPED_SHARE: f64 = 0.9775;
/// Standard deviation of a normal distribution per MAD.
const MAD_TO_SIGMA: f64 = 1.4826;

/// A quantity and a tier (empty where a number has none), in time or in cycles of the core.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Family {
    pub(crate) quantity: Quantity,
    pub(crate) tier: String,
    /// Whether its numbers are compared per cycle: the clock is no part of their scatter.
    pub(crate) in_cycles: bool,
}

impl Family {
    pub(crate) fn of(quantity: &Quantity, labels: &Labels, in_cycles: bool) -> Self {
        let tier = labels.tier_name().unwrap_or_default().to_owned();
        Self { quantity: quantity.clone(), tier, in_cycles }
    }
}

/// Standard deviations of the logarithm of a value between runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scatter {
    /// Of the part that the numbers of a family share.
    pub common: f64,
    /// Of the part of each number.
    pub own: f64,
    /// Degrees of freedom of both; `None` of a default, which counts as known.
    pub degrees: Option<[f64; 2]>,
    /// Runs that it was estimated from; 0 of a default.
    pub runs: usize,
}

impl Scatter {
    /// The default of a machine.
    #[must_use]
    pub fn by_default(is_guest: bool) -> Self {
        if is_guest { GUEST } else { MACHINE }
    }

    /// The standard deviation of one number.
    #[must_use]
    pub fn of_one(&self) -> f64 {
        self.common.hypot(self.own)
    }

    /// The default of a quantity.
    #[must_use]
    pub fn of_quantity(quantity: &Quantity, is_guest: bool) -> Self {
        match quantity {
            Quantity::TierSize => SIZES,
            quantity if quantity.is_of_interruptions() => INTERRUPTIONS,
            _ => Self::by_default(is_guest),
        }
    }

    /// The same of numbers that are counted in cycles of the core: the clock is no part of them.
    #[must_use]
    pub fn in_cycles() -> Self {
        MACHINE
    }

    /// The default, widened to this standard deviation of one number: what the intervals of its numbers assume, if that
    /// is more. What a history shows stays.
    #[must_use]
    pub(crate) fn at_least(self, of_one: Option<f64>) -> Self {
        let factor = of_one.filter(|_| self.runs == 0).map_or(1.0, |sd| (sd / self.of_one()).max(1.0));
        Self { common: factor * self.common, own: factor * self.own, ..self }
    }

    /// Variance of the mean of so many numbers of a run.
    #[must_use]
    pub fn variance(&self, numbers: usize) -> f64 {
        self.common.powi(2) + self.own.powi(2) / numbers.max(1) as f64
    }

    /// Degrees of freedom of a variance of which this scatter is a part with this factor, and the rest is known:
    /// Satterthwaite, Biometrics Bulletin 2(6), 1946.
    pub(crate) fn degrees(&self, numbers: usize, factor: f64, whole: f64) -> f64 {
        let Some([common, own]) = self.degrees else { return f64::INFINITY };
        let term = |variance: f64, degrees: f64| (factor * variance).powi(2) / degrees;
        let sum = term(self.common.powi(2), common) + term(self.own.powi(2) / numbers.max(1) as f64, own);
        if sum > 0.0 { whole.powi(2) / sum } else { f64::INFINITY }
    }
}

/// The scatter of each family of a machine.
#[derive(Debug, Clone)]
pub struct Scatters {
    default: Scatter,
    families: BTreeMap<Family, Scatter>,
}

impl Scatters {
    /// The default for all families.
    #[must_use]
    pub fn by_default(is_guest: bool) -> Self {
        Self { default: Scatter::by_default(is_guest), families: BTreeMap::new() }
    }

    /// Estimates from runs of one machine, oldest first; the default for families that fewer than [`FEWEST_RUNS`] runs
    /// have. Only values that are comparable with the newest count, so that all are of its version of a method.
    #[must_use]
    pub fn of_history(runs: &[OneRun<'_>], is_guest: bool) -> Self {
        let default = Scatter::by_default(is_guest);
        let runs = &runs[runs.len().saturating_sub(MOST_RUNS)..];
        let mut families: BTreeMap<Family, Vec<Vec<(&str, f64)>>> = BTreeMap::new();
        let about = kernels::of_newest(runs);
        let runs = by_kernel(runs, &about);
        for series in newest_series(&runs) {
            let Some((_, figure)) = series.first() else { continue };
            // A bound says on one side only where the number is.
            let sharp: Vec<Reading<'_>> = series.iter().filter(|(_, figure)| !figure.is_open).copied().collect();
            let mut scales = vec![Scale::Time];
            scales
                .extend(Some(Scale::of(sharp.iter().map(|(_, figure)| *figure))).filter(|scale| *scale != Scale::Time));
            for scale in scales {
                let values = sharp.iter().map(|(run, figure)| (run.id, scale.value(figure).ln()));
                let values: BTreeMap<&str, f64> = values.collect();
                if values.len() >= FEWEST_RUNS {
                    let family = Family::of(&figure.quantity, &figure.labels, scale != Scale::Time);
                    families.entry(family).or_default().push(values.into_iter().collect());
                }
            }
        }
        let mut all = Self { default, families: BTreeMap::new() };
        let estimate = |(family, numbers): (Family, Vec<Vec<(&str, f64)>>)| {
            let found = estimated(&numbers, all.usual(&family))?;
            Some((family, found))
        };
        all.families = families.into_iter().filter_map(estimate).collect();
        all
    }

    /// The scatter of a family.
    pub(crate) fn of(&self, family: &Family) -> Scatter {
        self.families.get(family).copied().unwrap_or_else(|| self.usual(family))
    }

    /// The scatter of a family before any run: the clock is no part of what is counted in cycles.
    fn usual(&self, family: &Family) -> Scatter {
        match family.in_cycles {
            true => Scatter::in_cycles(),
            false if family.quantity.is_of_interruptions() => INTERRUPTIONS,
            false => self.default,
        }
    }
}

/// The scatter of a family from the logarithms of its numbers' values in runs.
fn estimated(numbers: &[Vec<(&str, f64)>], default: Scatter) -> Option<Scatter> {
    let centred = clipped(numbers.iter().map(|values| centred(values)).collect::<Option<Vec<_>>>()?)?;
    let mut by_run: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (run, off) in centred.iter().flatten() {
        by_run.entry(run).or_default().push(*off);
    }
    let runs = by_run.len() as f64;
    let values: f64 = by_run.values().map(|offs| offs.len() as f64).sum();
    // Numbers that the average run has.
    let each = values / runs;
    let means: Vec<f64> = by_run.values().map(|offs| offs.iter().sum::<f64>() / offs.len() as f64).collect();
    let of_means = means.iter().map(|mean| mean * mean).sum::<f64>() / (runs - 1.0) / CLIPPED_SHARE;
    let within = by_run.values().zip(&means).flat_map(|(offs, mean)| offs.iter().map(move |off| off - mean));
    let own_degrees = (runs - 1.0) * (each - 1.0);
    let moderated =
        |prior: f64, found: f64, degrees: f64| (PRIOR * prior.powi(2) + degrees * found) / (PRIOR + degrees);
    let whole = default.of_one();
    let (common, own, degrees) = if numbers.len() > 1 && own_degrees >= 1.0 {
        let own = within.map(|off| off * off).sum::<f64>() / own_degrees / CLIPPED_SHARE;
        let common = (of_means - own / each).max(0.0);
        let degrees = [runs - 1.0, own_degrees];
        (moderated(default.common, common, degrees[0]), moderated(default.own, own, degrees[1]), degrees)
    } else {
        // One number does not show what it shares with others.
        let share = moderated(whole, of_means, runs - 1.0) / whole.powi(2);
        (share * default.common.powi(2), share * default.own.powi(2), [runs - 1.0; 2])
    };
    Some(Scatter {
        common: common.sqrt(),
        own: own.sqrt().max(FLOOR),
        degrees: Some(degrees.map(|of| of + PRIOR)),
        runs: by_run.len(),
    })
}

/// Values less their median.
fn centred<'a>(values: &[(&'a str, f64)]) -> Option<Vec<(&'a str, f64)>> {
    let centre = median(&values.iter().map(|(_, value)| *value).collect::<Vec<f64>>())?;
    Some(values.iter().map(|(run, value)| (*run, value - centre)).collect())
}

/// The offsets of a family's numbers, with those far out at the limit, and each number centred again.
fn clipped<'a>(numbers: Vec<Vec<(&'a str, f64)>>) -> Option<Vec<Vec<(&'a str, f64)>>> {
    let all: Vec<f64> = numbers.iter().flatten().map(|(_, off)| *off).collect();
    let limit = CLIP * MAD_TO_SIGMA * mad(&all)?;
    let one = |values: Vec<(&'a str, f64)>| {
        // More than half of the values being equal says nothing about the others.
        let near = |off: f64| if limit > 0.0 { off.clamp(-limit, limit) } else { off };
        let kept: Vec<(&str, f64)> = values.into_iter().map(|(run, off)| (run, near(off))).collect();
        let mean = kept.iter().map(|(_, off)| off).sum::<f64>() / kept.len() as f64;
        kept.into_iter().map(|(run, off)| (run, off - mean)).collect()
    };
    Some(numbers.into_iter().map(one).collect())
}

/// What unchanged machines do to the numbers of a family.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noise {
    /// Scatter of the family: `usual`, widened to the root mean square of what the intervals of its numbers assume.
    pub(crate) scatter: Scatter,
    /// Scatter by the history or the default, not widened.
    pub(crate) usual: Scatter,
    /// Variance between allocations; 0 where the scatter was seen between runs, which have other allocations.
    pub(crate) places: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_stats::Rng;

    /// A standard normal value (the sum of twelve uniform ones).
    fn normal(rng: &mut Rng) -> f64 {
        (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
    }

    #[test]
    fn parts_of_scatter_are_told_apart() {
        let mut rng = Rng::new(5);
        for (common, own) in [(0.0, 0.01), (0.02, 0.005), (0.01, 0.01)] {
            let ids: Vec<String> = (0..60).map(|run| format!("{run:03}")).collect();
            let shared: Vec<f64> = ids.iter().map(|_| common * normal(&mut rng)).collect();
            let mut number = |_| -> Vec<(&str, f64)> {
                ids.iter()
                    .zip(&shared)
                    .map(|(id, shared)| (id.as_str(), 3.0 + shared + own * normal(&mut rng)))
                    .collect()
            };
            let found = estimated(&(0..6).map(&mut number).collect::<Vec<_>>(), MACHINE).unwrap();
            assert!(
                (found.common - common).abs() < 0.003 && (found.own - own).abs() < 0.0015,
                "{common} {own} {found:?}"
            );
            assert_eq!(found.runs, 60);
        }
    }

    #[test]
    fn one_bad_run_widens_little_and_equal_values_are_not_believed() {
        let run = |at: usize| ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"][at];
        let steady = |at: usize| if at.is_multiple_of(2) { 0.01 } else { -0.01 };
        let number = |bad: f64| (0..10).map(|at| (run(at), if at == 0 { bad } else { steady(at) })).collect::<Vec<_>>();
        let of = |bad: f64| estimated(&vec![number(bad); 4], MACHINE).unwrap().of_one();
        assert!(of(0.5) < 1.6 * of(0.01), "{} {}", of(0.5), of(0.01));
        let same: Vec<(&str, f64)> = (0..10).map(|at| (run(at), 1.0)).collect();
        assert!(estimated(&vec![same; 4], MACHINE).unwrap().own >= FLOOR);
    }

    #[test]
    fn before_any_run_what_is_counted_in_cycles_scatters_less() {
        let scatters = Scatters::by_default(true);
        let of = |in_cycles| {
            scatters.of(&Family { quantity: Quantity::Bandwidth, tier: "L1".to_owned(), in_cycles }).of_one()
        };
        assert!((of(false) - 0.028).abs() < 5e-4 && (of(true) - 0.01).abs() < 5e-4, "{} {}", of(false), of(true));
    }
}
