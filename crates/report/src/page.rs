//! Pages of documentation in a terminal: the Markdown of `docs/methods`, with headings, paragraphs, bullets and code.

use crate::style::{Ink, Style};
use crate::text::{hanging, heading};

/// Renders a page. Headings, bullets, code (indented by four spaces, or fenced) and paragraphs are known; links keep their text.
pub fn page(markdown: &str, style: &Style) -> String {
    // Prose beyond some 100 columns is hard to read.
    let prose = Style { width: style.width.min(100), ..*style };
    let (mut out, mut block, mut fenced) = (String::new(), String::new(), false);
    for line in markdown.lines().chain([""]) {
        let is_fence = line.starts_with("```");
        let is_code = fenced || line.starts_with("    ") && block.is_empty();
        let is_heading = !is_code && line.starts_with('#');
        let ends = is_fence || is_code || is_heading || line.is_empty() || line.starts_with("* ");
        if ends && !block.is_empty() {
            out.push_str(&paragraph(&std::mem::take(&mut block), &prose));
        }
        if is_fence {
            fenced = !fenced;
        } else if is_code {
            out.push_str(&format!("    {}\n", line.trim_start_matches("    ")));
        } else if is_heading {
            out.push_str(&heading(&plain(line.trim_start_matches(['#', ' '])), style));
        } else if line.is_empty() {
            out.push('\n');
        } else {
            block.push_str(if block.is_empty() { "" } else { " " });
            block.push_str(line.trim());
        }
    }
    // A heading brings its own empty line.
    let mut joined = String::new();
    for line in out.trim_matches('\n').lines() {
        if !(line.is_empty() && joined.ends_with("\n\n")) {
            joined.push_str(line);
            joined.push('\n');
        }
    }
    joined
}

fn paragraph(text: &str, style: &Style) -> String {
    match text.strip_prefix("* ") {
        Some(item) => hanging("  • ", &plain(item), Ink::Plain, style),
        None => hanging("  ", &plain(text), Ink::Plain, style),
    }
}

/// The text without marks of links and of bold words.
fn plain(text: &str) -> String {
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
    (out + rest).replace("**", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_headings_bullets_code_and_links() {
        let text = "# a: b\n\nOne [page](x.md) of\ntwo lines.\n\n* first\n  goes on\n* **second**\n\n    code  here\n\n## C\n\nx[0]\n\n```toml\na = 1\n```\n";
        let shown = page(text, &Style { width: 40, ..Style::default() });
        let wanted = "a: b\n\n  One page of two lines.\n\n  • first goes on\n  • second\n\n    code  here\n\nC\n\n  x[0]\n\n    a = 1\n";
        assert_eq!(shown, wanted);
    }
}
