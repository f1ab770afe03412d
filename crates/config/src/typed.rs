//! Files that are a type, read by serde: after each mistake its key is given a right value, so that the next one shows.

use std::fmt;

use serde::de::DeserializeOwned;
use tiermark_model::{near, nearest};
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use crate::mistakes::{Mistake, Mistakes, parse};

/// Most mistakes reported for one file: with more, it is no file of this kind.
const MOST: usize = 100;

/// A value that cannot be, by its key: `load.rate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key, with those of the tables it stands in.
    pub key: String,
    /// What is wrong with it, and what to write instead.
    pub text: String,
    /// Other keys without which it would be none.
    beside: Vec<&'static str>,
}

impl Problem {
    /// Makes one.
    pub fn new(key: impl Into<String>, text: impl Into<String>) -> Self {
        Self { key: key.into(), text: text.into(), beside: Vec::new() }
    }

    /// The same, which these other keys are part of as well.
    #[must_use]
    pub fn beside(self, beside: &[&'static str]) -> Self {
        Self { beside: beside.to_vec(), ..self }
    }

    /// Whether a key, or one in it, is part of it.
    fn is_about(&self, key: &str) -> bool {
        let within = |own: &str| own == key || own.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
        within(&self.key) || self.beside.iter().any(|own| within(own))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.text)
    }
}

/// Where a key stands.
struct KeySpan {
    path: Vec<String>,
    key: std::ops::Range<usize>,
    value: std::ops::Range<usize>,
}

impl KeySpan {
    fn name(&self) -> String {
        self.path.join(".")
    }

    fn covers(&self, offset: usize) -> bool {
        self.key.contains(&offset) || self.value.contains(&offset)
    }
}

/// Reads a file into its type, and checks it against the model. A key that is wrong or missing is reported, and takes
/// its value from the model, so that one mistake does not hide the others.
///
/// # Errors
/// Every [`Mistake`] in the order of the lines; what the whole file lacks comes last.
pub fn read<T: DeserializeOwned>(
    text: &str,
    model: &'static str,
    problems: impl Fn(&T) -> Vec<Problem>,
) -> Result<T, Vec<Mistake>> {
    let (mut table, mut mistakes) = parse(text)?;
    let model = DeTable::parse_recoverable(model).0;
    let mut places = Vec::new();
    walk(table.get_ref(), &mut Vec::new(), &mut places);
    // Keys with values that are the model's.
    let mut stand_in: Vec<String> = Vec::new();
    while mistakes.count() < MOST {
        let error = match T::deserialize(Deserializer::from(table.clone())) {
            Ok(read) => {
                let found = problems(&read).into_iter();
                let real = found.filter(|problem| !stand_in.iter().any(|key| problem.is_about(key)));
                real.for_each(|problem| place(&mut mistakes, &places, &problem));
                return mistakes.none_in(read);
            }
            Err(error) => error,
        };
        let (place, lacks) = whereabouts(&places, &error);
        let (mut path, line) =
            place.map_or((Vec::new(), 0), |place| (place.path.clone(), mistakes.line(place.key.start)));
        let key = path.join(".");
        let missing = error.message().strip_prefix("missing field").map(|name| name.trim_matches([' ', '`']));
        if let Some(name) = missing.filter(|_| lacks) {
            path.push(name.to_owned());
            let table = if key.is_empty() { "the file".to_owned() } else { format!("[{key}]") };
            // What was taken away as a mistake is no second one.
            if !stand_in.contains(&path.join(".")) {
                mistakes.add(line, format!("{table} has no '{name}'"));
            }
        } else if path.is_empty() {
            mistakes.add(line, error.message().replace('`', "'"));
            break;
        } else {
            mistakes.add(line, spoken(&key, error.message(), of_path(model.get_ref(), &path)));
        }
        let again = stand_in.contains(&path.join("."));
        stand_in.push(path.join("."));
        if let Some(meant) = meant(error.message()) {
            // The key that was meant is not missing as well.
            let path = [&path[..path.len() - 1], &[meant]].concat();
            stand_in.push(path.join("."));
            if of_path(table.get_ref(), &path).is_none() {
                put(table.get_mut(), &path, of_path(model.get_ref(), &path).cloned());
            }
        }
        let known = of_path(model.get_ref(), &path).filter(|_| !again).cloned();
        let is_missing = missing.is_some() && known.is_none();
        put(table.get_mut(), &path, known);
        if is_missing {
            // The form of this value is unknown, so mistakes below it cannot be found.
            break;
        }
    }
    Err(mistakes.in_order())
}

