//! Bars and sparklines in Unicode and in ASCII.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::border;

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Whether colours are used. They never carry meaning alone.
    pub color: bool,
    /// Whether glyphs beyond ASCII are used.
    pub unicode: bool,
}

/// The part that a text plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Head,
    Dim,
    Graph,
    Alarm,
    Selected,
}

const ASCII_BORDER: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

impl Look {
    pub(crate) fn style(self, ink: Ink) -> Style {
        let plain = Style::new();
        let colored = |color| if self.color { plain.fg(color) } else { plain };
        match ink {
            Ink::Plain => plain,
            Ink::Head => plain.add_modifier(Modifier::BOLD),
            Ink::Dim => plain.add_modifier(Modifier::DIM),
            Ink::Graph => colored(Color::Cyan),
            Ink::Alarm => colored(Color::Red).add_modifier(Modifier::BOLD),
            Ink::Selected => plain.add_modifier(Modifier::REVERSED),
        }
    }

    pub(crate) fn border(self) -> border::Set<'static> {
        if self.unicode { border::PLAIN } else { ASCII_BORDER }
    }

    pub(crate) fn glyph(self, glyph: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { glyph } else { ascii }
    }

    /// Text in place of a missing number.
    pub(crate) fn absent(self) -> String {
        self.glyph("–", "-").to_owned()
    }

    /// A bar of so many columns, of which a share is full.
    pub(crate) fn bar(self, share: Option<f64>, columns: usize) -> String {
        let full = share.map_or(0, |share| (share.clamp(0.0, 1.0) * columns as f64).round() as usize);
        let (on, off) = (self.glyph("█", "#"), self.glyph("░", "."));
        on.repeat(full) + &off.repeat(columns - full)
    }

    /// Values over time, the newest at the right: the full height is the largest of them and `least_top`. A missing
    /// value is a gap; 0 is the lowest mark, so that it differs from a gap.
    pub(crate) fn spark(self, values: &[Option<f64>], least_top: f64, columns: usize) -> String {
        const HEIGHTS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
        const ASCII: [&str; 8] = ["_", ".", ".", ":", "-", "=", "+", "#"];
        let top = values.iter().flatten().copied().fold(least_top, f64::max);
        let mark = |value: &Option<f64>| match value {
            None => " ",
            Some(value) => {
                let height = (value / top * (HEIGHTS.len() - 1) as f64).round() as usize;
                let marks = if self.unicode { HEIGHTS } else { ASCII };
                marks[height.min(HEIGHTS.len() - 1)]
            }
        };
        let newest = &values[values.len().saturating_sub(columns)..];
        " ".repeat(columns - newest.len()) + &newest.iter().map(mark).collect::<String>()
    }
}
