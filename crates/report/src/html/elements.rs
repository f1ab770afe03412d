//! Elements of a page from the pieces of a text.

use super::escape::{json, text};
use crate::markup::{Block, Grid, Paragraph};
use crate::style::Ink;
use crate::table::{Align, Cell};

/// What a part of a page is made of.
pub(super) struct Elements<'a> {
    /// Names of elements begin with this.
    id: &'a str,
    out: String,
    /// The heading that the next table or chart is under.
    title: String,
    /// Whether a section is open.
    open: bool,
    charts: usize,
}

/// The elements of some pieces.
pub(super) fn elements(blocks: &[Block], id: &str) -> String {
    let mut page = Elements { id, out: String::new(), title: String::new(), open: false, charts: 0 };
    let mut at = 0;
    while let Some(block) = blocks.get(at) {
        at += 1;
        match block {
            Block::Heading(title) => page.section(title, "h3"),
            Block::Rule => page.close(),
            Block::Text(p) if p.ink == Ink::Head && p.label.is_empty() => {
                page.section(&format!("{}{}", p.prefix.trim_start(), p.text), "h2");
            }
            Block::Text(p) => page.out.push_str(&paragraph(p)),
            Block::Table(grid) => page.table(grid),
            Block::Chart(data) | Block::Map(data) => {
                // The same in characters follows, for readers without the script.
                let drawn = match blocks.get(at) {
                    Some(Block::Raw(drawn)) => {
                        at += 1;
                        drawn.as_str()
                    }
                    _ => "",
                };
                page.chart(if matches!(block, Block::Map(_)) { "map" } else { "chart" }, data, drawn);
            }
            Block::Raw(raw) => page.out.push_str(&format!("<pre>{}</pre>\n", text(raw.trim_end()))),
        }
    }
    page.close();
    page.out
}

impl Elements<'_> {
    fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            self.out.push_str("</section>\n");
        }
    }

    fn section(&mut self, title: &str, level: &str) {
        self.close();
        self.open = true;
        title.clone_into(&mut self.title);
        self.out.push_str(&format!("<section>\n<{level}>{}</{level}>\n", text(title)));
    }

    fn chart(&mut self, class: &str, data: &str, drawn: &str) {
        self.charts += 1;
        let (id, title) = (format!("{}-{class}-{}", self.id, self.charts), text(&self.title));
        self.out.push_str(&format!(
            "<figure class=\"{class}\" id=\"{id}\" aria-label=\"{title}\"><pre class=\"drawn\">{}</pre>\
             <script type=\"application/json\">{}</script></figure>\n",
            text(drawn.trim_end()),
            json(data)
        ));
    }

    fn table(&mut self, grid: &Grid) {
        let title = if self.title.is_empty() { "Results" } else { &self.title };
        let title = text(title);
        let range = heat_range(grid);
        let class = if range.is_some() { " class=\"heat\"" } else { "" };
        self.out.push_str(&format!(
            "<div class=\"scroll\" role=\"region\" aria-label=\"{title}\" tabindex=\"0\">\
             <table{class}><caption>{title}</caption>\n{}<tbody>\n",
            head(grid)
        ));
        for row in &grid.rows {
            self.out.push_str("<tr>");
            for (at, (_, align)) in grid.columns.iter().enumerate() {
                let empty = Cell::default();
                self.out.push_str(&cell(row.get(at).unwrap_or(&empty), *align, at < grid.names, range));
            }
            self.out.push_str("</tr>\n");
        }
        self.out.push_str("</tbody></table></div>\n");
    }
}

fn paragraph(p: &Paragraph) -> String {
    let depth = p.prefix.len() - p.prefix.trim_start().len();
    // What goes on under a label stands beside it.
    let deep = match depth {
        0..=2 => "",
        3..=7 => " deep",
        _ => " under",
    };
    let class = format!("{}{}", ink_class(p.ink), if p.label.is_empty() { deep } else { "" });
    let mark = match p.prefix.trim() {
        "" => String::new(),
        mark => format!("<span class=\"mark\">{}</span> ", text(mark)),
    };
    if p.label.is_empty() {
        return format!("<p class=\"{class}\">{mark}{}</p>\n", text(&p.text));
    }
    format!("<p class=\"{class} labelled\"><b>{}</b> <span>{mark}{}</span></p>\n", text(&p.label), text(&p.text))
}

fn ink_class(ink: Ink) -> &'static str {
    match ink {
        Ink::Plain => "plain",
        Ink::Head => "head",
        Ink::Dim => "dim",
        Ink::Good => "good",
        Ink::Warn => "warn",
        Ink::Bad => "bad",
        Ink::Series(_) => "bar",
    }
}

