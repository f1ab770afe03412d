use crate::close;
use proptest::prelude::*;
use tiermark_stats::{Curve, XScale, knee};

fn curve(n: u32, y: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    (1..=n).map(|i| (f64::from(i), y(f64::from(i)))).collect()
}

#[test]
fn match_the_paper_and_its_python_port() {
    // Figure 2 of the paper: y = -1/(x + 0.1) + 5 over ten points of [0, 1]; knee at x = 2/9 there, and from
    // kneed.KneeLocator(x, y, S=1, curve='concave', direction='increasing').knee
    let figure: Vec<(f64, f64)> = (0..10).map(|i| f64::from(i) / 9.0).map(|x| (x, -1.0 / (x + 0.1) + 5.0)).collect();
    let found = knee(&figure, Curve::ConcaveIncreasing, XScale::Linear, 1.0).unwrap();
    assert_eq!(found.index, 2);
    close(found.x, 2.0 / 9.0);
    // x = np.arange(1, 11.), the same call with each curve and direction: 8, 3 and 8
    let rising = knee(&curve(10, |x| 1.0 / (11.0 - x)), Curve::ConvexIncreasing, XScale::Linear, 1.0).unwrap();
    let falling = knee(&curve(10, |x| 1.0 / x), Curve::ConvexDecreasing, XScale::Linear, 1.0).unwrap();
    let dropping =
        knee(&curve(10, |x| 10.0 - 10.0 / (11.0 - x)), Curve::ConcaveDecreasing, XScale::Linear, 1.0).unwrap();
    assert_eq!((rising.x, falling.x, dropping.x), (8.0, 3.0, 8.0));
    assert_eq!(rising.y, 1.0 / 3.0);
}

#[test]
fn a_saturating_curve_bends_where_it_saturates() {
    // Bandwidth by threads 1, 2, 4 … 128: 10 GB/s each up to 16 threads.
    let points: Vec<(f64, f64)> = (0..8).map(|i| 2f64.powi(i)).map(|t| (t, (10.0 * t).min(160.0))).collect();
    let linear = knee(&points, Curve::ConcaveIncreasing, XScale::Linear, 1.0).unwrap();
    assert_eq!(linear.x, 16.0);
    // On log x the rise is convex up to the same corner.
    let log = knee(&points, Curve::ConcaveIncreasing, XScale::Log, 1.0).unwrap();
    assert_eq!(log.x, 16.0);
}

#[test]
fn sensitivity_sets_how_far_the_curve_must_fall() {
    // The difference falls from about 0.49 to 0 after the knee; 30 points are 1/29 apart.
    let points = curve(30, |x| 1.0 - (-x / 5.0).exp());
    let with = |sensitivity| knee(&points, Curve::ConcaveIncreasing, XScale::Linear, sensitivity);
    assert!(with(10.0).is_some());
    assert_eq!(with(20.0), None);
}

#[test]
fn no_knee_no_answer() {
    let any = |points: &[(f64, f64)], scale| knee(points, Curve::ConcaveIncreasing, scale, 1.0);
    assert_eq!(any(&curve(20, |x| 2.0 * x), XScale::Linear), None, "a line");
    assert_eq!(any(&curve(20, |_| 2.0), XScale::Linear), None, "a constant");
    assert_eq!(any(&curve(4, |x| x.sqrt()), XScale::Linear), None, "four points");
    assert_eq!(any(&curve(20, |x| if x == 5.0 { f64::NAN } else { x.sqrt() }), XScale::Linear), None);
    let mut from_zero = curve(20, f64::sqrt);
    from_zero[0].0 = 0.0;
    assert!(any(&from_zero, XScale::Linear).is_some());
    assert_eq!(any(&from_zero, XScale::Log), None, "log of zero");
    from_zero[3].0 = 2.0;
    assert_eq!(any(&from_zero, XScale::Linear), None, "x does not rise");
}

proptest! {
    #[test]
    fn mirrored_curves_have_mirrored_knees(bend in 0.05..0.5f64) {
        let rise = |x: f64| (x / 30.0) / (x / 30.0 + bend);
        let concave = knee(&curve(30, rise), Curve::ConcaveIncreasing, XScale::Linear, 1.0).unwrap();
        let convex = knee(&curve(30, |x| -rise(31.0 - x)), Curve::ConvexIncreasing, XScale::Linear, 1.0).unwrap();
        let falling = knee(&curve(30, |x| -rise(x)), Curve::ConvexDecreasing, XScale::Linear, 1.0).unwrap();
        let dropping = knee(&curve(30, |x| rise(31.0 - x)), Curve::ConcaveDecreasing, XScale::Linear, 1.0).unwrap();
        prop_assert_eq!(convex.index, 29 - concave.index);
        prop_assert_eq!(falling.index, concave.index);
        prop_assert_eq!(dropping.index, 29 - concave.index);
        prop_assert!(concave.distance > 0.0 && concave.distance < 1.0);
    }
}
