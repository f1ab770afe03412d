//! Commands and options of other tools, and the commands here that do the same: `other_tools.toml`.

mod line;
mod values;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use tiermark_report::listings::Equivalent;

pub(crate) use line::line;
use values::Look;

/// A row of the table; the file explains its keys.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolRow {
    tool: Option<String>,
    there: Vec<String>,
    here: String,
    #[serde(default)]
    note: String,
}

impl ToolRow {
    /// Whether it is of the tool of this name.
    fn is_of(&self, name: &str) -> bool {
        self.tool.as_ref().is_some_and(|tool| tool.eq_ignore_ascii_case(name))
    }
}

static ROWS: LazyLock<Vec<ToolRow>> = LazyLock::new(|| {
    // A test reads the file.
    let read: Result<BTreeMap<String, Vec<ToolRow>>, _> = toml::from_str(include_str!("other_tools.toml"));
    read.unwrap_or_else(|error| unreachable!("other_tools.toml: {error}")).into_values().flatten().collect()
});

/// Commands of another tool beside those of tiermark that do the same; empty if the table lacks the tool.
pub(crate) fn tool(name: &str) -> Vec<Equivalent> {
    ROWS.iter().filter(|row| row.is_of(name)).map(equivalent).collect()
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
    let first = words.first().filter(|word| word.starts_with('-'));
    let of_option = first.and_then(|option| row_of(option));
    of_option.map(|row| line::with_option(row, words)).or_else(|| line(words)?.rows.into_iter().next())
}

/// The row that a word is about. An option with a number is first looked for as it is: `-W2` and `-W3` differ. `-d100`
/// is `-d0` with another number, unless the tool has several such rows.
fn row_of(word: &str) -> Option<&'static ToolRow> {
    let exact = ROWS.iter().find(|row| row.there.iter().any(|name| name == word));
    let mut alike = ROWS.iter().filter(|row| is_named(row, word));
    exact.or_else(|| {
        let first = alike.next()?;
        let is_choice = is_short(word) && alike.any(|other| other.tool == first.tool);
        (!is_choice).then_some(first)
    })
}

/// Whether a word is an option of one letter, such as `-d0`.
fn is_short(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--")
}

/// Whether a word is what a row is about: one of its commands, the first word of one, or an option (with another
/// number, as `-d0`).
fn is_named(row: &ToolRow, word: &str) -> bool {
    let long = |text: &str| text.trim_start_matches('-').split('=').next().unwrap_or_default().to_ascii_lowercase();
    // `-d0` is `-d` with any number, `-b500m` is `-b` with any size that has a unit, and `-gFILE` is `-g` with any
    // name.
    let letters = |text: &str| text.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default().to_owned();
    let look = |text: &str| Look::of(&text[letters(text).len()..]);
    // The case of an option's letter is part of it.
    let same = |one: &str| if word.starts_with('-') { one == word } else { one.eq_ignore_ascii_case(word) };
    row.there.iter().any(|part| {
        let first = part.split(' ').next().unwrap_or_default();
        let has_option = part.split(' ').any(|token| token.starts_with("--") && long(token) == long(word));
        let has_value = is_short(part)
            && match part.strip_suffix("FILE") {
                Some(letter) => word.len() > letter.len() && word.starts_with(letter),
                None => letters(word) != word && letters(part) == letters(word) && look(part) == look(word),
            };
        !word.is_empty() && (same(part) || same(first) || has_option || has_value)
    })
}

fn equivalent(row: &ToolRow) -> Equivalent {
    Equivalent { there: row.there.join(", "), here: row.here.clone(), note: row.note.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::Cli;
    use clap::Parser;

    #[test]
    fn rows_are_whole() {
        for row in ROWS.iter() {
            let names: Vec<&String> = row.there.iter().chain(&row.tool).collect();
            assert!(!row.there.is_empty() && names.iter().all(|name| !name.is_empty()), "{row:?}");
            let parsed = Cli::try_parse_from(row.here.split(' '));
            assert!(parsed.is_ok_and(|cli| cli.command.is_some()), "{row:?}");
        }
        let tools = tools();
        assert!((1..tools.len()).all(|at| !tools[..at].contains(&tools[at])), "the rows of a tool stand together");
    }

    #[test]
    fn words_of_other_tools_lead_on() {
        for (words, command) in [
            (&["stream"][..], "bandwidth --op copy,scale,add,triad"),
            (&["triad"], "--op triad"),
            (&["scale"], "--op scale"),
            (&["idle"], "latency"),
            (&["lat_mem_rd", "64", "256"], "--sizes 64M --layout stride:256"),
            (&["lat_mem_rd", "-t"], "--layout random"),
            (&["--stride"], "--layout stride:128"),
            (&["--stride=64"], "--layout stride:64"),
            (&["--stride", "64"], "--layout stride:64"),
            (&["--idle_latency"], "latency"),
            (&["idle_latency"], "latency"),
            (&["--latency_matrix"], "matrix"),
            (&["-d0"], "loaded"),
            (&["-d100"], "loaded"),
            (&["--rw"], "--mix"),
            (&["bw_mem"], "bandwidth"),
            (&["mlc"], "run full"),
            (&["mlc", "--idle_latency"], "latency"),
            (&["-X"], "--threads cores"),
            (&["-b500m"], "--sizes 500M"),
            (&["-b1g"], "--sizes 1g"),
            (&["-b1000"], "--sizes 1000K"),
            (&["-e"], "latency --quick"),
            (&["-r"], "--layout random"),
            (&["-l64"], "--layout stride:64"),
            (&["mlc", "-X"], "--threads cores"),
            (&["-W2"], "--mix 1:1"),
            (&["-W3"], "--mix 2:1"),
            (&["-W5"], "--mix 0:1"),
            (&["--idle_latency", "-c0"], "latency --quick"),
            (&["-c3"], "latency --cpus 3"),
            (&["-gdelays.txt"], "--delays 0,200"),
            (&["bw_mem", "1G", "cp"], "--op copy --sizes 1G"),
            (&["bw_mem", "cp"], "--op copy"),
            (&["dmidecode", "-t", "memory"], "machine"),
            (&["perf", "stat", "-e", "cache-misses"], "watch"),
            (&["perf", "mem", "record"], "watch"),
        ] {
            let found = here(words).map(|row| row.here).unwrap_or_default();
            assert!(found.contains(command), "{words:?}: {found}");
        }
        for word in ["frob", "", "0", "mem", "bench", "-t", "-d", "-x", "-E", "-W11", "pipe", "--"] {
            assert!(here(&[word]).is_none(), "{word}");
        }
    }
}
