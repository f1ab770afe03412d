//! Text in columns: cleaning, width, wrapping, bullets, sections.

use unicode_width::UnicodeWidthStr;

use crate::style::{Ink, Style};

/// A document may come from anywhere: control characters must not reach a terminal.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => ' ',
            GLUE => c,
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// Columns a text without escape sequences takes.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Fills up with spaces on the right.
pub(crate) fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Fills up with spaces on the left.
pub(crate) fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Breaks a text into lines at spaces. Words that are too long are broken, except paths, which people copy.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    fold(text, columns, |word| !word.contains('/'))
}

/// Breaks a text into lines that never exceed the columns.
pub(crate) fn wrap_hard(text: &str, columns: usize) -> Vec<String> {
    fold(text, columns, |_| true)
}

fn fold(text: &str, columns: usize, breakable: impl Fn(&str) -> bool) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let space = usize::from(!line.is_empty());
        if width(&line) + space + width(word) <= columns {
            line.push_str(if space == 1 { " " } else { "" });
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        if width(word) <= columns || !breakable(word) {
            line.push_str(word);
            continue;
        }
        for c in word.chars() {
            if !line.is_empty() && width(&line) + width(c.encode_utf8(&mut [0; 4])) > columns {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines.into_iter().map(|line| line.replace(GLUE, " ")).collect()
}

/// Stands for a space at which no line breaks.
const GLUE: char = '\u{a0}';

/// A text that stays on one line.
pub(crate) fn glued(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

/// Joins items so that lines break between them; only items longer than half a line break inside.
pub(crate) fn items(items: &[String], style: &Style) -> String {
    let glued = items
        .iter()
        .filter(|item| !item.is_empty())
        .map(|item| if width(item) <= style.columns() / 2 { glued(item) } else { item.clone() });
    // The separator stays with the item before it.
    glued.collect::<Vec<_>>().join(if style.unicode { "\u{a0}· " } else { ", " })
}

/// Wraps a text behind a first prefix; further lines are indented to the same column.
pub(crate) fn hanging(prefix: &str, text: &str, ink: Ink, style: &Style) -> String {
    let indent = width(prefix);
    let mut out = String::new();
    for (i, line) in wrap(&clean(text), style.columns().saturating_sub(indent).max(20)).iter().enumerate() {
        let lead = if i == 0 { prefix.to_owned() } else { " ".repeat(indent) };
        out.push_str(style.paint(ink, format!("{lead}{line}").trim_end()).as_str());
        out.push('\n');
    }
    out
}

/// Columns of the labels at the left of a section.
pub(crate) const GUTTER: usize = 12;

/// A line with a label in the gutter; an empty label continues the section above.
pub(crate) fn labelled(label: &str, text: &str, style: &Style) -> String {
    let body = hanging(&" ".repeat(GUTTER), text, Ink::Plain, style);
    let rest = body.strip_prefix(&" ".repeat(GUTTER)).map_or(body.as_str(), |rest| rest);
    format!("{}{rest}", style.paint(Ink::Head, &left(label, GUTTER)))
}

/// A heading behind an empty line.
pub(crate) fn heading(text: &str, style: &Style) -> String {
    let mut out = String::from("\n");
    for line in wrap(&clean(text), style.columns()) {
        out.push_str(&style.paint(Ink::Head, &line));
        out.push('\n');
    }
    out
}

/// A bullet with what and why, and below it the cure.
pub(crate) fn bullet(mark: &str, ink: Ink, text: &str, cure: Option<&str>, style: &Style) -> String {
    let mut out = String::new();
    for (i, line) in wrap(&clean(text), style.columns().saturating_sub(4)).iter().enumerate() {
        let lead = if i == 0 { format!("  {} ", style.paint(ink, mark)) } else { "    ".to_owned() };
        out.push_str(format!("{lead}{line}").trim_end());
        out.push('\n');
    }
    if let Some(cure) = cure.filter(|c| !c.is_empty()) {
        let arrow = style.glyph("→", "->");
        out.push_str(&hanging(&format!("    {arrow} "), cure, Ink::Plain, style));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wraps_at_spaces_and_keeps_paths_whole() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("see /sys/devices/system/node now", 10), ["see", "/sys/devices/system/node", "now"]);
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn escape_sequences_of_a_document_do_not_reach_the_terminal() {
        let shown = bullet("!", Ink::Warn, "a\u{1b}[2Jb\r\nc", None, &Style::default());
        assert_eq!(shown, "  ! a\u{fffd}[2Jb\u{fffd} c\n");
    }

    proptest! {
        #[test]
        fn hard_wrapping_never_exceeds_and_loses_nothing(text in "[a-z/ ×日]{0,80}", columns in 2usize..30) {
            let lines = wrap_hard(&text, columns);
            prop_assert!(lines.iter().all(|l| width(l) <= columns));
            let letters = |t: &str| t.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
