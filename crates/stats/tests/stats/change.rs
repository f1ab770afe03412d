use crate::{UNUSABLE, close};
use proptest::prelude::*;
use tiermark_stats::{Rng, change_point, level_change, level_changes};

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
    let found = level_change(&s, 5).unwrap();
    assert_eq!((found.index, found.before, found.after), (5, 1.0, 2.0));
    close(found.p_value, 2.0 / 252.0);
    // Three indices with one value more on either side: the p-value of the best, three times.
    let longer: Vec<f64> = [0.95].iter().chain(&s).chain(&[2.3]).copied().collect();
    let found = level_change(&longer, 5).unwrap();
    assert_eq!(found.index, 6);
    close(found.p_value, 3.0 * 2.0 / 924.0);
    assert_eq!(level_change(&s[..9], 5), None, "too short");
    for bad in UNUSABLE {
        assert_eq!(level_change(bad, 1), None);
    }
}

#[test]
fn several_changes_are_found_with_the_medians_between_them() {
    let levels = [(10.0, 8), (12.0, 7), (9.0, 9)];
    let series: Vec<f64> =
        levels.iter().flat_map(|(level, n)| (0..*n).map(move |i| level + 0.01 * f64::from(i % 3))).collect();
    let found = level_changes(&series, 5, |change| change.p_value <= 0.01);
    assert_eq!(found.iter().map(|c| c.index).collect::<Vec<_>>(), [8, 15]);
    assert_eq!((found[0].before, found[0].after, found[1].after), (10.01, 12.01, 9.01));
    assert!(level_changes(&series[..8], 3, |change| change.p_value <= 0.01).is_empty());
    assert!(level_changes(&[], 5, |_| true).is_empty());
}

#[test]
fn the_best_index_rarely_cries_wolf() {
    let mut rng = Rng::new(22);
    for length in [10, 14, 30, 60] {
        let is_alarm = |_: &i32| {
            let s: Vec<f64> = (0..length).map(|_| rng.normal()).collect();
            level_change(&s, 5).unwrap().p_value <= 0.05
        };
        // Bonferroni keeps the level: at most the nominal 50 of 1,000 plus three standard errors.
        assert!((0..1000).filter(is_alarm).count() <= 71, "{length}");
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
