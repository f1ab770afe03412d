use tiermark_stats::{Rng, Sample, bend, transition};

/// A level of 4 and one of 16, left at 1 by the given share of hits; 12 samples an octave.
fn samples(hits: impl Fn(f64) -> f64, from: f64, to: f64, noise: f64, seed: u64) -> Vec<Sample> {
    let mut rng = Rng::new(seed);
    let count = ((to / from).log2() * 12.0) as u32;
    let at = |i: u32| from * (f64::from(i) / 12.0).exp2();
    let mut value = |size: f64| (16.0 - 12.0 * hits(size)) * (noise * rng.normal()).exp();
    (0..=count).map(at).map(|size| Sample { size, value: value(size), sigma: 0.01 }).collect()
}

fn share(x: f64) -> f64 {
    (1.0 / x).min(1.0)
}

fn gradually(x: f64) -> f64 {
    (-(x - 1.0).max(0.0) / 0.3).exp()
}

fn crowded(x: f64) -> f64 {
    1.0 / (1.0 + x.powf(7.0))
}

fn sharply(x: f64) -> f64 {
    f64::from(u8::from(x <= 1.0))
}

#[test]
fn the_size_is_found_whatever_the_law() {
    for (name, law) in
        [("share", share as fn(f64) -> f64), ("gradually", gradually), ("crowded", crowded), ("sharply", sharply)]
    {
        for seed in 0..40 {
            let found = transition(&samples(law, 0.2, 5.0, 0.01, seed), (4.0, 16.0), 0.0).unwrap();
            assert!((found.size - 1.0).abs() < 0.12, "{name}, seed {seed}: {found:?}");
            assert!(found.low <= found.size && found.size <= found.high && found.misfit < 3.0, "{name}: {found:?}");
            assert!(found.evicted < 0.05, "{name}, seed {seed}: {found:?}");
        }
    }
}

#[test]
fn eviction_by_others_is_no_size() {
    // Half-life of 1 footprint's walk at the mean of hit and miss.
    let evicted = |x: f64| (0..99).fold(1.0, |hit: f64, _| (-0.5 * x * (4.0 - 3.0 * hit) / 2.5).exp());
    for seed in 0..40 {
        let found = transition(&samples(evicted, 0.005, 8.0, 0.01, seed), (4.0, 16.0), 0.0).unwrap();
        assert!(found.evicted > 0.5 || found.high / found.low > 1.3, "seed {seed}: {found:?}");
    }
}

#[test]
fn too_high_samples_move_nothing() {
    let clean = transition(&samples(share, 0.2, 5.0, 0.01, 1), (4.0, 16.0), 0.0).unwrap();
    for at in [3, 20, 30, 45] {
        let mut wild = samples(share, 0.2, 5.0, 0.01, 1);
        wild[at].value *= 1.6;
        let found = transition(&wild, (4.0, 16.0), 0.0).unwrap();
        assert!((found.size / clean.size - 1.0).abs() < 0.05, "{at}: {found:?} {clean:?}");
    }
}

#[test]
fn few_points_leave_much_open() {
    let points: Vec<Sample> = [0.1, 0.2, 0.4, 0.7, 1.4, 2.8, 5.6]
        .map(|size| Sample { size, value: if size < 1.0 { 4.0 } else { 16.0 }, sigma: 0.01 })
        .to_vec();
    let found = transition(&points, (4.0, 16.0), 0.0).unwrap();
    assert!(found.low < 0.8 && found.high > 1.25, "{found:?}");
    assert_eq!(transition(&points[..5], (4.0, 16.0), 0.0), None, "too few");
    assert_eq!(transition(&points, (16.0, 4.0), 0.0), None, "no rise");
    let mut bad = points.clone();
    bad[2].value = f64::NAN;
    assert_eq!(transition(&bad, (4.0, 16.0), 0.0), None);
    assert_eq!(bend(&bad, (4.0, 16.0), &[0.3], 0.8), None);
}

#[test]
fn a_bend_is_found_where_there_is_one() {
    for seed in 0..40 {
        let bent = |x: f64| share(x * 4.0).mul_add(0.15, 0.85) * gradually(x);
        let flat = bend(&samples(gradually, 0.05, 4.0, 0.01, seed), (4.0, 16.0), &[0.2, 0.25, 0.3], 0.8);
        assert!(flat.is_none_or(|b| b.probability < 0.9 || b.cost < 0.2), "seed {seed}: {flat:?}");
        let found = bend(&samples(bent, 0.05, 4.0, 0.01, seed), (4.0, 16.0), &[0.2, 0.25, 0.35], 0.8).unwrap();
        assert!(found.probability > 0.99 && (found.cost / 1.8 - 1.0).abs() < 0.2, "seed {seed}: {found:?}");
        assert!((0.2..0.3).contains(&found.reach), "seed {seed}: {found:?}");
    }
}

#[test]
fn luck_of_pages_widens_what_is_known() {
    let points = samples(crowded, 0.2, 5.0, 0.01, 3);
    let (firm, lucky) =
        (transition(&points, (4.0, 16.0), 0.0).unwrap(), transition(&points, (4.0, 16.0), 0.1).unwrap());
    // 98 % of a normal distribution are 2.33 deviations to either side.
    assert!((lucky.high / lucky.low).ln() > 2.0 * 2.3 * 0.1, "{lucky:?}");
    assert!(firm.high / firm.low < lucky.high / lucky.low && lucky.low < 1.0 && 1.0 < lucky.high, "{firm:?} {lucky:?}");
}
