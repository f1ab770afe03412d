use crate::{UNUSABLE, close};
use proptest::prelude::*;
use tiermark_stats::{LevelRule, Rng, change_point, level_changes, other_level};

const RULE: LevelRule = LevelRule { fewest: 5, search: 0.01, near: 0.01, ratio: 1.03 };

#[test]
fn a_step_is_found_where_it_is() {
    // r = scipy.stats.rankdata(s); U = [2*r[:t].sum() - t*(n+1) for t in range(1, n)]; K = max|U|;
    // p = 2*exp(-6*K*K/(n**3 + n**2)) -> K 36 at t 6
    let s = [10.1, 9.9, 10.0, 10.3, 9.8, 10.2, 12.1, 11.9, 12.3, 12.0, 11.8, 12.2];
    let found = change_point(&s).unwrap();
    assert_eq!((found.index, found.statistic), (6, 36.0));
    close(found.p_value, 0.03140780113025614);
    close(found.before, 10.05);
    close(found.after, 12.05);
}

#[test]
fn flat_short_and_unusable_series() {
    assert_eq!(change_point(&[5.0; 20]).unwrap().p_value, 1.0);
    assert_eq!(change_point(&[1.0, 1.0, 9.0]), None);
    for bad in UNUSABLE {
        assert_eq!(change_point(bad), None);
    }
}

#[test]
fn rarely_cries_wolf() {
    let mut rng = Rng::new(21);
    let alarms = (0..1000)
        .filter(|_| {
            let s: Vec<f64> = (0..50).map(|_| rng.normal()).collect();
            change_point(&s).unwrap().p_value < 0.05
        })
        .count();
    // The approximation is conservative at this length: fewer than the nominal 50 plus three standard errors.
    assert!(alarms <= 71, "{alarms}");
}

#[test]
fn a_short_series_has_an_exact_p_value() {
    // scipy.stats.mannwhitneyu(s[:5], s[5:], method="exact").pvalue; one index was looked at.
    let s = [1.0, 1.1, 0.9, 1.2, 0.8, 2.0, 2.1, 1.9, 2.2, 1.8];
    let found = other_level(&s, 5).unwrap();
    assert_eq!((found.start, found.end), (5, 10));
    close(found.p_value, 2.0 / 252.0);
    // Three indices with one value more on either side: the p-value of the best, three times.
    let longer: Vec<f64> = [0.95].iter().chain(&s).chain(&[2.3]).copied().collect();
    let found = other_level(&longer, 5).unwrap();
    assert_eq!((found.start, found.end), (6, 12));
    close(found.p_value, 3.0 * 2.0 / 924.0);
    // A stay of five among fifteen: one place, and twice for the two kinds.
    let stay: Vec<f64> = s.iter().copied().chain([1.05, 1.15, 0.95, 1.25, 0.85]).collect();
    let found = other_level(&stay, 5).unwrap();
    assert_eq!((found.start, found.end), (5, 10));
    close(found.p_value, 2.0 * 2.0 / 3003.0);
    assert_eq!(other_level(&s[..9], 5), None, "too short");
    for bad in UNUSABLE {
        assert_eq!(other_level(bad, 1), None);
    }
}

fn indices(series: &[f64]) -> Vec<usize> {
    level_changes(series, RULE).iter().map(|change| change.index).collect()
}

/// Values of these levels with a small error.
fn levels(levels: &[(f64, usize)]) -> Vec<f64> {
    levels.iter().flat_map(|(level, n)| (0..*n).map(move |i| level + 0.01 * (i % 3) as f64)).collect()
}

#[test]
fn several_changes_are_found_with_the_medians_between_them() {
    let series = levels(&[(10.0, 8), (12.0, 7), (9.0, 9)]);
    let found = level_changes(&series, RULE);
    assert_eq!(found.iter().map(|c| c.index).collect::<Vec<_>>(), [8, 15]);
    assert_eq!((found[0].before, found[0].after, found[1].after), (10.01, 12.01, 9.01));
    assert!(indices(&series[..8]).is_empty() && indices(&[]).is_empty());
}

#[test]
fn a_stay_at_another_level_is_found() {
    // Both levels are on both sides of each end.
    assert_eq!(indices(&levels(&[(10.0, 20), (20.0, 20), (10.0, 20)])), [20, 40]);
    assert_eq!(indices(&levels(&[(10.0, 40), (9.0, 5), (10.0, 15)])), [40, 45]);
    let twice = levels(&[(10.0, 40), (11.0, 10), (10.0, 40), (11.0, 10), (10.0, 40)]);
    assert_eq!(indices(&twice), [40, 50, 90, 100]);
}

#[test]
fn a_small_change_hides_no_large_one() {
    // The most likely step is that of 2 %; a larger one lies beside it.
    let series = levels(&[(10.0, 30), (10.2, 20), (10.8, 8), (10.2, 20)]);
    assert_eq!(indices(&series), [50, 58]);
    assert!(indices(&levels(&[(10.0, 30), (10.2, 30)])).is_empty());
    // Small steps that make a large one together are one.
    assert_eq!(indices(&levels(&[(10.0, 20), (10.2, 20), (10.4, 20), (10.6, 20)])).len(), 1);
}

#[test]
fn the_best_place_rarely_cries_wolf() {
    let mut rng = Rng::new(22);
    for length in [10, 14, 30, 60] {
        let is_alarm = |_: &i32| {
            let s: Vec<f64> = (0..length).map(|_| rng.normal()).collect();
            other_level(&s, 5).unwrap().p_value <= 0.05
        };
        // Bonferroni keeps the level: at most the nominal 50 of 1,000 plus three standard errors; none would be no
        // test.
        let alarms = (0..1000).filter(is_alarm).count();
        assert!((1..=71).contains(&alarms), "{length}: {alarms}");
    }
}

proptest! {
    #[test]
    fn only_order_matters(values in prop::collection::vec(0.01..1e3f64, 4..60)) {
        let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
        let (a, b) = (change_point(&values).unwrap(), change_point(&logs).unwrap());
        prop_assert_eq!((a.index, a.p_value), (b.index, b.p_value));
        prop_assert!((0.0..=1.0).contains(&a.p_value) && a.index >= 1 && a.index < values.len());
    }

    #[test]
    fn a_clean_step_is_found_exactly(at in 10usize..30, low in 1.0..100.0f64, step in 0.1..10.0f64) {
        let s: Vec<f64> = (0..40).map(|i| if i < at { low } else { low + step }).collect();
        let found = change_point(&s).unwrap();
        prop_assert_eq!((found.index, found.before, found.after), (at, low, low + step));
        prop_assert!(found.p_value < 1e-3);
    }
}
