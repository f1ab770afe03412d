//! Tiers that others use: scatter with one peak about a planted median, and a sibling that never rests.

use tiermark_model::*;
use tiermark_sim::{Neighbours, SimOptions, SimState};

use crate::made::*;

/// The logarithm of each visit's value over the planted one.
fn ratios(scatter: f64, setup: &Setup, seed: u64) -> Vec<f64> {
    let state = SimState { shared_hump: scatter, ..SimState::default() };
    let mut host = host(SimOptions { seed, state, ..quiet() });
    let planted = host.planted(setup).unwrap()[0];
    let visits = visits(&mut host, setup, 1_000);
    visits.iter().map(|shot| (planted * pace(std::iter::once(&shot.threads[0]))).ln()).collect()
}

#[test]
fn the_median_of_visits_is_what_was_planted_and_nothing_piles_up() {
    for scatter in [0.005, 0.02, 0.05] {
        for (seed, setup) in (1..).zip([chase(8 * MIB, 1), chase(256 * MIB, 1), stream("read/plain", 256 * MIB, 2)]) {
            let mut ratios = ratios(scatter, &setup, seed);
            ratios.sort_by(f64::total_cmp);
            let mean = ratios.iter().sum::<f64>() / 1_000.0;
            let sd = (ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>() / 1_000.0).sqrt();
            // The standard error of a median of 1,000 is 4 % of the deviation.
            assert!(ratios[500].abs() < 0.12 * scatter, "{scatter}: {}", ratios[500]);
            // Windows of a visit average out a tenth of the variance.
            assert!((0.85..1.05).contains(&(sd / scatter)), "{scatter}: {sd}");
            // One peak, as steep on both sides: no level at the fast end.
            let skew = ratios.iter().map(|ratio| ((ratio - mean) / sd).powi(3)).sum::<f64>() / 1_000.0;
            let fastest = ratios.iter().filter(|ratio| **ratio < ratios[20] + 0.2 * scatter).count();
            assert!(skew.abs() < 0.3 && fastest < 70, "{scatter}: {skew} {fastest}");
        }
    }
    assert!(ratios(0.05, &chase(512 * KIB, 1), 1).iter().all(|ratio| ratio.abs() < 1e-3), "the core's own does not");
}

#[test]
fn a_busy_sibling_slows_the_core_and_hardly_its_clock() {
    let neighbours = Neighbours { busy_sibling: 0.4, ..Neighbours::default() };
    let seen = |neighbours: &Neighbours, setup: &Setup| {
        let visits = visits(&mut host(SimOptions { neighbours: *neighbours, ..quiet() }), setup, 20);
        let slowest = |at: usize| blocks(&visits[at].threads[0]).into_iter().fold(0.0, f64::max);
        assert!((0..20).all(|at| (slowest(at) / slowest(0) - 1.0).abs() < 1e-6), "at every moment alike");
        let look = visits[0].threads[0].looks[0];
        (pace(visits.iter().map(|shot| &shot.threads[0])), look.hz.unwrap(), look.throughput.unwrap())
    };
    for (bytes, slower) in [(16 * KIB, 1.4), (512 * KIB, 1.4), (8 * MIB, 1.0), (256 * MIB, 1.0)] {
        for setup in [chase(bytes, 1), stream("read/plain", bytes, 1)] {
            let (alone, beside) = (seen(&Neighbours::default(), &setup), seen(&neighbours, &setup));
            assert!((beside.0 / alone.0 - slower).abs() < 0.001, "{bytes}: {beside:?} {alone:?}");
            assert!((0.995..1.0).contains(&(beside.1 / alone.1)), "{beside:?}");
            // What fills the core shows it, whatever is measured.
            assert!((alone.2 / beside.2 - 1.4).abs() < 1e-9, "{beside:?} {alone:?}");
        }
    }
}
