//! A page as Markdown, with the tables of GitHub.

use crate::block::{Block, Page, Paragraph};
use crate::legend::Signs;
use crate::number::grade_mark;
use crate::span::Text;
use crate::style::{Ink, Style};
use crate::table::{Align, Shown, ShownColumn, ShownTable};
use crate::terminal::{bin_size, drawing, shaded};
use crate::text::flowing;

/// A page as Markdown.
#[must_use]
pub fn markdown(page: &Page, style: &Style) -> String {
    let style = style.of_a_file();
    let mut text = Lines { style, out: String::new(), signs: Signs::default(), in_list: false };
    text.page(page);
    text.out
}

/// A text that Markdown shows as it is.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if matches!(c, '|' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '\\' | '#' | '~' | '@' | '&' | '$') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A line of text that begins no list.
fn no_list(line: &str) -> String {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let at = if line.starts_with(['+', '-']) { Some(0) } else { Some(digits).filter(|at| *at > 0) };
    match at.filter(|at| line[*at..].starts_with(['+', '-', '.', ')'])) {
        Some(at) => format!("{}\\{}", &line[..at], &line[at..]),
        None => line.to_owned(),
    }
}

struct Lines {
    style: Style,
    out: String,
    /// The signs in use so far.
    signs: Signs,
    /// Whether the block before was an item of a list.
    in_list: bool,
}

impl Lines {
    fn page(&mut self, page: &Page) {
        page.blocks().iter().for_each(|block| self.block(block));
    }

    fn block(&mut self, block: &Block) {
        let style = self.style;
        match block {
            Block::Space => {}
            Block::Rule => self.write("---\n", false),
            Block::Heading(title) => self.write(&format!("## {}\n", self.text(title)), false),
            Block::Paragraph(p) => self.paragraph(p),
            Block::Table(table) => {
                self.signs.add(table.signs());
                self.table(&table.in_style(&style));
            }
            Block::Plot(plot) => self.fenced(&drawing(plot, &style)),
            Block::Map(map) => {
                let binned = map.binned(bin_size(map));
                self.write(&format!("## {}\n", self.text(&map.title(binned.size).into())), false);
                let (drawn, key) = shaded(map, &binned, &style);
                self.fenced(&format!("{drawn}{key}\n"));
            }
            Block::Raw(lines, _) | Block::Command(lines) => self.fenced(&format!("{lines}\n")),
            Block::Legend(legend) => {
                let text = legend.below(self.signs);
                self.write(&format!("{}\n", escaped(&flowing(&text))), false);
            }
            // There is room.
            Block::Fitting(pages, _) => pages.iter().take(1).for_each(|page| self.page(page)),
            Block::IfNarrow(_) => {}
            Block::Variants { terminal, .. } => self.page(terminal),
        }
    }

    fn text(&self, text: &Text) -> String {
        escaped(&text.shown(&self.style))
    }

    /// Blocks stand apart, but for the items of a list.
    fn write(&mut self, lines: &str, is_item: bool) {
        if !(self.out.is_empty() || self.in_list && is_item) {
            self.out.push('\n');
        }
        self.in_list = is_item;
        self.out.push_str(lines);
    }

    fn fenced(&mut self, lines: &str) {
        self.write(&format!("```text\n{lines}```\n"), false);
    }

    fn paragraph(&mut self, p: &Paragraph) {
        self.signs.add(p.text.signs());
        let body = escaped(&p.text.flowing(&self.style));
        let mark = p.prefix.trim();
        let level = if self.out.is_empty() { "#" } else { "##" };
        match (&p.label, mark) {
            (Some((label, _)), _) => self.write(&format!("**{}** {body}\n", escaped(label)), false),
            (None, _) if p.ink == Ink::Head => {
                let body = format!("{level} {} {body}", escaped(mark));
                self.write(&format!("{}\n", body.replacen("  ", " ", 1)), false);
            }
            (None, "") => self.write(&format!("{}\n", no_list(&body)), false),
            (None, "•" | "*" | "-") => self.write(&format!("* {}\n", no_list(&body)), true),
            // A cure belongs to the item before it.
            (None, "→" | "->") if self.in_list => self.write(&format!("  * {mark} {body}\n"), true),
            (None, mark) => self.write(&format!("* {} {body}\n", escaped(mark)), true),
        }
    }

    fn table(&mut self, table: &ShownTable<'_>) {
        if let Some((label, _)) = &table.of.label {
            self.write(&format!("**{}**\n", escaped(label)), false);
        }
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let over = |at: usize| table.over.iter().find(|(first, count, _)| (*first..first + count).contains(&at));
        let head = |(at, column): (usize, &ShownColumn)| {
            let head = column.head.iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" ");
            escaped(&over(at).map_or_else(|| head.clone(), |(_, _, over)| format!("{over}: {head}")))
        };
        let heads = line(table.columns.iter().enumerate().map(head).collect());
        let rule = table.columns.iter().map(|column| if column.align == Align::Right { "---:" } else { "---" });
        let mut out = heads + &line(rule.map(str::to_owned).collect());
        for row in &table.rows {
            let cell = |cell: &Shown| escaped(&format!("{}{}", cell.text.trim(), cell.mark.map_or("", grade_mark)));
            out.push_str(&line(row.iter().map(cell).collect()));
        }
        self.write(&out, false);
        for remark in table.remarks_below() {
            self.write(&format!("{}\n", escaped(&remark)), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{beside, bullet, heading, labelled, paragraph, raw, space};
    use crate::table::{Cell, Table};
    use tiermark_model::Grade;

    #[test]
    fn each_block_has_its_form() {
        let table = Table::of(&[()]).texts("tier", |()| "L1 | *");
        let doubted = || Cell::new("9.1").marked(Grade::Suspect);
        let table = table.under("one core", |table| table.numbers("read|GB/s", |()| doubted())).table();
        let page = paragraph("", "a run", Ink::Head)
            + heading("The <ladder>")
            + table
            + bullet("!", Ink::Warn, "what", Some("cure"))
            + bullet("!", Ink::Warn, "more", None)
            + space()
            + labelled("nodes", "two")
            + paragraph("", "1. R&D", Ink::Plain)
            + beside("states", 0, Table::of(&[(); 0]).texts("state", |()| "").table().into())
            + raw("as it is", Ink::Plain);
        let wanted = "# a run\n\n## The \\<ladder\\>\n\n| tier | one core: read GB/s |\n| --- | ---: |\n| L1 \\| \\* | 9.1! |\n\n\
                      * ! what\n  * → cure\n* ! more\n\n**nodes** two\n\n1\\. R\\&D\n\n**states**\n\n| state |\n| --- |\n\n```text\nas it is\n```\n";
        assert_eq!(markdown(&page, &Style::default()), wanted);
    }
}
