//! A series as a few characters.

use tiermark_model::FigureHistory;
use tiermark_page::Style;

/// Characters at most: the newest values.
const MOST: usize = 24;
/// Share of the middle that the whole height stands for at least: noise of a percent is to look flat. Two runs of an
/// unchanged machine may differ by half of it.
const LEAST_HEIGHT: f64 = 0.06;

/// A mark, and its stand-in in ASCII.
pub(super) struct Mark(&'static str, &'static str);

impl Mark {
    pub(super) fn of(&self, style: &Style) -> &'static str {
        style.glyph(self.0, self.1)
    }
}

/// Stands for a bound.
pub(super) const OPEN: Mark = Mark("·", ".");
/// Stands before the first value of another level.
pub(super) const CHANGES: Mark = Mark("┆", "|");

const HEIGHTS: [Mark; 8] = [
    Mark("▁", "_"),
    Mark("▂", "_"),
    Mark("▃", "-"),
    Mark("▄", "-"),
    Mark("▅", "="),
    Mark("▆", "="),
    Mark("▇", "#"),
    Mark("█", "#"),
];

/// The newest values of a figure: higher is more.
pub(super) fn spark(figure: &FigureHistory, style: &Style) -> String {
    let points = &figure.points[figure.points.len().saturating_sub(MOST)..];
    let counted = points.iter().filter(|point| point.counts).map(|point| point.value);
    let Some((least, most)) = counted.fold(None, |ends: Option<(f64, f64)>, value| {
        Some(ends.map_or((value, value), |(least, most)| (least.min(value), most.max(value))))
    }) else {
        return OPEN.of(style).repeat(points.len());
    };
    let middle = least.midpoint(most);
    let height = (most - least).max(LEAST_HEIGHT * middle);
    let mut out = String::new();
    for (at, point) in points.iter().enumerate() {
        if at > 0 && figure.changes.iter().any(|change| change.run == point.run) {
            out.push_str(CHANGES.of(style));
        }
        let share = ((point.value - middle) / height + 0.5).clamp(0.0, 1.0);
        let level = (share * (HEIGHTS.len() - 1) as f64).round() as usize;
        out.push_str(if point.counts { HEIGHTS[level].of(style) } else { OPEN.of(style) });
    }
    out
}
