//! Tables: columns, rows and what stands beside them.

use tiermark_model::{Grade, Unit, Verdict};

use crate::legend::Sign;
use crate::number::{ABSENT, bound_sign, grade_mark};
use crate::span::Text;
use crate::style::{Ink, Style, grade_ink};

/// On which side a column is flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// One cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    /// What it says.
    pub text: Text,
    /// The part that it plays.
    pub ink: Ink,
    /// The grade whose mark follows the text.
    pub(crate) mark: Option<Grade>,
    /// The value that colours the cell, among those of its table.
    pub(crate) heat: Option<f64>,
    /// The share of its room that a bar fills, in place of a text.
    bar: Option<f64>,
    /// What follows the text where a page is wide.
    if_wide: String,
    /// The element of the page for a browser that the text leads to; none where it is empty.
    link: String,
}

/// The columns from which a page is wide.
const WIDE: usize = 100;
/// A bar's part of the columns of a page.
const BAR: usize = 3;

impl Cell {
    /// A plain text.
    pub fn new(text: impl Into<Text>) -> Self {
        Self::inked(text, Ink::Plain)
    }

    /// A text that plays a part.
    pub fn inked(text: impl Into<Text>, ink: Ink) -> Self {
        Self { text: text.into(), ink, ..Self::default() }
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

    /// The same, leading to the element of this id where a browser shows it.
    #[must_use]
    pub fn linked(self, id: &str) -> Self {
        Self { link: id.to_owned(), ..self }
    }

    /// The same with the mark of a grade.
    #[must_use]
    pub fn marked(self, grade: Grade) -> Self {
        Self { mark: Some(grade), ..self }
    }

    /// The same, coloured by a value.
    #[must_use]
    pub fn heated(self, heat: Option<f64>) -> Self {
        Self { heat, ..self }
    }

    /// Text and mark in a line.
    #[must_use]
    pub fn words(&self) -> Text {
        self.text.clone() + self.mark.map_or("", grade_mark)
    }

    /// The same in the signs, the units and the width of a style.
    fn in_style(&self, style: &Style) -> Shown {
        let more = if style.columns() >= WIDE { self.if_wide.as_str() } else { "" };
        let text = match self.bar {
            Some(share) => Text::from("█".repeat((share * (style.columns() / BAR) as f64).round() as usize)),
            None => self.text.clone() + more,
        };
        Shown { text: text.shown(style), ink: self.ink, mark: self.mark, heat: self.heat, link: self.link.clone() }
    }
}

/// A number with the mark of its grade, where that is not trusted. A bound says which way: at most so long, at least so
/// much. It has no interval: what is beyond a bound may be anywhere.
#[must_use]
pub fn graded(number: Option<impl Into<Text>>, verdict: &Verdict, unit: Unit) -> Cell {
    let number: Option<Text> = number.map(Into::into);
    let grade = match &number {
        // A withheld number shows only its mark; a refused number shows a dash.
        None if verdict.grade == Grade::Invalid && !verdict.is_refused() => {
            return Cell::inked("", grade_ink(Grade::Invalid)).marked(Grade::Invalid);
        }
        None if verdict.grade == Grade::Invalid => return Cell::inked(ABSENT, grade_ink(Grade::Invalid)),
        // A number that was looked for and not found has no mark: a dash is neither doubtful nor a bound.
        None => Grade::Trusted,
        Some(_) => verdict.grade,
    };
    let text = number.unwrap_or_else(|| ABSENT.into());
    match (grade, bound_sign(unit)) {
        (Grade::Trusted | Grade::Shared, _) => Cell::new(text),
        (Grade::Bound, Some(sign)) => Cell::new(Text::from(sign) + text.without_intervals()),
        _ => Cell::inked(text, grade_ink(grade)).marked(grade),
    }
}

impl<T: Into<Text>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

impl From<Option<Self>> for Cell {
    fn from(cell: Option<Self>) -> Self {
        cell.unwrap_or_default()
    }
}

/// A cell in a style.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) ink: Ink,
    pub(crate) mark: Option<Grade>,
    pub(crate) heat: Option<f64>,
    pub(crate) link: String,
}

