//! Tables that always fit: flexible columns wrap, and what still does not fit goes to a second block below.

use crate::markup::{self, Grid};
use crate::style::{Ink, RateUnit, Style};
use crate::text::{clean, left, right, spoken, width, wrap_hard};

/// On which side a column is flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// One cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) ink: Ink,
    /// The value that colours the cell on a page, among those of its table.
    pub(crate) heat: Option<f64>,
}

impl Cell {
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        Self::inked(text, Ink::Plain)
    }

    pub(crate) fn inked(text: impl AsRef<str>, ink: Ink) -> Self {
        Self { text: clean(text.as_ref()), ink, heat: None }
    }

    /// The same with more text behind it.
    pub(crate) fn followed_by(mut self, text: &str) -> Self {
        self.text.push_str(text);
        self
    }

    /// The same, coloured by a value on a page.
    pub(crate) fn heated(self, heat: Option<f64>) -> Self {
        Self { heat, ..self }
    }
}

struct Column {
    /// Lines of the head.
    head: Vec<String>,
    align: Align,
}

/// A table under construction.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    indent: usize,
    gap: usize,
    /// Whether texts wrap where there is no room for all columns.
    wraps: bool,
    /// Columns that name the rows: they open every block.
    names: usize,
    /// Headings over several columns: the first, how many, and the text.
    over: Vec<(usize, usize, String)>,
}

/// A column that wraps keeps at least this many columns, unless it never had as many.
const NARROWEST: usize = 12;

impl Table {
    /// A table with two spaces before it and between its columns.
    pub(crate) fn new() -> Self {
        Self { columns: Vec::new(), rows: Vec::new(), indent: 2, gap: 2, wraps: true, names: 1, over: Vec::new() }
    }

    /// Leaves every text whole: what has no room goes below, with the names of its rows.
    pub(crate) fn whole(mut self) -> Self {
        self.wraps = false;
        self
    }

    /// Sets how many columns name the rows.
    pub(crate) fn named_by(mut self, columns: usize) -> Self {
        self.names = columns;
        self
    }

    /// Sets the spaces between columns.
    pub(crate) fn gap(mut self, gap: usize) -> Self {
        self.gap = gap;
        self
    }

    /// Sets the spaces before the table.
    pub(crate) fn indent(mut self, indent: usize) -> Self {
        self.indent = indent;
        self
    }

    /// Adds a column; `|` in the head starts a new line.
    pub(crate) fn column(mut self, head: &str, align: Align) -> Self {
        self.columns.push(Column { head: head.split('|').map(clean).collect(), align });
        self
    }

    /// Adds columns under a heading of their own.
    pub(crate) fn columns_under(mut self, heading: &str, heads: &[&str], align: Align) -> Self {
        self.over.push((self.columns.len(), heads.len(), clean(heading)));
        heads.iter().fold(self, |table, head| table.column(head, align))
    }

    /// Adds a row; missing cells are empty.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Whether it has no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as lines.
    pub(crate) fn render(&self, style: &Style) -> String {
        if style.markup {
            markup::table(&self.spoken(style).grid())
        } else if style.unicode && style.rate_unit == RateUnit::Si {
            self.lines(style)
        } else {
            self.spoken(style).lines(style)
        }
    }

    fn grid(self) -> Grid {
        let columns = self.columns.into_iter().map(|c| (c.head.join(" ").trim().to_owned(), c.align)).collect();
        Grid { columns, over: self.over, names: self.names, rows: self.rows }
    }

    /// Whether all columns have room side by side, without a wrapped text.
    pub(crate) fn fits(&self, style: &Style) -> bool {
        // A page scrolls.
        if style.markup {
            return true;
        }
        let spoken = self.spoken(style);
        let widths = (0..spoken.columns.len()).map(|c| spoken.natural(c));
        self.indent + widths.sum::<usize>() + self.gap * self.columns.len().saturating_sub(1) <= style.columns()
    }

