//! Modified z-scores.

use tiermark_stats::{OUTLYING, modified_z};

#[test]
fn the_published_formula_is_computed() {
    // Median 3, deviations 2 1 0 1 97: their median is 1.
    let scores = modified_z(&[1.0, 2.0, 3.0, 4.0, 100.0]).unwrap();
    assert_eq!(scores, [-2.0 * 0.6745, -0.6745, 0.0, 0.6745, 97.0 * 0.6745]);
    let far: Vec<bool> = scores.iter().map(|score| *score > OUTLYING).collect();
    assert_eq!(far, [false, false, false, false, true]);
}

#[test]
fn equal_values_are_no_outliers_and_any_other_is_one() {
    assert_eq!(modified_z(&[5.0, 5.0, 5.0]).unwrap(), [0.0, 0.0, 0.0]);
    assert_eq!(modified_z(&[5.0, 5.0, 5.0, 6.0, 4.0]).unwrap()[3..], [f64::INFINITY, f64::NEG_INFINITY]);
    assert_eq!((modified_z(&[]), modified_z(&[1.0, f64::NAN])), (None, None));
}
