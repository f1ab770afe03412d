//! The edge of windows: where it lies, and whether it is sharp.

use tiermark_stats::{Rng, Side, VisitWindows, edge, group_limits, group_of};

/// Visits every tenth of a second, 8 windows each; `value` draws a window of a visit.
fn visits(count: usize, mut value: impl FnMut(usize) -> f64) -> Vec<VisitWindows> {
    let visit = |n| VisitWindows { at: n as f64 * 0.1, values: (0..8).map(|_| value(n)).collect() };
    (0..count).map(visit).collect()
}

#[test]
fn a_pile_with_a_tail_below_is_found() {
    let mut rng = Rng::new(7);
    // A quarter undisturbed, the rest anywhere down to half.
    let seen = visits(100, |_| 100.0 * if rng.unit() < 0.25 { 1.0 } else { 1.0 - 0.5 * rng.unit() });
    let found = edge(&seen, Side::High).unwrap();
    assert_eq!(found.value, 100.0);
    assert!(found.is_sharp() && found.is_reproduced() && found.has_enough(), "{found:?}");
    // The same as times.
    let times: Vec<VisitWindows> =
        seen.iter().map(|v| VisitWindows { at: v.at, values: v.values.iter().map(|x| 1e3 / x).collect() }).collect();
    let found = edge(&times, Side::Low).unwrap();
    assert!((found.value - 10.0).abs() < 1e-9 && found.is_sharp(), "{found:?}");
}

#[test]
fn a_tail_has_no_sharp_edge() {
    let mut rng = Rng::new(3);
    // Falling off towards the fast end: few reach it.
    let seen = visits(200, |_| 100.0 * (1.0 - (rng.unit() * rng.unit()).sqrt().mul_add(-0.5, 0.5)));
    let found = edge(&seen, Side::High).unwrap();
    assert!(!found.is_sharp(), "{found:?}");
}

#[test]
fn one_moment_is_not_reproduced() {
    let seen = visits(100, |n| if n < 9 { 100.0 } else { 80.0 - (n % 7) as f64 });
    let found = edge(&seen, Side::High).unwrap();
    assert_eq!((found.value, found.reached), (100.0, 1));
    assert!(found.is_sharp() && !found.is_reproduced());
    let apart = visits(100, |n| if n % 30 == 0 { 100.0 } else { 80.0 - (n % 7) as f64 });
    assert_eq!(edge(&apart, Side::High).unwrap().reached, 4);
}

#[test]
fn nothing_and_nonsense_have_no_edge() {
    assert_eq!(edge(&[], Side::High), None);
    assert_eq!(edge(&[VisitWindows { at: 0.0, values: Vec::new() }], Side::Low), None);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(edge(&[VisitWindows { at: 0.0, values: vec![1.0, bad] }], Side::High), None);
    }
}

#[test]
fn groups_lie_apart_and_scatter_is_none() {
    let mut rng = Rng::new(5);
    let near: Vec<f64> = (0..200).map(|_| 55.0 * (1.0 + 0.05 * rng.normal())).collect();
    assert!(group_limits(&near).is_empty());
    let far: Vec<f64> = (0..100).map(|_| 330.0 * (1.0 + 0.1 * rng.normal())).collect();
    let both = [near.clone(), far.clone()].concat();
    let limits = group_limits(&both);
    assert_eq!(limits.len(), 1);
    assert!(near.iter().all(|v| group_of(*v, &limits) == 0) && far.iter().all(|v| group_of(*v, &limits) == 1));
    let remote: Vec<f64> = (0..50).map(|_| 900.0 * (1.0 + 0.05 * rng.normal())).collect();
    assert_eq!(group_limits(&[both, remote].concat()).len(), 2);
    // One that was preempted while it pinged is no group.
    assert!(group_limits(&[near, vec![900.0]].concat()).is_empty());
    let spread: Vec<f64> = (0..300).map(|i| 20.0 * 1.01f64.powi(i)).collect();
    assert!(group_limits(&spread).is_empty(), "no valley");
    assert!(group_limits(&[]).is_empty() && group_limits(&[1.0, f64::NAN]).is_empty());
}
