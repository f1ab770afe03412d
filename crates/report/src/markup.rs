//! Structure in a text: with [`crate::Style::markup`] headings, paragraphs, tables and charts are written as lines that
//! begin with a control character, one line each. [`blocks`] reads them back, so that pages are made of the same views
//! as texts.
//!
//! A text that comes from a document cannot imitate this markup: [`crate::text::clean`] replaces its control characters
//! before it is written. A line that begins with none of the characters below is shown as it is.

use crate::style::Ink;
use crate::table::{Align, Cell};

const HEADING: char = '\u{1}';
const TEXT: char = '\u{2}';
const TABLE: char = '\u{3}';
const CHART: char = '\u{4}';
const MAP: char = '\u{5}';
const RULE: char = '\u{6}';
/// Ends a cell: whitespace, so that words of tables stay apart.
const CELL: char = '\t';
const ROW: char = '\u{1e}';
const FIELD: char = '\u{1f}';

/// A piece of a page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    /// The title of what follows.
    Heading(String),
    /// A line across, between the parts of a run.
    Rule,
    /// A paragraph, or an item of a list.
    Text(Paragraph),
    /// A table.
    Table(Grid),
    /// A plot, as JSON for the page's script.
    Chart(String),
    /// A heat map of many cells, as JSON for the page's script.
    Map(String),
    /// Lines that are shown as they are.
    Raw(String),
}

/// A paragraph.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Paragraph {
    /// What stands in the gutter.
    pub(crate) label: String,
    /// Indentation and bullet.
    pub(crate) prefix: String,
    pub(crate) text: String,
    pub(crate) ink: Ink,
}

/// A table's columns and rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Grid {
    pub(crate) columns: Vec<(String, Align)>,
    /// Headings over several columns: the first, how many, and the text.
    pub(crate) over: Vec<(usize, usize, String)>,
    /// How many columns name the rows.
    pub(crate) names: usize,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// A heading behind an empty line, as in a text.
pub(crate) fn heading(text: &str) -> String {
    format!("\n{HEADING}{text}\n")
}

/// A paragraph.
pub(crate) fn text(prefix: &str, text: &str, ink: Ink) -> String {
    format!("{TEXT}{}{FIELD}{FIELD}{prefix}{FIELD}{text}\n", letter(ink))
}

/// Puts a label before what a text begins with.
pub(crate) fn labelled(label: &str, body: &str) -> String {
    match body.strip_prefix(TEXT).and_then(|rest| rest.split_once(FIELD)) {
        Some((ink, rest)) => format!("{TEXT}{ink}{FIELD}{label}{rest}"),
        None => format!("{TEXT}{}{FIELD}{label}{FIELD}{FIELD}\n{body}", letter(Ink::Plain)),
    }
}

/// A line across.
pub(crate) fn rule() -> String {
    format!("{RULE}\n")
}

/// A plot.
pub(crate) fn chart(json: &str) -> String {
    format!("{CHART}{json}\n")
}

/// A heat map.
pub(crate) fn map(json: &str) -> String {
    format!("{MAP}{json}\n")
}

/// A table.
pub(crate) fn table(grid: &Grid) -> String {
    let mut out = format!("{TABLE}{}{CELL}", grid.names);
    for (head, align) in &grid.columns {
        out.push(if *align == Align::Right { 'r' } else { 'l' });
        out.push_str(head);
        out.push(CELL);
    }
    out.push(ROW);
    for (first, count, text) in &grid.over {
        out.push_str(&format!("{first}{FIELD}{count}{FIELD}{text}{CELL}"));
    }
    for row in &grid.rows {
        out.push(ROW);
        for cell in row {
            out.push_str(&cell.text);
            if cell.ink != Ink::Plain || cell.heat.is_some() {
                let heat = cell.heat.map_or_else(String::new, |heat| heat.to_string());
                out.push_str(&format!("{FIELD}{}{FIELD}{heat}", letter(cell.ink)));
            }
            out.push(CELL);
        }
    }
    out.push('\n');
    out
}

/// The pieces of a text with markup.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for line in text.lines() {
        let mut rest = line.chars();
        let block = match (rest.next(), rest.as_str()) {
            (Some(HEADING), text) => Some(Block::Heading(text.to_owned())),
            (Some(TEXT), text) => Some(Block::Text(paragraph(text))),
            (Some(TABLE), text) => Some(Block::Table(grid(text))),
            (Some(CHART), json) => Some(Block::Chart(json.to_owned())),
            (Some(MAP), json) => Some(Block::Map(json.to_owned())),
            (Some(RULE), _) => Some(Block::Rule),
            _ => None,
        };
        match (block, blocks.last_mut()) {
            (Some(block), _) => blocks.push(block),
            (None, Some(Block::Raw(raw))) => raw.push_str(&format!("\n{line}")),
            (None, _) if line.is_empty() => {}
            (None, _) => blocks.push(Block::Raw(line.to_owned())),
        }
    }
    blocks
}

