//! Curves that were measured, and what holds of any curve.

use proptest::prelude::*;
use tiermark_model::{KIB, MIB};

use super::*;

/// A Zen 5 guest (48 KiB, 1 MiB, and an L3 that neighbours use): footprint and lower envelope over 12 visits, five
/// points an octave, transparent huge pages.
const ZEN5: [(u64, f64); 76] = [
    (4_096, 0.971),
    (4_736, 0.972),
    (5_376, 0.971),
    (6_208, 0.97),
    (7_104, 0.97),
    (8_192, 0.97),
    (9_408, 0.97),
    (10_816, 0.97),
    (12_416, 0.972),
    (14_272, 0.974),
    (16_384, 0.974),
    (18_816, 0.974),
    (21_632, 0.974),
    (24_832, 0.973),
    (28_544, 0.975),
    (32_768, 0.974),
    (37_632, 0.975),
    (43_264, 0.976),
    (49_664, 1.329),
    (57_024, 3.408),
    (65_536, 3.401),
    (75_264, 3.4),
    (86_464, 3.414),
    (99_328, 3.417),
    (114_112, 3.415),
    (131_072, 3.374),
    (150_592, 3.372),
    (172_928, 3.389),
    (198_656, 3.389),
    (228_224, 3.381),
    (262_144, 3.396),
    (301_120, 3.4),
    (345_920, 3.393),
    (397_312, 3.393),
    (456_448, 3.4),
    (524_288, 3.416),
    (602_240, 3.417),
    (691_776, 3.42),
    (794_688, 3.446),
    (912_832, 3.449),
    (1_048_576, 3.868),
    (1_204_480, 6.284),
    (1_383_616, 8.113),
    (1_589_376, 9.071),
    (1_825_664, 9.617),
    (2_097_152, 9.946),
    (2_409_024, 10.056),
    (2_767_232, 10.469),
    (3_178_688, 10.759),
    (3_651_328, 11.246),
    (4_194_304, 11.739),
    (4_817_984, 12.812),
    (5_534_400, 13.115),
    (6_357_376, 12.426),
    (7_302_720, 12.672),
    (8_388_608, 13.055),
    (9_635_968, 13.603),
    (11_068_864, 12.931),
    (12_714_752, 13.01),
    (14_605_440, 13.785),
    (16_777_216, 14.095),
    (19_271_936, 16.843),
    (22_137_664, 28.512),
    (25_429_504, 37.214),
    (29_210_816, 67.309),
    (33_554_432, 85.693),
    (38_543_936, 110.79),
    (44_275_328, 124.866),
    (50_859_008, 143.32),
    (58_421_632, 137.416),
    (67_108_864, 151.744),
    (77_087_872, 145.913),
    (88_550_656, 148.575),
    (101_718_016, 150.823),
    (116_843_328, 156.991),
    (134_217_728, 148.12),
];

fn measured(points: &[(u64, f64)]) -> Vec<CurvePoint> {
    points.iter().map(|(bytes, ns)| CurvePoint { bytes: *bytes, ns: *ns, low: ns * 0.995, high: ns * 1.005 }).collect()
}

fn caches(sizes: &[u64]) -> Vec<Declared> {
    sizes.iter().enumerate().map(|(i, bytes)| Declared { level: i as u8 + 1, bytes: *bytes, shared: i > 1 }).collect()
}

fn near(size: Size, truth: u64) -> bool {
    size.resolved().is_some_and(|bytes| (bytes as f64 / truth as f64 - 1.0).abs() < 0.1)
}

#[test]
fn a_guest_with_a_contended_l3() {
    let found = find(&measured(&ZEN5), &caches(&[48 * KIB, MIB, 32 * MIB]), 2 * MIB, None);
    let [l1, l2, l3] = &found.tiers[..] else { panic!("{found:?}") };
    assert!(near(l1.size, 48 * KIB) && near(l2.size, MIB), "{found:?}");
    assert!(near(l3.size, 32 * MIB) || l3.size.resolved().is_none(), "{found:?}");
    assert_eq!(found.grain, None);
    assert!(l2.rung > 96 * KIB && l2.rung <= 512 * KIB && l3.rung >= 2 * MIB && l3.rung < 16 * MIB, "{found:?}");
    assert!(found.memory.is_some_and(|(from, ns)| from > 32 * MIB && ns > 120.0), "{found:?}");
}

