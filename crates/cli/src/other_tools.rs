//! Commands and options of other tools, and the commands here that do the same: `other_tools.toml`.

mod given;
mod line;
mod values;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use tiermark_report::listings::Equivalent;

pub(crate) use line::line;

/// A row of the table; the file explains its keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolRow {
    tool: Option<String>,
    there: Vec<String>,
    here: String,
    #[serde(default)]
    note: String,
    #[serde(default)]
    wraps: bool,
    with: Option<String>,
    #[serde(default)]
    defaults: values::Values,
    #[serde(default)]
    valued: Vec<String>,
    #[serde(default)]
    twice: String,
    #[serde(default)]
    rows: Vec<Part>,
}

impl ToolRow {
    /// Whether it is of the tool of this name.
    fn is_of(&self, name: &str) -> bool {
        self.tool.as_ref().is_some_and(|tool| tool.eq_ignore_ascii_case(name))
    }
}

/// An option or an operand of a program.
#[derive(Debug, Deserialize)]
#[serde(from = "Vec<String>")]
struct Part {
    there: String,
    here: String,
    note: String,
}

impl From<Vec<String>> for Part {
    fn from(texts: Vec<String>) -> Self {
        let mut texts = texts.into_iter();
        let mut next = || texts.next().unwrap_or_default();
        Self { there: next(), here: next(), note: next() }
    }
}

/// One way to write an option or an operand, with the pattern of its value.
#[derive(Debug, Clone, Copy)]
struct Form<'a> {
    key: &'a str,
    pattern: Option<&'a str>,
    /// Whether it stands for all operands from here on.
    repeats: bool,
}

impl Part {
    fn forms(&self) -> impl Iterator<Item = Form<'_>> {
        self.there.split(", ").map(|text| match text.split_once([' ', '=']) {
            Some((key, pattern)) => Form { key, pattern: Some(pattern), repeats: false },
            None => {
                let key = text.trim_end_matches("...");
                Form { key, pattern: values::is_name(key).then_some(key), repeats: key != text }
            }
        })
    }

    /// Whether it says which command it is.
    fn is_job(&self) -> bool {
        self.here.starts_with(|c: char| c.is_ascii_lowercase())
    }
}

static ROWS: LazyLock<Vec<ToolRow>> = LazyLock::new(|| {
    // A test reads the file.
    let read: Result<BTreeMap<String, Vec<ToolRow>>, _> = toml::from_str(include_str!("other_tools.toml"));
    read.unwrap_or_else(|error| unreachable!("other_tools.toml: {error}")).into_values().flatten().collect()
});

/// Commands of another tool beside those of tiermark that do the same; empty if the table lacks the tool.
pub(crate) fn tool(name: &str) -> Vec<Equivalent> {
    ROWS.iter().filter(|row| row.is_of(name)).flat_map(listed).collect()
}

/// Stands in place of a command where there is none.
pub(crate) const NONE: &str = "no counterpart";

/// A program, then its options and operands.
fn listed(row: &ToolRow) -> Vec<Equivalent> {
    let here = values::filled(&row.here, &row.defaults).filter(|here| !here.is_empty());
    let here = here.unwrap_or_else(|| NONE.to_owned());
    let own = Equivalent { there: row.there.join(", "), here, note: row.note.clone() };
    let parts = row.rows.iter().filter(|part| part.here != "=").map(|part| Equivalent {
        there: format!("{} {}", row.there.first().map_or("", String::as_str), part.there),
        here: match part.here.as_str() {
            "" | NONE => NONE.to_owned(),
            here if part.is_job() => format!("tiermark {}", values::named(here)),
            here => values::named(here.trim_end_matches(" | =")),
        },
        note: part.note.clone(),
    });
    std::iter::once(own).chain(parts).collect()
}

/// The tools of the table, in its order.
pub(crate) fn tools() -> Vec<&'static str> {
    let mut tools: Vec<_> = ROWS.iter().filter_map(|row| row.tool.as_deref()).collect();
    tools.dedup();
    tools
}

/// The command that does what a command line of another tool does. Its first word is an option there, which says what
/// the line is about, or a command.
pub(crate) fn here(words: &[&str]) -> Option<Equivalent> {
    match words.first()? {
        option if option.starts_with('-') => of_option(&ROWS.iter().collect::<Vec<_>>(), words),
        _ => line(words).map(|line| line.whole(words)),
    }
}

/// The same of an option of a generator of load for Redis.
pub(crate) fn of_a_load_generator(words: &[&str]) -> Option<Equivalent> {
    let of_redis = |row: &&ToolRow| ["redis-benchmark", "memtier"].iter().any(|name| row.tool.as_deref() == Some(name));
    let rows: Vec<&ToolRow> = ROWS.iter().filter(of_redis).collect();
    rows.iter().find_map(|row| of_words(row, words))
}

/// The command of an option, the first of these words, of the first program that has it. One letter is an option of
/// many: it has to be MLC's, with its value, or of no tool.
fn of_option(rows: &[&'static ToolRow], words: &[&str]) -> Option<Equivalent> {
    let is_long = words[0].starts_with("--");
    let words = if is_long { words } else { &words[..1] };
    let has_letters = |row: &&&ToolRow| row.there.is_empty() || row.tool.as_deref() == Some("mlc");
    rows.iter().filter(|row| is_long || has_letters(row)).find_map(|row| of_words(row, words))
}

/// The command of a program's option, with the word behind it if that is its value.
fn of_words(row: &'static ToolRow, words: &[&str]) -> Option<Equivalent> {
    let lengths = [2, 1].into_iter().filter(|length| *length <= words.len());
    lengths.into_iter().find_map(|length| {
        let of = &words[..length];
        line::of_options(row, of).map(|line| line.equivalent(of))
    })
}

/// Whether words are a program of another tool with what is given to it, and not just words of a topic.
pub(crate) fn is_line(words: &[&str]) -> bool {
    let is_given = |word: &&str| word.starts_with('-') || word.contains(|c: char| c.is_ascii_digit());
    let is_program = || program(words).is_some_and(|(row, _)| row.wraps || !row.rows.is_empty());
    let (first, rest) = words.split_first().unwrap_or((&"", &[]));
    first.contains(['/', '=']) || rest.iter().any(is_given) || (!rest.is_empty() && is_program())
}

/// Whether the program of a command line has this option, without a value.
pub(crate) fn has_flag(words: &[&str], option: &str) -> bool {
    let is = |form: Form<'_>| form.key == option && form.pattern.is_none();
    program(words).is_some_and(|(row, _)| row.rows.iter().flat_map(Part::forms).any(is))
}

/// The program that a line begins with, and the number of words that are its name: a path before it and an ending
/// behind it do not count.
fn program(words: &[&str]) -> Option<(&'static ToolRow, usize)> {
    let first = words.first()?.rsplit('/').next()?;
    let fits = |name: &str| {
        let mut at = name.split(' ').enumerate();
        at.all(|(at, word)| {
            let given = if at == 0 { first } else { words.get(at).copied().unwrap_or_default() };
            let is_plain = || at == 0 && given.split('.').next().is_some_and(|name| name.eq_ignore_ascii_case(word));
            given.eq_ignore_ascii_case(word) || is_plain()
        })
    };
    let names = ROWS.iter().flat_map(|row| row.there.iter().map(move |name| (row, name)));
    let found = names.filter(|(_, name)| fits(name)).map(|(row, name)| (row, name.split(' ').count()));
    // The first of the longest.
    found.reduce(|best, other| if other.1 > best.1 { other } else { best })
}

#[cfg(test)]
mod tests;
