//! A page as elements of HTML.

mod chart;
mod escape;
mod map;

use crate::block::{Block, Page, Paragraph};
use crate::legend::Signs;
use crate::map::PairMap;
use crate::number::grade_mark;
use crate::plot::Plot;
use crate::style::{Ink, Style};
use crate::table::{Align, Shown, ShownColumn, ShownTable};
use crate::terminal::{bin_size, drawing, shaded};
use crate::text::spoken;
use escape::json;
pub use escape::text as escaped;
use escape::text;

/// What a part of a page is made of.
struct Elements<'a> {
    style: Style,
    /// Names of elements begin with this.
    id: &'a str,
    out: String,
    /// The signs in use so far.
    signs: Signs,
    /// Lines that are shown as they are, until something else comes.
    lines: String,
    /// The heading that the next table or chart is under.
    title: String,
    /// Whether a section is open.
    open: bool,
    charts: usize,
}

/// The elements of a page; their names begin with `id`.
#[must_use]
pub fn html(page: &Page, id: &str, style: &Style) -> String {
    let style = style.of_a_file();
    let mut elements = Elements {
        style,
        id,
        out: String::new(),
        signs: Signs::default(),
        lines: String::new(),
        title: String::new(),
        open: false,
        charts: 0,
    };
    elements.page(page);
    elements.end_lines();
    elements.close();
    elements.out
}

impl Elements<'_> {
    fn page(&mut self, page: &Page) {
        page.blocks().iter().for_each(|block| self.block(block));
    }

    fn block(&mut self, block: &Block) {
        let style = self.style;
        match block {
            Block::Space if self.lines.is_empty() => return,
            Block::Space => return self.lines.push('\n'),
            Block::Raw(lines, _) => {
                let lines = lines.split('\n').map(|line| format!("{}\n", spoken(line, &style)));
                return lines.for_each(|line| self.lines.push_str(&line));
            }
            Block::Command(command) => return self.lines.push_str(&format!("{command}\n")),
            Block::Fitting(pages, _) => return pages.iter().take(1).for_each(|page| self.page(page)),
            Block::Variants { browser, .. } => return self.page(browser),
            // There is room.
            Block::IfNarrow(_) => return,
            _ => self.end_lines(),
        }
        match block {
            Block::Heading(title) => self.section(&title.shown(&style), "h3"),
            Block::Rule => self.close(),
            Block::Paragraph(p) => self.paragraph(p),
            Block::Table(table) => {
                self.signs.add(table.signs());
                self.table(&table.in_style(&style));
            }
            Block::Plot(plot) => {
                let drawn = Plot { unit_in_heading: false, ..plot.clone() };
                self.chart("chart", &chart::json(plot, &style), &drawing(&drawn, &style));
            }
            Block::Map(map) => self.map(map),
            Block::Legend(legend) => {
                let text = legend.below(self.signs);
                self.paragraph(&Paragraph { text: text.into(), ..Paragraph::default() });
            }
            _ => {}
        }
    }

    fn end_lines(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        if !lines.is_empty() {
            self.out.push_str(&format!("<pre>{}</pre>\n", text(lines.trim_end())));
        }
    }

    fn paragraph(&mut self, p: &Paragraph) {
        let body = p.text.flowing(&self.style);
        self.signs.add(p.text.signs());
        match &p.label {
            None if p.ink == Ink::Head => self.section(&format!("{}{body}", p.prefix.trim_start()), "h2"),
            _ => self.out.push_str(&paragraph(p, &body)),
        }
    }

    fn map(&mut self, map: &PairMap) {
        let binned = map::covered(map);
        self.section(&map.title(binned.size), "h3");
        // Without its script a page has room for as many bins as a text.
        let in_characters = bin_size(map);
        let coarser = match in_characters > binned.size {
            true => format!("  {}\n", map.title(in_characters)),
            false => String::new(),
        };
        let (drawn, key) = shaded(map, &map.binned(in_characters.max(binned.size)), &self.style);
        self.chart("map", &map::json(map, &binned), &format!("{coarser}{drawn}  {key}\n"));
    }

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

    fn table(&mut self, table: &ShownTable<'_>) {
        if let Some((label, _)) = &table.of.label {
            let beside = Paragraph { label: Some((label.clone(), 0)), ..Paragraph::default() };
            self.out.push_str(&paragraph(&beside, ""));
        }
        let title = if self.title.is_empty() { "Results" } else { &self.title };
        let title = text(title);
        let range = heat_range(table);
        let class = if range.is_some() { " class=\"heat\"" } else { "" };
        self.out.push_str(&format!(
            "<div class=\"scroll\" role=\"region\" aria-label=\"{title}\" tabindex=\"0\">\
             <table{class}><caption>{title}</caption>\n{}<tbody>\n",
            head(table)
        ));
        for row in &table.rows {
            self.out.push_str("<tr>");
            for (at, (shown, column)) in row.iter().zip(&table.columns).enumerate() {
                self.out.push_str(&cell(shown, column.align, at < table.of.names, range));
            }
            self.out.push_str("</tr>\n");
        }
        self.out.push_str("</tbody></table></div>\n");
        for remark in table.remarks_below() {
            let prefix = " ".repeat(table.of.indent);
            self.out.push_str(&paragraph(&Paragraph { prefix, ink: Ink::Dim, ..Paragraph::default() }, &remark));
        }
    }
}

