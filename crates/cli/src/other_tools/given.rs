//! The options and operands of a command line of another tool, taken apart as the table says.

use super::values::is_name;
use super::{Form, ToolRow};

/// An option with its value, or an operand.
#[derive(Debug)]
pub(super) struct Given<'a> {
    /// As it was given.
    pub(super) text: String,
    /// The option; of an operand its name in the table, or the word.
    pub(super) key: &'a str,
    pub(super) value: Option<&'a str>,
}

impl<'a> Given<'a> {
    /// A variable of the environment.
    pub(super) fn of_variable(word: &'a str) -> Self {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        Self { text: word.to_owned(), key, value: Some(value) }
    }
}

fn forms(row: &ToolRow) -> impl Iterator<Item = Form<'_>> {
    row.rows.iter().flat_map(|part| part.forms())
}

/// What was given to a program, and the words from the program on that it wraps.
pub(super) fn taken_apart<'a>(row: &'static ToolRow, words: &'a [&'a str]) -> (Vec<Given<'a>>, &'a [&'a str]) {
    let mut names = forms(row).filter(|form| is_name(form.key)).peekable();
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some(&word) = words.get(at) {
        at += 1;
        let mut given = Given { text: word.to_owned(), key: word, value: None };
        if word == "--" && row.wraps {
            return (all, &words[at..]);
        } else if word.starts_with('-') && word.len() > 1 {
            (given.key, given.value) = split(row, word);
            let next = words.get(at).filter(|_| given.value.is_none() && takes_the_next(row, given.key));
            if let Some(next) = next {
                given.text = format!("{word} {next}");
                given.value = Some(next);
                at += 1;
            }
        } else if !forms(row).any(|form| form.key == word) {
            let is_number = word.parse::<f64>().is_ok() || word.starts_with("0x");
            if row.wraps && !(is_number && names.peek().is_some()) {
                return (all, &words[at - 1..]);
            }
            let name = names.peek().copied();
            names.next_if(|form| !form.repeats);
            if let Some(form) = name {
                (given.key, given.value) = (form.key, Some(word));
            }
        }
        all.push(given);
    }
    (all, &[])
}

/// Whether a row, or the list of options without counterpart, says that an option has a value.
fn has_value(row: &ToolRow, key: &str) -> bool {
    row.valued.iter().any(|valued| valued == key) || forms(row).any(|form| form.key == key && form.pattern.is_some())
}

/// Whether its value is the next word: of an option that can be without one it is joined.
fn takes_the_next(row: &ToolRow, key: &str) -> bool {
    has_value(row, key) && !forms(row).any(|form| form.key == key && form.pattern.is_none())
}

/// An option and the value that is joined to it: `-d0`, `-t=5`, `--ratio=1:10`.
fn split<'a>(row: &ToolRow, word: &'a str) -> (&'a str, Option<&'a str>) {
    let is_known = |key: &str| has_value(row, key) || forms(row).any(|form| form.key == key);
    if is_known(word) {
        return (word, None);
    }
    if let Some((key, value)) = word.split_once('=').filter(|(key, _)| is_known(key)) {
        return (key, Some(value));
    }
    match word.split_at_checked(2).filter(|(key, _)| !key.starts_with("--") && has_value(row, key)) {
        Some((key, value)) => (key, Some(value)),
        None => (word, None),
    }
}
