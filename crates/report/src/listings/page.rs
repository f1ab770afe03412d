//! Pages of documentation in a terminal: the Markdown of `docs/methods`, with headings, paragraphs, bullets and code.

use tiermark_page::{Ink, Page, Style, Table, heading, paragraph, raw, space, terminal};

/// Renders a page. Headings, bullets (nested too), code (indented by four spaces, or fenced), tables and paragraphs are
/// known; links keep their text.
pub fn page(markdown: &str, style: &Style) -> String {
    terminal(&blocks(markdown), &style.of_prose())
}

fn blocks(markdown: &str) -> Page {
    let (mut out, mut block, mut fenced) = (Page::new(), String::new(), false);
    let mut rows: Vec<&str> = Vec::new();
    for line in markdown.lines().chain([""]) {
        let is_fence = line.starts_with("```");
        let code = if fenced { Some(line) } else { line.strip_prefix("    ").filter(|_| block.is_empty()) };
        let is_heading = code.is_none() && line.starts_with('#');
        let is_item = line.trim_start().starts_with("* ");
        let is_row = code.is_none() && line.starts_with('|');
        if !is_row {
            out += table(&std::mem::take(&mut rows));
        }
        if (is_fence || code.is_some() || is_heading || is_item || is_row || line.is_empty()) && !block.is_empty() {
            out += prose(&std::mem::take(&mut block));
        }
        match code {
            _ if is_fence => fenced = !fenced,
            Some(code) if code.trim().is_empty() => out += space(),
            Some(code) => out += raw(format!("    {code}").trim_end(), Ink::Plain),
            None if is_heading => out += heading(plain(line.trim_start_matches(['#', ' ']))),
            None if line.is_empty() => out += space(),
            None if is_row => rows.push(line),
            None if is_item => block.push_str(line),
            None => {
                block.push_str(if block.is_empty() { "" } else { " " });
                block.push_str(line.trim());
            }
        }
    }
    out
}

/// The rows of a table, the first with the heads of its columns, the second with their sides.
fn table(rows: &[&str]) -> Page {
    let cells = |row: &str| -> Vec<String> { row.trim_matches('|').split('|').map(|c| plain(c.trim())).collect() };
    let [heads, sides, rows @ ..] = rows else { return Page::new() };
    let rows: Vec<Vec<String>> = rows.iter().map(|row| cells(row)).collect();
    let columns = cells(heads).into_iter().zip(cells(sides)).enumerate();
    let table = Table::of(&rows).each(columns, |table, (at, (head, side))| {
        let cell = |row: &Vec<String>| row.get(at).cloned().unwrap_or_default();
        if side.ends_with(':') { table.numbers(head, cell) } else { table.texts(head, cell) }
    });
    table.table().into()
}

fn prose(text: &str) -> Page {
    let depth = text.len() - text.trim_start().len();
    match text.trim_start().strip_prefix("* ") {
        Some(item) => paragraph(&format!("  {}• ", " ".repeat(depth)), plain(item), Ink::Plain),
        None => paragraph("  ", plain(text), Ink::Plain),
    }
}

/// The text without marks of links and of emphasis; what stands between backticks stays as it is.
fn plain(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 1 { format!("`{part}`") } else { unmarked(part) }).collect()
}

fn unmarked(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        let link = after.split_once("](").and_then(|(name, after)| Some((name, after.split_once(')')?.1)));
        match link.filter(|(name, _)| !name.contains(['[', ']'])) {
            Some((name, after)) => {
                out.push_str(name);
                rest = after;
            }
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    let out = (out + rest).replace("**", "");
    // A star that emphasises stands beside a letter and not between spaces.
    let words =
        out.split(' ').map(|word| if word.trim_matches('*').is_empty() { word } else { word.trim_matches('*') });
    words.collect::<Vec<_>>().join(" ").replace("*,", ",").replace("*.", ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_headings_bullets_code_and_links() {
        let text = "# a: b\n\nOne [page](x.md) of\ntwo *lines*.\n\n* first\n  goes on\n  * below\n    it\n* **second** `**kw`\n\n    code\n      \
                    deeper\n\n## C\n\nx[0] * 2\n\n```toml\na = 1\n\n    b = 2\n```\n";
        let wanted = "a: b\n\n  One page of two lines.\n\n  • first goes on\n    • below it\n  • second `**kw`\n\n    code\n      deeper\n\nC\n\n  \
                      x[0] * 2\n\n    a = 1\n\n        b = 2\n";
        assert_eq!(page(text, &Style { width: 40, ..Style::default() }), wanted);
        let ascii = page(text, &Style { width: 40, unicode: false, ..Style::default() });
        assert_eq!(ascii, wanted.replace('•', "*"));
    }

    #[test]
    fn a_table_has_its_columns() {
        let text = "Before:\n\n| scatter | pairs |\n|---|---:|\n| `visits` only | 100 |\n| none | 7 |\n\nAfter.";
        let wanted =
            "  Before:\n\n  scatter        pairs\n  `visits` only    100\n  none               7\n\n  After.\n";
        assert_eq!(page(text, &Style { width: 60, ..Style::default() }), wanted);
    }
}
