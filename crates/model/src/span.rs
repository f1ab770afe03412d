//! How many threads of a machine a number is of, as labels say it.

use std::fmt;
use std::str::FromStr;

/// Threads of a rate. Names of figures have the first two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Span {
    /// One core.
    One,
    /// A thread on each core of the scope.
    All,
    /// Some of the cores of the scope.
    Some,
    /// A thread on each core of a group of cpus.
    Cores,
    /// A thread on each cpu of a group of cpus.
    Cpus,
    /// Threads beyond the cores: on hardware threads beside others.
    Siblings,
    /// So many threads.
    Threads(u64),
}

const WORDS: [(&str, Span); 6] = [
    ("one", Span::One),
    ("all", Span::All),
    ("some", Span::Some),
    ("cores", Span::Cores),
    ("cpus", Span::Cpus),
    ("siblings", Span::Siblings),
];

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threads(threads) => write!(f, "{threads}"),
            named => f.pad(WORDS.iter().find(|(_, span)| span == named).map_or("", |(word, _)| word)),
        }
    }
}

impl FromStr for Span {
    type Err = ();

    /// # Errors
    /// The word names no span.
    fn from_str(word: &str) -> Result<Self, ()> {
        let named = WORDS.iter().find(|(known, _)| *known == word).map(|(_, span)| *span);
        named.or_else(|| word.parse().ok().map(Self::Threads)).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_span_is_read_as_it_is_written() {
        for span in WORDS.map(|(_, span)| span).into_iter().chain([Span::Threads(12)]) {
            assert_eq!(span.to_string().parse(), Ok(span));
        }
        assert_eq!("none".parse::<Span>(), Err(()));
    }
}