/// The innermost key that an error is about, and whether that lacks something.
fn whereabouts<'a>(places: &'a [KeySpan], error: &toml::de::Error) -> (Option<&'a KeySpan>, bool) {
    let lacks = error.message().starts_with("missing field");
    let span = error.span();
    let at = |place: &&KeySpan| match &span {
        // A table that lacks something is meant as a whole.
        Some(span) if lacks => place.value == *span,
        Some(span) => place.covers(span.start),
        None => false,
    };
    (places.iter().filter(at).max_by_key(|place| place.path.len()), lacks)
}

/// Every key of a table and of those in it.
fn walk(table: &DeTable<'_>, path: &mut Vec<String>, places: &mut Vec<KeySpan>) {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        places.push(KeySpan { path: path.clone(), key: key.span(), value: value.span() });
        if let DeValue::Table(inner) = value.get_ref() {
            walk(inner, path, places);
        }
        path.pop();
    }
}

/// The value at a path.
fn of_path<'a, 'b>(table: &'a DeTable<'b>, path: &[String]) -> Option<&'a Spanned<DeValue<'b>>> {
    let (first, rest) = path.split_first()?;
    let value = table.get(first.as_str())?;
    match (rest, value.get_ref()) {
        ([], _) => Some(value),
        (rest, DeValue::Table(inner)) => of_path(inner, rest),
        _ => None,
    }
}

/// Puts a value at a path, or takes away what is there.
fn put<'b>(table: &mut DeTable<'b>, path: &[String], value: Option<Spanned<DeValue<'b>>>) {
    match (path, value) {
        ([], _) => {}
        ([last], None) => {
            table.remove(last.as_str());
        }
        ([last], Some(value)) => {
            let key = Spanned::new(value.span(), last.clone().into());
            table.remove(last.as_str());
            table.insert(key, value);
        }
        ([first, rest @ ..], value) => {
            if let Some(DeValue::Table(inner)) = table.get_mut(first.as_str()).map(Spanned::get_mut) {
                put(inner, rest, value);
            }
        }
    }
}

/// Adds a problem at the line of its key, or of the nearest table around it that the file has.
fn place(mistakes: &mut Mistakes<'_>, places: &[KeySpan], problem: &Problem) {
    let around = |place: &&KeySpan| {
        let name = place.name();
        problem.key == name || problem.key.strip_prefix(&name).is_some_and(|rest| rest.starts_with('.'))
    };
    let place = places.iter().filter(around).max_by_key(|place| place.path.len());
    mistakes.add(place.map_or(0, |place| mistakes.line(place.key.start)), problem.to_string());
}

/// The words in what serde says of one that it does not know: that one, and those that it does.
fn listed<'a>(message: &'a str, prefix: &str) -> Option<(&'a str, Vec<&'a str>)> {
    let mut quoted = message.strip_prefix(prefix)?.split('`').skip(1).step_by(2);
    Some((quoted.next()?, quoted.collect()))
}

/// The key that was meant by one that is not known.
fn meant(message: &str) -> Option<String> {
    let (name, known) = listed(message, "unknown field ")?;
    near(name, &known).map(str::to_owned)
}

/// What serde says of a key, as it is said to people; `model` is how the key is written rightly.
fn spoken(key: &str, message: &str, model: Option<&Spanned<DeValue<'_>>>) -> String {
    if let Some((name, known)) = listed(message, "unknown field ") {
        return format!("unknown key '{key}'{}", suggestion(name, &known));
    }
    if let Some((name, known)) = listed(message, "unknown variant ") {
        return format!("{key}: '{name}' is not possible{}", suggestion(name, &known));
    }
    let wrong = ["invalid type: ", "invalid value: "].iter().find_map(|prefix| message.strip_prefix(prefix));
    if let Some((found, wanted)) = wrong.and_then(|rest| rest.rsplit_once(", expected ")) {
        return format!("{key}: {} is wanted, not {}", wanted_word(wanted, model), found_word(found));
    }
    format!("{key}: {}", message.replace('`', "'"))
}