/// A paragraph that says a text.
fn paragraph(p: &Paragraph, body: &str) -> String {
    let depth = p.prefix.len() - p.prefix.trim_start().len();
    // What goes on under a label stands beside it.
    let deep = match depth {
        0..=2 => "",
        3..=7 => " deep",
        _ => " under",
    };
    let class = format!("{}{}", ink_class(p.ink), if p.label.is_none() { deep } else { "" });
    let mark = match p.prefix.trim() {
        "" => String::new(),
        mark => format!("<span class=\"mark\">{}</span> ", text(mark)),
    };
    match &p.label {
        None => format!("<p class=\"{class}\">{mark}{}</p>\n", flowing(body)),
        Some((label, _)) => {
            format!("<p class=\"{class} labelled\"><b>{}</b> <span>{mark}{}</span></p>\n", text(label), flowing(body))
        }
    }
}

/// Characters of a note in brackets that is kept on one line: longer ones would leave a gap, or a narrow screen.
const WHOLE: usize = 32;

/// A text whose short notes in brackets are not broken over lines.
fn flowing(of: &str) -> String {
    let mut out = String::new();
    let mut rest = of;
    while let Some((before, note, after)) = next_note(rest) {
        out.push_str(&text(before));
        out.push_str(&format!("<span class=\"whole\">{}</span>", text(note)));
        rest = after;
    }
    out + &text(rest)
}

