use tiermark_stats::{Rng, joint_changes, least_step_p, other_level};

fn rows(series: &[&[f64]]) -> Vec<Vec<Option<f64>>> {
    series.iter().map(|of| of.iter().copied().map(Some).collect()).collect()
}

#[test]
fn a_complete_step_has_the_share_of_the_orders_that_are_as_far() {
    let step = [1.0, 1.1, 0.9, 1.2, 0.8, 2.0, 2.1, 1.9, 2.2, 1.8];
    // 2 of the 252 choices of five values. The flat series is at no place.
    let found = joint_changes(&rows(&[&step, &[0.1; 10]]), 5, 0.01);
    assert!((found[0] - 2.0 / 252.0).abs() < 0.004 && found[1] == 1.0, "{found:?}");
    // Without the level it ends early, and says that nothing is beyond it.
    let found = joint_changes(&rows(&[&[1.0, 2.0, 1.5, 1.2, 1.9, 1.1, 1.8, 1.4, 1.3, 1.6]]), 5, 0.01);
    assert!(found[0] > 0.1, "{found:?}");
    // A stay of five among fifteen, and runs without a value.
    let mut stay: Vec<Option<f64>> = step.iter().chain(&[1.05, 1.15, 0.95, 1.25, 0.85]).copied().map(Some).collect();
    assert!(joint_changes(std::slice::from_ref(&stay), 5, 0.01)[0] < 0.01);
    stay.insert(7, None);
    assert!(joint_changes(std::slice::from_ref(&stay), 5, 0.01)[0] < 0.01);
    assert!(joint_changes(&[], 5, 0.01).is_empty());
    assert_eq!(joint_changes(&rows(&[&step[..9], &[]]), 5, 0.01), [1.0; 2]);
}

#[test]
fn the_level_is_that_of_all_series_together() {
    let mut rng = Rng::new(31);
    for (series, length) in [(2, 10), (12, 13), (12, 20)] {
        let is_alarm = |_: &i32| {
            // Errors with long tails, and two series that depend on each other.
            let mut rows: Vec<Vec<f64>> =
                (0..series).map(|_| (0..length).map(|_| rng.normal() / (0.1 + rng.unit())).collect()).collect();
            rows[1] = rows[0].iter().map(|value| value + 0.1 * rng.normal()).collect();
            let rows = rows.into_iter().map(|of| of.into_iter().map(Some).collect()).collect::<Vec<Vec<Option<f64>>>>();
            joint_changes(&rows, 5, 0.05).iter().any(|p| *p <= 0.05)
        };
        let alarms = (0..200).filter(is_alarm).count();
        // The nominal 10 and three standard errors.
        assert!((1..=20).contains(&alarms), "{series} of {length}: {alarms}");
    }
}

#[test]
fn the_least_p_value_is_that_of_the_smallest_complete_step() {
    for n in [10, 13, 15, 22] {
        let series: Vec<f64> =
            (0..n).map(|at| if at < 5 { 0.0 } else { 100.0 } + 0.01 * ((at * 7) % n) as f64).collect();
        let found = other_level(&series, 5).unwrap();
        assert!((least_step_p(n, 5).unwrap() / found.p_value - 1.0).abs() < 1e-9, "{n}: {found:?}");
    }
    assert_eq!(least_step_p(9, 5), None);
}
