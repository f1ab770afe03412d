//! Files of expectations.

use sha2::{Digest, Sha256};
use tiermark_history::config::{Mistake, Mistakes, parse};
use tiermark_model::messages::check as says;
use tiermark_model::messages::files;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::expression::Expectation;
use crate::needs::Need;

/// Expectations of a file at most.
const MOST: usize = 1000;
const FILE_KEYS: [&str; 1] = ["expect"];
const TEXTS: [&str; 3] = ["that", "why", "source"];
const NEEDS: &str = "needs";
const REQUIRED: &str = "required";
const KEYS: [&str; 5] = ["that", NEEDS, REQUIRED, "why", "source"];

/// The expectations of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Expectations {
    /// The user's name of the file, or [`BUILT_IN`](crate::BUILT_IN).
    pub name: String,
    /// SHA-256 of its text, in hexadecimal: who signs a verdict signs it for this text.
    pub sha256: String,
    /// The expectations, in the order of the file.
    pub entries: Vec<Entry>,
}

impl Expectations {
    /// Reads a file of expectations.
    ///
    /// # Errors
    /// Every mistake with its line and its key.
    pub fn read(name: &str, text: &str) -> Result<Self, Vec<Mistake>> {
        let sha256 = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { name: name.to_owned(), sha256, entries: read(text)? })
    }
}

/// An expectation of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The expectation.
    pub that: Expectation,
    /// What a machine must be; it is not judged on others.
    pub needs: Vec<Need>,
    /// Whether a run passes only if this was judged, on machines that are what it needs.
    pub required: bool,
    /// Why it matters.
    pub why: Option<String>,
    /// Where the limit comes from.
    pub source: Option<String>,
}

/// Reads TOML with `[[expect]]` tables.
fn read(text: &str) -> Result<Vec<Entry>, Vec<Mistake>> {
    let (table, mut mistakes) = parse(text)?;
    let table = table.get_ref();
    for (key, _) in table.iter().filter(|(key, _)| !FILE_KEYS.contains(&key.get_ref().as_ref())) {
        let name = key.get_ref().to_string();
        mistakes.add_at(&key.span(), name.clone(), files::key_unknown(&name, &FILE_KEYS));
    }
    let mut entries = Vec::new();
    match table.get("expect").map(|value| (value, value.get_ref())) {
        Some((_, DeValue::Array(all))) if all.len() <= MOST => {
            entries.extend(all.iter().enumerate().filter_map(|(at, one)| entry(at, one, &mut mistakes)));
            if all.is_empty() {
                mistakes.add(0, "expect", says::no_expectations());
            }
        }
        Some((value, DeValue::Array(_))) => {
            mistakes.add_at(&value.span(), "expect", says::too_many_expectations(MOST));
        }
        Some((value, _)) => mistakes.add_at(&value.span(), "expect", says::expectation_no_table()),
        None => mistakes.add(0, "expect", says::no_expectations()),
    }
    mistakes.none_in(entries)
}

/// One `[[expect]]`; `None` if it has no expectation that can be read.
fn entry(at: usize, value: &Spanned<DeValue<'_>>, mistakes: &mut Mistakes<'_>) -> Option<Entry> {
    let name = |key: &str| format!("expect {}.{key}", at + 1);
    let DeValue::Table(table) = value.get_ref() else {
        mistakes.add_at(&value.span(), format!("expect {}", at + 1), says::expectation_no_table());
        return None;
    };
    for (key, _) in table.iter().filter(|(key, _)| !KEYS.contains(&key.get_ref().as_ref())) {
        mistakes.add_at(&key.span(), name(key.get_ref()), files::key_unknown(key.get_ref(), &KEYS));
    }
    let [that, why, source] = TEXTS.map(|key| text(table, key, &name(key), mistakes));
    let needs = needs(table, &name(NEEDS), mistakes);
    let required = switch(table, REQUIRED, &name(REQUIRED), mistakes);
    let Some((that, span)) = that else {
        if !table.contains_key("that")
            && !table.iter().any(|(key, _)| tiermark_model::near(key.get_ref(), &["that"]).is_some())
        {
            mistakes.add_at(&value.span(), name("that"), files::key_missing());
        }
        return None;
    };
    match Expectation::parse(&that) {
        Ok(that) => {
            let [why, source] = [why, source].map(|text| text.map(|(text, _)| text));
            Some(Entry { that, needs, required, why, source })
        }
        Err(fault) => {
            mistakes.add_at(&span, name("that"), fault);
            None
        }
    }
}

