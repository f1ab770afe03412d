use crate::{UNUSABLE, close};
use proptest::prelude::*;
use tiermark_stats::ks_uniform;

/// Twenty points of the golden-ratio sequence in [0, 1).
fn golden_ratio() -> Vec<f64> {
    (1..=20).map(|i| (f64::from(i) * 0.618033988749895).fract()).collect()
}

#[test]
fn one_sample_matches_scipy() {
    // scipy.stats.kstest(x, 'uniform').statistic, and for the p-value
    // scipy.special.kolmogorov((n**.5 + .12 + .11/n**.5) * statistic)
    let even = ks_uniform(&golden_ratio(), 0.0, 1.0).unwrap();
    close(even.distance, 0.06145618000167974);
    close(even.p_value, 0.9999980479383489);
    let bent: Vec<f64> = golden_ratio().iter().map(|v| v.powf(1.6)).collect();
    let bent = ks_uniform(&bent, 0.0, 1.0).unwrap();
    close(bent.distance, 0.21315208950172448);
    close(bent.p_value, 0.2874730197821355);
    // kstest(x, 'uniform', method='exact').pvalue is 0.281433696838547
    assert!((bent.p_value - 0.281433696838547).abs() < 0.01);
}

#[test]
fn values_outside_the_range_are_seen() {
    let outside: Vec<f64> = golden_ratio().iter().map(|v| v + 1.0).collect();
    let found = ks_uniform(&outside, 0.0, 1.0).unwrap();
    assert_eq!(found.distance, 1.0);
    assert!(found.p_value < 1e-9);
    assert_eq!(ks_uniform(&[0.5], 1.0, 1.0), None);
    for bad in UNUSABLE {
        assert_eq!(ks_uniform(bad, 0.0, 1.0), None);
    }
}

proptest! {
    #[test]
    fn distance_does_not_depend_on_unit(values in prop::collection::vec(0.0..1.0f64, 1..50)) {
        let scaled: Vec<f64> = values.iter().map(|v| v * 64.0 + 128.0).collect();
        let (a, b) = (ks_uniform(&values, 0.0, 1.0).unwrap(), ks_uniform(&scaled, 128.0, 192.0).unwrap());
        prop_assert!((a.distance - b.distance).abs() < 1e-9);
    }
}