    /// The same in the signs and units of a style.
    fn spoken(&self, style: &Style) -> Self {
        let said = |text: &String| spoken(text, style);
        let column = |c: &Column| Column { head: c.head.iter().map(said).collect(), align: c.align };
        let cell = |c: &Cell| Cell { text: said(&c.text), ..c.clone() };
        let columns = self.columns.iter().map(column).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        let over = self.over.iter().map(|(first, count, text)| (*first, *count, said(text))).collect();
        Self { columns, rows, indent: self.indent, gap: self.gap, wraps: self.wraps, names: self.names, over }
    }

    fn lines(&self, style: &Style) -> String {
        let budget = style.columns().saturating_sub(self.indent).max(NARROWEST);
        let mut widths: Vec<usize> = (0..self.columns.len()).map(|c| self.natural(c)).collect();
        self.shrink(&mut widths, budget);
        let mut out = String::new();
        for (i, block) in self.blocks(&widths, budget).iter().enumerate() {
            if i > 0 {
                out.push('\n');
            }
            self.render_block(block, &widths, style, &mut out);
        }
        out
    }

    fn natural(&self, column: usize) -> usize {
        let head = self.columns[column].head.iter().map(|h| width(h)).max().unwrap_or(0);
        self.rows.iter().filter_map(|r| r.get(column)).map(|c| width(&c.text)).fold(head, usize::max)
    }

    /// Takes width from the widest left-flush columns (texts) until the table fits; numbers never wrap.
    fn shrink(&self, widths: &mut [usize], budget: usize) {
        let gaps = self.gap * widths.len().saturating_sub(1);
        while self.wraps && widths.iter().sum::<usize>() + gaps > budget {
            let widest = (0..widths.len())
                .filter(|&c| self.columns[c].align == Align::Left && widths[c] > NARROWEST)
                .max_by_key(|&c| widths[c]);
            let Some(widest) = widest else { break };
            widths[widest] -= 1;
        }
        if widths.iter().sum::<usize>() + gaps > budget {
            // It will be cut into blocks: no column may be wider than half the space, so that two always fit side by side.
            for w in widths.iter_mut() {
                *w = (*w).min((budget.saturating_sub(self.gap) / 2).max(1));
            }
        }
    }

    /// Column numbers of each block; the columns that name the rows open every block.
    fn blocks(&self, widths: &[usize], budget: usize) -> Vec<Vec<usize>> {
        let mut blocks = vec![Vec::new()];
        let mut used = 0;
        for column in 0..widths.len() {
            let block = blocks.last().map_or(0, Vec::len);
            let needed = widths[column] + if block == 0 { 0 } else { self.gap };
            if block > self.names && used + needed > budget {
                blocks.push((0..self.names).chain([column]).collect());
                used = widths[..self.names].iter().map(|width| width + self.gap).sum::<usize>() + widths[column];
            } else if let Some(last) = blocks.last_mut() {
                last.push(column);
                used += needed;
            }
        }
        blocks
    }

    /// Writes headings over several columns, each centred in a rule, into the line above the last one of the heads.
    fn over_line(&self, line: &str, block: &[usize], widths: &[usize], style: &Style) -> String {
        let mut line = line.to_owned();
        let mut at = self.indent;
        for (i, &column) in block.iter().enumerate() {
            let spanned = self.over.iter().find(|(first, count, _)| {
                *first == column
                    && block.get(i..i + count).is_some_and(|columns| columns.ends_with(&[first + count - 1]))
            });
            if let Some((_, count, text)) = spanned {
                let room = widths[column..column + count].iter().sum::<usize>() + self.gap * (count - 1);
                let rule = room.saturating_sub(width(text) + 2);
                // A single dash looks like a sign.
                let dash = if rule < 2 { " " } else { style.glyph("─", "-") };
                line.push_str(&" ".repeat(at.saturating_sub(width(&line))));
                line.push_str(&format!("{} {text} {}", dash.repeat(rule / 2), dash.repeat(rule - rule / 2)));
            }
            at += widths[column] + self.gap;
        }
        line
    }

