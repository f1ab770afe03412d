//! Mistakes, by line, and the text that they are found in.

use std::fmt;
use std::ops::Range;

use tiermark_model::Note;
use tiermark_model::messages::files as says;
use toml::Spanned;
use toml::de::DeTable;

/// A mistake in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Line, from 1; 0 where the whole file is meant.
    pub line: usize,
    /// The key, with those of the tables it stands in: `load.rate`. Empty where no key is to blame.
    pub key: String,
    /// What is wrong with it, and what to write instead.
    pub fault: Note,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        self.fault.fmt(f)
    }
}

/// The mistakes found in a text so far.
#[derive(Debug)]
pub struct Mistakes<'t> {
    text: &'t str,
    found: Vec<Mistake>,
}

impl<'t> Mistakes<'t> {
    /// The line, from 1, of a byte of the text.
    pub fn line(&self, offset: usize) -> usize {
        1 + self.text.get(..offset).unwrap_or(self.text).matches('\n').count()
    }

    /// Adds a mistake with a key, at a line; 0 is the whole file.
    pub fn add(&mut self, line: usize, key: impl Into<String>, fault: Note) {
        self.found.push(Mistake { line, key: key.into(), fault });
    }

    /// Adds a mistake with a key, at the line where some bytes of the text begin.
    pub fn add_at(&mut self, bytes: &Range<usize>, key: impl Into<String>, fault: Note) {
        self.add(self.line(bytes.start), key, fault);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.found.len()
    }

    /// The value where nothing is wrong, else every mistake: in the order of the lines, those of the whole file last.
    ///
    /// # Errors
    /// The mistakes.
    pub fn none_in<T>(self, value: T) -> Result<T, Vec<Mistake>> {
        if self.found.is_empty() { Ok(value) } else { Err(self.in_order()) }
    }

    /// Every mistake: in the order of the lines, those of the whole file last.
    pub fn in_order(mut self) -> Vec<Mistake> {
        self.found.sort_by_key(|mistake| if mistake.line == 0 { usize::MAX } else { mistake.line });
        self.found.dedup();
        self.found
    }
}

/// Reads a text as TOML, for its mistakes to be added to.
///
/// # Errors
/// The lines that are no TOML, and nothing else: what the other lines mean is not known then.
pub fn parse(text: &str) -> Result<(Spanned<DeTable<'_>>, Mistakes<'_>), Vec<Mistake>> {
    let (table, broken) = DeTable::parse_recoverable(text);
    let mut mistakes = Mistakes { text, found: Vec::new() };
    // A list without an end takes all that follows for its elements: its first error is where it should have ended.
    if broken.iter().any(|error| error.message().starts_with("unclosed array")) {
        let first = broken.iter().filter_map(|error| error.span()).map(|span| span.start).min();
        mistakes.add(first.map_or(0, |first| mistakes.line(first)), "", says::list_unclosed());
        return Err(mistakes.in_order());
    }
    for error in broken {
        let line = error.span().map_or(0, |span| mistakes.line(span.start));
        mistakes.add(line, "", says::not_toml(error.message()));
    }
    mistakes.none_in(()).map(|()| (table, Mistakes { text, found: Vec::new() }))
}
