//! How the kernel writes the values of its knobs.

use serde::{Deserialize, Serialize};

/// The form of a knob's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Syntax {
    /// A whole number, decimal or `0x…`.
    Number,
    /// One word.
    Word,
    /// Several words of which one is chosen, `always [madvise] never`; one word alone is chosen.
    Choice,
    /// On or off: `Y`/`N`, `1`/`0`, `true`/`false`.
    Switch,
}

/// The parsed value of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The value, as the kernel takes it back.
    pub value: String,
    /// All values offered, where the file lists them.
    pub options: Vec<String>,
}

impl Syntax {
    /// Reads the text of a knob's file; `None` where it makes no sense.
    pub fn parse(self, text: &str) -> Option<Reading> {
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        let mut words = text.split_whitespace();
        let first = words.next()?;
        let alone = |value: &str| Reading { value: value.to_owned(), options: Vec::new() };
        match self {
            Self::Choice if words.clone().next().is_some() || first.starts_with('[') => chosen(text),
            // A single word is the only value that the kernel offers.
            Self::Choice => Some(Reading { options: vec![first.to_owned()], ..alone(first) }),
            Self::Word => words.next().is_none().then(|| alone(first)),
            Self::Number => (words.next().is_none() && number(first).is_some()).then(|| alone(first)),
            Self::Switch => (words.next().is_none() && switch(first).is_some()).then(|| alone(first)),
        }
    }

    /// Whether two values mean the same.
    pub fn same(self, a: &str, b: &str) -> bool {
        let equal = |a: Option<i128>, b: Option<i128>| a.is_some() && a == b;
        match self {
            Self::Number => equal(number(a), number(b)),
            Self::Switch => equal(switch(a).map(i128::from), switch(b).map(i128::from)),
            Self::Word | Self::Choice => a == b,
        }
    }
}

/// `a [b] c`: exactly one is in brackets.
fn chosen(text: &str) -> Option<Reading> {
    let mut value = None;
    let mut options = Vec::new();
    for word in text.split_whitespace() {
        let bare = match word.strip_prefix('[').and_then(|w| w.strip_suffix(']')) {
            Some(bare) if value.is_none() && !bare.is_empty() => {
                value = Some(bare.to_owned());
                bare
            }
            None if !word.contains(['[', ']']) => word,
            _ => return None,
        };
        options.push(bare.to_owned());
    }
    Some(Reading { value: value?, options })
}

fn number(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(hex) if !hex.starts_with(['+', '-']) => i128::from_str_radix(hex, 16).ok(),
        Some(_) => None,
        None => text.parse().ok(),
    }
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "Y" | "y" | "1" | "true" | "on" => Some(true),
        "N" | "n" | "0" | "false" | "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn files_as_kernels_write_them() {
        let value = |syntax: Syntax, text: &str| syntax.parse(text).map(|r| r.value);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(value(Syntax::Number, "3\n"), some("3"));
        assert_eq!(value(Syntax::Number, "-1\n"), some("-1"));
        assert_eq!(value(Syntax::Number, "0x0007\n"), some("0x0007"));
        assert_eq!(value(Syntax::Number, "3 4"), None);
        assert_eq!(value(Syntax::Switch, "Y\n"), some("Y"));
        assert_eq!(value(Syntax::Switch, "maybe"), None);
        assert_eq!(value(Syntax::Word, "performance\n"), some("performance"));
        assert_eq!(value(Syntax::Choice, "none\n"), some("none"), "older kernels show the only scheduler so");
        assert_eq!(Syntax::Choice.parse("none\n").unwrap().options, ["none"], "and offer no other");
        let read = Syntax::Choice.parse("[none] mq-deadline kyber bfq \n").unwrap();
        assert_eq!((read.value.as_str(), read.options.len()), ("none", 4));
        for bad in ["", "a b", "[a] [b]", "[]", "[a b]", "a] [b"] {
            assert_eq!(value(Syntax::Choice, bad), None, "{bad}");
        }
    }

    #[test]
    fn one_value_has_many_spellings() {
        assert!(Syntax::Switch.same("Y", "1") && Syntax::Switch.same("false", "N") && !Syntax::Switch.same("Y", "N"));
        assert!(Syntax::Number.same("0x7", "7") && !Syntax::Number.same("x", "x"));
        assert!(Syntax::Choice.same("never", "never") && !Syntax::Word.same("a", "b"));
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic_and_what_is_read_is_read_again(text in any::<String>(), which in 0usize..4) {
            let syntax = [Syntax::Number, Syntax::Word, Syntax::Choice, Syntax::Switch][which];
            if let Some(read) = syntax.parse(&text) {
                prop_assert!(!read.value.is_empty() && !read.value.contains(char::is_whitespace));
                // The value that was read is written back on restore, and must then compare equal.
                prop_assert!(syntax.same(&read.value, &read.value));
                let plain = !read.value.starts_with('[');
                prop_assert!(!plain || syntax.parse(&read.value).is_some_and(|again| again.value == read.value));
            }
        }

        #[test]
        fn choices(words in prop::collection::vec("[a-z+_-]{1,9}", 1..6), at in 0usize..6) {
            let at = at % words.len();
            let shown: Vec<String> =
                words.iter().enumerate().map(|(i, w)| if i == at { format!("[{w}]") } else { w.clone() }).collect();
            let read = Syntax::Choice.parse(&shown.join(" ")).unwrap();
            prop_assert_eq!(read.value, words[at].clone());
            prop_assert_eq!(read.options, words);
        }
    }
}
