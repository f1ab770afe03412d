//! What a program typically got: the median over visits, each weighted by the time that it speaks for.

use tiermark_model::{Mode, Typical};
use tiermark_stats::{APART_SECONDS, Rng, VisitValue, moments, robust_sigma, student_quantile};

/// Resamples of the bootstrap: a standard deviation is then known to 5 % (Davison & Hinkley 1997, §2.5.2).
const RESAMPLES: usize = 200;
/// Visits are of two groups where these lie further apart than this share and each has this share of the time: then a
/// median over both would jump when one of them passes a half.
const GROUPS: Valley = Valley { apart: 0.1, share: 0.1 };
/// Visits have two levels, which are reported, from here on.
const LEVELS: Valley = Valley { apart: 0.03, share: 0.15 };
/// Share of the distance between two groups that has no visit in it, at least: scatter around one middle has no stretch
/// as wide.
const VALLEY: f64 = 0.5;

/// A value, and the time that it speaks for.
type Weighted = (f64, f64);

/// A typical value, and half of its 95 % interval by this run alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Middle {
    pub(super) value: f64,
    pub(super) half: f64,
}

impl Middle {
    /// Of visits in order of time. The standard error comes from resampling whole moments, since visits of one moment
    /// have one cause (a cluster bootstrap; Davison & Hinkley 1997, §3.8). If the halves of the run differ by more than
    /// two of it, half of the difference is added.
    pub(super) fn of(visits: &[VisitValue], seed: u64) -> Option<Self> {
        let all = weighted(visits);
        let limit = GROUPS.limit(&all);
        let value = over_groups(&all, limit)?;
        let moments = moments(visits.iter().map(|visit| visit.at), APART_SECONDS);
        let mut rng = Rng::new(seed);
        let mut resampled = || {
            let drawn = (0..moments.len()).flat_map(|_| moments[rng.below(moments.len())].clone());
            over_groups(&drawn.map(|index| all[index]).collect::<Vec<_>>(), limit)
        };
        let drawn: Vec<f64> = (0..RESAMPLES).filter_map(|_| resampled()).collect();
        let count = drawn.len().max(1) as f64;
        let mean = drawn.iter().sum::<f64>() / count;
        let variance = drawn.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        // The variance of resamples of n clusters is too small by (n - 1) / n (Davison & Hinkley 1997, section 2.3).
        let clusters = moments.len().max(2) as f64;
        let se = (variance * clusters / (clusters - 1.0)).sqrt();
        let (early, late) = all.split_at(all.len() / 2);
        let apart = over_groups(early, limit).zip(over_groups(late, limit)).map_or(0.0, |(a, b)| (a - b).abs());
        let drift = if apart > 2.0 * se { apart / 2.0 } else { 0.0 };
        Some(Self { value, half: student_quantile(clusters - 1.0, 0.05)? * se + drift })
    }
}

/// The typical value of some visits, without its interval.
pub(super) fn value(visits: &[VisitValue]) -> Option<f64> {
    let all = weighted(visits);
    over_groups(&all, GROUPS.limit(&all))
}

/// The median visit, and the 10th and the 90th percentile, by the time that each visit speaks for.
pub(super) fn spread(visits: &[VisitValue]) -> Option<Typical> {
    let mut all = weighted(visits);
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    Some(Typical { median: quantile(&all, 0.5)?, p10: quantile(&all, 0.1)?, p90: quantile(&all, 0.9)? })
}

/// The levels that visits pile up at, with their shares of the time, where there are two.
pub(super) fn levels(visits: &[VisitValue]) -> Vec<Mode> {
    let all = weighted(visits);
    let Some(limit) = LEVELS.limit(&all) else { return Vec::new() };
    let groups = groups(&all, Some(limit));
    let total = time(&all);
    let mode = |group: &Vec<Weighted>| Some(Mode { value: quantile(group, 0.5)?, share: time(group) / total });
    groups.iter().filter_map(mode).collect()
}

/// Visits in order of time, each with the time up to half way to its neighbours.
fn weighted(visits: &[VisitValue]) -> Vec<Weighted> {
    let span = |at: usize| {
        let (before, after) = (at.saturating_sub(1), (at + 1).min(visits.len() - 1));
        (visits[after].at - visits[before].at).max(f64::MIN_POSITIVE)
    };
    visits.iter().enumerate().map(|(at, visit)| (visit.value, span(at))).collect()
}

fn time(all: &[Weighted]) -> f64 {
    all.iter().map(|(_, span)| span).sum()
}

/// A quantile by time of rising values.
fn quantile(rising: &[Weighted], q: f64) -> Option<f64> {
    let wanted = q * time(rising);
    let mut passed = 0.0;
    let found = rising.iter().find(|(_, span)| {
        passed += span;
        passed >= wanted
    });
    found.or(rising.last()).map(|(value, _)| *value)
}

/// Values on either side of a limit, each side rising.
fn groups(all: &[Weighted], limit: Option<f64>) -> Vec<Vec<Weighted>> {
    let mut sorted = all.to_vec();
    sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let at = limit.map_or(sorted.len(), |limit| sorted.partition_point(|(value, _)| *value < limit));
    let upper = sorted.split_off(at);
    [sorted, upper].into_iter().filter(|group| !group.is_empty()).collect()
}

/// The mean of the groups' medians, weighted by their time; of one group its median.
fn over_groups(all: &[Weighted], limit: Option<f64>) -> Option<f64> {
    let groups = groups(all, limit);
    let medians = groups.iter().map(|group| Some(time(group) * quantile(group, 0.5)?));
    Some(medians.sum::<Option<f64>>()? / time(all)).filter(|value| value.is_finite() && !all.is_empty())
}

