use crate::{UNUSABLE, close};
use proptest::prelude::*;
use tiermark_stats::{Rng, mann_whitney};

pub(crate) fn thirty() -> Vec<f64> {
    (0..30).map(|i| f64::from(i * 37 % 101) / 10.0).collect()
}

pub(crate) fn twenty_five() -> Vec<f64> {
    (0..25).map(|i| f64::from(i * 53 % 97) / 10.0 + 1.05).collect()
}

pub(crate) const TIED_A: [f64; 8] = [1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 4.0, 5.0];
pub(crate) const TIED_B: [f64; 9] = [2.0, 3.0, 4.0, 5.0, 5.0, 6.0, 6.0, 7.0, 7.0];

#[test]
fn exact_matches_scipy() {
    // scipy.stats.mannwhitneyu(a, b, method='exact')
    let small = mann_whitney(&[1.1, 2.2, 3.3, 4.4, 5.5], &[2.5, 3.5, 6.1, 7.2, 8.3, 9.4]).unwrap();
    assert!(small.exact);
    close(small.u, 5.0);
    close(small.p_value, 0.08225108225108226);
    let a: Vec<f64> = (0..20).map(|i| f64::from(2 * i)).collect();
    let b: Vec<f64> = a.iter().map(|v| v + 3.5).collect();
    let twenty = mann_whitney(&a, &b).unwrap();
    assert!(twenty.exact);
    close(twenty.u, 171.0);
    close(twenty.p_value, 0.44496402484021574);
    let thirty = mann_whitney(&thirty(), &twenty_five()).unwrap();
    assert!(thirty.exact);
    close(thirty.u, 343.0);
    close(thirty.p_value, 0.5972130984200782);
}

#[test]
fn normal_approximation_matches_scipy() {
    // scipy.stats.mannwhitneyu(a, b, method='asymptotic')
    let tied = mann_whitney(&TIED_A, &TIED_B).unwrap();
    assert!(!tied.exact);
    close(tied.u, 14.0);
    close(tied.p_value, 0.036083552871538305);
    // a = [(i*37 % 101)/10 for i in range(60)]; b = [(i*53 % 97)/10 + 1.05 for i in range(50)]
    let a: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 101) / 10.0).collect();
    let b: Vec<f64> = (0..50).map(|i| f64::from(i * 53 % 97) / 10.0 + 1.05).collect();
    let large = mann_whitney(&a, &b).unwrap();
    assert!(!large.exact, "no ties, but large");
    close(large.u, 1321.0);
    close(large.p_value, 0.28392853676013996);
}

#[test]
fn equal_samples_and_unusable_ones() {
    let same = mann_whitney(&[2.0; 5], &[2.0; 7]).unwrap();
    assert_eq!((same.p_value, same.superiority), (1.0, 0.5));
    for bad in UNUSABLE {
        assert_eq!(mann_whitney(bad, &[1.0]), None);
        assert_eq!(mann_whitney(&[1.0], bad), None);
    }
}

#[test]
fn rejects_as_often_as_it_says_when_nothing_differs() {
    let mut rng = Rng::new(5);
    let mut sample = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.normal()).collect() };
    let rejected = (0..2000).filter(|_| mann_whitney(&sample(12), &sample(14)).unwrap().p_value < 0.05).count();
    // 100 expected, standard error 9.7.
    assert!((65..=135).contains(&rejected), "{rejected}");
}

proptest! {
    #[test]
    fn swapping_the_samples_mirrors_u(
        a in prop::collection::vec(0..50i32, 1..20),
        b in prop::collection::vec(0..50i32, 1..20),
    ) {
        let (a, b): (Vec<f64>, Vec<f64>) = (a.into_iter().map(f64::from).collect(), b.into_iter().map(f64::from).collect());
        let (one, other) = (mann_whitney(&a, &b).unwrap(), mann_whitney(&b, &a).unwrap());
        prop_assert!((one.u + other.u - (a.len() * b.len()) as f64).abs() < 1e-9);
        prop_assert!((one.p_value - other.p_value).abs() < 1e-9);
        prop_assert!((0.0..=1.0).contains(&one.p_value) && (0.0..=1.0).contains(&one.superiority));
    }
}
