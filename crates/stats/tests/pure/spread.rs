use crate::UNUSABLE;
use tiermark_stats::{Rng, Spread, spread};

fn groups(rng: &mut Rng, count: usize, each: usize, between: f64, within: f64) -> Vec<Vec<f64>> {
    (0..count)
        .map(|_| {
            let centre = 100.0 + between * rng.normal();
            (0..each).map(|_| centre + within * rng.normal()).collect()
        })
        .collect()
}

#[test]
fn components_are_recovered() {
    let mut rng = Rng::new(1);
    let found = spread(&groups(&mut rng, 400, 9, 3.0, 2.0)).unwrap();
    assert!((found.within.unwrap() - 0.02).abs() < 0.002, "{found:?}");
    assert!((found.between.unwrap() - 0.03).abs() < 0.004, "{found:?}");
}

#[test]
fn noise_within_is_not_counted_between() {
    let mut rng = Rng::new(2);
    let found = spread(&groups(&mut rng, 400, 5, 0.0, 4.0)).unwrap();
    // The medians themselves differ by σ·√(π/2n) = 2.2 %.
    assert!(found.between.unwrap() < 0.012, "{found:?}");
}

#[test]
fn few_groups_are_not_biased() {
    let mut rng = Rng::new(3);
    let mut sum = 0.0;
    for _ in 0..600 {
        sum += spread(&groups(&mut rng, 4, 200, 3.0, 0.1)).unwrap().between.unwrap();
    }
    assert!((sum / 600.0 - 0.03).abs() < 0.003, "{}", sum / 600.0);
}

#[test]
fn one_wild_sample_in_a_group_changes_little() {
    let mut rng = Rng::new(4);
    let mut data = groups(&mut rng, 20, 9, 1.0, 1.0);
    let before = spread(&data).unwrap();
    for group in &mut data {
        group[0] = 1e6;
    }
    let after = spread(&data).unwrap();
    assert!(after.within.unwrap() < 1.6 * before.within.unwrap(), "{before:?} {after:?}");
}

#[test]
fn what_is_unknown_is_absent() {
    assert_eq!(spread(&[]), None);
    assert_eq!(spread(&[vec![], vec![5.0]]), Some(Spread { within: None, between: None }));
    assert_eq!(spread(&[vec![5.0, 5.0, 5.0]]), Some(Spread { within: Some(0.0), between: None }));
    assert_eq!(spread(&[vec![5.0], vec![5.0]]), Some(Spread { within: None, between: Some(0.0) }));
    assert_eq!(spread(&[vec![0.0, 0.0]]), None);
    for bad in UNUSABLE.into_iter().filter(|b| !b.is_empty()) {
        assert_eq!(spread(&[bad.to_vec(), vec![1.0]]), None);
    }
}
