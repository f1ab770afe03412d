use crate::UNUSABLE;
use proptest::prelude::*;
use tiermark_stats::{Rng, quantum};

/// A latency table printed to two decimals, measured with a clock that moved in steps of 2.4 ns an access.
const COARSE_LOCAL: [f64; 9] = [2.40, 2.40, 2.40, 2.40, 4.80, 4.80, 19.20, 28.80, 52.80];
const COARSE_REMOTE: [f64; 9] = [2.40, 2.40, 2.40, 2.40, 4.80, 4.80, 19.20, 31.20, 52.80];
/// Rows of the same table from longer windows, which its clock resolved.
const HONEST: [[f64; 9]; 3] = [
    [1.28, 1.28, 1.26, 1.25, 1.26, 1.26, 1.28, 1.43, 1.43],
    [1.28, 1.26, 1.26, 1.82, 2.43, 2.48, 3.15, 8.82, 8.92],
    [1.30, 1.27, 1.26, 1.82, 2.47, 2.48, 3.96, 12.93, 12.90],
];

#[test]
fn a_table_of_a_coarse_clock_is_flagged() {
    for row in [COARSE_LOCAL, COARSE_REMOTE] {
        let found = quantum(&row, 0.01).unwrap();
        assert!((found.size - 2.4).abs() < 1e-9, "{found:?}");
        assert_eq!(found.distinct, 5);
        assert!(found.chance < 1e-4, "{found:?}");
    }
}

#[test]
fn honest_rows_are_accepted() {
    for row in HONEST {
        assert_eq!(quantum(&row, 0.01), None, "{row:?}");
    }
}

#[test]
fn a_clock_fine_beside_what_is_printed_is_accepted() {
    // Whole nanoseconds over 1,024 accesses: a quantum of 0.001 ns where 0.01 is printed.
    let mut rng = Rng::new(1);
    let samples: Vec<f64> = (0..40).map(|_| ((85.0 + rng.normal()) * 1024.0).round() / 1024.0).collect();
    assert_eq!(quantum(&samples, 0.01), None);
    // The same samples do stand on that grid, and a floor fine enough to see it says so.
    let seen = quantum(&samples, 1e-6).unwrap();
    assert!((seen.size - 1.0 / 1024.0).abs() < 1e-9, "{seen:?}");
}

#[test]
fn a_tick_of_a_percent_is_flagged_by_unrounded_samples() {
    // A quiet cell: thirty shots on five or so neighbouring ticks, each 1 % of the value.
    let mut rng = Rng::new(2);
    let samples: Vec<f64> = (0..30).map(|_| 0.85 * (100.0 + 1.5 * rng.normal()).round()).collect();
    let found = quantum(&samples, 1e-4).unwrap();
    assert!((found.size - 0.85).abs() < 1e-6, "{found:?}");
    assert!((found.relative - 0.01).abs() < 0.0005, "{found:?}");
}

#[test]
fn no_evidence_is_no_accusation() {
    assert_eq!(quantum(&[2.4; 30], 0.01), None, "all alike");
    assert_eq!(quantum(&[2.4, 4.8], 0.01), None, "two values at two decimals are too few to tell");
    assert_eq!(quantum(&[0.0, 0.0], 0.01), None);
    assert_eq!(quantum(&[5.0], 0.01), None);
}

#[test]
fn unusable_input_gives_none() {
    for bad in UNUSABLE {
        assert_eq!(quantum(bad, 0.01), None);
    }
    assert_eq!(quantum(&[-2.4, 2.4, 4.8], 1e-9), None);
    for floor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(quantum(&COARSE_LOCAL, floor), None);
    }
}

/// False alarms among `trials` samples, each made by `make`.
fn alarms(trials: u32, floor: f64, mut make: impl FnMut() -> Vec<f64>) -> u32 {
    (0..trials).map(|_| u32::from(quantum(&make(), floor).is_some())).sum()
}

#[test]
fn false_alarms_stay_below_one_in_a_thousand() {
    let print = |v: f64| (v * 100.0).round() / 100.0;
    let mut rng = Rng::new(3);
    // Tables of 5 to 12 levels between 1 and 100 ns, printed to two decimals.
    let tables = alarms(20_000, 0.01, || (0..5 + rng.below(8)).map(|_| print(100f64.powf(rng.unit()))).collect());
    // Thirty shots of one cell, from very quiet to noisy.
    let mut rng = Rng::new(4);
    let shots = alarms(5_000, 0.01, || {
        let noise = 0.02 * 50f64.powf(rng.unit());
        (0..30).map(|_| print(85.0 + noise * rng.normal())).collect()
    });
    // The same, not printed: only the floor rounds.
    let mut rng = Rng::new(5);
    let raw = alarms(5_000, 0.05, || (0..8).map(|_| 20.0 + 5.0 * rng.normal().abs()).collect());
    // 0.001 of 20,000 is 20 and of 5,000 is 5; three standard errors above.
    assert!(tables <= 33 && shots <= 11 && raw <= 11, "{tables} {shots} {raw}");
}

proptest! {
    #[test]
    fn any_coarse_clock_is_found(
        step in 1.0..20.0f64,
        multiples in prop::collection::btree_set(1u32..40, 6..12),
        repeats in 1usize..4,
    ) {
        let samples: Vec<f64> = multiples
            .iter()
            .flat_map(|k| std::iter::repeat_n((f64::from(*k) * step * 100.0).round() / 100.0, repeats))
            .collect();
        let found = quantum(&samples, 0.01).unwrap();
        // A common factor of the multiples makes a coarser step, which is as true.
        let ratio = found.size / step;
        prop_assert!((ratio - ratio.round()).abs() < 0.02 && ratio > 0.5, "{:?}", found);
    }

    #[test]
    fn order_does_not_matter(mut values in prop::collection::vec(0.1..100.0f64, 2..20)) {
        let found = quantum(&values, 0.01);
        values.reverse();
        prop_assert_eq!(found, quantum(&values, 0.01));
    }
}
