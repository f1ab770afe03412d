//! Curves of a real machine whose caches are known, small and placed at random in the host: sizes come out right or not
//! at all.

use tiermark_model::{KIB, MIB};

use super::recorded::ALL;
use super::*;

const TRUTH: [u64; 3] = [48 * KIB, MIB, 32 * MIB];

fn points(curve: &[recorded::Measured]) -> Vec<CurvePoint> {
    curve.iter().map(|&(bytes, ns, low, high)| CurvePoint { bytes, ns, low, high }).collect()
}

fn caches(sizes: [u64; 3]) -> Vec<Declared> {
    sizes.iter().enumerate().map(|(i, bytes)| Declared { level: i as u8 + 1, bytes: *bytes, shared: i > 1 }).collect()
}

/// Whether a size is within 10 % of the truth.
fn right(size: Size, truth: u64) -> Option<bool> {
    size.resolved().map(|bytes| (bytes as f64 / truth as f64 - 1.0).abs() <= 0.1)
}

#[test]
fn sizes_of_a_real_machine_are_right_or_not_resolved() {
    let mut second = 0;
    for (name, curve) in ALL {
        let found = find(&points(curve), &caches(TRUTH), 2 * MIB, None);
        assert_eq!(found.grain.map(|g| (g.entries, g.page)), Some((96, 4 * KIB)), "{name}");
        let [l1, l2, l3] = &found.tiers[..] else { panic!("{name}: {found:?}") };
        assert_eq!(right(l1.size, TRUTH[0]), Some(true), "{name}: {l1:?}");
        assert_ne!(right(l2.size, TRUTH[1]), Some(false), "{name}: {l2:?}");
        assert_ne!(right(l3.size, TRUTH[2]), Some(false), "{name}: {l3:?}");
        for (tier, truth) in [(l1, TRUTH[0]), (l2, TRUTH[1])] {
            let (low, high) = tier.size.range();
            assert!(low <= truth && truth <= high, "{name}: {tier:?}");
        }
        second += usize::from(l2.size.resolved().is_some());
    }
    assert!(second >= 4, "the declared size of L2 decided {second} times");
}

#[test]
fn lies_about_a_real_machine_are_not_repeated() {
    for (name, curve) in ALL {
        for [first, second] in [[32 * KIB, 512 * KIB], [48 * KIB, 2 * MIB], [96 * KIB, 4 * MIB]] {
            let found = find(&points(curve), &caches([first, second, 32 * MIB]), 2 * MIB, None);
            for (tier, truth) in found.tiers.iter().zip(TRUTH) {
                assert_ne!(right(tier.size, truth), Some(false), "{name}, {second}: {tier:?}");
            }
        }
    }
}
