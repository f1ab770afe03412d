//! Shades of heat maps in characters.

use crate::map::{Binned, PairMap};
use crate::style::Style;
use crate::text::{right, width};

/// Values as shades: as many steps of one ratio as there are shades.
pub(super) struct Shades {
    low: f64,
    step: f64,
    glyphs: [&'static str; 5],
}

impl Shades {
    /// The shades of some values; `None` unless there are two that differ. Only numbers above 0 count.
    pub(super) fn of(values: impl Iterator<Item = f64>, style: &Style) -> Option<Self> {
        let sound = values.filter(|v| v.is_finite() && *v > 0.0);
        let (low, high) = sound.fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
        (high > low).then(|| Self::between(low, high, style))
    }

    /// The shades between two values.
    pub(super) fn between(low: f64, high: f64, style: &Style) -> Self {
        let glyphs = if style.unicode { ["·", "░", "▒", "▓", "█"] } else { [".", ":", "+", "*", "#"] };
        Self { low, step: (high / low).ln() / glyphs.len() as f64, glyphs }
    }

    /// The shade of a value; a blank for what is no number above 0.
    pub(super) fn glyph(&self, value: f64) -> &'static str {
        if !(value > 0.0 && value.is_finite()) {
            return " ";
        }
        let at = if self.step > 0.0 { ((value / self.low).ln() / self.step) as usize } else { 0 };
        self.glyphs[at.min(self.glyphs.len() - 1)]
    }

    /// The shades with the values that each goes up to: `· to 50, ░ to 75`.
    pub(super) fn key(&self, text: impl Fn(f64) -> String) -> String {
        let upto = |index: usize| text(self.low * (self.step * (index + 1) as f64).exp());
        let one = |(index, glyph): (usize, &&str)| format!("{glyph} to {}", upto(index));
        self.glyphs.iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// Rows at most; each is two columns wide, so that a map is about square.
const BINS: usize = 24;

/// Items in a bin, so that a map has no more rows than are shown.
pub(crate) fn bin_size(map: &PairMap) -> usize {
    map.items.len().div_ceil(BINS)
}

/// The rows of a map, and what their shades mean.
pub(crate) fn shaded(map: &PairMap, binned: &Binned, style: &Style) -> (String, String) {
    let (low, high) = binned.range();
    let shades = Shades::between(low, high, style);
    let label = |row: usize| map.items[row * binned.size].to_string();
    let gutter = (0..binned.bins).map(|row| width(&label(row))).max().unwrap_or(0);
    let mut out = String::new();
    for row in 0..binned.bins {
        let shade = |column: usize| {
            let known = binned.medians.get(&(row.min(column), row.max(column)));
            known.map_or("  ".to_owned(), |value| shades.glyph(*value).repeat(2))
        };
        let line: String = (0..binned.bins).map(shade).collect();
        out.push_str(format!("  {} {line}", right(&label(row), gutter)).trim_end());
        out.push('\n');
    }
    let key = shades.key(|value| format!("{value:.0}"));
    (out, format!("{}: {key}; blank: not measured", map.unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_go_from_the_least_to_the_greatest() {
        let style = Style { unicode: false, ..Style::default() };
        let shades = Shades::of([100.0, 320.0, f64::NAN, 0.0, 3200.0].into_iter(), &style).unwrap();
        assert_eq!([100.0, 320.0, 3200.0, f64::NAN, 1e300].map(|v| shades.glyph(v)), [".", ":", "#", " ", "#"]);
        assert!(shades.key(|v| format!("{v:.0}")).ends_with("# to 3200"));
        assert!(Shades::of([5.0, 5.0].into_iter(), &style).is_none());
    }
}
