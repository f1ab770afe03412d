use tiermark_stats::{Rng, ks_uniform};

#[test]
fn stream_is_fixed_for_ever() {
    // Python: SplitMix64 then xoshiro256++ as published, in integers modulo 2**64
    let mut rng = Rng::new(0);
    assert_eq!(
        [rng.next_u64(), rng.next_u64(), rng.next_u64()],
        [0x5317_5d61_490b_23df, 0x61da_6f3d_c380_d507, 0x5c0f_df91_ec9a_7bfc]
    );
}

#[test]
fn numbers_are_uniform_and_in_range() {
    let mut rng = Rng::new(42);
    let units: Vec<f64> = (0..5000).map(|_| rng.unit()).collect();
    assert!(units.iter().all(|u| (0.0..1.0).contains(u)));
    assert!(ks_uniform(&units, 0.0, 1.0).unwrap().p_value > 0.001);
    let mut seen = [0u32; 7];
    for _ in 0..7000 {
        seen[rng.below(7)] += 1;
    }
    // 1,000 expected in each, standard error 29.
    assert!(seen.iter().all(|s| (870..1130).contains(s)), "{seen:?}");
    assert_eq!(rng.below(0), 0);
    let normals: Vec<f64> = (0..5000).map(|_| rng.normal()).collect();
    let variance = normals.iter().map(|v| v * v).sum::<f64>() / 5000.0;
    assert!((variance - 1.0).abs() < 0.08, "{variance}");
}
