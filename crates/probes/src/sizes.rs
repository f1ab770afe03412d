//! Footprints of a sweep: a geometric grid, and more points where the curve moves.

use tiermark_model::{Bytes, KIB, MIB};

/// The smallest footprint of a sweep.
pub(crate) const SMALLEST: u64 = 4 * KIB;
/// Points of a sweep that are larger than this lie further apart: 0.1 s and more to be made.
pub(crate) const LARGE: u64 = 64 * MIB;
/// Neighbours that differ by more than this get a point between them: three times what a curve point may be off.
const MOVES: f64 = 1.12;
/// Neighbours closer than this get none: finer than any cache's own granularity.
const CLOSE: f64 = 1.07;

/// The last point before the end of a sweep is smaller than the end by more than this: both are memory, and take
/// longest to be made.
const END: f64 = 1.3;

/// Sizes from `from` to `to` with this many points an octave, both ends included, rounded to 1 KiB.
pub(crate) fn grid(from: u64, to: u64, per_octave: u32) -> Vec<Bytes> {
    let octaves = (to as f64 / from as f64).log2().max(0.0);
    let points = (octaves * f64::from(per_octave)).floor() as u32;
    let mut sizes: Vec<u64> =
        (0..=points).map(|i| round(from as f64 * (f64::from(i) / f64::from(per_octave)).exp2())).collect();
    sizes.push(round(to as f64));
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().map(Bytes).collect()
}

/// Sizes of a sweep: a grid with at most half as many points an octave, rounded up, where they are large. Making memory
/// for them takes most of a sweep's time.
pub(crate) fn sweep(to: u64, per_octave: u32) -> Vec<Bytes> {
    let mut sizes = grid(SMALLEST, to.min(LARGE), per_octave);
    if to > LARGE {
        sizes.extend(grid(LARGE, to, per_octave.div_ceil(2)));
        // The end is there anyway.
        sizes.retain(|size| size.0 as f64 * END < to as f64);
        sizes.push(Bytes(round(to as f64)));
        sizes.dedup();
    }
    sizes
}

/// Sizes half-way (in log) between neighbours whose values differ clearly. `curve` is sorted by size.
pub(crate) fn between(curve: &[(u64, f64)]) -> Vec<Bytes> {
    curve
        .windows(2)
        .filter(|pair| {
            let ((a, x), (b, y)) = (pair[0], pair[1]);
            (b as f64 / a as f64) > CLOSE * CLOSE && (y / x).max(x / y) > MOVES
        })
        .map(|pair| Bytes(round((pair[0].0 as f64 * pair[1].0 as f64).sqrt())))
        .filter(|size| curve.iter().all(|(s, _)| s != &size.0))
        .collect()
}

fn round(bytes: f64) -> u64 {
    ((bytes / KIB as f64).round() as u64).max(1) * KIB
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn grids_hold_both_ends_and_powers_of_two() {
        let sizes: Vec<u64> = grid(4 * KIB, 32 * KIB, 2).iter().map(|b| b.0 / KIB).collect();
        assert_eq!(sizes, [4, 6, 8, 11, 16, 23, 32]);
        assert_eq!(grid(4 * KIB, 4 * KIB, 3).len(), 1);
    }

    #[test]
    fn sweeps_thin_out_where_points_are_large() {
        let sizes: Vec<u64> = sweep(300 * MIB, 2).iter().map(|b| b.0 / MIB).filter(|mib| *mib >= 23).collect();
        assert_eq!(sizes, [32, 45, 64, 128, 300]);
        assert_eq!(sweep(64 * MIB, 3), grid(SMALLEST, 64 * MIB, 3));
        let near: Vec<u64> = sweep(1048 * MIB, 3).iter().map(|b| b.0 / MIB).filter(|mib| *mib > 600).collect();
        assert_eq!(near, [724, 1048]);
    }

    #[test]
    fn points_are_added_only_where_the_curve_moves() {
        let curve = [(1 << 20, 4.0), (2 << 20, 4.1), (4 << 20, 9.0), (8 << 20, 9.1)];
        assert_eq!(between(&curve), [Bytes(2_896 * KIB)]);
        assert!(between(&[(1 << 20, 1.0), ((1 << 20) + 1024, 9.0)]).is_empty(), "too close to split");
    }

    proptest! {
        #[test]
        fn grids_rise_and_stay_inside(from in 1u64..1024, octaves in 0u32..20, per_octave in 1u32..8) {
            let (from, to) = (from * KIB, (from << octaves) * KIB);
            let sizes = grid(from, to, per_octave);
            prop_assert!(sizes.windows(2).all(|w| w[0] < w[1]));
            prop_assert_eq!(sizes[0].0, from);
            prop_assert_eq!(sizes[sizes.len() - 1].0, to);
        }
    }
}
