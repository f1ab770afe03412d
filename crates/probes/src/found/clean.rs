//! Points that can be true at once.

use super::types::CurvePoint;

/// A point this much (relative) above a larger footprint's is wrong; less is noise, and waves that sets and pages make.
const WAVES: f64 = 0.03;
/// Half-widths of the interval by which a point has to be off as well.
const WIDTHS: f64 = 2.0;

/// The points of a curve by footprint, without those that are impossible.
///
/// A larger footprint never hits more, and disturbance makes times longer, never shorter: a point above any of a larger
/// footprint was disturbed in every visit, and is dropped. Of points at one footprint the lowest counts.
pub(super) fn clean(curve: &[CurvePoint]) -> Vec<CurvePoint> {
    let positive = |v: f64| v.is_finite() && v > 0.0;
    let mut points: Vec<CurvePoint> = curve
        .iter()
        .copied()
        .filter(|p| p.bytes > 0 && positive(p.ns) && p.low.is_finite() && p.high.is_finite())
        .collect();
    points.sort_by(|a, b| a.bytes.cmp(&b.bytes).then(a.ns.total_cmp(&b.ns)));
    points.dedup_by_key(|p| p.bytes);
    let mut least = f64::INFINITY;
    let mut kept: Vec<CurvePoint> = Vec::new();
    for point in points.into_iter().rev() {
        if point.ns <= least * (1.0 + WAVES.max(WIDTHS * half_width(&point))) {
            least = least.min(point.ns);
            kept.push(point);
        }
    }
    kept.reverse();
    kept
}

/// Half the width of a point's interval, relative.
pub(super) fn half_width(point: &CurvePoint) -> f64 {
    ((point.high - point.low) / 2.0 / point.ns).max(0.0)
}