/// What a reader of values wants, in words; with an example where that is one word.
fn wanted_word(wanted: &str, model: Option<&Spanned<DeValue<'_>>>) -> String {
    let word = match wanted.trim_matches('`') {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 on",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "string" => "a text in quotes",
        "a sequence" => "a list in [ ]",
        "a map" => "a table",
        "a boolean" => "true or false",
        kind if kind.starts_with("struct ") => "a table",
        other => return other.to_owned(),
    };
    let example = match model.map(Spanned::get_ref) {
        Some(DeValue::Integer(number)) => Some(number.to_string().replace('_', "")),
        Some(DeValue::Float(number)) => Some(number.to_string()),
        Some(DeValue::String(text)) => Some(format!("\"{text}\"")),
        _ => None,
    };
    example.map_or_else(|| word.to_owned(), |example| format!("{word} such as {example}"))
}

/// What was found instead, in words.
fn found_word(found: &str) -> String {
    let bare = |rest: &str| rest.trim_matches('`').to_owned();
    for (kind, word) in [("integer ", ""), ("floating point ", ""), ("boolean ", ""), ("string ", "the text ")] {
        if let Some(rest) = found.strip_prefix(kind) {
            return format!("{word}{}", bare(rest));
        }
    }
    match found {
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        other => other.replace('`', "'"),
    }
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

    const MODEL: &str = "title = \"t\"\n[inner]\nrate = 500.0\nkind = \"constant\"\nnames = []\n";

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
        read(text, MODEL, negative).unwrap_err().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_mistake_is_told_with_line_key_and_suggestion() {
        let text = "titel = \"a\"\n[inner]\nrate = \"5\"\nkind = \"poison\"\nnames = [\"a\", 5]\nfoo = 1\n";
        assert_eq!(
            mistakes(text),
            [
                "line 1: unknown key 'titel'; did you mean 'title'?",
                "line 3: inner.rate: a number such as 500.0 is wanted, not the text \"5\"",
                "line 4: inner.kind: 'poison' is not possible; did you mean 'poisson'?",
                "line 5: inner.names: a text in quotes is wanted, not 5",
                "line 6: unknown key 'inner.foo'; possible are rate, kind, names",
            ]
        );
        assert_eq!(mistakes("\n\n[inner]\nrate = -1.0\n"), ["line 4: inner.rate: is negative"]);
        assert_eq!(mistakes("inner.rate = -1"), ["line 1: inner.rate: is negative"]);
    }

    #[test]
    fn broken_lines_are_told_and_nothing_else() {
        assert_eq!(mistakes("title = \"a\"\nrate 5\n[x\n").len(), 2);
        assert!(read("title = \"a\"\n[inner]\nrate = 5.0\n", MODEL, negative).is_ok());
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
        let told = |text: &str| read::<Needs>(text, "", |_| Vec::new()).unwrap_err()[0].to_string();
        assert_eq!(told("x = 1"), "the file has no 'inner'");
        assert_eq!(told("\n[inner]\n"), "line 2: [inner] has no 'rate'");
        assert_eq!(told("[inner]\nrate = 'x'\n"), "line 2: inner.rate: a number is wanted, not the text \"x\"");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(?s)[a-z\\[\\]=\"'.\\n 0-9#{},-]{0,200}") {
            let _ = read::<File>(&text, MODEL, negative);
        }

        #[test]
        fn any_keys_and_values_are_read_or_refused(
            lines in proptest::collection::vec(
                ("(title|inner|rate|kind|names|[a-z]{1,5})", "(1|-1.5|nan|\"x\"|true|\\[1\\]|\\{rate = 1\\})"),
                0..6,
            )
        ) {
            let text: String = lines.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
            if let Err(mistakes) = read::<File>(&text, MODEL, negative) {
                prop_assert!(!mistakes.is_empty());
            }
        }
    }
}
