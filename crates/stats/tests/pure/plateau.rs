use proptest::prelude::*;
use tiermark_stats::{Rng, Tiers, plateaus, tiers};

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

/// (capacity, latency) of a made-up server; the last tier has no end.
const SERVER: [(f64, f64); 4] = [(48.0 * KIB, 1.6), (1.25 * MIB, 5.2), (28.0 * MIB, 22.0), (f64::INFINITY, 95.0)];

/// How a tier is outgrown.
#[derive(Clone, Copy, Debug)]
enum Outgrown {
    /// At once (a cyclic walk in a true LRU cache).
    Sharply,
    /// Over about this factor of size to either side (random pages colliding in the sets).
    Smoothly(f64),
    /// Hits in proportion to capacity/size (random replacement).
    ByShare,
}

/// Latency at `size`, mixed over the tiers by hit share.
fn latency(size: f64, tiers: &[(f64, f64)], outgrown: Outgrown) -> f64 {
    let (mut value, mut left) = (0.0, 1.0);
    for &(capacity, latency) in tiers {
        let hit = match outgrown {
            _ if capacity.is_infinite() => 1.0,
            Outgrown::Sharply => f64::from(u8::from(size <= capacity)),
            Outgrown::Smoothly(width) => 1.0 / (1.0 + (size / capacity).powf(4.0 / width.log2())),
            Outgrown::ByShare => (capacity / size).min(1.0),
        };
        value += left * hit * latency;
        left *= 1.0 - hit;
    }
    value
}

/// `per_octave` sizes an octave from 4 KiB to `to`, with relative noise.
fn sweep(shape: &[(f64, f64)], outgrown: Outgrown, per_octave: u32, to: f64, noise: f64, seed: u64) -> Vec<(f64, f64)> {
    let mut rng = Rng::new(seed);
    let count = ((to / (4.0 * KIB)).log2() * f64::from(per_octave)).round() as u32;
    (0..=count)
        .map(|i| (4.0 * KIB * (f64::from(i) / f64::from(per_octave)).exp2() / 64.0).round() * 64.0)
        .map(|size| (size, latency(size, shape, outgrown) * (noise * rng.normal()).exp()))
        .collect()
}

/// Whether the tiers of `shape` were found: values within `value_error`, boundaries within `factor`.
fn matches(found: &Tiers, shape: &[(f64, f64)], value_error: f64, factor: f64) -> Result<(), String> {
    let say = |what: &str| Err(format!("{what}: {found:#?}"));
    if found.plateaus.len() != shape.len() || found.boundaries.len() + 1 != shape.len() {
        return say("wrong number of tiers");
    }
    for (plateau, (_, latency)) in found.plateaus.iter().zip(shape) {
        if (plateau.value / latency - 1.0).abs() > value_error {
            return say(&format!("level of {latency}"));
        }
    }
    for (boundary, (capacity, _)) in found.boundaries.iter().zip(shape) {
        if (boundary.estimate / capacity).ln().abs() > factor.ln() {
            return say(&format!("boundary of {capacity}"));
        }
    }
    Ok(())
}

#[test]
fn sharp_tiers_are_found_to_the_grid() {
    let found = tiers(&sweep(&SERVER, Outgrown::Sharply, 8, 512.0 * MIB, 0.0, 1));
    matches(&found, &SERVER, 1e-9, 2f64.powf(1.0 / 8.0)).unwrap();
    for (boundary, (capacity, _)) in found.boundaries.iter().zip(SERVER) {
        assert!(boundary.low <= capacity && capacity < boundary.high, "{boundary:?}");
    }
}

#[test]
fn noisy_tiers_are_found_for_every_seed() {
    let mut misses = Vec::new();
    for seed in 0..100 {
        for outgrown in [Outgrown::Sharply, Outgrown::Smoothly(1.5)] {
            let found = tiers(&sweep(&SERVER, outgrown, 8, 512.0 * MIB, 0.03, seed));
            if let Err(why) = matches(&found, &SERVER, 0.06, 1.6) {
                misses.push((seed, outgrown, why));
            }
        }
    }
    assert!(misses.is_empty(), "{} misses, first {:?} {}", misses.len(), (misses[0].0, misses[0].1), misses[0].2);
}

#[test]
fn slow_transitions_of_random_replacement_are_seen_through() {
    let mut misses = Vec::new();
    for seed in 0..100 {
        let found = tiers(&sweep(&SERVER, Outgrown::ByShare, 8, 2048.0 * MIB, 0.03, seed));
        if let Err(why) = matches(&found, &SERVER, 0.15, 1.35) {
            misses.push((seed, why));
        }
    }
    assert!(misses.is_empty(), "{} misses, first {} {}", misses.len(), misses[0].0, misses[0].1);
}

#[test]
fn a_curve_that_ends_in_a_climb_bounds_its_last_plateau() {
    // Four times all caches: memory answers most accesses, but its plateau is not reached.
    let all: f64 = SERVER.iter().map(|tier| tier.0).filter(|capacity| capacity.is_finite()).sum();
    for seed in 0..100 {
        let found = tiers(&sweep(&SERVER, Outgrown::ByShare, 8, 4.0 * all, 0.01, seed));
        assert_eq!((found.plateaus.len(), found.boundaries.len()), (3, 3), "{seed}: {found:#?}");
        let capacity = SERVER[2].0;
        let last = found.boundaries[2];
        assert!((last.estimate / capacity - 1.0).abs() < 0.25, "{seed}: {found:#?}");
        assert!(last.low < 1.2 * capacity && capacity < last.high && last.high < 3.0 * capacity, "{seed}: {found:#?}");
    }
    // A curve that ends on a plateau, or just after it, has no such end.
    for to in [16.0 * MIB, 29.0 * MIB] {
        let found = tiers(&sweep(&SERVER, Outgrown::Sharply, 8, to, 0.01, 1));
        assert_eq!((found.plateaus.len(), found.boundaries.len()), (3, 2), "{found:#?}");
    }
}

