//! Words that people mistyped.

/// How many letters have to be inserted, deleted or replaced to make one word of another: Levenshtein, "Binary codes
/// capable of correcting deletions, insertions, and reversals", Soviet Physics Doklady 10(8), 1966.
fn edits(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.chars().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.chars().count()]
}

/// Names that options and other programs have for keys of files.
const OTHER_NAMES: [(&str, &str); 3] = [("rps", "rate"), ("qps", "rate"), ("ratio", "mixes")];

/// The known word that was probably meant.
pub fn near<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let meant = OTHER_NAMES.iter().find(|(other, name)| *other == word && known.contains(name));
    if let Some((_, name)) = meant {
        return known.iter().find(|known| *known == name).copied();
    }
    let near = known.iter().min_by_key(|name| edits(word, name));
    // Where half of the letters differ it is another word.
    near.filter(|name| 2 * edits(word, name) <= name.len()).copied()
}

/// A suggestion to append to a complaint, where a known word is near; else nothing.
pub fn nearest(word: &str, known: &[&str]) -> String {
    near(word, known).map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

/// A text as one word of a command line.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_as_far_apart_as_they_need_edits() {
        for (from, to, edits_between) in
            [("", "abc", 3), ("read", "read", 0), ("reed", "read", 1), ("tirad", "triad", 2)]
        {
            assert_eq!(edits(from, to), edits_between, "{from} {to}");
        }
    }

    #[test]
    fn only_near_words_are_suggested() {
        assert_eq!(nearest("reed", &["write", "read"]), "; did you mean 'read'?");
        assert_eq!(nearest("rps", &["records", "rate"]), "; did you mean 'rate'?");
        assert_eq!(nearest("foo", &["write", "read"]), "");
        assert_eq!(nearest("foo", &[]), "");
    }
}
