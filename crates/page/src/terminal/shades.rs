//! Shades of heat maps in characters.

use crate::style::Style;

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