fn head(grid: &Grid) -> String {
    if grid.columns.iter().all(|(head, _)| head.is_empty()) {
        return String::new();
    }
    let mut over = String::new();
    let mut at = 0;
    while at < grid.columns.len() && !grid.over.is_empty() {
        let spanned = grid.over.iter().find(|(first, count, _)| *first == at && *count > 0);
        match spanned {
            Some((_, count, title)) => {
                over.push_str(&format!("<th colspan=\"{count}\" scope=\"colgroup\">{}</th>", text(title)));
                at += count;
            }
            None => {
                over.push_str("<td></td>");
                at += 1;
            }
        }
    }
    let over = if over.is_empty() { over } else { format!("<tr class=\"over\">{over}</tr>\n") };
    let column = |(head, align): &(String, Align)| match head.as_str() {
        "" => "<td></td>".to_owned(),
        head => format!("<th scope=\"col\"{}>{}</th>", flush(*align), text(head)),
    };
    let columns: String = grid.columns.iter().map(column).collect();
    format!("<thead>\n{over}<tr>{columns}</tr>\n</thead>\n")
}

fn flush(align: Align) -> &'static str {
    if align == Align::Right { " class=\"number\"" } else { "" }
}

/// The least and the greatest of the values that colour a table.
fn heat_range(grid: &Grid) -> Option<(f64, f64)> {
    let values = grid.rows.iter().flatten().filter_map(|cell| cell.heat).filter(|heat| heat.is_finite() && *heat > 0.0);
    let (low, high) = values.fold((f64::INFINITY, 0.0f64), |(low, high), heat| (low.min(heat), high.max(heat)));
    (low < high).then_some((low, high))
}

fn cell(cell: &Cell, align: Align, names: bool, range: Option<(f64, f64)>) -> String {
    let shown = cell.text.trim();
    // Where the value is between the least and the greatest: in factors, as latencies and rates are compared.
    let heat = cell.heat.zip(range).filter(|(heat, _)| heat.is_finite() && *heat > 0.0);
    let heat = heat.map_or_else(String::new, |(heat, (low, high))| {
        format!(" style=\"--of:{:.2}\"", (heat / low).ln() / (high / low).ln())
    });
    let mut class = if align == Align::Right { vec!["number"] } else { Vec::new() };
    if !matches!(cell.ink, Ink::Plain) {
        class.push(ink_class(cell.ink));
    }
    if !heat.is_empty() {
        class.push("hot");
    }
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{}\"", class.join(" ")) };
    let shown = marked(shown);
    if names && !shown.is_empty() {
        format!("<th scope=\"row\"{class}>{shown}</th>")
    } else {
        format!("<td{class}{heat}>{shown}</td>")
    }
}

/// A cell's text, its mark with what the mark means.
fn marked(shown: &str) -> String {
    let marks = [('!', "suspect"), ('✘', "invalid"), ('*', "bound")];
    let number = |rest: &str| rest.is_empty() || rest.contains(|c: char| c.is_ascii_digit());
    let found = marks.iter().find_map(|(mark, grade)| Some((shown.strip_suffix(*mark)?, mark, grade)));
    match found.filter(|(rest, ..)| number(rest)) {
        Some((rest, mark, grade)) => format!("{}<abbr title=\"{grade}\">{mark}</abbr>", text(rest)),
        None => text(shown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::blocks;
    use crate::style::Style;
    use crate::table::Table;
    use crate::text::{hanging, heading};

    #[test]
    fn tables_have_captions_scopes_marks_and_colours_and_no_text_is_markup() {
        let style = Style { markup: true, ..Style::default() };
        let mut table =
            Table::new().column("from", Align::Left).columns_under("<b>", &["node 0", "node 1"], Align::Right);
        let hot = |text: &str, heat: f64| Cell::inked(text, Ink::Warn).heated(Some(heat));
        table.row(vec![Cell::new("<script>"), hot("100!", 100.0), hot("400 ", 400.0)]);
        let page = elements(&blocks(&(heading("a & b", &style) + &table.render(&style))), "s");
        assert!(page.contains("<caption>a &amp; b</caption>"), "{page}");
        assert!(page.contains("<th scope=\"row\">&lt;script&gt;</th>"), "{page}");
        assert!(page.contains("--of:0.00\">100<abbr title=\"suspect\">!</abbr></td>"), "{page}");
        assert!(page.contains("--of:1.00\">400</td>") && page.contains("colspan=\"2\""), "{page}");
        let injected = hanging("", "\u{1}</p><script>alert(1)</script>", Ink::Plain, &style) + "<b>raw</b>\n";
        let page = elements(&blocks(&injected), "s");
        assert!(!page.contains("<script") && !page.contains("<b>raw"), "{page}");
    }
}