/// The Zen 4 guest with 4 KiB host pages (see [`bends_of_translation`]); evicted above L2.
fn zen4(bytes: u64) -> f64 {
    let translation = 2.17 * (1.0 - 288.0 * KIB as f64 / bytes as f64).max(0.0);
    match bytes {
        0..=32_768 => 1.105,
        32_769..=1_048_576 => 3.82 + translation,
        _ => (15.6 * (bytes as f64 / MIB as f64).powf(0.75)).min(150.0) + translation,
    }
}

fn sampled(per_octave: u32, largest: u64, ns: impl Fn(u64) -> f64) -> Vec<CurvePoint> {
    let points: Vec<(u64, f64)> =
        crate::sizes::grid(4 * KIB, largest, per_octave).iter().map(|b| (b.0, ns(b.0))).collect();
    measured(&points)
}

#[test]
fn bends_of_translation() {
    let declared = caches(&[32 * KIB, MIB, 32 * MIB]);
    let found = find(&sampled(8, 128 * MIB, zen4), &declared, 2 * MIB, None);
    let grain = found.grain.unwrap();
    assert_eq!((grain.knee, grain.entries, grain.page), (288 * KIB, 72, 4 * KIB));
    assert!((grain.step_ns - 2.17).abs() < 0.2, "{grain:?}");
    let [l1, l2, l3] = &found.tiers[..] else { panic!("{found:?}") };
    assert!(near(l1.size, 32 * KIB) && near(l2.size, MIB), "{found:?}");
    assert!((64 * KIB..=256 * KIB).contains(&l2.rung), "{found:?}");
    // What was printed as "L3 ~8.4 MiB" of an L3 that others evict.
    assert!(l3.size.resolved().is_none() && (2 * MIB..=4 * MIB).contains(&l3.rung), "{found:?}");
    // With the number of entries known, no other is tried.
    let found = find(&sampled(8, 128 * MIB, zen4), &declared, 2 * MIB, Some(72));
    assert_eq!(found.grain.unwrap().knee, 288 * KIB);
}

#[test]
fn the_end_of_l2_is_not_the_size_of_l3() {
    // Nothing but L2 and memory is flat: its end was named L3, with 256 KiB and 64 MiB for bounds.
    let curve = sampled(3, 128 * MIB, zen4);
    let found = find(&curve, &caches(&[32 * KIB, MIB, 32 * MIB]), 2 * MIB, None);
    for (tier, truth) in found.tiers.iter().zip([32 * KIB, MIB, u64::MAX]) {
        assert!(tier.size.resolved().is_none() || near(tier.size, truth), "{found:?}");
    }
}

#[test]
fn an_end_between_coarse_points_has_no_size() {
    // A tenth of the way between 23 KiB and 46 KiB was printed as the size.
    let honest = |bytes: u64| [(32 * KIB, 1.1), (MIB, 3.8)].iter().find(|c| bytes <= c.0).map_or(16.0, |c| c.1);
    let curve: Vec<CurvePoint> = sampled(2, 8 * MIB, honest).into_iter().filter(|p| p.bytes != 32 * KIB).collect();
    let found = find(&curve, &caches(&[32 * KIB, MIB]), 2 * MIB, None);
    let l1 = found.tiers[0].size;
    assert_eq!(l1.resolved(), None, "{found:?}");
    assert!(l1.range().0 <= 32 * KIB && l1.range().1 >= 32 * KIB, "{l1:?}");
}

#[test]
fn withheld_and_wild_points_change_no_size() {
    let declared = caches(&[48 * KIB, MIB, 32 * MIB]);
    let whole = measured(&ZEN5);
    for at in 0..whole.len() {
        let mut less = whole.clone();
        less.remove(at);
        let mut wild = whole.clone();
        wild[at].ns *= 1.8;
        for curve in [less, wild] {
            let found = find(&curve, &declared, 2 * MIB, None);
            for (tier, truth) in found.tiers.iter().zip([48 * KIB, MIB, 32 * MIB]) {
                assert!(tier.size.resolved().is_none() || near(tier.size, truth), "{at}: {found:?}");
            }
        }
    }
}

#[test]
fn nothing_is_found_in_nothing() {
    assert_eq!(find(&[], &caches(&[32 * KIB]), 4 * KIB, None), Found::default());
    let nan = CurvePoint { bytes: 4096, ns: f64::NAN, low: 0.0, high: 0.0 };
    assert_eq!(find(&[nan; 9], &[], 4 * KIB, None), Found::default());
    assert!(refine(&[], MIB, refine::MOST).is_empty());
}

