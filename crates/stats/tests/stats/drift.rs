use crate::{UNUSABLE, close};
use proptest::prelude::*;
use tiermark_stats::{relative_drift, theil_sen};

#[test]
fn slope_matches_scipy() {
    // scipy.stats.theilslopes(y, x).slope
    let x: Vec<f64> = (0..10).map(f64::from).collect();
    let y = [1.0, 1.3, 1.9, 2.2, 50.0, 3.4, 4.1, 4.3, 4.9, 5.6];
    close(theil_sen(&x, &y).unwrap(), 0.5111111111111111);
    close(theil_sen(&[1.0, 2.0, 4.0, 7.0], &[1.0, 4.0, 2.0, 8.0]).unwrap(), 0.9833333333333334);
}

#[test]
fn what_has_no_slope_gives_none() {
    assert_eq!(theil_sen(&[1.0, 1.0], &[1.0, 2.0]), None);
    assert_eq!(theil_sen(&[1.0, 1.0, 2.0], &[1.0, 2.0, 3.0]), Some(1.5), "a pair at one x is left out");
    assert_eq!(theil_sen(&[1.0], &[1.0]), None);
    assert_eq!(theil_sen(&[1.0, 2.0], &[1.0]), None);
    for bad in UNUSABLE {
        assert_eq!(theil_sen(bad, bad), None);
        assert_eq!(relative_drift(bad, &[1.0]), None);
        assert_eq!(relative_drift(&[1.0], bad), None);
    }
    assert_eq!(relative_drift(&[0.0], &[1.0]), None);
}

#[test]
fn drift_is_relative_and_signed() {
    close(relative_drift(&[100.0, 101.0, 99.0], &[102.0, 500.0, 101.0]).unwrap(), 0.02);
    close(relative_drift(&[100.0], &[97.0]).unwrap(), -0.03);
}

proptest! {
    #[test]
    fn a_line_with_a_fifth_of_wild_points_keeps_its_slope(slope in -50.0..50.0f64, wild in -1e6..1e6f64) {
        let x: Vec<f64> = (0..20).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|x| if *x as u32 % 7 == 3 { wild } else { slope * x + 3.0 }).collect();
        prop_assert!((theil_sen(&x, &y).unwrap() - slope).abs() < 1e-9 * (1.0 + slope.abs()));
    }
}
