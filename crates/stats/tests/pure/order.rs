use crate::{A, UNUSABLE, close};
use proptest::prelude::*;
use tiermark_stats::{mad, max, median, min, quantile, quantiles};

#[test]
fn match_numpy() {
    close(median(&A).unwrap(), 4.7); // np.median(A)
    close(median(&A[..9]).unwrap(), 4.4); // np.median(A[:9])
    close(mad(&A).unwrap(), 2.05); // scipy.stats.median_abs_deviation(A)
    close(mad(&A[..9]).unwrap(), 2.2);
    let mut sorted = A.to_vec();
    sorted.sort_by(f64::total_cmp);
    // [np.quantile(A, p) for p in (0, .1, .25, .5, .77, .999, 1)]
    let ps = [0.0, 0.1, 0.25, 0.5, 0.77, 0.999, 1.0];
    let want = [1.2, 2.1, 3.15, 4.7, 7.584499999999999, 9.0955, 9.1];
    let by_selection = quantiles(&mut A.to_vec(), &ps).unwrap();
    for ((p, want), selected) in ps.into_iter().zip(want).zip(by_selection) {
        close(quantile(&sorted, p).unwrap(), want);
        close(selected, want);
    }
    assert_eq!((min(&A), max(&A)), (Some(1.2), Some(9.1)));
}

#[test]
fn unusable_input_gives_none() {
    for bad in UNUSABLE {
        assert_eq!((median(bad), mad(bad), min(bad), max(bad)), (None, None, None, None));
        assert_eq!(quantile(bad, 0.5), None);
        assert_eq!(quantiles(&mut bad.to_vec(), &[0.5]), None);
    }
    assert_eq!(quantile(&[2.0, 1.0], 0.5), None, "not ascending");
    assert_eq!(quantile(&[1.0, 2.0], 1.1), None);
    assert_eq!(quantile(&[1.0, 2.0], f64::NAN), None);
    assert_eq!(quantiles(&mut [1.0, 2.0], &[0.5, -0.1]), None);
}

#[test]
fn huge_values_do_not_overflow() {
    let huge = [f64::MAX, f64::MAX, -f64::MAX];
    assert_eq!(median(&huge[..2]), Some(f64::MAX));
    assert_eq!(quantile(&[-f64::MAX, f64::MAX], 0.5), Some(0.0));
    assert_eq!(mad(&[f64::MAX, f64::MAX, -f64::MAX]), None, "a deviation is not finite");
}

proptest! {
    #[test]
    fn median_is_the_half_quantile(mut values in prop::collection::vec(-1e6..1e6f64, 1..60)) {
        let direct = median(&values).unwrap();
        values.sort_by(f64::total_cmp);
        prop_assert!((direct - quantile(&values, 0.5).unwrap()).abs() < 1e-9);
    }

    #[test]
    fn quantiles_rise_and_stay_inside(
        values in prop::collection::vec(-1e6..1e6f64, 1..60),
        mut ps in prop::collection::vec(0.0..=1.0f64, 1..8),
    ) {
        ps.sort_by(f64::total_cmp);
        let found = quantiles(&mut values.clone(), &ps).unwrap();
        prop_assert!(found.windows(2).all(|w| w[0] <= w[1] + 1e-9));
        prop_assert!(found[0] >= min(&values).unwrap() && found[found.len() - 1] <= max(&values).unwrap());
    }

    #[test]
    fn mad_ignores_a_shift_and_follows_a_scale(values in prop::collection::vec(-1e3..1e3f64, 1..40), by in -1e3..1e3f64) {
        let shifted: Vec<f64> = values.iter().map(|v| -3.0 * v + by).collect();
        prop_assert!((mad(&shifted).unwrap() - 3.0 * mad(&values).unwrap()).abs() < 1e-8);
    }
}

#[test]
fn the_interval_of_a_median_covers_it_as_often_as_it_says() {
    const RUNS: u64 = 2000;
    for count in [6, 20, 101] {
        let covers = |seed: &u64| {
            let mut rng = tiermark_stats::Rng::new(*seed);
            // Skewed: its median is 0.25.
            let values: Vec<f64> = (0..count).map(|_| rng.unit().powi(2)).collect();
            tiermark_stats::median_interval(&values).is_some_and(|(low, high)| low <= 0.25 && 0.25 <= high)
        };
        let share = (0..RUNS).filter(covers).count() as f64 / RUNS as f64;
        assert!((0.935..0.99).contains(&share), "{count}: {share}");
    }
    assert_eq!(tiermark_stats::median_interval(&[1.0; 5]), None);
    for values in crate::UNUSABLE {
        assert_eq!(tiermark_stats::median_interval(&[values, &[1.0; 6]].concat()).is_some(), values.is_empty());
    }
    assert_eq!(tiermark_stats::median_interval(&[2.0; 6]), Some((2.0, 2.0)));
}
