//! Running text with numbers in it.

use std::ops::{Add, AddAssign};

use tiermark_model::{RateUnit, Unit};

use crate::legend::Sign;
use crate::number::{Number, unit_name};
use crate::style::Style;
use crate::text::{ascii, spoken};

/// Words and numbers in a line. A backend chooses the unit of rates and the signs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Text(Vec<Span>);

#[derive(Debug, Clone, PartialEq)]
enum Span {
    Words(String),
    /// A sentence with rates, in each unit that a reader may want.
    Sentence {
        si: String,
        iec: String,
        both: String,
    },
    Number(Number),
    /// The name of a unit, see [`unit_name`].
    Unit(Unit),
    /// The same of an axis: it has one unit, where numbers may have two.
    Axis(Unit),
}

/// Parts of a text, one behind the other.
#[macro_export]
macro_rules! text {
    ($($part:expr),+ $(,)?) => {{
        let mut text = $crate::Text::default();
        $(text += $part;)+
        text
    }};
}

/// The name of the unit of rates.
#[must_use]
pub fn rate_unit() -> Text {
    Text::unit(Unit::BytesPerSecond)
}

impl Text {
    /// The name of a unit as tables and sentences have it; empty where numbers carry it.
    #[must_use]
    pub fn unit(unit: Unit) -> Self {
        Self(vec![Span::Unit(unit)])
    }

    /// The name of a unit at an axis.
    #[must_use]
    pub fn axis(unit: Unit) -> Self {
        Self(vec![Span::Axis(unit)])
    }

    /// A sentence that may have rates, made for each unit of rates.
    #[must_use]
    pub fn sentence(text: impl Fn(RateUnit) -> String) -> Self {
        let [si, iec, both] = [RateUnit::Si, RateUnit::Iec, RateUnit::Both].map(text);
        if si == both { Self::from(si) } else { Self(vec![Span::Sentence { si, iec, both }]) }
    }

    /// Texts with a separator between them.
    pub fn joined<T: Into<Self>>(parts: impl IntoIterator<Item = T>, between: &str) -> Self {
        let mut out = Self::default();
        for (at, part) in parts.into_iter().enumerate() {
            if at > 0 {
                out += between;
            }
            out += part;
        }
        out
    }

    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|span| matches!(span, Span::Words(words) if words.is_empty()))
    }

    /// The text in the usual units and all signs, for what has no style.
    #[must_use]
    pub fn plain(&self) -> String {
        self.shown(&Style::default())
    }

    /// The text in a style.
    #[must_use]
    pub fn shown(&self, style: &Style) -> String {
        let mut out = String::new();
        for span in &self.0 {
            match span {
                Span::Words(words) => out.push_str(&spoken(words, style)),
                Span::Sentence { si, iec, both } => {
                    let sentence = match style.rate_unit {
                        RateUnit::Si => si,
                        RateUnit::Iec => iec,
                        RateUnit::Both => both,
                    };
                    out.push_str(&spoken(sentence, style));
                }
                Span::Number(number) => out.push_str(&number.shown(style)),
                Span::Unit(unit) => out.push_str(unit_name(*unit, style)),
                Span::Axis(Unit::BytesPerSecond) => out.push_str(style.axis().1),
                Span::Axis(unit) => out.push_str(unit_name(*unit, style)),
            }
        }
        if style.unicode { out } else { ascii(&out) }
    }

    /// Its lines: `|` begins a new one.
    pub(crate) fn lines(self) -> Vec<Self> {
        let mut lines = vec![Self::default()];
        for span in self.0 {
            let Span::Words(words) = span else {
                lines.last_mut().into_iter().for_each(|line| line.0.push(span.clone()));
                continue;
            };
            for (at, piece) in words.split('|').enumerate() {
                if at > 0 {
                    lines.push(Self::default());
                }
                lines.last_mut().into_iter().for_each(|line| *line += piece);
            }
        }
        lines
    }

    /// The same without the intervals of its numbers.
    pub(crate) fn without_intervals(mut self) -> Self {
        for span in &mut self.0 {
            if let Span::Number(number) = span {
                *number = number.clone().within(None);
            }
        }
        self
    }

    /// The signs of its numbers.
    pub(crate) fn signs(&self) -> impl Iterator<Item = Sign> {
        self.0.iter().filter_map(|span| if let Span::Number(number) = span { number.sign() } else { None })
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        Self::from(words.to_owned())
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Self(vec![Span::Words(words)])
    }
}

impl From<&String> for Text {
    fn from(words: &String) -> Self {
        Self::from(words.clone())
    }
}

impl From<&Self> for Text {
    fn from(text: &Self) -> Self {
        text.clone()
    }
}

impl From<Number> for Text {
    fn from(number: Number) -> Self {
        Self(vec![Span::Number(number)])
    }
}

impl<T: Into<Self>> AddAssign<T> for Text {
    fn add_assign(&mut self, more: T) {
        for span in more.into().0 {
            match (self.0.last_mut(), &span) {
                (Some(Span::Words(words)), Span::Words(more)) => words.push_str(more),
                _ => self.0.push(span),
            }
        }
    }
}

impl<T: Into<Self>> Add<T> for Text {
    type Output = Self;

    fn add(mut self, more: T) -> Self {
        self += more;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Rate;

    #[test]
    fn a_sentence_has_its_rates_in_the_unit_of_the_style() {
        let text = Text::sentence(|unit| format!("no knee up to {}", Rate::from(42.949_672_96e9).in_unit(unit)));
        let shown = |rate_unit| text.shown(&Style { rate_unit, ..Style::default() });
        assert_eq!(shown(RateUnit::Si), "no knee up to 42.9 GB/s");
        assert_eq!(shown(RateUnit::Iec), "no knee up to 40.0 GiB/s");
        assert_eq!(shown(RateUnit::Both), "no knee up to 42.9 GB/s (40.0 GiB/s)");
        assert_eq!(Text::sentence(|_| "2 ns for each GB/s".to_owned()), Text::from("2 ns for each GB/s"));
    }
}