#[test]
fn memory_is_where_twice_as_much_takes_as_long() {
    let known_to =
        |ns: f64, share: f64| CurvePoint { bytes: MIB, ns, low: ns * (1.0 - share), high: ns * (1.0 + share) };
    let at = |ns| known_to(ns, 0.01);
    assert_eq!(still_rises(None, &at(100.0), &at(107.0)), None);
    assert_eq!(still_rises(None, &at(80.0), &at(100.0)), Some(0.25));
    assert_eq!(still_rises(None, &at(100.0), &at(80.0)), None);
    // Less with each doubling is a cache, a little more with each is not.
    assert_eq!(still_rises(Some(&at(60.0)), &at(80.0), &at(100.0)), Some(0.25));
    assert_eq!(still_rises(Some(&at(144.0)), &at(154.0), &at(175.0)), None);
    // A cache that holds the smaller sets, all or nearly all of them.
    assert_eq!(still_rises(Some(&at(16.0)), &at(16.0), &at(20.0)), Some(0.25));
    assert!(still_rises(Some(&at(100.0)), &at(104.0), &at(150.0)).is_some());
    // A neighbour in one of the two moments is no cache.
    assert_eq!(still_rises(None, &at(100.0), &known_to(116.0, 0.1)), None);
    assert_eq!(still_rises(None, &at(f64::NAN), &at(100.0)), None);
}

#[test]
fn a_climbing_end_is_followed_up_to_a_limit() {
    let rising = sampled(4, 64 * MIB, |bytes| 1.0 + bytes as f64 / MIB as f64);
    assert!(refine(&rising, 128 * MIB, refine::MOST).iter().any(|b| *b > 64 * MIB && *b <= 128 * MIB));
    assert!(refine(&rising, 64 * MIB, refine::MOST).iter().all(|b| *b < 64 * MIB));
    let flat = sampled(4, 64 * MIB, |_| 5.0);
    assert!(refine(&flat, 128 * MIB, refine::MOST).is_empty());
}

#[test]
fn few_points_are_spent_on_every_end() {
    // The climb from L3 to memory is the highest, and had all points but one.
    let coarse: Vec<CurvePoint> =
        recorded::ALL[0].1.iter().map(|&(bytes, ns, low, high)| CurvePoint { bytes, ns, low, high }).collect();
    let grid: Vec<u64> = crate::sizes::grid(4 * KIB, 128 * MIB, 2).iter().map(|b| b.0).collect();
    let coarse: Vec<CurvePoint> = coarse.into_iter().filter(|p| grid.contains(&p.bytes)).collect();
    let first = refine(&coarse, 128 * MIB, 3);
    assert_eq!(first.len(), 3);
    assert!((45 * KIB..64 * KIB).contains(&first[0]), "{first:?}");
    assert!((512 * KIB..2 * MIB).contains(&first[1]), "{first:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn rungs_lie_on_their_plateaus_and_tiers_rise(
        values in prop::collection::vec(1.0..150.0f64, 0..50),
        rises in 0..4u32,
        declared in prop::collection::vec(1u64..65536, 0..4),
    ) {
        let mut values = values;
        if rises > 0 {
            values.sort_by(f64::total_cmp);
        }
        // Steps of equal values make plateaus.
        let values: Vec<f64> = values.iter().map(|v| if rises > 1 { (v / 30.0).ceil() * 30.0 } else { *v }).collect();
        let grid = crate::sizes::grid(4 * KIB, 64 * MIB, 4);
        let points: Vec<(u64, f64)> = grid.iter().map(|b| b.0).zip(values).collect();
        let mut sizes: Vec<u64> = declared.iter().map(|k| k * KIB).collect();
        sizes.sort_unstable();
        let found = find(&measured(&points), &caches(&sizes), 2 * MIB, None);
        for tier in &found.tiers {
            let (low, high) = tier.size.range();
            prop_assert!(low <= high);
            prop_assert!(tier.size.resolved().is_none_or(|b| low <= b && b <= high && high as f64 <= 1.25 * low as f64));
            // The rung of a shared cache is a power of two wherever its plateau ends.
            let is_on = tier.plateau.is_none_or(|(from, to)| from <= tier.rung && tier.rung <= to);
            prop_assert!(is_on || (tier.level > 1 && tier.rung.is_power_of_two()));
        }
        for pair in found.tiers.windows(2) {
            prop_assert!(pair[0].level < pair[1].level && pair[0].rung < pair[1].rung && pair[0].ns < pair[1].ns);
        }
        let more = refine(&measured(&points), 128 * MIB, refine::MOST);
        prop_assert!(more.len() <= refine::MOST && more.windows(2).all(|w| w[0] < w[1]));
        prop_assert!(more.iter().all(|b| points.iter().all(|p| p.0 != *b)));
    }
}
