//! Key mappings against published vectors, and every distribution against its law.

use std::collections::HashSet;

use proptest::prelude::*;
use tiermark_stats::{Rng, ks_uniform};

use super::*;

fn keys(dist: KeyDist, order: KeyOrder, count: u64) -> Keys {
    Keys::new(dist, order, 0, count).unwrap()
}

/// What the mapping does to every key and draw, without chance.
struct Exact {
    mean_pull: f64,
    deviation: f64,
    central: Vec<f64>,
    centre_key: f64,
}

/// Shares of the keys around the middle whose share of the requests is known.
const CENTRAL: [f64; 6] = [0.05, 0.10, 0.25, 0.287, 0.50, 0.75];

fn exact(width: u32) -> Exact {
    let count = 20_001u64;
    let half = count as f64 / 2.0;
    let brief = Brief::new(width, count);
    let (mut squares, mut centre) = (0.0, 0u64);
    let mut central = vec![0u64; CENTRAL.len()];
    for key in 0..count {
        for t in 0..DRAWS_ALL {
            let mapped = brief.map(key, t);
            let distance = (mapped as f64 + 0.5 - half) / half;
            squares += distance * distance;
            centre += u64::from(mapped == count / 2);
            for (found, share) in central.iter_mut().zip(CENTRAL) {
                *found += u64::from(distance.abs() <= share);
            }
        }
    }
    let all = (count * DRAWS_ALL as u64) as f64;
    Exact {
        mean_pull: (0..DRAWS_ALL)
            .map(|t| 1.0 - brief.map(count - 1, t).saturating_sub(count / 2) as f64 / (count / 2) as f64)
            .sum::<f64>()
            / DRAWS_ALL as f64,
        deviation: (squares / all).sqrt(),
        central: central.iter().map(|n| *n as f64 / all).collect(),
        centre_key: centre as f64 / all,
    }
}

const DRAWS_ALL: usize = brief::DRAWS as usize;

#[test]
fn the_brief_mapping_has_the_published_shape() {
    // Width, mean pull, deviation in half ranges, share of requests to the central 5, 10, 25, 28.7, 50 and 75 % of the
    // keys.
    let vectors = [
        (10, 0.248, 0.476, [0.156, 0.236, 0.421, 0.460, 0.660, 0.853]),
        (25, 0.594, 0.289, [0.313, 0.438, 0.670, 0.712, 0.884, 0.986]),
    ];
    for (width, pull, deviation, central) in vectors {
        let found = exact(width);
        assert!((found.mean_pull - pull).abs() < 6e-4, "{width}: {}", found.mean_pull);
        assert!((found.deviation - deviation).abs() < 6e-4, "{width}: {}", found.deviation);
        for (found, expected) in found.central.iter().zip(central) {
            assert!((found - expected).abs() < 1e-3, "{width}: {found} for {expected}");
        }
        // One draw of 101 pulls every key to the middle; 20,001 keys add a little for those that are pulled nearly so
        // far.
        assert!((found.centre_key - 0.0099).abs() < 2e-4, "{width}: {}", found.centre_key);
    }
}

#[test]
fn the_brief_mapping_truncates_as_c_does() {
    // Worked by hand from k > N/2 ? k + (int)(g (N/2 − k)) : k − (int)(g (k − N/2)).
    let brief = Brief::new(25, 3_300_000);
    // t = 50: g = 1, all the way to the middle.
    assert_eq!(
        (brief.map(0, 50), brief.map(3_299_999, 50), brief.map(1_650_000, 50)),
        (1_650_000, 1_650_000, 1_650_000)
    );
    // t = 0: g = exp(−2) = 0.1353352832366127; 0.1353… × 1,650,000 = 223,303.2 and × 1,649,999 = 223,303.08.
    assert_eq!((brief.map(0, 0), brief.map(3_299_999, 0)), (223_303, 3_299_999 - 223_303));
    assert_eq!((brief.map(1_649_999, 0), brief.map(1_650_001, 0)), (1_649_999, 1_650_001));
    // t = 75: g = exp(−0.5) = 0.6065306597126334.
    assert_eq!(brief.map(1_000_000, 75), 1_000_000 + 394_244);
    // The sides are mirror images around the draw's middle.
    assert_eq!(brief.map(123, 40), brief.map(123, 60));
}

