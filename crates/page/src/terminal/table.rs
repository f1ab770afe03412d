//! Tables that always fit: flexible columns wrap, and what still does not fit goes to a second block below.

use crate::block::Fit;
use crate::number::{grade_mark, number};
use crate::span::Text;
use crate::style::{Ink, Style};
use crate::table::{Align, ShownTable, Table};
use crate::text::{left, right, width, wrap_hard};

use super::paragraph;
use super::shades::Shades;

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
        let mut widths: Vec<usize> = (0..self.columns.len()).map(|c| self.natural(c)).collect();
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
        let mut widths: Vec<usize> = (0..self.columns.len()).map(|c| self.natural(c)).collect();
        self.shrink(&mut widths, budget);
        let mut out = String::new();
        for (i, block) in self.blocks(&widths, budget).iter().enumerate() {
            if i > 0 {
                out.push('\n');
            }
            self.write_block(block, &widths, is_whole, &mut out);
        }
        out
    }

    fn natural(&self, column: usize) -> usize {
        let head = self.columns[column].head.iter().map(|h| width(h)).max().unwrap_or(0);
        self.rows.iter().filter_map(|r| r.get(column)).map(|c| width(&c.text)).fold(head, usize::max)
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

    /// Column numbers of each block; the columns that name the rows open every block.
    fn blocks(&self, widths: &[usize], budget: usize) -> Vec<Vec<usize>> {
        let mut blocks = vec![Vec::new()];
        let mut used = 0;
        for column in 0..widths.len() {
            let block = blocks.last().map_or(0, Vec::len);
            let needed = widths[column] + if block == 0 { 0 } else { self.of.gap };
            if block > self.of.names && used + needed > budget {
                blocks.push((0..self.of.names).chain([column]).collect());
                used = widths[..self.of.names].iter().map(|width| width + self.of.gap).sum::<usize>() + widths[column];
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
            let spanned = self.over.iter().find(|(first, count, _)| {
                *first == column
                    && block.get(i..i + count).is_some_and(|columns| columns.ends_with(&[first + count - 1]))
            });
            if let Some((_, count, text)) = spanned {
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

    fn write_block(&self, block: &[usize], widths: &[usize], is_whole: bool, out: &mut String) {
        self.write_head(block, widths, out);
        for (at, row) in self.rows.iter().enumerate() {
            let wrapped: Vec<(Vec<String>, Ink)> = block
                .iter()
                .map(|&c| (c, row.get(c).cloned().unwrap_or_default()))
                .map(|(c, cell)| {
                    let fits = width(&cell.text) <= widths[c];
                    (if fits { vec![cell.text] } else { wrap_hard(&cell.text, widths[c]) }, cell.ink)
                })
                .collect();
            for line in 0..wrapped.iter().map(|(lines, _)| lines.len()).max().unwrap_or(0) {
                let cells: Vec<(String, Ink)> =
                    wrapped.iter().map(|(lines, ink)| (lines.get(line).cloned().unwrap_or_default(), *ink)).collect();
                self.line(block, widths, &cells, self.style, out);
            }
            for remark in self.of.remarks.iter().filter(|remark| is_whole && remark.row == at) {
                let prefix = format!("{}{}", " ".repeat(self.of.indent + 2), remark.lead);
                out.push_str(&paragraph(&prefix, &remark.text.shown(self.style), Ink::Dim, self.style));
            }
        }
    }

    fn write_head(&self, block: &[usize], widths: &[usize], out: &mut String) {
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
                self.line(block, widths, &cells, &Style { color: false, ..*self.style }, &mut plain);
                let text = self.over_line(plain.trim_end(), block, widths);
                out.push_str(&format!("{}\n", self.style.paint(Ink::Dim, text.trim_end())));
            } else if cells.iter().any(|(text, _)| !text.is_empty()) {
                self.line(block, widths, &cells, self.style, out);
            }
        }
    }

    fn line(&self, block: &[usize], widths: &[usize], cells: &[(String, Ink)], style: &Style, out: &mut String) {
        let last = cells.iter().rposition(|(text, _)| !text.trim().is_empty());
        let mut line = " ".repeat(self.of.indent);
        for (i, (&column, (text, ink))) in block.iter().zip(cells).enumerate().take(last.map_or(0, |l| l + 1)) {
            if i > 0 {
                line.push_str(&" ".repeat(self.of.gap));
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
    fn columns_that_do_not_fit_go_below_with_their_row_names() {
        let table = Table::of(&[()]).texts("size", |()| "v0");
        let table = table.each(0..12, |t, n| t.numbers(format!("kernel{n}"), |()| format!("v{}", n + 1))).table();
        let shown = super::table(&table, &Style { width: 60, ..Style::default() });
        assert!(shown.lines().all(|l| width(l) <= 60), "{shown}");
        assert_eq!(shown.matches("size").count(), 3, "{shown}");
        assert!((0..13).all(|n| shown.contains(&format!("v{n}"))), "{shown}");
    }
}