fn paragraph(line: &str) -> Paragraph {
    let mut fields = line.splitn(4, FIELD);
    let ink = ink(fields.next());
    let [label, prefix, text] = std::array::from_fn(|_| fields.next().unwrap_or_default().to_owned());
    Paragraph { label, prefix, text, ink }
}

fn grid(line: &str) -> Grid {
    let mut parts = line.split(ROW);
    let cells = |part: Option<&str>| -> Vec<String> {
        let mut cells: Vec<String> = part.unwrap_or_default().split(CELL).map(str::to_owned).collect();
        // Each ends in a mark.
        cells.pop();
        cells
    };
    let mut columns = cells(parts.next()).into_iter();
    let names = columns.next().and_then(|names| names.parse().ok()).unwrap_or(1);
    let column = |text: String| {
        let align = if text.starts_with('r') { Align::Right } else { Align::Left };
        (text.chars().skip(1).collect(), align)
    };
    let columns = columns.map(column).collect();
    let over = |text: String| {
        let mut fields = text.splitn(3, FIELD);
        let mut number = || fields.next()?.parse::<usize>().ok();
        let (first, count) = (number()?, number()?);
        Some((first, count, fields.next()?.to_owned()))
    };
    let over = cells(parts.next()).into_iter().filter_map(over).collect();
    let cell = |text: String| {
        let mut fields = text.splitn(3, FIELD);
        let text = fields.next().unwrap_or_default().to_owned();
        let ink = ink(fields.next());
        Cell { text, ink, heat: fields.next().and_then(|heat| heat.parse().ok()) }
    };
    let rows = parts.map(|part| cells(Some(part)).into_iter().map(cell).collect()).collect();
    Grid { columns, over, names, rows }
}

const INKS: [(char, Ink); 6] =
    [('p', Ink::Plain), ('h', Ink::Head), ('d', Ink::Dim), ('g', Ink::Good), ('w', Ink::Warn), ('b', Ink::Bad)];

fn letter(ink: Ink) -> char {
    // Series of plots have colours of their own in a page.
    INKS.iter().find(|(_, known)| *known == ink).map_or('s', |(letter, _)| *letter)
}

fn ink(field: Option<&str>) -> Ink {
    let letter = field.and_then(|field| field.chars().next()).unwrap_or('p');
    INKS.iter().find(|(known, _)| *known == letter).map_or(Ink::Series(0), |(_, ink)| *ink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;
    use crate::table::Table;
    use crate::text::{bullet, hanging, heading, labelled};

    #[test]
    fn what_views_write_is_read_back() {
        let style = Style { markup: true, ..Style::default() };
        let mut table =
            Table::new().column("tier", Align::Left).columns_under("one core", &["read|GB/s"], Align::Right);
        table.row(vec![Cell::new("L1\u{1}\t"), Cell::inked("9.1!", Ink::Warn).heated(Some(9.1))]);
        let text = heading("A <b>", &style)
            + &table.render(&style)
            + &hanging("  ", "a\u{3}text", Ink::Dim, &style)
            + &labelled("nodes", "two", &style)
            + &bullet("!", Ink::Warn, "what", Some("cure"), &style)
            + "  as it is\n\n  goes on\n";
        let paragraph = |label: &str, prefix: &str, text: &str, ink| {
            let [label, prefix, text] = [label, prefix, text].map(str::to_owned);
            Block::Text(Paragraph { label, prefix, text, ink })
        };
        let grid = Grid {
            columns: vec![("tier".into(), Align::Left), ("read GB/s".into(), Align::Right)],
            over: vec![(1, 1, "one core".into())],
            names: 1,
            rows: vec![vec![Cell::new("L1\u{fffd} "), Cell::inked("9.1!", Ink::Warn).heated(Some(9.1))]],
        };
        let wanted = [
            Block::Heading("A <b>".into()),
            Block::Table(grid),
            paragraph("", "  ", "a\u{fffd}text", Ink::Dim),
            paragraph("nodes", "            ", "two", Ink::Plain),
            paragraph("", "  ! ", "what", Ink::Warn),
            paragraph("", "    → ", "cure", Ink::Plain),
            Block::Raw("  as it is\n\n  goes on".into()),
        ];
        assert_eq!(blocks(&text), wanted);
    }
}
