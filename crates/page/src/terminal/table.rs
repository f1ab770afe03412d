//! Tables that always fit: flexible columns wrap, and what still does not fit goes to a second block below.

use crate::block::Fit;
use crate::number::value;
use crate::style::{Ink, Style};
use crate::table::{Align, Table};
use crate::text::{left, right, width, wrap_hard};

use super::paragraph;
use super::shades::Shades;

/// A column that wraps keeps at least this many columns, unless it never had as many.
const NARROWEST: usize = 12;

/// The table as lines, with what stands beside and below it.
pub(super) fn table(table: &Table, style: &Style) -> String {
    let mut table = table.in_style(style);
    let key = table.shade(style);
    let is_whole = table.fits(Fit::Whole, style);
    let mut out = table.lines(is_whole, style);
    if let Some((label, gutter)) = &table.label {
        out = super::labelled(label, *gutter, &out, style);
    }
    for text in table.remarks_below().filter(|_| !is_whole) {
        out.push_str(&paragraph(&" ".repeat(table.indent), &text, Ink::Dim, style));
    }
    out + &key.map_or_else(String::new, |key| paragraph("  ", &key, Ink::Dim, style))
}

/// Whether a table has room.
pub(super) fn fits(table: &Table, fit: Fit, style: &Style) -> bool {
    table.in_style(style).fits(fit, style)
}

impl Table {
    /// Writes shades behind the values that colour cells; what the shades mean.
    fn shade(&mut self, style: &Style) -> Option<String> {
        let unit = self.shaded?;
        let shades = Shades::of(self.cells().filter_map(|cell| cell.heat), style)?;
        let names = self.names;
        for cell in self.rows.iter_mut().flat_map(|row| row.iter_mut().skip(names)) {
            cell.text.push_str(cell.heat.map_or(" ", |heat| shades.glyph(heat)));
        }
        Some(format!("shades: {}", shades.key(|heat| value(heat, unit, style))))
    }

    fn fits(&self, fit: Fit, style: &Style) -> bool {
        let mut widths: Vec<usize> = (0..self.columns.len()).map(|c| self.natural(c)).collect();
        let gaps = self.gap * self.columns.len().saturating_sub(1);
        if fit == Fit::Uncut {
            let budget = self.budget(style);
            self.shrink(&mut widths, budget);
            return self.blocks(&widths, budget).len() == 1;
        }
        self.indent + widths.iter().sum::<usize>() + gaps <= style.columns()
    }

    fn budget(&self, style: &Style) -> usize {
        style.columns().saturating_sub(self.indent).max(NARROWEST)
    }

    fn lines(&self, is_whole: bool, style: &Style) -> String {
        let budget = self.budget(style);
        let mut widths: Vec<usize> = (0..self.columns.len()).map(|c| self.natural(c)).collect();
        self.shrink(&mut widths, budget);
        let mut out = String::new();
        for (i, block) in self.blocks(&widths, budget).iter().enumerate() {
            if i > 0 {
                out.push('\n');
            }
            self.write_block(block, &widths, is_whole, style, &mut out);
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
            // It will be cut into blocks: no column may be wider than half the space, so that two always fit side by
            // side.
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

    fn write_block(&self, block: &[usize], widths: &[usize], is_whole: bool, style: &Style, out: &mut String) {
        self.write_head(block, widths, style, out);
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
                self.line(block, widths, &cells, style, out);
            }
            for remark in self.remarks.iter().filter(|remark| is_whole && remark.row == at) {
                let prefix = format!("{}{}", " ".repeat(self.indent + 2), remark.lead);
                out.push_str(&paragraph(&prefix, &remark.text, Ink::Dim, style));
            }
        }
    }

    fn write_head(&self, block: &[usize], widths: &[usize], style: &Style, out: &mut String) {
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
    use crate::table::Cell;

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
        let mut table = Table::new().column("size", Align::Left);
        for n in 0..12 {
            table = table.column(&format!("kernel{n}"), Align::Right);
        }
        table.row((0..13).map(|n| Cell::new(format!("v{n}"))).collect());
        let shown = super::table(&table, &Style { width: 60, ..Style::default() });
        assert!(shown.lines().all(|l| width(l) <= 60), "{shown}");
        assert_eq!(shown.matches("size").count(), 3, "{shown}");
        assert!((0..13).all(|n| shown.contains(&format!("v{n}"))), "{shown}");
    }
}