/// How two groups lie apart.
#[derive(Debug, Clone, Copy)]
struct Valley {
    /// Distance of their medians, as a share of the lower one.
    apart: f64,
    /// Share of the time of each, at least.
    share: f64,
}

impl Valley {
    /// The middle of the widest stretch without visits between two groups.
    fn limit(self, all: &[Weighted]) -> Option<f64> {
        let mut sorted = all.to_vec();
        sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let total = time(&sorted);
        // A visit far from all others leaves a wide stretch too, and is no group.
        let is_large = |group: &[Weighted]| time(group) >= self.share * total;
        let gap = |at: &usize| sorted[at + 1].0 / sorted[*at].0;
        let between_groups = |at: &usize| is_large(&sorted[..=*at]) && is_large(&sorted[at + 1..]);
        let last = sorted.len().checked_sub(1)?;
        let at = (0..last).filter(between_groups).max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
        let (low, high) = sorted.split_at(at + 1);
        let (below, above) = (quantile(low, 0.5)?, quantile(high, 0.5)?);
        let is_valley = gap(&at).ln() >= VALLEY * (above / below).ln();
        (above / below - 1.0 > self.apart && is_valley).then_some((low[at].0 * high[0].0).sqrt())
    }
}

/// The standard deviation between the moments of a run, as a share of the value: from their MAD, so that a few seconds
/// beside something else do not decide it. `None` of fewer than two.
///
/// What others use scatters between runs about as much as between the seconds of one, since others come and go over
/// hours as they do over seconds. Ten surveys of a Zen 4 guest within 8 minutes, 18 figures of L3 and memory: with it the
/// interval of one run holds the number of another in 91 % of the pairs, without it in 75 %.
pub(super) fn between_moments(visits: &[VisitValue]) -> Option<f64> {
    let all = weighted(visits);
    let limit = GROUPS.limit(&all);
    let middles: Vec<f64> = groups(&all, limit).iter().filter_map(|group| quantile(group, 0.5)).collect();
    // Two states are two groups, each around its own middle: the distance between them is no scatter.
    let middle = |value: f64| if limit.is_some_and(|limit| value < limit) { middles.first() } else { middles.last() };
    let off = |visit: &VisitValue| middle(visit.value).map_or(0.0, |middle| (visit.value / middle).ln());
    let mean = |moment: std::ops::Range<usize>| {
        let count = moment.len() as f64;
        visits[moment].iter().map(off).sum::<f64>() / count
    };
    let of_moments = moments(visits.iter().map(|visit| visit.at), APART_SECONDS);
    let means: Vec<f64> = of_moments.into_iter().map(mean).collect();
    robust_sigma(&means)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visits(value: impl Fn(usize) -> f64) -> Vec<VisitValue> {
        (0..200).map(|index| VisitValue { at: index as f64 * 0.1, value: value(index) }).collect()
    }

    #[test]
    fn two_states_are_weighed_by_their_time() {
        // 30 % of the time at 28, else at 55: a median says 55, and 28 as soon as the share passes a half.
        let seen = visits(|index| if index % 10 < 3 { 28.0 } else { 55.0 });
        let middle = Middle::of(&seen, 1).unwrap();
        assert!((middle.value - (0.3 * 28.0 + 0.7 * 55.0)).abs() < 0.5, "{middle:?}");
        let levels = levels(&seen);
        assert_eq!(levels.len(), 2, "{levels:?}");
        assert!((levels[0].share - 0.3).abs() < 0.02 && levels[1].value == 55.0, "{levels:?}");
    }

    #[test]
    fn one_visit_far_from_all_others_hides_no_group() {
        let states = |index: usize| if index.is_multiple_of(5) { 37.0 } else { 61.0 };
        let of = |value: &dyn Fn(usize) -> f64| Middle::of(&visits(value), 1).unwrap().value;
        let (usual, outlying) = (of(&states), of(&|index| if index == 100 { 20.0 } else { states(index) }));
        assert!((usual - 56.2).abs() < 0.5 && (outlying - usual).abs() < 0.3, "{usual} {outlying}");
    }

    #[test]
    fn scatter_around_one_middle_is_its_median() {
        let mut rng = Rng::new(3);
        let scatter: Vec<f64> = (0..200).map(|_| 40.0 * (1.0 + 0.05 * rng.normal())).collect();
        let seen = visits(|index| scatter[index]);
        let middle = Middle::of(&seen, 1).unwrap();
        assert!((middle.value / 40.0 - 1.0).abs() < 0.02 && middle.half < 1.0, "{middle:?}");
        assert_eq!(levels(&seen), []);
        let spread = spread(&seen).unwrap();
        assert!(spread.p10 < middle.value && middle.value < spread.p90);
    }

    #[test]
    fn the_interval_holds_the_middle_of_other_hours_as_often_as_it_says() {
        // Moments of a second differ by 3 %, visits within one by 1 %.
        let mut held = 0;
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let moments: Vec<f64> = (0..20).map(|_| 1.0 + 0.03 * rng.normal()).collect();
            let values: Vec<f64> = (0..200).map(|i| 40.0 * moments[i / 10] * (1.0 + 0.01 * rng.normal())).collect();
            let middle = Middle::of(&visits(|index| values[index]), seed).unwrap();
            held += usize::from((middle.value - 40.0).abs() <= middle.half);
        }
        assert!(held >= 184, "{held} of 200");
    }

    #[test]
    fn nothing_comes_of_nothing() {
        assert_eq!(Middle::of(&[], 1), None);
        assert_eq!(spread(&[]), None);
        assert_eq!(levels(&[]), []);
        let one = Middle::of(&[VisitValue { at: 1.0, value: 5.0 }], 1).unwrap();
        assert_eq!(one.value, 5.0);
    }
}
