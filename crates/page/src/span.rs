//! Running text with numbers in it.

use std::ops::{Add, AddAssign};

use tiermark_model::Unit;

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