proptest! {
    #[test]
    fn no_key_leaves_the_range(width in 1..200u32, count in 1..i32::MAX as u64, at in 0.0..1.0f64, t in 0..DRAWS_ALL) {
        let key = (count as f64 * at) as u64;
        let mapped = Brief::new(width, count).map(key.min(count - 1), t);
        prop_assert!(mapped < count);
        prop_assert!(mapped.abs_diff(count / 2) <= key.abs_diff(count / 2));
    }

    #[test]
    fn scrambling_is_a_permutation(count in 1..5000u64) {
        let scramble = Scramble::new(count);
        let seen: HashSet<u64> = (0..count).map(|key| scramble.of(key)).collect();
        prop_assert_eq!(seen.len() as u64, count);
        prop_assert!(seen.iter().all(|key| *key < count));
    }

    #[test]
    fn words_are_read_and_never_panic(text in "(uniform|brief|normal|zipf|hotspot|sequential|)(:[-0-9.,einfNa]{0,12})?") {
        if let Ok(dist) = text.parse::<KeyDist>() {
            prop_assert_eq!(dist.to_string().parse::<KeyDist>(), Ok(dist));
            if let Ok(mut keys) = Keys::new(dist, KeyOrder::Scrambled, 0, 1000) {
                prop_assert!(keys.draw(&mut Rng::new(1)) < 1000);
            }
        }
    }
}

/// Kolmogorov–Smirnov p-value of draws against a law of discrete weights: each draw is spread evenly over its own step
/// of the distribution function, which makes it uniform exactly (the randomised probability integral transform;
/// Brockwell, Statistics & Probability Letters 77, 2007).
fn p_value(keys: &mut Keys, weights: &[f64], seed: u64) -> f64 {
    let total: f64 = weights.iter().sum();
    let mut sums = vec![0.0];
    for weight in weights {
        sums.push(sums[sums.len() - 1] + weight / total);
    }
    let (mut rng, mut jitter) = (Rng::new(seed), Rng::new(seed ^ 0xffff));
    let transformed: Vec<f64> = (0..100_000)
        .map(|_| {
            let key = keys.draw(&mut rng) as usize;
            sums[key] + jitter.unit() * (sums[key + 1] - sums[key])
        })
        .collect();
    ks_uniform(&transformed, 0.0, 1.0).unwrap().p_value
}

/// Weight of each key under a density, by Simpson's rule.
fn integrated(count: usize, density: impl Fn(f64) -> f64) -> Vec<f64> {
    (0..count).map(|k| k as f64).map(|k| (density(k) + 4.0 * density(k + 0.5) + density(k + 1.0)) / 6.0).collect()
}

#[test]
fn every_distribution_follows_its_law() {
    const N: usize = 2000;
    let zipf = |theta: f64| -> Vec<f64> { (1..=N).map(|r| (r as f64).powf(-theta)).collect() };
    let normal = |sigma: f64, mean: f64| integrated(N, move |x| (-0.5 * ((x - mean) / sigma).powi(2)).exp());
    let hot = |f: f64, p: f64| -> Vec<f64> {
        let hot = (N as f64 * f) as usize;
        (0..N).map(|k| if k < hot { p / hot as f64 } else { (1.0 - p) / (N - hot) as f64 }).collect()
    };
    let mut brief = vec![0.0; N];
    for key in 0..N as u64 {
        for t in 0..DRAWS_ALL {
            brief[Brief::new(25, N as u64).map(key, t) as usize] += 1.0;
        }
    }
    let cases: [(&str, Vec<f64>); 11] = [
        ("uniform", vec![1.0; N]),
        ("brief:0", vec![1.0; N]),
        ("brief:25", brief),
        ("normal", normal(N as f64 / 6.0, N as f64 / 2.0)),
        ("normal:500,100", normal(500.0, 100.0)),
        ("zipf:0.5", zipf(0.5)),
        ("zipf:0.99", zipf(0.99)),
        ("zipf:1", zipf(1.0)),
        ("zipf:2.5", zipf(2.5)),
        ("hotspot:0.2,0.8", hot(0.2, 0.8)),
        ("hotspot:0.1,0.05", hot(0.1, 0.05)),
    ];
    for (seed, (text, weights)) in cases.into_iter().enumerate() {
        let mut drawn = keys(text.parse().unwrap(), KeyOrder::Clustered, N as u64);
        let p = p_value(&mut drawn, &weights, seed as u64 + 1);
        assert!(p > 0.001, "{text}: p = {p}");
        // The test can fail: against a law that is a little off it does.
        let off: Vec<f64> = weights.iter().enumerate().map(|(k, w)| w * (1.0 + 0.2 * k as f64 / N as f64)).collect();
        let p = p_value(&mut drawn, &off, seed as u64 + 1);
        assert!(text == "zipf:2.5" || p < 0.001, "{text} against another law: p = {p}");
    }
}

