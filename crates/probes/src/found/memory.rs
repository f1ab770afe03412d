//! Whether memory answers.

use super::CurvePoint;

/// Two footprints agree within this: page walks add up to 8 % a doubling on base pages.
const AGREE: f64 = 0.08;

/// Whether the latency at a working set and at twice that agree, so that memory, and no cache, answers both.
pub(crate) fn memory_agrees(once: &CurvePoint, twice: &CurvePoint) -> bool {
    let apart = (twice.ns / once.ns - 1.0).abs();
    apart.is_finite() && apart <= AGREE
}