    fn render_block(&self, block: &[usize], widths: &[usize], style: &Style, out: &mut String) {
        let height = block.iter().map(|&c| self.columns[c].head.len()).max().unwrap_or(0);
        let height = if self.over.is_empty() { height } else { height.max(2) };
        let heads = |c: usize, line: usize| {
            let head = &self.columns[c].head;
            // Heads stand on the last line, so that one-line heads meet their numbers.
            (line + head.len()).checked_sub(height).and_then(|i| head.get(i)).cloned().unwrap_or_default()
        };
        for line in 0..height {
            let cells: Vec<(String, Ink)> = block
                .iter()
                .map(|&c| (wrap_hard(&heads(c, line), widths[c]).first().cloned().unwrap_or_default(), Ink::Dim))
                .collect();
            if !self.over.is_empty() && line + 2 == height {
                let mut plain = String::new();
                self.line(block, widths, &cells, &Style { color: false, ..*style }, &mut plain);
                let text = self.over_line(plain.trim_end(), block, widths, style);
                out.push_str(&format!("{}\n", style.paint(Ink::Dim, text.trim_end())));
            } else if cells.iter().any(|(text, _)| !text.is_empty()) {
                self.line(block, widths, &cells, style, out);
            }
        }
        for row in &self.rows {
            let wrapped: Vec<(Vec<String>, Ink)> = block
                .iter()
                .map(|&c| row.get(c).cloned().unwrap_or_default())
                .zip(block)
                .map(|(cell, &c)| {
                    let lines =
                        if width(&cell.text) <= widths[c] { vec![cell.text] } else { wrap_hard(&cell.text, widths[c]) };
                    (lines, cell.ink)
                })
                .collect();
            for line in 0..wrapped.iter().map(|(lines, _)| lines.len()).max().unwrap_or(0) {
                let cells: Vec<(String, Ink)> =
                    wrapped.iter().map(|(lines, ink)| (lines.get(line).cloned().unwrap_or_default(), *ink)).collect();
                self.line(block, widths, &cells, style, out);
            }
        }
    }

    fn line(&self, block: &[usize], widths: &[usize], cells: &[(String, Ink)], style: &Style, out: &mut String) {
        let last = cells.iter().rposition(|(text, _)| !text.trim().is_empty());
        let mut line = " ".repeat(self.indent);
        for (i, (&column, (text, ink))) in block.iter().zip(cells).enumerate().take(last.map_or(0, |l| l + 1)) {
            if i > 0 {
                line.push_str(&" ".repeat(self.gap));
            }
            let padded = match self.columns[column].align {
                Align::Right => right(text, widths[column]),
                Align::Left if Some(i) == last => text.clone(),
                Align::Left => left(text, widths[column]),
            };
            let padded = if Some(i) == last { padded.trim_end().to_owned() } else { padded };
            line.push_str(&style.paint(*ink, &padded));
        }
        out.push_str(&line);
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new().column("tier", Align::Left).column("read|GB/s", Align::Right);
        table = table.column("note", Align::Left);
        table.row(vec![
            Cell::new("L1"),
            Cell::new("180.2"),
            Cell::new("a remark that is far too long for one line of it"),
        ]);
        table.row(vec![Cell::new("DRAM"), Cell::new("9.21")]);
        table
    }

    #[test]
    fn texts_wrap_and_numbers_stay_flush() {
        let shown = sample().render(&Style { width: 40, ..Style::default() });
        insta::assert_snapshot!(shown, @r"
                 read
          tier   GB/s  note
          L1    180.2  a remark that is far too
                       long for one line of it
          DRAM   9.21
        ");
    }

    #[test]
    fn columns_that_do_not_fit_go_below_with_their_row_names() {
        let mut table = Table::new().column("size", Align::Left);
        for n in 0..12 {
            table = table.column(&format!("kernel{n}"), Align::Right);
        }
        table.row((0..13).map(|n| Cell::new(format!("v{n}"))).collect());
        let shown = table.render(&Style { width: 60, ..Style::default() });
        assert!(shown.lines().all(|l| width(l) <= 60), "{shown}");
        assert_eq!(shown.matches("size").count(), 3, "{shown}");
        assert!((0..13).all(|n| shown.contains(&format!("v{n}"))), "{shown}");
    }
}
