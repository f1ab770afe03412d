//! Values of a command line in place of those that a row has for example.

/// How a value looks: which example of a row is like it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// `64`, `10.0.0.1`.
    Number,
    /// `512m`.
    NumberWithUnit,
    /// `get`.
    Word,
}

impl Look {
    pub(super) fn of(value: &str) -> Self {
        match value.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.') {
            "" => Self::Number,
            unit if unit.len() < value.len() => Self::NumberWithUnit,
            _ => Self::Word,
        }
    }
}

/// An example of a row, and the value that the user's line has in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exchange<'a> {
    pub(super) example: &'static str,
    pub(super) given: &'a str,
}

impl<'a> Exchange<'a> {
    /// `None` of a value that is the example, or cannot be one word of a command line.
    pub(super) fn of(example: &'static str, given: &'a str) -> Option<Self> {
        let is_word = !given.is_empty() && given.chars().all(|c| c.is_ascii_graphic());
        (is_word && !given.eq_ignore_ascii_case(example)).then_some(Self { example, given })
    }

    /// Whether a text has the example at a position: not as a part of another number or word.
    fn is_at(&self, text: &str, at: usize) -> bool {
        let Some((before, found)) = text.split_at_checked(at) else { return false };
        let Some((own, after)) = found.split_at_checked(self.example.len()) else { return false };
        let is_inside = |of: Option<char>, beside: Option<char>| match of.is_some_and(|c| c.is_ascii_digit()) {
            true => beside.is_some_and(|c| c.is_ascii_digit() || c == '.'),
            false => beside.is_some_and(|c| c.is_ascii_alphanumeric()),
        };
        own.eq_ignore_ascii_case(self.example)
            && !is_inside(own.chars().next(), before.chars().next_back())
            && !is_inside(own.chars().next_back(), after.chars().next())
    }

    /// Whether a text has the example.
    pub(super) fn is_in(&self, text: &str) -> bool {
        (0..text.len()).any(|at| self.is_at(text, at))
    }
}

/// A text with the values in place of the examples.
pub(super) fn exchanged(text: &str, exchanges: &[Exchange<'_>]) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    while let Some(next) = text[at..].chars().next() {
        match exchanges.iter().find(|of| of.is_at(text, at)) {
            Some(of) => {
                out.push_str(of.given);
                at += of.example.len();
            }
            None => {
                out.push(next);
                at += next.len_utf8();
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_takes_the_place_of_the_whole_example_only() {
        for (text, pairs, said) in [
            ("--sizes 512M --layout stride:64", &[("512", "64"), ("64", "512")][..], "--sizes 64M --layout stride:512"),
            // A unit is a part of the value.
            ("--sizes 512M", &[("512m", "1g")], "--sizes 1g"),
            ("--target 10.0.0.1:6379", &[("10.0.0.1", "db"), ("6379", "7000")], "--target db:7000"),
            ("--target 127.0.0.1:6379 --keys 1-1000", &[("1", "5")], "--target 127.0.0.1:6379 --keys 5-1000"),
            ("zipf:0.99 100k", &[("0", "7"), ("100k", "9")], "zipf:0.99 9"),
            ("-c50", &[("50", "8")], "-c8"),
            ("--password WORD KEYWORD", &[("WORD", "x")], "--password x KEYWORD"),
            ("… 5", &[("5", "6")], "… 6"),
        ] {
            let all: Vec<Exchange<'_>> = pairs.iter().filter_map(|(a, b)| Exchange::of(a, b)).collect();
            assert_eq!(exchanged(text, &all), said);
        }
        assert!(Exchange::of("5m", "5M").is_none() && Exchange::of("5", "a b").is_none());
        assert!(Exchange::of("5", "").is_none() && Exchange::of("5", "\u{1b}[2J").is_none());
    }

    #[test]
    fn a_look_is_that_of_the_whole_value() {
        let looks = ["64", "10.0.0.1", "512m", "get,set", ""].map(Look::of);
        assert_eq!(looks, [Look::Number, Look::Number, Look::NumberWithUnit, Look::Word, Look::Number]);
    }
}
