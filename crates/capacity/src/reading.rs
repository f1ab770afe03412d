//! Reading files that people write: every mistake with its line, its key and a suggestion.

use std::fmt;

use serde::de::DeserializeOwned;
use tiermark_model::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

/// Mistakes told of one file: who made more of them wrote something else.
const MOST: usize = 100;

/// A value that cannot be, by its key: `load.rate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key, with those of the tables it stands in.
    pub key: String,
    /// What is wrong with it, and what to write instead.
    pub text: String,
}

impl Problem {
    /// Makes one.
    pub fn new(key: impl Into<String>, text: impl Into<String>) -> Self {
        Self { key: key.into(), text: text.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.text)
    }
}

/// A mistake in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Line, from 1; 0 where the whole file is meant.
    pub line: usize,
    /// What is wrong, and what to write instead.
    pub text: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 { f.write_str(&self.text) } else { write!(f, "line {}: {}", self.line, self.text) }
    }
}

/// Where a key stands.
struct Place {
    path: Vec<String>,
    key: std::ops::Range<usize>,
    value: std::ops::Range<usize>,
}

impl Place {
    fn name(&self) -> String {
        self.path.join(".")
    }

    fn covers(&self, offset: usize) -> bool {
        self.key.contains(&offset) || self.value.contains(&offset)
    }
}

/// Reads a file as what it describes, and holds that against what it may say.
///
/// # Errors
/// Every [`Mistake`] in the order of the lines; what the whole file lacks comes last.
pub(crate) fn read<T: DeserializeOwned>(text: &str, problems: impl Fn(&T) -> Vec<Problem>) -> Result<T, Vec<Mistake>> {
    let (mut table, broken) = DeTable::parse_recoverable(text);
    if !broken.is_empty() {
        let said = |e: toml::de::Error| Mistake {
            line: e.span().map_or(0, |span| line_at(text, span.start)),
            text: e.message().to_owned(),
        };
        return Err(in_order(broken.into_iter().map(said).collect()));
    }
    let mut places = Vec::new();
    walk(table.get_ref(), &mut Vec::new(), &mut places);
    let mut mistakes: Vec<Mistake> = Vec::new();
    while mistakes.len() < MOST {
        let error = match T::deserialize(Deserializer::from(table.clone())) {
            Ok(read) => {
                mistakes.extend(problems(&read).into_iter().map(|problem| placed(text, &places, &problem)));
                return if mistakes.is_empty() { Ok(read) } else { Err(in_order(mistakes)) };
            }
            Err(error) => error,
        };
        let lacks = error.message().starts_with("missing field");
        let span = error.span();
        let at = |place: &&Place| match &span {
            // A table that lacks something is meant as a whole.
            Some(span) if lacks => place.value == *span,
            Some(span) => place.covers(span.start),
            None => false,
        };
        // The key within all others that stand there.
        let place = places.iter().filter(at).max_by_key(|place| place.path.len());
        let line = place.map_or(0, |place| line_at(text, place.key.start));
        let key = place.map(Place::name).unwrap_or_default();
        match place {
            // What was taken away as a mistake is no second one; what is beyond it is not known.
            _ if lacks && !mistakes.is_empty() => break,
            Some(place) if !lacks => {
                mistakes.push(Mistake { line, text: spoken(&key, error.message()) });
                remove(table.get_mut(), &place.path);
            }
            _ => {
                let key = if key.is_empty() { "the file".to_owned() } else { format!("[{key}]") };
                let text = error.message().replace("missing field", "has no").replace('`', "'");
                mistakes.push(Mistake { line, text: format!("{key} {text}") });
                break;
            }
        }
    }
    Err(in_order(mistakes))
}

fn in_order(mut mistakes: Vec<Mistake>) -> Vec<Mistake> {
    mistakes.sort_by_key(|mistake| if mistake.line == 0 { usize::MAX } else { mistake.line });
    mistakes.dedup();
    mistakes
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.get(..offset).unwrap_or(text).matches('\n').count()
}

/// Every key of a table and of those in it.
fn walk(table: &DeTable<'_>, path: &mut Vec<String>, places: &mut Vec<Place>) {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        places.push(Place { path: path.clone(), key: key.span(), value: value.span() });
        if let DeValue::Table(inner) = value.get_ref() {
            walk(inner, path, places);
        }
        path.pop();
    }
}

fn remove(table: &mut DeTable<'_>, path: &[String]) {
    match path {
        [] => {}
        [last] => {
            table.remove(last.as_str());
        }
        [first, rest @ ..] => {
            if let Some(DeValue::Table(inner)) = table.get_mut(first.as_str()).map(Spanned::get_mut) {
                remove(inner, rest);
            }
        }
    }
}

