//! Tables that always fit: flexible columns wrap, and what still does not fit goes to a second block below.

use crate::block::Fit;
use crate::number::{grade_mark, number};
use crate::span::Text;
use crate::style::{Ink, Style};
use crate::table::{Align, Column, Shown, ShownTable, Table};
use crate::text::{left, right, width, wrap_hard};

use super::shades::Shades;
use super::{Line, paragraph};

/// A column that wraps keeps at least this many columns, unless it never had as many.
const NARROWEST: usize = 12;

/// The table as lines, with what stands beside and below it.
pub(super) fn table(table: &Table, style: &Style) -> String {
    let mut shown = table.in_style(style);
    shown.mark();
    let key = shown.shade();
    let is_whole = shown.fits(Fit::Whole);
    let mut out = shown.lines(is_whole);
    if let Some((label, gutter)) = &table.label {
        out = super::labelled(label, *gutter, &out, style);
    }
    for text in shown.remarks_below().filter(|_| !is_whole) {
        out.push_str(&paragraph(&" ".repeat(table.indent), &text, Ink::Dim, style));
    }
    out + &key.map_or_else(String::new, |key| paragraph("  ", &key, Ink::Dim, style))
}

/// The lines of a table on a screen, which cuts them at its edge: one of each row.
#[must_use]
pub fn screen(table: &Table, style: &Style) -> Vec<Line> {
    let mut shown = table.in_style(style);
    shown.mark();
    let (all, widths): (Vec<usize>, Vec<usize>) = shown.naturals().into_iter().enumerate().unzip();
    let mut lines = shown.head(&all, &widths);
    lines.extend(shown.rows.iter().flat_map(|row| shown.row(row, &all, &widths)));
    lines
}

/// Whether a table has room.
pub(super) fn fits(table: &Table, fit: Fit, style: &Style) -> bool {
    let mut shown = table.in_style(style);
    shown.mark();
    shown.fits(fit)
}