#[test]
fn scrambled_keys_keep_their_popularity_and_lose_their_neighbours() {
    const N: u64 = 4096;
    let (mut clustered, mut scrambled) =
        (keys(KeyDist::Zipf(0.99), KeyOrder::Clustered, N), keys(KeyDist::Zipf(0.99), KeyOrder::Scrambled, N));
    let scramble = Scramble::new(N);
    let (mut a, mut b) = (Rng::new(5), Rng::new(5));
    for _ in 0..1000 {
        assert_eq!(scramble.of(clustered.draw(&mut a)), scrambled.draw(&mut b));
    }
    // The hundred most popular keys lie as if they had been thrown.
    let spread: Vec<f64> = (0..100).map(|key| scramble.of(key) as f64).collect();
    let ks = ks_uniform(&spread, 0.0, N as f64).unwrap();
    assert!(ks.p_value > 0.01, "{ks:?}");
    let near = (0..N - 1).filter(|key| scramble.of(*key).abs_diff(scramble.of(key + 1)) < 16).count();
    // 30 of 4,095 differences lie so near by chance: 2 × 15/4,096.
    assert!(near < 80, "{near}");
}

#[test]
fn numbers_that_make_no_distribution_are_refused() {
    for bad in [
        "normal:0",
        "normal:-1",
        "normal:5,2000",
        "normal:1e15",
        "normal:1e-12,1000",
        "zipf:0",
        "zipf:11",
        "hotspot:0,0.5",
        "hotspot:0.5,2",
    ] {
        let dist = bad.parse().unwrap();
        assert!(Keys::new(dist, KeyOrder::Clustered, 0, 1000).is_err(), "{bad}");
    }
    for bad in ["", "brief", "brief:-1", "brief:1.5", "zipf", "uniform:1", "hotspot:1", "normal:NaN", "zipf:inf"] {
        assert!(bad.parse::<KeyDist>().is_err(), "{bad}");
    }
    assert!(Keys::new(KeyDist::Uniform, KeyOrder::Clustered, 0, 0).is_err());
    assert!(Keys::new(KeyDist::Brief(10), KeyOrder::Clustered, 0, 1 << 31).is_err());
}

#[test]
fn a_sequence_has_every_key_once_before_any_again() {
    const N: u64 = 1000;
    let mut rng = Rng::new(1);
    let mut draw = |keys: &mut Keys, n: u64| (0..n).map(|_| keys.draw(&mut rng)).collect::<Vec<u64>>();
    let mut sequence = Keys::new(KeyDist::Sequential, KeyOrder::Clustered, 500, N).unwrap();
    assert_eq!(draw(&mut sequence, 2 * N), (500..1500).chain(500..1500).collect::<Vec<u64>>());
    let mut scrambled = Keys::new(KeyDist::Sequential, KeyOrder::Scrambled, 500, N).unwrap();
    let mut round = draw(&mut scrambled, N);
    assert!(!round.is_sorted());
    assert_eq!(round, draw(&mut scrambled, N));
    round.sort_unstable();
    assert_eq!(round, (500..1500).collect::<Vec<u64>>());
    sequence.begin_in_the_middle();
    assert_eq!(draw(&mut sequence, 2), [1000, 1001]);
}

#[test]
fn a_range_moves_the_keys_and_not_their_law() {
    for text in ["uniform", "brief:10", "normal", "zipf:0.99", "hotspot:0.2,0.8"] {
        let of = |first| Keys::new(text.parse().unwrap(), KeyOrder::Scrambled, first, 1000).unwrap();
        let (mut plain, mut moved, mut a, mut b) = (of(0), of(1_000_000), Rng::new(3), Rng::new(3));
        for _ in 0..1000 {
            assert_eq!(plain.draw(&mut a) + 1_000_000, moved.draw(&mut b), "{text}");
        }
    }
    // The mean is the number of a key.
    let around = |mean| KeyDist::Normal { sigma: Some(1.0), mean: Some(mean) };
    let mut near = Keys::new(around(5500.0), KeyOrder::Clustered, 5000, 1000).unwrap();
    assert!((5480..5520).contains(&near.draw(&mut Rng::new(1))));
    assert!(Keys::new(around(500.0), KeyOrder::Clustered, 5000, 1000).is_err());
}
