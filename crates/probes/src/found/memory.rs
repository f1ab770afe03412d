//! Whether memory answers.

use super::types::CurvePoint;

/// Two footprints agree within this: page walks add up to 8 % a doubling on base pages.
const AGREE: f64 = 0.08;

/// A rise of a doubling that page walks explain where it grows with each doubling: from this before, up to that.
const WALKS: (f64, f64) = (0.02, 0.2);

/// Share by which twice a working set is slower than once, where that is more than page walks explain and the intervals
/// of the two show it: caches then answer a part of the smaller one.
///
/// Tables of pages that no longer fit the caches themselves make a small rise that grows with each doubling (a Zen 4
/// guest of split huge pages: 7 % from 67 to 138 MiB, 14 to 276). A cache that holds the smaller sets has a rise that
/// grows, too, but none before, or a large one.
pub(crate) fn still_rises(half: Option<&CurvePoint>, once: &CurvePoint, twice: &CurvePoint) -> Option<f64> {
    let rise = twice.ns / once.ns - 1.0;
    let shown = twice.low / once.high - 1.0 > AGREE;
    let before = half.map_or(0.0, |half| once.ns / half.ns - 1.0);
    let walks = (WALKS.0..rise).contains(&before) && rise < WALKS.1;
    (shown && !walks).then_some(rise)
}
