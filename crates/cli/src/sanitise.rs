//! Texts that may hold what strangers wrote (documents, captures, answers of servers), as they may reach a terminal.
//!
//! A terminal obeys control characters of both sets (ESC and U+009B begin its commands), and shows text that holds
//! bidirectional controls in another order than it is read. Everything that goes to standard output or standard error
//! passes here last.

use std::borrow::Cow;

/// What stands for a character that is not shown.
const REPLACED: char = '\u{fffd}';

/// Whether a terminal does anything else with it than to show it.
fn is_obeyed(c: char) -> bool {
    let bidirectional =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // Line and paragraph separators.
    c.is_control() || bidirectional || matches!(c, '\u{2028}' | '\u{2029}')
}

/// The length of the colour or weight that a text begins with, as reports write them; `None` for any other sequence.
/// One that hides text is not among them.
fn ink(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("\u{1b}[")?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';').filter(|end| rest[*end..].starts_with('m'))?;
    let is_plain = |number: &str| matches!(number.parse::<u8>(), Ok(0..=2 | 30..=37 | 90..=97));
    rest[..end].split(';').all(is_plain).then_some("\u{1b}[".len() + end + 1)
}

/// A message: lines and tabs stay, colours do not.
pub(crate) fn plain(text: &str) -> String {
    let stays = |c: char| !is_obeyed(c) || c == '\n' || c == '\t';
    text.chars().map(|c| if stays(c) { c } else { REPLACED }).collect()
}

/// A report: lines, tabs and its own colours stay.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_obeyed(c) && c != '\n') {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(c) = rest.chars().next() {
        let length = ink(rest).unwrap_or(c.len_utf8());
        match is_obeyed(c) && c != '\n' && c != '\t' && length == c.len_utf8() {
            true => out.push(REPLACED),
            false => out.push_str(&rest[..length]),
        }
        rest = &rest[length..];
    }
    Cow::Owned(out)
}

/// A message of one line, without colours.
pub(crate) fn line(text: &str) -> String {
    plain(text).replace(['\n', '\t'], " ")
}

/// JSON of the same meaning: such characters stand only in strings, where they can be written by their numbers.
pub(crate) fn json(text: &str) -> Cow<'_, str> {
    let stays = |c: char| !is_obeyed(c) || c == '\n';
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if stays(c) { out.push(c) } else { out.push_str(&format!("\\u{:04x}", u32::from(c))) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Characters that terminals obey, among others.
    fn texts() -> impl Strategy<Value = String> {
        let c = prop_oneof![
            any::<char>(),
            prop::sample::select(vec!['\u{1b}', '[', '8', '1', ';', 'm', '\u{9b}', '\u{202e}', '\n', '\t', '\u{7}']),
        ];
        prop::collection::vec(c, 0..40).prop_map(|chars| chars.into_iter().collect())
    }

    #[test]
    fn colours_of_a_report_stay_and_commands_do_not() {
        assert_eq!(text("\u{1b}[1mL1\u{1b}[0m\t\u{1b}[2;31mx\n"), "\u{1b}[1mL1\u{1b}[0m\t\u{1b}[2;31mx\n");
        for evil in ["\u{1b}[8mx", "\u{1b}[2Jx", "\u{1b}]0;x", "\u{9b}31mx", "a\u{202e}b", "\r", "\u{1b}", "\u{1b}[31"]
        {
            assert!(!text(evil).contains(is_obeyed), "{evil:?}");
            assert!(!line(evil).contains(is_obeyed), "{evil:?}");
        }
        assert_eq!(line("a\nb\u{1b}[1mc"), "a b\u{fffd}[1mc");
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_gets_through(any in texts()) {
            let mut rest = text(&any).into_owned();
            while let Some(at) = rest.find('\u{1b}') {
                let length = ink(&rest[at..]);
                prop_assert!(length.is_some(), "{rest:?}");
                rest.replace_range(at..at + length.unwrap_or(1), "");
            }
            prop_assert!(!rest.contains(|c| is_obeyed(c) && c != '\n' && c != '\t'));
            prop_assert!(!line(&any).contains(is_obeyed));
            prop_assert!(!plain(&any).contains(|c| is_obeyed(c) && c != '\n' && c != '\t'));
            let once = text(&any);
            prop_assert_eq!(text(&once), once.as_ref());
        }

        #[test]
        fn json_keeps_its_meaning(any in texts()) {
            let written = serde_json::to_string_pretty(&[&any]).unwrap();
            let shown = json(&written);
            prop_assert!(!shown.contains(|c| is_obeyed(c) && c != '\n'), "{shown:?}");
            prop_assert_eq!(serde_json::from_str::<Vec<String>>(&shown).unwrap(), [any]);
        }
    }
}
