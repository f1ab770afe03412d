//! Legends: what the signs mean that are in use on a page.

use crate::style::Style;
use crate::text::glued;

/// A sign beside a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// `~32 KiB`: known about.
    About,
    /// `155.2 ±0.4`: with its interval.
    Interval,
    /// `29.1 (11.0–90.0)`: with both ends of its interval.
    Ends,
}

/// Signs and their meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// Those that are in use are named.
    pub signs: Vec<Sign>,
    /// The rest of the sentence.
    pub meaning: String,
}

/// A paragraph that ends with the meanings of the signs in use.
#[derive(Debug, Clone, PartialEq)]
pub struct Legend {
    /// Its beginning.
    pub text: String,
    /// Each is left out where none of its signs is in use.
    pub keys: Vec<Key>,
}

impl Legend {
    /// The paragraph below some text.
    pub(crate) fn below(&self, text: &str, style: &Style) -> String {
        let mut out = self.text.clone();
        for key in &self.keys {
            let signs = key.signs.iter().filter(|sign| sign.is_in(text, style)).map(|sign| sign.shown(style));
            let signs: Vec<&str> = signs.collect();
            if !signs.is_empty() {
                out.push_str(&format!("; {}", glued(&format!("{} {}", signs.join(" or "), key.meaning))));
            }
        }
        out
    }
}

impl Sign {
    fn shown(self, style: &Style) -> &'static str {
        match self {
            Self::About => "~",
            Self::Interval => style.glyph("±", "+-"),
            Self::Ends => "(from–to)",
        }
    }

    fn is_in(self, text: &str, style: &Style) -> bool {
        match self {
            Self::About => has_about(text),
            Self::Interval => has_intervals(text, style),
            Self::Ends => has_ends(text, style),
        }
    }
}

/// Whether a text shows a number with its interval: narrow tables leave them out, and reasons speak of intervals of their own.
fn has_intervals(text: &str, style: &Style) -> bool {
    let sign = style.glyph("±", "+-");
    let pieces: Vec<&str> = text.split(sign).collect();
    pieces.windows(2).any(|pair| {
        let before = pair[0].strip_suffix(' ').and_then(|rest| rest.chars().last());
        before.is_some_and(|c| c.is_ascii_digit()) && pair[1].starts_with(|c: char| c.is_ascii_digit() || c == '<')
    })
}

/// Whether a text shows a number that is known about: `~32 KiB`.
fn has_about(text: &str) -> bool {
    text.split('~').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a text shows a number with both ends of its interval: `29.1 (11.0–90.0)`.
fn has_ends(text: &str, style: &Style) -> bool {
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    text.split('(').skip(1).zip(text.split('(')).any(|(inside, before)| {
        let ends = inside.split_once(')').and_then(|(inside, _)| inside.split_once(style.glyph("–", "-")));
        let number = |end: &str| end.parse::<f64>().is_ok();
        ends.is_some_and(|(low, high)| number(low) && number(high)) && digit(before.trim_end().chars().last())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_reasons_are_none_of_the_table() {
        let style = Style::default();
        let ascii = Style { unicode: false, ..style };
        assert!(has_intervals("L1  148 ±2!", &style) && has_intervals("0.33 ±<0.001", &style));
        assert!(!has_intervals("suspect: one-way: interval ±3.5 % to ±9 %, wanted ±3.0 %", &style));
        assert!(!has_intervals("widest interval ±31 %", &style));
        assert!(has_intervals("148 +-2", &ascii));
        assert!(has_ends("getppid  29.1 (11.0–90.0) ns!", &style) && !has_ends("29.1 (1 of 2: 3–4 pages)", &style));
        assert!(has_ends("29.1 (11.0-90.0)", &ascii));
    }
}
