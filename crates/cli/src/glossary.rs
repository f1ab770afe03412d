//! The terms of `docs/GLOSSARY.md`.

const PAGE: &str = include_str!("../../../docs/GLOSSARY.md");

/// The names of a term, and what it means.
pub(crate) type Term = (&'static str, &'static str);

/// The terms of the page, each an item of a list: `* name, other name: meaning`.
fn all() -> impl Iterator<Item = Term> {
    PAGE.trim_end().split("\n* ").skip(1).filter_map(|item| item.split("\n\n").next()?.split_once(": "))
}

fn with(name: impl Fn(&str) -> bool) -> Vec<Term> {
    all().filter(|(names, _)| names.split(", ").any(&name)).collect()
}

/// Terms of this name; empty if the glossary lacks the word.
pub(crate) fn terms(word: &str) -> Vec<Term> {
    let named = |word: &str| with(|name| name.eq_ignore_ascii_case(word));
    let found = named(word);
    if found.is_empty() { word.strip_suffix('s').map(named).unwrap_or_default() } else { found }
}

/// Terms of which one name has this word, as `useful bytes` has `useful`.
pub(crate) fn terms_with(word: &str) -> Vec<Term> {
    with(|name| name.split_whitespace().any(|part| part.eq_ignore_ascii_case(word)))
}

/// All names of terms.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    all().flat_map(|(names, _)| names.split(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_of_the_page_is_a_term() {
        assert!(PAGE.len() <= 14_000, "{} bytes", PAGE.len());
        assert_eq!(all().count(), PAGE.matches("\n* ").count());
        assert!(names().all(|name| !name.is_empty() && name.trim() == name && !name.contains('\n')));
        assert!(all().all(|(_, meaning)| !meaning.contains("\n#")));
    }

    #[test]
    fn words_that_people_look_for_are_there() {
        for word in
            ["verdict", "trusted", "bound", "suspect", "state", "knee", "drift", "idle", "peak", "loaded", "shared"]
        {
            assert!(!terms(word).is_empty(), "{word}");
        }
        assert_eq!(terms("withheld")[0].0, "withheld, invalid");
        assert_eq!(terms("Bounds"), terms("bound"));
        assert!(terms("tier").len() > 1);
        assert!(terms("frob").is_empty() && terms("").is_empty());
    }
}
