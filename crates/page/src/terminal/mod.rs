//! A page in columns of characters.

mod canvas;
mod command;
mod plot;
mod shades;
mod table;

use crate::block::{Block, Fit, Page, Paragraph};
use crate::legend::Signs;
use crate::span::Text;
use crate::style::{Ink, Style};
use crate::text::{spoken, width, wrap};
pub(crate) use shades::{bin_size, shaded};
pub use table::screen;

/// Texts of a line, each with the part that it plays.
pub type Line = Vec<(Ink, String)>;

/// A page as text: lines that end in a line feed.
#[must_use]
pub fn terminal(page: &Page, style: &Style) -> String {
    let mut lines = Lines { style, out: String::new(), signs: Signs::default(), owes_space: false, is_narrow: false };
    lines.page(page);
    lines.out
}

/// A plot in characters.
pub(crate) fn drawing(of: &crate::plot::Plot, style: &Style) -> String {
    plot::plot(of, style)
}

/// What was written, and what the next block depends on.
struct Lines<'a> {
    style: &'a Style,
    out: String,
    /// The signs in use so far.
    signs: Signs,
    /// Whether an empty line comes before the next block.
    owes_space: bool,
    /// Whether something was left out for want of room.
    is_narrow: bool,
}

impl Lines<'_> {
    fn page(&mut self, page: &Page) {
        page.blocks().iter().for_each(|block| self.block(block));
    }

    fn block(&mut self, block: &Block) {
        let style = self.style;
        match block {
            Block::Space => self.owes_space = true,
            Block::Rule => {
                let line = style.glyph("━", "=").repeat(style.columns());
                self.write(&format!("{}\n", style.paint(Ink::Dim, &line)));
            }
            Block::Heading(text) => self.heading(text),
            Block::Paragraph(paragraph) => {
                self.signs.add(paragraph.text.signs());
                self.write(&lines_of(paragraph, style));
            }
            Block::Table(table) => {
                self.signs.add(table.signs());
                self.write(&table::table(table, style));
            }
            Block::Plot(plot) => self.write(&plot::plot(plot, style)),
            Block::Map(map) => {
                let binned = map.binned(bin_size(map));
                self.heading(&map.title(binned.size).into());
                let (drawing, key) = shaded(map, &binned, style);
                self.write(&(drawing + &paragraph("  ", &key, Ink::Dim, style)));
            }
            Block::Raw(lines, ink) => {
                let lines: Vec<String> = lines.split('\n').map(|line| spoken(line, style)).collect();
                self.write(&format!("{}\n", style.paint(*ink, &lines.join("\n"))));
            }
            Block::Command(command) => self.write(&command::lines(command, style)),
            Block::Legend(legend) => {
                let text = legend.below(self.signs);
                self.write(&paragraph("", &text, Ink::Plain, style));
            }
            Block::Fitting(pages, fit) => self.first_that_fits(pages, *fit),
            Block::IfNarrow(page) => {
                if std::mem::take(&mut self.is_narrow) {
                    self.page(page);
                }
            }
            Block::Variants { terminal, .. } => self.page(terminal),
        }
    }

    fn write(&mut self, lines: &str) {
        if std::mem::take(&mut self.owes_space) && !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out.push_str(lines);
    }

    fn heading(&mut self, text: &Text) {
        let style = self.style;
        self.owes_space = true;
        let lines = wrap(&text.shown(style), style.columns());
        let lines: String = lines.iter().map(|line| format!("{}\n", style.paint(Ink::Head, line))).collect();
        self.write(&lines);
    }

    fn first_that_fits(&mut self, pages: &[Page], fit: Fit) {
        let has_room = |block: &Block| match block {
            Block::Table(table) => table::fits(table, fit, self.style),
            _ => true,
        };
        let first = pages.iter().position(|page| page.blocks().iter().all(has_room));
        self.is_narrow |= matches!(fit, Fit::WholeOrLess(full) if first.is_none_or(|first| first >= full));
        if let Some(page) = first.map(|first| &pages[first]).or(pages.last()) {
            self.page(page);
        }
    }
}

fn lines_of(of: &Paragraph, style: &Style) -> String {
    let text = of.text.shown(style);
    // Before an item, the dot is a dash.
    let prefix = if style.unicode { of.prefix.clone() } else { spoken(&of.prefix.replace('·', "-"), style) };
    // Signs may be wider in ASCII.
    let rail = if of.rail.trim().is_empty() { " ".repeat(width(&prefix)) } else { spoken(&of.rail, style) };
    let columns = style.columns().saturating_sub(width(&prefix)).max(20);
    let mut lines = wrap(&text, columns);
    if let Some((opening, ink)) = &of.opening {
        let opening = opening.shown(style);
        // It is painted where it stands whole in the first line.
        if wrap(&opening, columns).len() == 1 && lines[0].starts_with(&opening) {
            lines[0] = lines[0].replacen(&opening, &style.paint(*ink, &opening), 1);
        }
    }
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        let lead = if at == 0 { &prefix } else { &rail };
        let line = if of.only_mark {
            let mark = lead.trim();
            format!("{}{line}", lead.replacen(mark, &style.paint(of.ink, mark), 1)).trim_end().to_owned()
        } else {
            style.paint(of.ink, format!("{lead}{line}").trim_end())
        };
        out.push_str(&line);
        out.push('\n');
    }
    match &of.label {
        Some((label, gutter)) => labelled(label, *gutter, &out, style),
        None => out,
    }
}

/// A text behind a prefix; further lines are indented to the same column.
fn paragraph(prefix: &str, text: &str, ink: Ink, style: &Style) -> String {
    let rail = " ".repeat(width(prefix));
    lines_of(&Paragraph { prefix: prefix.to_owned(), rail, text: text.into(), ink, ..Paragraph::default() }, style)
}

/// Puts a label into the gutter of lines that are indented by it.
fn labelled(label: &str, gutter: usize, lines: &str, style: &Style) -> String {
    let rest = lines.strip_prefix(&" ".repeat(gutter)).unwrap_or(lines);
    format!("{}{}{rest}", style.paint(Ink::Head, label), " ".repeat(gutter.saturating_sub(width(label))))
}

#[cfg(test)]
mod tests;
