//! A series as a few characters.

use tiermark_model::FigureHistory;
use tiermark_page::height;

/// Characters at most: the newest values.
const MOST: usize = 24;
/// Share of the middle that the whole height stands for at least: noise of a percent is to look flat. Two runs of an
/// unchanged machine may differ by half of it.
const LEAST_HEIGHT: f64 = 0.06;

/// Stands for a bound.
pub(super) const OPEN: &str = "·";
/// Stands before the first value of another level.
pub(super) const CHANGES: &str = "┆";

/// The newest values of a figure: higher is more.
pub(super) fn spark(figure: &FigureHistory) -> String {
    let points = &figure.points[figure.points.len().saturating_sub(MOST)..];
    let counted = points.iter().filter(|point| point.counts).map(|point| point.value);
    let Some((least, most)) = counted.fold(None, |ends: Option<(f64, f64)>, value| {
        Some(ends.map_or((value, value), |(least, most)| (least.min(value), most.max(value))))
    }) else {
        return OPEN.repeat(points.len());
    };
    let middle = least.midpoint(most);
    let whole = (most - least).max(LEAST_HEIGHT * middle);
    let mut out = String::new();
    for (at, point) in points.iter().enumerate() {
        if at > 0 && figure.changes.iter().any(|change| change.run == point.run) {
            out.push_str(CHANGES);
        }
        let share = (point.value - middle) / whole + 0.5;
        out.push_str(if point.counts { height(share) } else { OPEN });
    }
    out
}