/// A problem at the line of its key, or of the nearest table around it that the file has.
fn placed(text: &str, places: &[Place], problem: &Problem) -> Mistake {
    let around = |place: &&Place| {
        let name = place.name();
        problem.key == name || problem.key.strip_prefix(&name).is_some_and(|rest| rest.starts_with('.'))
    };
    let place = places.iter().filter(around).max_by_key(|place| place.path.len());
    Mistake { line: place.map_or(0, |place| line_at(text, place.key.start)), text: problem.to_string() }
}

/// What serde says of a key, as it is said to people.
fn spoken(key: &str, message: &str) -> String {
    let listed = |prefix: &str| -> Option<(String, Vec<String>)> {
        let rest = message.strip_prefix(prefix)?;
        let mut quoted = rest.split('`').skip(1).step_by(2).map(str::to_owned);
        Some((quoted.next()?, quoted.collect()))
    };
    if let Some((name, known)) = listed("unknown field ") {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        return format!("unknown key '{key}'{}", suggestion(&name, &known));
    }
    if let Some((name, known)) = listed("unknown variant ") {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        return format!("{key}: '{name}' is not possible{}", suggestion(&name, &known));
    }
    format!("{key}: {}", message.replace('`', "'"))
}

/// The nearest of some words, or else all of them.
fn suggestion(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        near if near.is_empty() => format!("; possible are {}", known.join(", ")),
        near => near,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
    struct File {
        title: String,
        inner: Inner,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Inner {
        rate: f64,
        kind: Kind,
        names: Vec<String>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        #[default]
        Constant,
        Poisson,
    }

    fn negative(file: &File) -> Vec<Problem> {
        let _seen = (&file.title, &file.inner.names, matches!(file.inner.kind, Kind::Poisson | Kind::Constant));
        if file.inner.rate < 0.0 { vec![Problem::new("inner.rate", "is negative")] } else { Vec::new() }
    }

    fn mistakes(text: &str) -> Vec<String> {
        read(text, negative).unwrap_err().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_mistake_is_told_with_line_key_and_suggestion() {
        let text = "titel = \"a\"\n[inner]\nrate = \"5\"\nkind = \"poison\"\nnames = [\"a\", 5]\nfoo = 1\n";
        assert_eq!(
            mistakes(text),
            [
                "line 1: unknown key 'titel'; did you mean 'title'?",
                "line 3: inner.rate: invalid type: string \"5\", expected f64",
                "line 4: inner.kind: 'poison' is not possible; did you mean 'poisson'?",
                "line 5: inner.names: invalid type: integer '5', expected a string",
                "line 6: unknown key 'inner.foo'; possible are rate, kind, names",
            ]
        );
        assert_eq!(mistakes("\n\n[inner]\nrate = -1.0\n"), ["line 4: inner.rate: is negative"]);
        assert_eq!(mistakes("inner.rate = -1"), ["line 1: inner.rate: is negative"]);
    }

    #[test]
    fn broken_lines_are_told_and_nothing_else() {
        assert_eq!(mistakes("title = \"a\"\nrate 5\n[x\n").len(), 2);
        assert!(read("title = \"a\"\n[inner]\nrate = 5.0\n", negative).is_ok());
    }

    #[test]
    fn what_is_missing_is_told_by_its_table() {
        #[derive(Debug, Deserialize)]
        struct Needs {
            #[serde(rename = "inner")]
            _inner: Must,
        }
        #[derive(Debug, Deserialize)]
        struct Must {
            #[serde(rename = "rate")]
            _rate: f64,
        }
        let told = |text: &str| read::<Needs>(text, |_| Vec::new()).unwrap_err()[0].to_string();
        assert_eq!(told("x = 1"), "the file has no 'inner'");
        assert_eq!(told("\n[inner]\n"), "line 2: [inner] has no 'rate'");
        assert_eq!(told("[inner]\nrate = 'x'\n"), "line 2: inner.rate: invalid type: string \"x\", expected f64");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(?s)[a-z\\[\\]=\"'.\\n 0-9#{},-]{0,200}") {
            let _ = read::<File>(&text, negative);
        }

        #[test]
        fn any_keys_and_values_are_read_or_refused(
            lines in proptest::collection::vec(
                ("(title|inner|rate|kind|names|[a-z]{1,5})", "(1|-1.5|nan|\"x\"|true|\\[1\\]|\\{rate = 1\\})"),
                0..6,
            )
        ) {
            let text: String = lines.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
            if let Err(mistakes) = read::<File>(&text, negative) {
                prop_assert!(!mistakes.is_empty());
            }
        }
    }
}