#[test]
fn a_coarser_sweep_still_shows_the_tiers() {
    let mut misses = 0;
    for seed in 0..100 {
        let found = tiers(&sweep(&SERVER, Outgrown::Smoothly(1.3), 4, 512.0 * MIB, 0.03, seed));
        misses += u32::from(matches(&found, &SERVER, 0.08, 1.7).is_err());
    }
    assert!(misses <= 3, "{misses}");
}

#[test]
fn wild_points_do_not_cut_a_tier() {
    for seed in 0..50 {
        let mut points = sweep(&SERVER, Outgrown::Sharply, 8, 512.0 * MIB, 0.02, seed);
        for i in [10, 40, 41, 75, 120] {
            points[i].1 *= 1.8;
        }
        matches(&tiers(&points), &SERVER, 0.06, 1.3).unwrap();
    }
}

#[test]
fn one_tier_is_one_plateau() {
    for seed in 0..100 {
        let points = sweep(&[(f64::INFINITY, 80.0)], Outgrown::Sharply, 8, 512.0 * MIB, 0.03, seed);
        let found = plateaus(&points);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].value / 80.0 - 1.0).abs() < 0.02);
    }
}

#[test]
fn a_climb_within_a_tier_does_not_split_it() {
    // Page walks add 8 % a doubling beyond 64 MiB: 1.6 times at 4 GiB.
    for seed in 0..40 {
        let mut points = sweep(&SERVER, Outgrown::Smoothly(1.4), 8, 4096.0 * MIB, 0.03, seed);
        for (size, value) in &mut points {
            *value *= (*size / (64.0 * MIB)).max(1.0).powf(0.115);
        }
        let found = tiers(&points);
        assert_eq!(found.plateaus.len(), 4, "{seed}: {found:#?}");
        assert!(found.plateaus[3].from < 64.0 * MIB && found.plateaus[3].to > 2048.0 * MIB, "{found:#?}");
    }
}

#[test]
fn slow_memory_behind_dram_is_a_tier() {
    let mut shape = SERVER.to_vec();
    shape[3].0 = 2048.0 * MIB;
    shape.push((f64::INFINITY, 220.0));
    for seed in 0..40 {
        let found = tiers(&sweep(&shape, Outgrown::Smoothly(1.4), 8, 32_768.0 * MIB, 0.03, seed));
        matches(&found, &shape, 0.06, 1.5).unwrap();
    }
}

#[test]
fn a_steady_climb_is_no_tier() {
    let climb: Vec<(f64, f64)> = (0..80).map(|i| f64::from(i) / 8.0).map(|o| (o.exp2(), o.exp2().sqrt())).collect();
    assert_eq!(plateaus(&climb), []);
}

#[test]
fn rounds_at_one_size_count_once_by_their_median() {
    let mut points = sweep(&SERVER, Outgrown::Sharply, 8, 512.0 * MIB, 0.0, 1);
    let repeated: Vec<(f64, f64)> = points.iter().flat_map(|&(s, v)| [(s, v * 50.0), (s, v), (s, v * 0.9)]).collect();
    let clean = tiers(&points);
    assert_eq!(tiers(&repeated), clean);
    points.reverse();
    assert_eq!(tiers(&points), clean, "order does not matter");
}

#[test]
fn unusable_curves_have_no_tiers() {
    let flat: Vec<(f64, f64)> = (0..20).map(|i| (f64::from(i) + 10.0, 5.0)).collect();
    let whole = plateaus(&flat);
    assert_eq!((whole.len(), whole[0].from, whole[0].to), (1, 10.0, 29.0));
    for bad in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        let mut points = flat.clone();
        points[7].1 = bad;
        assert_eq!(tiers(&points), Tiers::default());
        points[7] = (bad, 5.0);
        assert_eq!(tiers(&points), Tiers::default());
    }
    assert_eq!(tiers(&[]), Tiers::default());
    assert_eq!(tiers(&flat[..1]), Tiers::default());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn plateaus_are_ordered_and_apart(values in prop::collection::vec(1.0..200.0f64, 0..60)) {
        let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(i, v)| ((i as f64 / 6.0).exp2(), *v)).collect();
        let found = tiers(&points);
        for pair in found.plateaus.windows(2) {
            prop_assert!(pair[0].to < pair[1].from);
            prop_assert!((pair[1].value / pair[0].value).ln().abs() >= 1.3f64.ln() - 1e-9);
        }
        for b in &found.boundaries {
            prop_assert!(b.low < b.high && b.estimate.is_finite());
        }
    }

    #[test]
    fn other_machines_too(
        l1 in 24.0..96.0f64, l2 in 8.0..30.0f64, l3 in 12.0..60.0f64, step in 2.0..5.0f64, seed: u64,
    ) {
        let (c1, c2) = (l1 * KIB, l1 * l2 * KIB);
        let shape = [(c1, 1.5), (c2, 1.5 * step), (c2 * l3, 1.5 * step * step), (f64::INFINITY, 1.5 * step.powi(3))];
        let found = tiers(&sweep(&shape, Outgrown::Smoothly(1.3), 8, 32.0 * c2 * l3, 0.02, seed));
        prop_assert_eq!(matches(&found, &shape, 0.06, 1.45), Ok(()));
    }
}
