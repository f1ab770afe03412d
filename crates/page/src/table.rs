//! Tables: columns, rows and what stands beside them.

use tiermark_model::Unit;

use crate::legend::Sign;
use crate::style::{Ink, Style};
use crate::text::{clean, spoken};

/// On which side a column is flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// One cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// The part that it plays.
    pub ink: Ink,
    /// The value that colours the cell, among those of its table.
    pub(crate) heat: Option<f64>,
    /// The share of its room that a bar fills, in place of a text.
    bar: Option<f64>,
    /// What follows the text where a page is wide.
    if_wide: String,
    /// The sign that its number has.
    pub(crate) sign: Option<Sign>,
}

/// The columns from which a page is wide.
const WIDE: usize = 100;
/// A bar's part of the columns of a page.
const BAR: usize = 3;

impl Cell {
    /// A plain text.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self::inked(text, Ink::Plain)
    }

    /// A text that plays a part.
    pub fn inked(text: impl AsRef<str>, ink: Ink) -> Self {
        Self { text: clean(text.as_ref()), ink, ..Self::default() }
    }

    /// A bar over a share of its room.
    #[must_use]
    pub fn bar(share: f64, ink: Ink) -> Self {
        Self { ink, bar: Some(share), ..Self::default() }
    }

    /// The same with more text behind it where a page is wide.
    #[must_use]
    pub fn if_wide(self, text: &str) -> Self {
        Self { if_wide: text.to_owned(), ..self }
    }

    /// The same with the sign of its number.
    #[must_use]
    pub fn with_sign(self, sign: Option<Sign>) -> Self {
        Self { sign, ..self }
    }

    /// The same, coloured by a value.
    #[must_use]
    pub fn heated(self, heat: Option<f64>) -> Self {
        Self { heat, ..self }
    }

    /// The same in the signs, the units and the width of a style.
    fn in_style(&self, style: &Style) -> Self {
        let more = if style.columns() >= WIDE { self.if_wide.as_str() } else { "" };
        let text = match self.bar {
            Some(share) => {
                let columns = (share * (style.columns() / BAR) as f64).round() as usize;
                style.glyph("█", "#").repeat(columns)
            }
            None => spoken(&format!("{}{more}", self.text), style),
        };
        Self { text, ink: self.ink, heat: self.heat, sign: self.sign, ..Self::default() }
    }
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    /// Lines of the head.
    pub(crate) head: Vec<String>,
    pub(crate) align: Align,
}

/// Headings over several columns: the first, how many, and the text.
pub(crate) type Over = (usize, usize, String);

/// What is said of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Remark {
    pub(crate) row: usize,
    /// How it begins below its row; elsewhere it begins with the name of the row.
    pub(crate) lead: String,
    pub(crate) text: String,
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    pub(crate) indent: usize,
    pub(crate) gap: usize,
    /// Whether texts wrap where there is no room for all columns.
    pub(crate) wraps: bool,
    /// Columns that name the rows: they open every block.
    pub(crate) names: usize,
    pub(crate) over: Vec<Over>,
    /// What stands at its left, and the columns that are free for it.
    pub(crate) label: Option<(String, usize)>,
    pub(crate) remarks: Vec<Remark>,
    /// The unit of the values that colour its cells, where characters shade them too.
    pub(crate) shaded: Option<Unit>,
}

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}

impl Table {
    /// A table with two spaces before it and between its columns.
    #[must_use]
    pub fn new() -> Self {
        Self {
            columns: Vec::new(),
            rows: Vec::new(),
            indent: 2,
            gap: 2,
            wraps: true,
            names: 1,
            over: Vec::new(),
            label: None,
            remarks: Vec::new(),
            shaded: None,
        }
    }

    /// Leaves every text whole: what has no room goes below, with the names of its rows.
    #[must_use]
    pub fn whole(mut self) -> Self {
        self.wraps = false;
        self
    }

    /// Sets how many columns name the rows.
    #[must_use]
    pub fn named_by(mut self, columns: usize) -> Self {
        self.names = columns;
        self
    }

    /// Sets the spaces between columns.
    #[must_use]
    pub fn gap(mut self, gap: usize) -> Self {
        self.gap = gap;
        self
    }

    /// Sets the spaces before the table.
    #[must_use]
    pub fn indent(mut self, indent: usize) -> Self {
        self.indent = indent;
        self
    }

    /// Shades the coloured cells where there are no colours, with a key in a unit.
    #[must_use]
    pub fn shaded_in(mut self, unit: Unit) -> Self {
        self.shaded = Some(unit);
        self
    }

    /// Adds a column; `|` in the head starts a new line.
    #[must_use]
    pub fn column(mut self, head: &str, align: Align) -> Self {
        self.columns.push(Column { head: head.split('|').map(clean).collect(), align });
        self
    }

    /// Adds columns under a heading of their own.
    #[must_use]
    pub fn columns_under(mut self, heading: &str, heads: &[&str], align: Align) -> Self {
        self.over.push((self.columns.len(), heads.len(), clean(heading)));
        heads.iter().fold(self, |table, head| table.column(head, align))
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Says something of the last row: below it where its columns stand side by side, else below the table with its
    /// name.
    pub fn remark(&mut self, lead: &str, text: &str) {
        let (lead, text) = (lead.to_owned(), text.to_owned());
        self.remarks.extend(self.rows.len().checked_sub(1).map(|row| Remark { row, lead, text }));
    }

    /// Whether it has no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All cells.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.rows.iter().flatten()
    }

    /// Remarks below the table, each with the name of its row.
    pub(crate) fn remarks_below(&self) -> impl Iterator<Item = String> {
        let name = |row: usize| self.rows[row].first().map_or("", |cell| cell.text.as_str());
        self.remarks.iter().map(move |remark| format!("{}: {}", name(remark.row), remark.text))
    }

    /// The same in the signs, units and width of a style.
    pub(crate) fn in_style(&self, style: &Style) -> Self {
        let column = |c: &Column| Column { head: c.head.iter().map(|h| spoken(h, style)).collect(), align: c.align };
        let over = self.over.iter().map(|(first, count, text)| (*first, *count, spoken(text, style)));
        Self {
            columns: self.columns.iter().map(column).collect(),
            rows: self.rows.iter().map(|row| row.iter().map(|cell| cell.in_style(style)).collect()).collect(),
            over: over.collect(),
            ..self.clone()
        }
    }
}
