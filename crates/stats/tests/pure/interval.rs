use crate::UNUSABLE;
use proptest::prelude::*;
use tiermark_stats::{Rng, bootstrap_median, median, moderated_half_width};

/// 1, 2, … n in a scrambled order, so that an interval's ends show their ranks.
fn ranks(n: usize) -> Vec<f64> {
    (0..n).map(|i| ((i * 7919) % n + 1) as f64).collect()
}

#[test]
fn too_few_samples_for_the_level_give_none() {
    for bad in UNUSABLE {
        assert_eq!(bootstrap_median(&[bad.to_vec(), vec![1.0; 5]], 0.95, 300, 1).is_some(), bad.is_empty());
    }
    for level in [0.0, 1.0, -0.1, f64::NAN] {
        assert_eq!(bootstrap_median(&[ranks(100)], level, 300, 1), None);
    }
    assert_eq!(bootstrap_median(&[], 0.95, 300, 1), None);
    assert_eq!(bootstrap_median(&[vec![1.0], vec![2.0]], 0.95, 300, 1), None, "two samples");
    assert_eq!(bootstrap_median(&[ranks(9)], 0.95, 39, 1), None, "no resample beyond each end");
    assert!(bootstrap_median(&[ranks(9)], 0.95, 40, 1).is_some());
}

#[test]
fn one_group_agrees_with_scipy() {
    // x = np.linspace(0, 1, 101)**2 ; scipy.stats.bootstrap((x,), np.median, method='percentile',
    //   n_resamples=20000, confidence_level=.95, random_state=1).confidence_interval -> 0.16, 0.36
    let x: Vec<f64> = (0..101).map(|i| (f64::from(i) / 100.0).powi(2)).collect();
    let found = bootstrap_median(&[x], 0.95, 20_000, 7).unwrap();
    assert!((found.low - 0.16).abs() < 0.009, "{found:?}");
    assert!((found.high - 0.36).abs() < 0.013, "{found:?}");
}

#[test]
fn an_even_resample_has_the_mean_of_its_middle_two() {
    // Four draws of 1 or 3: the median is 1, 2 or 3 with probability 5/16, 6/16 and 5/16.
    let found = bootstrap_median(&[vec![1.0, 1.0, 3.0, 3.0]], 0.2, 2000, 1).unwrap();
    assert_eq!((found.low, found.high), (2.0, 2.0));
}

#[test]
fn allocations_that_differ_widen_the_interval() {
    let mut rng = Rng::new(3);
    let groups: Vec<Vec<f64>> =
        (0..6).map(|g| (0..20).map(|_| 100.0 + f64::from(g) * 2.0 + 0.1 * rng.normal()).collect()).collect();
    let nested = bootstrap_median(&groups, 0.95, 1000, 1).unwrap();
    let pooled = bootstrap_median(&[groups.concat()], 0.95, 1000, 1).unwrap();
    // Six levels 2 apart: what six allocations tell cannot be narrower than the step between two of them.
    assert!(nested.high - nested.low > 3.0, "{nested:?}");
    assert!(nested.high - nested.low > 1.3 * (pooled.high - pooled.low), "{nested:?} {pooled:?}");
}

#[test]
fn bootstrap_covers_nearly_as_often_as_it_says() {
    let mut rng = Rng::new(12);
    let covered = (0..400)
        .filter(|_| {
            let groups: Vec<Vec<f64>> = (0..10)
                .map(|_| {
                    let shift = rng.normal();
                    (0..8).map(|_| 50.0 + shift + rng.normal()).collect()
                })
                .collect();
            bootstrap_median(&groups, 0.95, 200, 5).is_some_and(|i| i.low <= 50.0 && 50.0 <= i.high)
        })
        .count();
    // Ten groups: the percentile interval is known to be a few per cent short of its level.
    assert!((352..=396).contains(&covered), "{covered}");
}

proptest! {
    #[test]
    fn bootstrap_is_ordered_inside_and_repeatable(
        groups in prop::collection::vec(prop::collection::vec(1.0..1e3f64, 0..12), 1..6),
        seed: u64,
    ) {
        let all = groups.concat();
        let found = bootstrap_median(&groups, 0.9, 100, seed);
        prop_assert_eq!(found, bootstrap_median(&groups, 0.9, 100, seed));
        prop_assert_eq!(found.is_some(), all.len() >= 3);
        if let Some(i) = found {
            prop_assert!(i.low <= i.high);
            prop_assert!(all.iter().any(|v| *v <= i.low) && all.iter().any(|v| *v >= i.high));
        }
    }

    #[test]
    fn bootstrap_scales_with_the_unit(values in prop::collection::vec(1.0..1e3f64, 3..40)) {
        let scaled: Vec<f64> = values.iter().map(|v| v * 1024.0).collect();
        let (a, b) = (bootstrap_median(&[values], 0.95, 100, 9).unwrap(), bootstrap_median(&[scaled], 0.95, 100, 9).unwrap());
        prop_assert!((a.low * 1024.0 - b.low).abs() < 1e-6 && (a.high * 1024.0 - b.high).abs() < 1e-6);
    }
}

#[test]
fn students_interval_is_scipys() {
    // scipy.stats.t.ppf(0.975, 3) * scipy.stats.sem([1, 2, 4, 5]) = 3.1824463 * 0.9128709 = 2.9051628
    // The table has four digits.
    assert!((moderated_half_width(&[1.0, 2.0, 4.0, 5.0], 0.0, 0.0).unwrap() - 2.9051628).abs() < 1e-3);
    assert_eq!(moderated_half_width(&[1.0], 0.0, 0.0), None);
    assert_eq!(moderated_half_width(&[], 0.0, 0.0), None);
    assert_eq!(moderated_half_width(&[1.0, f64::NAN], 0.0, 0.0), None);
}

#[test]
fn three_allocations_are_covered_where_the_bootstrap_is_too_narrow() {
    // Allocations scatter by 1 %, shots on one by a tenth of that: what a process gets decides.
    let mut rng = Rng::new(11);
    let (mut boot_hits, mut wide_hits) = (0, 0);
    const TRIALS: usize = 600;
    for _ in 0..TRIALS {
        let groups: Vec<Vec<f64>> = (0..3)
            .map(|_| {
                let luck = 100.0 + rng.normal();
                (0..4).map(|_| luck + 0.1 * rng.normal()).collect()
            })
            .collect();
        let boot = bootstrap_median(&groups, 0.95, 400, 3).unwrap();
        let centre = median(&groups.concat()).unwrap();
        let medians: Vec<f64> = groups.iter().map(|g| median(g).unwrap()).collect();
        let half = moderated_half_width(&medians, 0.0, 0.0).unwrap();
        boot_hits += usize::from(boot.low <= 100.0 && 100.0 <= boot.high);
        wide_hits += usize::from(boot.low.min(centre - half) <= 100.0 && 100.0 <= boot.high.max(centre + half));
    }
    assert!(boot_hits * 100 < TRIALS * 85, "{boot_hits} of {TRIALS}: then the bootstrap alone would do");
    assert!(wide_hits * 100 >= TRIALS * 93, "{wide_hits} of {TRIALS}");
}