/// What a machine must be: a list of words.
fn needs(table: &DeTable<'_>, name: &str, mistakes: &mut Mistakes<'_>) -> Vec<Need> {
    let Some(value) = table.get(NEEDS) else { return Vec::new() };
    let DeValue::Array(words) = value.get_ref() else {
        mistakes.add_at(&value.span(), name, files::type_wrong("a list", Some("[\"two-sockets\"]"), "this"));
        return Vec::new();
    };
    let mut found = Vec::new();
    for word in words.iter() {
        let text = if let DeValue::String(text) = word.get_ref() { text.as_ref() } else { "" };
        match Need::named(text) {
            Some(need) => found.push(need),
            None => {
                mistakes.add_at(&word.span(), name, files::choice_unknown(text, &Need::ALL.map(|(known, _)| known)));
            }
        }
    }
    found
}

/// The switch under a key; `false` without it.
fn switch(table: &DeTable<'_>, key: &str, name: &str, mistakes: &mut Mistakes<'_>) -> bool {
    match table.get(key).map(|value| (value, value.get_ref())) {
        None => false,
        Some((_, DeValue::Boolean(is_on))) => *is_on,
        Some((value, _)) => {
            mistakes.add_at(&value.span(), name, files::type_wrong("true or false", None, "this"));
            false
        }
    }
}

/// The text under a key, and where it stands.
fn text(
    table: &DeTable<'_>,
    key: &str,
    name: &str,
    mistakes: &mut Mistakes<'_>,
) -> Option<(String, std::ops::Range<usize>)> {
    let value = table.get(key)?;
    match value.get_ref() {
        DeValue::String(text) => Some((text.to_string(), value.span())),
        _ => {
            mistakes.add_at(&value.span(), name, files::text_wanted());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use tiermark_model::Code;

    use super::*;

    fn mistakes(text: &str) -> Vec<(usize, String, Code)> {
        let found = read(text).unwrap_err().into_iter();
        found.map(|mistake| (mistake.line, mistake.key, mistake.fault.code)).collect()
    }

    #[test]
    fn the_built_in_rules_are_read_and_each_has_a_source() {
        let rules = read(crate::AUTO).unwrap();
        assert!(rules.len() >= 8);
        for rule in rules {
            assert!(rule.why.is_some() && rule.source.is_some_and(|source| source.len() > 20), "{}", rule.that.0.text);
        }
    }

    #[test]
    fn every_mistake_has_its_line_and_key() {
        let text = "titel = 1\n[[expect]]\nthat = \"latency.dram <= 120\"\n\n[[expect]]\nthat = 5\nwhi = \"x\"\n[[expect]]\n\
                    why = \"no\"\n";
        let at = |line: usize, key: &str, code: Code| (line, key.to_owned(), code);
        assert_eq!(
            mistakes(text),
            [
                at(1, "titel", files::codes::key_unknown),
                at(3, "expect 1.that", says::codes::units_differ),
                at(6, "expect 2.that", files::codes::text_wanted),
                at(7, "expect 2.whi", files::codes::key_unknown),
                at(8, "expect 3.that", files::codes::key_missing),
            ]
        );
        assert_eq!(mistakes(""), [at(0, "expect", says::codes::no_expectations)]);
        assert_eq!(mistakes("expect = []"), [at(0, "expect", says::codes::no_expectations)]);
        assert_eq!(mistakes("expect = 3"), [at(1, "expect", says::codes::expectation_no_table)]);
        assert_eq!(mistakes("expect = [3]"), [at(1, "expect 1", says::codes::expectation_no_table)]);
        assert_eq!(mistakes("[[expect]]\nthta = \"1 <= 2\""), [at(2, "expect 1.thta", files::codes::key_unknown)]);
        let many = "[[expect]]\nthat = \"1 <= 2\"\n".repeat(MOST + 1);
        assert_eq!(mistakes(&many)[0].2, says::codes::too_many_expectations);
    }
}
