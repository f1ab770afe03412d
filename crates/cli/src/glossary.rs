//! The words of `docs/GLOSSARY.md`: what a term means, and which command does what a command of another tool does.

use tiermark_report::Equivalent;

const PAGE: &str = include_str!("../../../docs/GLOSSARY.md");

/// Heading of the part whose sections are other tools.
const TOOLS: &str = "Other tools";

/// A row of a table, with the headings above it.
struct Row {
    part: &'static str,
    section: &'static str,
    cells: Vec<&'static str>,
}

fn rows() -> impl Iterator<Item = Row> {
    let (mut part, mut section) = ("", "");
    PAGE.lines().filter_map(move |line| {
        if let Some(heading) = line.strip_prefix("## ") {
            (part, section) = (heading, "");
        } else if let Some(heading) = line.strip_prefix("### ") {
            section = heading;
        }
        let cells: Vec<_> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let is_row = !matches!(cells[0], "word" | "there") && !cells[0].starts_with("---");
        is_row.then_some(Row { part, section, cells })
    })
}

/// A term and what it means; `None` for a word that the glossary lacks.
pub(crate) fn term(word: &str) -> Option<(&'static str, &'static str)> {
    let names = |row: &Row| row.cells[0].split(',').any(|name| name.trim().eq_ignore_ascii_case(word));
    rows().find(|row| row.part != TOOLS && names(row)).map(|row| (row.cells[0], row.cells[1]))
}

/// The commands that do what those of another tool do; none for a tool that the glossary lacks.
pub(crate) fn tool(name: &str) -> Vec<Equivalent> {
    rows()
        .filter(|row| row.part == TOOLS && row.section.eq_ignore_ascii_case(name))
        .map(|row| equivalent(&row))
        .collect()
}

/// The tools that the glossary knows, in its order.
pub(crate) fn tools() -> Vec<&'static str> {
    let mut tools: Vec<_> = rows().filter(|row| row.part == TOOLS).map(|row| row.section).collect();
    tools.dedup();
    tools
}

/// The command that does what a command or an option of another tool does.
pub(crate) fn here(word: &str) -> Option<Equivalent> {
    let is_that = |part: &str| {
        // `-d0` is an option with its value.
        let option = part.starts_with('-').then(|| part.trim_end_matches(|c: char| c.is_ascii_digit()));
        !part.is_empty() && (part.eq_ignore_ascii_case(word) || option == Some(word))
    };
    let names = |row: &Row| row.cells[0].replace('`', "").split([',', ' ', '=']).any(is_that);
    rows().find(|row| row.part == TOOLS && names(row)).map(|row| equivalent(&row))
}

fn equivalent(row: &Row) -> Equivalent {
    let plain = |cell: &str| cell.replace('`', "");
    Equivalent { there: plain(row.cells[0]), here: plain(row.cells[1]), note: plain(row.cells[2]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
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
            ["verdict", "trusted", "bound", "suspect", "state", "knee", "drift", "idle", "peak", "loaded", "now"]
        {
            assert!(term(word).is_some(), "{word}");
        }
        assert_eq!(term("withheld").map(|(names, _)| names), Some("invalid, withheld"));
        assert_eq!(term("frob"), None);
        assert!(tool("MLC").len() > 5 && tool("frob").is_empty());
    }

    #[test]
    fn words_of_other_tools_lead_on() {
        for (word, command) in [
            ("stream", "bandwidth --op copy,triad"),
            ("triad", "--op triad"),
            ("scale", "--op copy"),
            ("idle", "latency"),
            ("lat_mem_rd", "--layout stride:128"),
            ("--stride", "--layout stride:128"),
            ("--idle_latency", "latency"),
            ("--latency_matrix", "matrix"),
            ("-d", "loaded"),
            ("--rw", "--mix"),
            ("bw_mem", "bandwidth"),
            ("mlc", "run full"),
        ] {
            let found = here(word).map(|row| row.here).unwrap_or_default();
            assert!(found.contains(command), "{word}: {found}");
        }
        assert!(here("frob").is_none() && here("").is_none());
    }
}