impl ShownTable<'_> {
    /// Writes the marks behind the numbers; a column that may have some is one wider.
    fn mark(&mut self) {
        for (at, cell) in self.rows.iter_mut().flat_map(|row| row.iter_mut().enumerate()) {
            let mark = cell.mark.map(|grade| Text::from(grade_mark(grade)).shown(self.style));
            let room = if self.columns.get(at).is_some_and(|column| column.has_marks) { " " } else { "" };
            // What is empty needs no room.
            let room = if cell.text.is_empty() { "" } else { room };
            cell.text.push_str(mark.as_deref().unwrap_or(room));
        }
    }

    /// Writes shades behind the values that colour cells; what the shades mean.
    fn shade(&mut self) -> Option<String> {
        let (unit, style) = (self.of.shaded?, self.style);
        let shades = Shades::of(self.of.cells().filter_map(|cell| cell.heat), style)?;
        for cell in self.rows.iter_mut().flat_map(|row| row.iter_mut().skip(self.of.names)) {
            cell.text.push_str(cell.heat.map_or(" ", |heat| shades.glyph(heat)));
        }
        Some(format!("shades: {}", shades.key(|heat| number(heat, unit).shown(style))))
    }

    fn fits(&self, fit: Fit) -> bool {
        let mut widths = self.naturals();
        let gaps = self.of.gap * self.columns.len().saturating_sub(1);
        if fit == Fit::Uncut {
            let budget = self.budget();
            self.shrink(&mut widths, budget);
            return self.blocks(&widths, budget).len() == 1;
        }
        self.of.indent + widths.iter().sum::<usize>() + gaps <= self.style.columns()
    }

    fn budget(&self) -> usize {
        self.style.columns().saturating_sub(self.of.indent).max(NARROWEST)
    }

    fn lines(&self, is_whole: bool) -> String {
        let budget = self.budget();
        let mut widths = self.naturals();
        self.shrink(&mut widths, budget);
        let blocks = self.blocks(&widths, budget);
        blocks.iter().map(|block| self.block(block, &widths, is_whole)).collect::<Vec<_>>().join("\n")
    }

    /// The widths of the columns where there is room.
    fn naturals(&self) -> Vec<usize> {
        let natural = |(at, column): (usize, &Column)| {
            let head = self.columns[at].head.iter().map(|h| width(h)).fold(column.least, usize::max);
            self.rows.iter().filter_map(|r| r.get(at)).map(|c| width(&c.text)).fold(head, usize::max)
        };
        self.of.columns.iter().enumerate().map(natural).collect()
    }

    /// Takes width from the widest left-flush columns (texts) until the table fits; numbers never wrap.
    fn shrink(&self, widths: &mut [usize], budget: usize) {
        let gaps = self.of.gap * widths.len().saturating_sub(1);
        while self.of.wraps && widths.iter().sum::<usize>() + gaps > budget {
            let widest = (0..widths.len())
                .filter(|&c| self.columns[c].align == Align::Left && widths[c] > NARROWEST)
                .max_by_key(|&c| widths[c]);
            let Some(widest) = widest else { break };
            widths[widest] -= 1;
        }
        if widths.iter().sum::<usize>() + gaps > budget {
            // It will be cut into blocks: no column may be wider than half the space, so that two always fit side by
            // side.
            for w in widths.iter_mut() {
                *w = (*w).min((budget.saturating_sub(self.of.gap) / 2).max(1));
            }
        }
    }

    /// The width of the columns that stand together from one on, if a block has room for them.
    fn together(&self, column: usize, widths: &[usize], room: usize) -> usize {
        let group = self.of.groups.iter().find(|(first, _)| *first == column).map_or(1, |(_, count)| *count);
        let whole = widths[column..column + group].iter().sum::<usize>() + self.of.gap * (group - 1);
        if whole <= room { whole } else { widths[column] }
    }

    /// Column numbers of each block; the columns that name the rows open every block.
    fn blocks(&self, widths: &[usize], budget: usize) -> Vec<Vec<usize>> {
        let names: usize = widths[..self.of.names].iter().map(|width| width + self.of.gap).sum();
        let mut blocks = vec![Vec::new()];
        let mut used = 0;
        for column in 0..widths.len() {
            let block = blocks.last().map_or(0, Vec::len);
            let gap = if block == 0 { 0 } else { self.of.gap };
            let needed = widths[column] + gap;
            let together = gap + self.together(column, widths, budget.saturating_sub(names));
            if block > self.of.names && used + together > budget {
                blocks.push((0..self.of.names).chain([column]).collect());
                used = names + widths[column];
            } else if let Some(last) = blocks.last_mut() {
                last.push(column);
                used += needed;
            }
        }
        blocks
    }

    /// Writes headings over several columns, each centred in a rule, into the line above the last one of the heads.
    fn over_line(&self, line: &str, block: &[usize], widths: &[usize]) -> String {
        let mut line = line.to_owned();
        let mut at = self.of.indent;
        for (i, &column) in block.iter().enumerate() {
            let is_under = |of: &(usize, usize, String), column: usize| (of.0..of.0 + of.1).contains(&column);
            let before = i.checked_sub(1).map(|before| block[before]);
            // Where a block ends within a group, the next one repeats the heading.
            let begins =
                |of: &&(usize, usize, String)| is_under(of, column) && !before.is_some_and(|b| is_under(of, b));
            if let Some(of @ (.., text)) = self.over.iter().find(begins) {
                let count = block[i..].iter().take_while(|column| is_under(of, **column)).count();
                let room = widths[column..column + count].iter().sum::<usize>() + self.of.gap * (count - 1);
                let rule = room.saturating_sub(width(text) + 2);
                // A single dash looks like a sign.
                let dash = if rule < 2 { " " } else { self.style.glyph("─", "-") };
                line.push_str(&" ".repeat(at.saturating_sub(width(&line))));
                line.push_str(&format!("{} {text} {}", dash.repeat(rule / 2), dash.repeat(rule - rule / 2)));
            }
            at += widths[column] + self.of.gap;
        }
        line
    }

    fn block(&self, block: &[usize], widths: &[usize], is_whole: bool) -> String {
        let mut out = self.painted(self.head(block, widths));
        for (at, row) in self.rows.iter().enumerate() {
            out += &self.painted(self.row(row, block, widths));
            for remark in self.of.remarks.iter().filter(|remark| is_whole && remark.row == at) {
                let prefix = format!("{}{}", " ".repeat(self.of.indent + 2), remark.lead);
                out += &paragraph(&prefix, &remark.text.shown(self.style), Ink::Dim, self.style);
            }
        }
        out
    }

    fn painted(&self, lines: Vec<Line>) -> String {
        let line = |line: Line| line.iter().map(|(ink, text)| self.style.paint(*ink, text)).collect::<String>() + "\n";
        lines.into_iter().map(line).collect()
    }

    fn row(&self, row: &[Shown], block: &[usize], widths: &[usize]) -> Vec<Line> {
        let fitted = |&column: &usize| {
            let Some(cell) = row.get(column) else { return Vec::new() };
            let fits = width(&cell.text) <= widths[column];
            let lines = if fits { vec![cell.text.clone()] } else { wrap_hard(&cell.text, widths[column]) };
            lines.into_iter().map(|line| (cell.ink, line)).collect()
        };
        let cells: Vec<Line> = block.iter().map(fitted).collect();
        let line = |at| cells.iter().map(|lines| lines.get(at).cloned().unwrap_or_default()).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        (0..height).map(|at| self.line(block, widths, line(at))).collect()
    }

    fn head(&self, block: &[usize], widths: &[usize]) -> Vec<Line> {
        let height = block.iter().map(|&c| self.columns[c].head.len()).max().unwrap_or(0);
        let height = if self.over.is_empty() { height } else { height.max(2) };
        let text = |line: usize, c: usize| {
            let head = &self.columns[c].head;
            // Heads stand on the last line, so that one-line heads meet their numbers.
            let text = (line + head.len()).checked_sub(height).and_then(|i| head.get(i));
            text.map_or_else(String::new, |text| wrap_hard(text, widths[c]).swap_remove(0))
        };
        let mut lines = Vec::new();
        for line in 0..height {
            let cells: Line = block.iter().map(|&c| (Ink::Dim, text(line, c))).collect();
            if !self.over.is_empty() && line + 2 == height {
                let plain: String = self.line(block, widths, cells).into_iter().map(|(_, text)| text).collect();
                let text = self.over_line(plain.trim_end(), block, widths);
                lines.push(vec![(Ink::Dim, text.trim_end().to_owned())]);
            } else if cells.iter().any(|(_, text)| !text.is_empty()) {
                lines.push(self.line(block, widths, cells));
            }
        }
        lines
    }

    /// The texts of a line in their columns, without blanks at the end.
    fn line(&self, block: &[usize], widths: &[usize], mut cells: Line) -> Line {
        let columns = cells.iter().rposition(|(_, text)| !text.trim().is_empty()).map_or(0, |last| last + 1);
        cells.truncate(columns);
        let mut line = vec![(Ink::Plain, " ".repeat(self.of.indent))];
        for (i, (&column, (ink, text))) in block.iter().zip(cells).enumerate() {
            if i > 0 {
                line.push((Ink::Plain, " ".repeat(self.of.gap)));
            }
            let padded = match self.columns[column].align {
                Align::Right => right(&text, widths[column]),
                Align::Left => left(&text, widths[column]),
            };
            line.push((ink, if i + 1 == columns { padded.trim_end().to_owned() } else { padded }));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Cell;

    fn sample() -> Table {
        let rows = [["L1", "180.2", "a remark that is far too long for one line of it"], ["DRAM", "9.21", ""]];
        Table::of(&rows).texts("tier", |r| r[0]).numbers("read|GB/s", |r| r[1]).texts("note", |r| r[2]).table()
    }

    #[test]
    fn texts_wrap_and_numbers_stay_flush() {
        let shown = table(&sample(), &Style { width: 40, ..Style::default() });
        insta::assert_snapshot!(shown, @r"
                 read
          tier   GB/s  note
          L1    180.2  a remark that is far too
                       long for one line of it
          DRAM   9.21
        ");
    }

    #[test]
    fn columns_of_a_screen_stay_where_they_are() {
        let shown = |numbers: [f64; 2]| {
            let table = Table::of(&numbers).at_least(6).numbers("rate", |n| n.to_string());
            let table = table.rest(10, |n, room| Cell::inked("#".repeat(room.min(*n as usize)), Ink::Good));
            let lines =
                screen(&table.inked(|n| if *n > 9.0 { Ink::Bad } else { Ink::Plain }).table(), &Style::default());
            lines.into_iter().map(|line| line.into_iter().filter(|(_, text)| !text.trim().is_empty()).collect())
        };
        let shown: Vec<Line> = shown([2.0, 12.5]).chain(shown([1.0, 9.0])).collect();
        let head = vec![(Ink::Dim, "  rate".to_owned())];
        let row = |ink, number: &str, bar: &str| vec![(ink, number.to_owned()), (Ink::Good, bar.to_owned())];
        let (first, second) = (row(Ink::Plain, "     2", " ##"), row(Ink::Bad, "  12.5", "###"));
        let (third, fourth) = (row(Ink::Plain, "     1", "  #"), row(Ink::Plain, "     9", "###"));
        assert_eq!(shown, [head.clone(), first, second, head, third, fourth]);
    }

    #[test]
    fn columns_that_do_not_fit_go_below_with_their_row_names() {
        let table = Table::of(&[()]).texts("size", |()| "v0");
        let table = table.each(0..12, |t, n| t.numbers(format!("kernel{n}"), |()| format!("v{}", n + 1))).table();
        let shown = super::table(&table, &Style { width: 60, ..Style::default() });
        assert!(shown.lines().all(|l| width(l) <= 60), "{shown}");
        assert_eq!(shown.matches("size").count(), 3, "{shown}");
        assert!((0..13).all(|n| shown.contains(&format!("v{n}"))), "{shown}");
    }

    #[test]
    fn columns_that_stand_together_are_not_parted_and_headings_are_repeated() {
        let pair = |n: usize| (format!("kernel{n}|publ."), move |(): &()| format!("v{n}"));
        let table = Table::of(&[()]).texts("size", |()| "v");
        let table = table.each(0..5, |table, n| {
            let (head, value) = pair(n);
            table.together(|table| table.numbers(head, value).numbers("here", move |()| format!("h{n}")))
        });
        let shown = super::table(&table.table(), &Style { width: 40, ..Style::default() });
        insta::assert_snapshot!(shown, @r"
              kernel0        kernel1
        size    publ.  here    publ.  here
        v          v0    h0       v1    h1

              kernel2        kernel3
        size    publ.  here    publ.  here
        v          v2    h2       v3    h3

              kernel4
        size    publ.  here
        v          v4    h4
        ");
        let table = Table::of(&[()]).texts("size", |()| "v");
        let table = table.under("all kernels", |table| {
            table.each(0..6, |table, n| table.numbers(format!("kernel{n}"), move |()| format!("v{n}")))
        });
        let shown = super::table(&table.table(), &Style { width: 40, ..Style::default() });
        assert_eq!(shown.matches("all kernels").count(), 2, "{shown}");
    }
}