/// The next short note in brackets that has a space, with what is before and behind it.
fn next_note(of: &str) -> Option<(&str, &str, &str)> {
    of.match_indices('(').find_map(|(start, _)| {
        let (length, _) = of[start..].char_indices().take(WHOLE).find(|(_, c)| *c == ')')?;
        let (note, after) = of[start..].split_at(length + 1);
        let is_one = note.contains(' ') && !note[1..].contains('(');
        is_one.then(|| (&of[..start], note, after))
    })
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

fn head(table: &ShownTable<'_>) -> String {
    let heads: Vec<String> = table.columns.iter().map(|c| c.head.join(" ").trim().to_owned()).collect();
    if heads.iter().all(String::is_empty) {
        return String::new();
    }
    let mut over = String::new();
    let mut at = 0;
    while at < heads.len() && !table.over.is_empty() {
        let spanned = table.over.iter().find(|(first, count, _)| *first == at && *count > 0);
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
    let column = |(head, column): (&String, &ShownColumn)| match head.as_str() {
        "" => "<td></td>".to_owned(),
        head => format!("<th scope=\"col\"{}>{}</th>", flush(column.align), text(head)),
    };
    let columns: String = heads.iter().zip(&table.columns).map(column).collect();
    format!("<thead>\n{over}<tr>{columns}</tr>\n</thead>\n")
}

fn flush(align: Align) -> &'static str {
    if align == Align::Right { " class=\"number\"" } else { "" }
}

/// The least and the greatest of the values that colour a table.
fn heat_range(table: &ShownTable<'_>) -> Option<(f64, f64)> {
    let values =
        table.rows.iter().flatten().filter_map(|cell| cell.heat).filter(|heat| heat.is_finite() && *heat > 0.0);
    let (low, high) = values.fold((f64::INFINITY, 0.0f64), |(low, high), heat| (low.min(heat), high.max(heat)));
    (low < high).then_some((low, high))
}

fn cell(cell: &Shown, align: Align, names: bool, range: Option<(f64, f64)>) -> String {
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
    let shown = marked(cell);
    if names && !shown.is_empty() {
        format!("<th scope=\"row\"{class}>{shown}</th>")
    } else {
        format!("<td{class}{heat}>{shown}</td>")
    }
}

/// A cell's text, which may be a link, its mark with what the mark means.
fn marked(cell: &Shown) -> String {
    let mark = cell.mark.map(|grade| format!("<abbr title=\"{}\">{}</abbr>", grade.in_words(), grade_mark(grade)));
    let shown = match cell.link.as_str() {
        "" => flowing(cell.text.trim()),
        id => format!("<a href=\"#{}\">{}</a>", text(id), text(cell.text.trim())),
    };
    shown + mark.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::plot_over;
    use crate::block::{heading, paragraph, raw};
    use crate::plot::{ROWS, Series};
    use crate::table::{Cell, Table, TableOf};
    use tiermark_model::Grade;

    #[test]
    fn tables_have_captions_scopes_marks_and_colours_and_no_text_is_markup() {
        let html = |page: &Page| html(page, "s", &Style::default());
        let hot = |heat: f64| Cell::inked(heat.to_string(), Ink::Warn).heated(Some(heat));
        let over = |table: TableOf<'static, ()>| {
            let table = table.figures("node 0", |()| hot(100.0).marked(Grade::Suspect));
            table.figures("node 1", |()| hot(400.0))
        };
        let table =
            Table::of(&[()]).texts("from", |()| Cell::new("<script>").linked("a\"b")).under("<b>", over).table();
        let page = html(&(heading("a & b") + table));
        assert!(page.contains("<caption>a &amp; b</caption>"), "{page}");
        assert!(page.contains("<th scope=\"row\"><a href=\"#a&quot;b\">&lt;script&gt;</a></th>"), "{page}");
        assert!(page.contains("--of:0.00\">100<abbr title=\"suspect\">!</abbr></td>"), "{page}");
        assert!(page.contains("--of:1.00\">400</td>") && page.contains("colspan=\"2\""), "{page}");
        let injected = paragraph("", "\u{1}</p><script>alert(1)</script>", Ink::Plain) + raw("<b>raw</b>", Ink::Plain);
        let page = html(&injected);
        assert!(!page.contains("<script") && !page.contains("<b>raw"), "{page}");
    }

    #[test]
    fn a_short_note_in_brackets_is_not_broken() {
        let page =
            html(&paragraph("", "size (8 MiB <x>), f(x) (( a b ) c) (as declared", Ink::Plain), "s", &Style::default());
        let whole =
            "size <span class=\"whole\">(8 MiB &lt;x&gt;)</span>, f(x) (<span class=\"whole\">( a b )</span> c) (as";
        assert!(page.contains(whole), "{page}");
        let long = format!("({})", "word ".repeat(9));
        assert!(!html(&paragraph("", long, Ink::Plain), "s", &Style::default()).contains("whole"));
    }

    /// A currency comes from a price file.
    #[test]
    fn a_unit_of_a_document_is_no_markup() {
        let series = vec![Series { points: vec![(1.0, 2.0), (2.0, 3.0)], ..Series::default() }; 2];
        let plot = Plot { unit: "EUR\n</script>x".into(), series, rows: ROWS, ..Plot::default() };
        let page = html(&plot_over(plot, "tenants\n</pre>y"), "s", &Style::default());
        assert_eq!(page.matches("</script>").count(), 1, "{page}");
        assert_eq!(page.matches("</pre>").count(), 1, "{page}");
    }
}
