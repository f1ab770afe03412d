//! The words of `docs/GLOSSARY.md`: what a term means, and which command does what a command of another tool does.

mod line;
mod values;

use tiermark_listings::Equivalent;

pub(crate) use line::line;
use values::Look;

const PAGE: &str = include_str!("../../../docs/GLOSSARY.md");

/// Heading of the part whose sections are other tools.
const TOOLS: &str = "Other tools";

/// Heading of words that are no tool's.
const LOOSE: &str = "other words";

/// A row of a table, with the headings above it.
struct GlossaryRow {
    part: &'static str,
    section: &'static str,
    cells: Vec<&'static str>,
}

fn rows() -> impl Iterator<Item = GlossaryRow> {
    let (mut part, mut section) = ("", "");
    PAGE.lines().filter_map(move |line| {
        if let Some(heading) = line.strip_prefix("## ") {
            (part, section) = (heading, "");
        } else if let Some(heading) = line.strip_prefix("### ") {
            section = heading;
        }
        let cells: Vec<_> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let is_row = !matches!(cells[0], "word" | "there") && !cells[0].starts_with("---");
        is_row.then_some(GlossaryRow { part, section, cells })
    })
}

/// Terms of this name, each with all its names and its meaning; empty if the glossary lacks the word.
pub(crate) fn terms(word: &str) -> Vec<(&'static str, &'static str)> {
    let names =
        |row: &GlossaryRow, word: &str| row.cells[0].split(',').any(|name| name.trim().eq_ignore_ascii_case(word));
    let of = |word: &str| {
        let found = rows().filter(|row| row.part != TOOLS && names(row, word));
        found.map(|row| (row.cells[0], row.cells[1])).collect::<Vec<_>>()
    };
    let found = of(word);
    if found.is_empty() { word.strip_suffix('s').map(of).unwrap_or_default() } else { found }
}

/// Terms of which one name has this word, as `useful bytes` has `useful`.
pub(crate) fn terms_with(word: &str) -> Vec<(&'static str, &'static str)> {
    let has = |name: &str| name.split_whitespace().any(|part| part.eq_ignore_ascii_case(word));
    let found = rows().filter(|row| row.part != TOOLS && row.cells[0].split(',').any(has));
    found.map(|row| (row.cells[0], row.cells[1])).collect()
}

/// All names of terms.
pub(crate) fn names() -> Vec<&'static str> {
    rows().filter(|row| row.part != TOOLS).flat_map(|row| row.cells[0].split(',').map(str::trim)).collect()
}

/// Commands of another tool beside those of tiermark that do the same; empty if the glossary lacks the tool.
pub(crate) fn tool(name: &str) -> Vec<Equivalent> {
    let named = |row: &GlossaryRow| row.part == TOOLS && row.section.eq_ignore_ascii_case(name);
    rows().filter(named).map(|row| equivalent(&row)).collect()
}

/// The tools that the glossary knows, in its order.
pub(crate) fn tools() -> Vec<&'static str> {
    let mut tools: Vec<_> = rows().filter(|row| row.part == TOOLS).map(|row| row.section).collect();
    tools.dedup();
    tools.retain(|tool| *tool != LOOSE);
    tools
}

/// The command that does what a command line of another tool does. Its first word is an option there, which says what
/// the line is about, or a command.
pub(crate) fn here(words: &[&str]) -> Option<Equivalent> {
    let first = words.first().filter(|word| word.starts_with('-'));
    let of_option = first.and_then(|option| row_of(option, |row| row.part == TOOLS));
    of_option.map(|row| line::with_option(&row, words)).or_else(|| line(words)?.rows.into_iter().next())
}

/// The row that a word is about. An option with a number is first looked for as it is: `-W2` and `-W3` differ. `-d100`
/// is `-d0` with another number, unless the tool has several such rows.
fn row_of(word: &str, fits: impl Fn(&GlossaryRow) -> bool) -> Option<GlossaryRow> {
    let exact = rows().filter(&fits).find(|row| row_names(row).any(|name| name == word));
    let mut alike = rows().filter(|row| fits(row) && is_named(row, word));
    exact.or_else(|| {
        let first = alike.next()?;
        let is_choice = is_short(word) && alike.any(|other| other.section == first.section);
        (!is_choice).then_some(first)
    })
}

/// The names of a row of another tool. A comma between backticks is part of a name.
fn row_names(row: &GlossaryRow) -> impl Iterator<Item = &'static str> {
    let mut quoted = false;
    let between = move |c: char| {
        quoted ^= c == '`';
        c == ',' && !quoted
    };
    row.cells[0].split(between).map(|part| part.trim().trim_matches('`'))
}

/// Whether a word is an option of one letter, such as `-d0`.
fn is_short(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--")
}

/// Whether a word is what a row is about: one of its commands, the first word of one, or an option (with another
/// number, as `-d0`).
fn is_named(row: &GlossaryRow, word: &str) -> bool {
    let is_long = |part: &str| part.starts_with("--");
    let long = |text: &str| text.trim_start_matches('-').split('=').next().unwrap_or_default().to_ascii_lowercase();
    // `-d0` is `-d` with any number, `-b500m` is `-b` with any size that has a unit, and `-gFILE` is `-g` with any
    // name.
    let letters = |text: &str| text.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default().to_owned();
    let look = |text: &str| Look::of(&text[letters(text).len()..]);
    // The case of an option's letter is part of it.
    let same = |one: &str| if word.starts_with('-') { one == word } else { one.eq_ignore_ascii_case(word) };
    row_names(row).any(|part| {
        let first = part.split(' ').next().unwrap_or_default();
        let has_option = part.split(' ').any(|token| is_long(token) && long(token) == long(word));
        let has_value = is_short(part)
            && match part.strip_suffix("FILE") {
                Some(letter) => word.len() > letter.len() && word.starts_with(letter),
                None => letters(word) != word && letters(part) == letters(word) && look(part) == look(word),
            };
        !word.is_empty() && (same(part) || same(first) || has_option || has_value)
    })
}

fn equivalent(row: &GlossaryRow) -> Equivalent {
    let plain = |cell: &str| cell.replace('`', "");
    Equivalent { there: plain(row.cells[0]), here: plain(row.cells[1]), note: plain(row.cells[2]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::Cli;
    use clap::Parser;

    #[test]
    fn every_row_has_its_cells_and_every_command_named_is_one() {
        for row in rows() {
            let cells = if row.part == TOOLS { 3 } else { 2 };
            assert_eq!(row.cells.len(), cells, "{:?}", row.cells);
            assert!(!row.cells[0].is_empty() && !row.cells[1].is_empty(), "{:?}", row.cells);
            if row.part == TOOLS {
                let command = row.cells[1].trim_matches('`');
                let parsed = Cli::try_parse_from(command.split(' '));
                assert!(parsed.is_ok_and(|cli| cli.command.is_some()), "{command}");
            }
        }
    }

    #[test]
    fn words_that_people_look_for_are_there() {
        for word in
            ["verdict", "trusted", "bound", "suspect", "state", "knee", "drift", "idle", "peak", "loaded", "shared"]
        {
            assert!(!terms(word).is_empty(), "{word}");
        }
        assert_eq!(terms("withheld")[0].0, "invalid, withheld");
        assert_eq!(terms("Bounds"), terms("bound"));
        assert!(terms("tier").len() > 1);
        assert!(terms("frob").is_empty() && terms("").is_empty());
        assert!(tool("MLC").len() > 5 && tool("frob").is_empty());
        assert!(tools().contains(&"lmbench") && !tools().contains(&LOOSE));
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
