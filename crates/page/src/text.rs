//! Text in columns: cleaning, width, wrapping.

use unicode_width::UnicodeWidthStr;

use crate::style::Style;

/// A document may come from anywhere: control characters, and those that turn the direction of text round, must not
/// reach a terminal or a page.
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => ' ',
            GLUE => c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// A text of a document in this style: clean, and in ASCII if the style says so.
pub(crate) fn spoken(text: &str, style: &Style) -> String {
    let text = clean(text);
    if style.unicode { text } else { ascii(&text) }
}

/// The text without anything beyond ASCII: signs as people type them, the rest as question marks. The space that does
/// not break stays, since it is one only until lines are broken.
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::new();
    for c in text.replace("\u{a0}· ", ", ").replace(" · ", ", ").chars() {
        match c {
            GLUE => out.push(c),
            c if c.is_ascii() => out.push(c),
            '±' => out.push_str("+-"),
            '×' => out.push('x'),
            '→' => out.push_str("->"),
            '–' | '—' | '−' => out.push('-'),
            '≥' => out.push_str(">="),
            '≤' => out.push_str("<="),
            '…' => out.push_str("..."),
            'µ' | 'μ' => out.push('u'),
            '·' => out.push('.'),
            '•' => out.push('*'),
            '│' | '├' | '┆' => out.push('|'),
            '└' => out.push('`'),
            '─' | '▅' => out.push('-'),
            '▁' => out.push('_'),
            '▂' | '▃' | '░' => out.push('.'),
            '▄' => out.push(':'),
            '▆' => out.push('='),
            '▇' => out.push('+'),
            '█' => out.push('#'),
            '✔' => out.push('+'),
            '✘' => out.push('x'),
            '‘' | '’' => out.push('\''),
            '“' | '”' => out.push('"'),
            _ => out.push('?'),
        }
    }
    out
}

/// Columns a text without escape sequences takes.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Fills up with spaces on the right.
pub fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Fills up with spaces on the left.
pub fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Breaks a text into lines at spaces. Words that are too long are broken, except paths, which people copy.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
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
        // A long list breaks after a comma: its numbers stay whole.
        for piece in word.split_inclusive(',') {
            if !line.is_empty() && width(&line) + width(piece) > columns {
                lines.push(std::mem::take(&mut line));
            }
            for c in piece.chars() {
                if !line.is_empty() && width(&line) + width(c.encode_utf8(&mut [0; 4])) > columns {
                    lines.push(std::mem::take(&mut line));
                }
                line.push(c);
            }
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
pub fn glued(text: &str) -> String {
    text.replace(' ', "\u{a0}")
}

/// A text that breaks where its reader has no more room.
pub(crate) fn flowing(text: &str) -> String {
    text.replace(GLUE, " ")
}

/// A column of a sparkline: a share of its full height.
#[must_use]
pub fn height(share: f64) -> &'static str {
    const HEIGHTS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    HEIGHTS[(share.clamp(0.0, 1.0) * (HEIGHTS.len() - 1) as f64).round() as usize]
}

/// Columns of the labels at the left of a section.
pub const GUTTER: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn documents_are_told_in_the_signs_of_the_style() {
        let plain = Style { unicode: false, ..Style::default() };
        assert_eq!(spoken("interval ±1.5 %, 3 × 2 → a, … 日", &plain), "interval +-1.5 %, 3 x 2 -> a, ... ?");
    }

    #[test]
    fn wraps_at_spaces_and_keeps_paths_whole() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("of 4K,128K,2560K,3M", 9), ["of", "4K,128K,", "2560K,3M"]);
        assert_eq!(wrap("see /sys/devices/system/node now", 10), ["see", "/sys/devices/system/node", "now"]);
        assert_eq!(wrap("", 5), [""]);
    }

    proptest! {
        #[test]
        fn hard_wrapping_never_exceeds_and_loses_nothing(text in "[a-z/, ×日]{0,80}", columns in 2usize..30) {
            let lines = wrap_hard(&text, columns);
            prop_assert!(lines.iter().all(|l| width(l) <= columns));
            let letters = |t: &str| t.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
