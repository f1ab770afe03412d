//! What a name stands for, and where.

use tiermark_model::{FigureName, Note};

use crate::location::Place;
use crate::range::Range;

/// What a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Number(Number),
    Text(String),
}

/// A number as it is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Number {
    pub(crate) range: Range,
    /// Where it may lie on a quiet machine: the interval of a figure that others shared, else the same.
    pub(crate) reach: Range,
}

impl Number {
    /// The product of two numbers.
    pub(crate) fn times(self, other: Self) -> Self {
        Self { range: self.range.times(other.range), reach: self.reach.times(other.reach) }
    }

    /// The quotient of two numbers; `None` if the divisor is 0.
    pub(crate) fn over(self, other: Self) -> Option<Self> {
        Some(Self { range: self.range.over(other.range)?, reach: self.reach.over(other.reach)? })
    }
}

impl From<Range> for Number {
    fn from(range: Range) -> Self {
        Self { range, reach: range }
    }
}

/// A number or a text at a place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct At {
    pub(crate) place: Place,
    /// The value, or why it is not known.
    pub(crate) term: Result<Value, Note>,
    /// Why a number is only a bound.
    pub(crate) remarks: Vec<Note>,
    /// The figure whose share of its record it is.
    pub(crate) of_record: Option<FigureName>,
}

impl At {
    /// A value without remarks.
    pub(crate) fn of(place: Place, term: Result<Value, Note>) -> Self {
        Self { place, term, remarks: Vec::new(), of_record: None }
    }

    pub(crate) fn new(place: Place, term: Result<impl Into<Number>, Note>) -> Self {
        Self::of(place, term.map(|number| Value::Number(number.into())))
    }

    /// A text of the whole machine.
    pub(crate) fn text(term: Result<String, Note>) -> Self {
        Self::of(Place::default(), term.map(Value::Text))
    }

    /// A number of the whole machine.
    pub(crate) fn whole(term: Result<Range, Note>) -> Self {
        Self::new(Place::default(), term)
    }

    /// A number of a memory module, or of another part of the board.
    pub(crate) fn part(part: String, term: Result<impl Into<Number>, Note>) -> Self {
        Self::new(Place { module: Some(part), ..Place::default() }, term)
    }

    pub(crate) fn of_record(self, figure: FigureName) -> Self {
        Self { of_record: Some(figure), ..self }
    }

    pub(crate) fn with_remark(mut self, remark: Note) -> Self {
        self.remarks.push(remark);
        self
    }
}