/// A table whose rows are of a type: each column says what it has of a row.
pub struct TableOf<'r, R> {
    rows: &'r [R],
    table: Table,
    /// The least width of the next columns.
    least: usize,
}

impl<'r, R> TableOf<'r, R> {
    /// Adds a column of texts; `|` in the head starts a new line.
    #[must_use]
    pub fn texts<C: Into<Cell>>(self, head: impl Into<Text>, cell: impl Fn(&'r R) -> C) -> Self {
        self.column(head.into(), Align::Left, false, cell)
    }

    /// Adds a column of numbers, or of what is never broken.
    #[must_use]
    pub fn numbers<C: Into<Cell>>(self, head: impl Into<Text>, cell: impl Fn(&'r R) -> C) -> Self {
        self.column(head.into(), Align::Right, false, cell)
    }

    /// Adds a column of numbers with room for the marks of their grades.
    #[must_use]
    pub fn figures<C: Into<Cell>>(self, head: impl Into<Text>, cell: impl Fn(&'r R) -> C) -> Self {
        self.column(head.into(), Align::Right, true, cell)
    }

    fn column<C: Into<Cell>>(mut self, head: Text, align: Align, has_marks: bool, cell: impl Fn(&'r R) -> C) -> Self {
        self.table.columns.push(Column { head: head.lines(), align, has_marks, least: self.least });
        self.table.rows.iter_mut().zip(self.rows).for_each(|(cells, row)| cells.push(cell(row).into()));
        self
    }

    /// Makes the columns from here on at least so wide: on a screen they stay where they are while numbers change.
    #[must_use]
    pub fn at_least(self, width: usize) -> Self {
        Self { least: width, ..self }
    }

    /// Adds a last column in the rest of a width, flush right. A space is between columns, and those before have their
    /// least widths.
    #[must_use]
    pub fn rest<C: Into<Cell>>(self, width: usize, cell: impl Fn(&'r R, usize) -> C) -> Self {
        let used = self.table.columns.iter().map(|column| column.least + 1).sum();
        let room = width.saturating_sub(used);
        self.at_least(room).numbers("", |row| cell(row, room))
    }

    /// Gives the plain cells of each row an ink.
    #[must_use]
    pub fn inked(mut self, ink: impl Fn(&'r R) -> Ink) -> Self {
        for (cells, row) in self.table.rows.iter_mut().zip(self.rows) {
            cells.iter_mut().filter(|cell| cell.ink == Ink::Plain).for_each(|cell| cell.ink = ink(row));
        }
        self
    }

    /// Adds columns in some cases.
    #[must_use]
    pub fn when(self, is_shown: bool, columns: impl FnOnce(Self) -> Self) -> Self {
        if is_shown { columns(self) } else { self }
    }

    /// Adds columns for each of some things.
    #[must_use]
    pub fn each<T>(self, things: impl IntoIterator<Item = T>, columns: impl FnMut(Self, T) -> Self) -> Self {
        things.into_iter().fold(self, columns)
    }

    /// Adds columns under a heading of their own; a unit in it holds for all of them.
    #[must_use]
    pub fn under(self, heading: impl Into<Text>, columns: impl FnOnce(Self) -> Self) -> Self {
        let first = self.table.columns.len();
        let mut all = self.together(columns);
        all.table.over.push((first, all.table.columns.len() - first, heading.into()));
        all
    }

    /// Adds columns that stand together: what has no room for all of them goes below.
    #[must_use]
    pub fn together(self, columns: impl FnOnce(Self) -> Self) -> Self {
        let first = self.table.columns.len();
        let mut all = columns(self);
        all.table.groups.push((first, all.table.columns.len() - first));
        all
    }

    /// The table.
    #[must_use]
    pub fn table(self) -> Table {
        self.table
    }
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    /// Lines of the head.
    pub(crate) head: Vec<Text>,
    pub(crate) align: Align,
    /// Whether its cells may have marks.
    pub(crate) has_marks: bool,
    /// The least width.
    pub(crate) least: usize,
}

/// Headings over several columns: the first, how many, and the text.
pub(crate) type Over = (usize, usize, Text);

/// What is said of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Remark {
    pub(crate) row: usize,
    /// How it begins below its row; elsewhere it begins with the name of the row.
    pub(crate) lead: String,
    pub(crate) text: Text,
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
    /// Columns that stand together: the first, and how many.
    pub(crate) groups: Vec<(usize, usize)>,
    /// What stands at its left, and the columns that are free for it.
    pub(crate) label: Option<(String, usize)>,
    pub(crate) remarks: Vec<Remark>,
    /// The unit of the values that colour its cells, where characters shade them too.
    pub(crate) shaded: Option<Unit>,
}

impl Table {
    /// A table of rows, without columns yet, with two spaces before it and between its columns.
    pub fn of<R>(rows: &[R]) -> TableOf<'_, R> {
        let table = Self {
            columns: Vec::new(),
            rows: vec![Vec::new(); rows.len()],
            indent: 2,
            gap: 2,
            wraps: true,
            names: 1,
            over: Vec::new(),
            groups: Vec::new(),
            label: None,
            remarks: Vec::new(),
            shaded: None,
        };
        TableOf { rows, table, least: 0 }
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

    /// The same with something said of its rows: below each where its columns stand side by side, else below the table
    /// with the name of the row. Empty texts say nothing.
    #[must_use]
    pub fn remarked(mut self, lead: &str, texts: impl IntoIterator<Item = Text>) -> Self {
        let texts = texts.into_iter().enumerate().filter(|(_, text)| !text.is_empty());
        self.remarks = texts.map(|(row, text)| Remark { row, lead: lead.to_owned(), text }).collect();
        self
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

    /// The signs of its numbers.
    pub(crate) fn signs(&self) -> impl Iterator<Item = Sign> {
        self.cells().flat_map(|cell| cell.text.signs())
    }

    /// The same in the signs, units and width of a style.
    pub(crate) fn in_style<'a>(&'a self, style: &'a Style) -> ShownTable<'a> {
        let column = |column: &Column| {
            let more = if column.has_marks { " " } else { "" };
            let head = column.head.iter().map(|line| format!("{}{more}", line.shown(style))).collect();
            ShownColumn { head, align: column.align, has_marks: column.has_marks }
        };
        let over = self.over.iter().map(|(first, count, text)| (*first, *count, text.shown(style)));
        ShownTable {
            of: self,
            style,
            columns: self.columns.iter().map(column).collect(),
            rows: self.rows.iter().map(|row| row.iter().map(|cell| cell.in_style(style)).collect()).collect(),
            over: over.collect(),
        }
    }
}

/// A column in a style.
pub(crate) struct ShownColumn {
    pub(crate) head: Vec<String>,
    pub(crate) align: Align,
    pub(crate) has_marks: bool,
}

/// A table in a style.
pub(crate) struct ShownTable<'a> {
    pub(crate) of: &'a Table,
    pub(crate) style: &'a Style,
    pub(crate) columns: Vec<ShownColumn>,
    pub(crate) rows: Vec<Vec<Shown>>,
    pub(crate) over: Vec<(usize, usize, String)>,
}

impl ShownTable<'_> {
    /// Remarks below the table, each with the name of its row.
    pub(crate) fn remarks_below(&self) -> impl Iterator<Item = String> {
        let name = |row: usize| self.rows[row].first().map_or("", |cell| cell.text.as_str());
        self.of.remarks.iter().map(move |remark| format!("{}: {}", name(remark.row), remark.text.shown(self.style)))
    }
}
