//! Files that are a type, read by serde: after each mistake its key is given a right value, so that the next one shows.

use serde::de::DeserializeOwned;
use tiermark_model::messages::files as says;
use tiermark_model::{Note, near};
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
    pub fault: Note,
    /// Other keys without which it would be none.
    beside: Vec<&'static str>,
}

impl Problem {
    /// Makes one.
    pub fn new(key: impl Into<String>, fault: Note) -> Self {
        Self { key: key.into(), fault, beside: Vec::new() }
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

/// The mistake of a whole file that was not read as one.
impl From<Problem> for Mistake {
    fn from(problem: Problem) -> Self {
        Self { line: 0, key: problem.key, fault: problem.fault }
    }
}

/// Where a key stands.
struct KeySpan {
    path: Vec<String>,
    /// Whether it stands in a list of tables: another table of the list has the same keys.
    listed: bool,
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
    walk(table.get_ref(), &mut Vec::new(), false, &mut places);
    // Keys with values that are the model's.
    let mut stand_in: Vec<String> = Vec::new();
    while mistakes.count() < MOST {
        let error = match T::deserialize(Deserializer::from(table.clone())) {
            Ok(read) => {
                let found = problems(&read).into_iter();
                let real = found.filter(|problem| !stand_in.iter().any(|key| problem.is_about(key)));
                real.for_each(|problem| place(&mut mistakes, &places, problem));
                return mistakes.none_in(read);
            }
            Err(error) => error,
        };
        let (place, lacks) = whereabouts(&places, &error);
        let (mut path, line) =
            place.map_or((Vec::new(), 0), |place| (place.path.clone(), mistakes.line(place.key.start)));
        let missing = error.message().strip_prefix("missing field").map(|name| name.trim_matches([' ', '`']));
        if let Some(name) = missing.filter(|_| lacks) {
            path.push(name.to_owned());
            // What was taken away as a mistake is no second one.
            if !stand_in.contains(&path.join(".")) {
                mistakes.add(line, path.join("."), says::key_missing());
            }
        } else if path.is_empty() {
            mistakes.add(line, "", says::value_refused(&error.message().replace('`', "'")));
            break;
        } else {
            mistakes.add(line, path.join("."), fault(error.message(), of_path(model.get_ref(), &path)));
        }
        if place.is_some_and(|place| place.listed) {
            // The model has a list of its own, so that nothing stands for this key.
            break;
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

/// Every key of a table and of those in it, and each table of a list under the key of the list.
fn walk(table: &DeTable<'_>, path: &mut Vec<String>, listed: bool, places: &mut Vec<KeySpan>) {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        places.push(KeySpan { path: path.clone(), listed, key: key.span(), value: value.span() });
        match value.get_ref() {
            DeValue::Table(inner) => walk(inner, path, listed, places),
            DeValue::Array(all) => {
                for own in all {
                    let DeValue::Table(inner) = own.get_ref() else { continue };
                    places.push(KeySpan { path: path.clone(), listed: true, key: own.span(), value: own.span() });
                    walk(inner, path, true, places);
                }
            }
            _ => {}
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
fn place(mistakes: &mut Mistakes<'_>, places: &[KeySpan], problem: Problem) {
    let around = |place: &&KeySpan| {
        let name = place.name();
        problem.key == name || problem.key.strip_prefix(&name).is_some_and(|rest| rest.starts_with('.'))
    };
    let place = places.iter().filter(|place| !place.listed).filter(around).max_by_key(|place| place.path.len());
    mistakes.add(place.map_or(0, |place| mistakes.line(place.key.start)), problem.key, problem.fault);
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

/// The fault of a value that serde describes; `model` is how the value is written rightly.
fn fault(message: &str, model: Option<&Spanned<DeValue<'_>>>) -> Note {
    if let Some((name, known)) = listed(message, "unknown field ") {
        return says::key_unknown(name, &known);
    }
    if let Some((name, known)) = listed(message, "unknown variant ") {
        return says::choice_unknown(name, &known);
    }
    let wrong = ["invalid type: ", "invalid value: "].iter().find_map(|prefix| message.strip_prefix(prefix));
    if let Some((found, wanted)) = wrong.and_then(|rest| rest.rsplit_once(", expected ")) {
        let (wanted, has_example) = wanted_word(wanted);
        let example = model.filter(|_| has_example).and_then(example);
        return says::type_wrong(wanted, example.as_deref(), &found_word(found));
    }
    says::value_refused(&message.replace('`', "'"))
}

/// What a reader of values wants, in words; whether an example makes that clearer.
fn wanted_word(wanted: &str) -> (&str, bool) {
    let word = match wanted.trim_matches('`') {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 on",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "string" => "a text in quotes",
        "a sequence" => "a list in [ ]",
        "a map" => "a table",
        "a boolean" => "true or false",
        kind if kind.starts_with("struct ") => "a table",
        other => return (other, false),
    };
    (word, true)
}

/// A value as it is written, where that is one word.
fn example(value: &Spanned<DeValue<'_>>) -> Option<String> {
    match value.get_ref() {
        DeValue::Integer(number) => Some(number.to_string().replace('_', "")),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::String(text) => Some(format!("\"{text}\"")),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;
    use tiermark_model::Code;
    use tiermark_model::messages::files::codes;

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
        if file.inner.rate < 0.0 {
            vec![Problem::new("inner.rate", says::value_refused("is negative"))]
        } else {
            Vec::new()
        }
    }

    /// Line, key and code of each mistake.
    fn mistakes(text: &str) -> Vec<(usize, String, Code)> {
        let found = read(text, MODEL, negative).unwrap_err();
        found.into_iter().map(|mistake| (mistake.line, mistake.key, mistake.fault.code)).collect()
    }

    fn at(line: usize, key: &str, code: Code) -> (usize, String, Code) {
        (line, key.to_owned(), code)
    }

    #[test]
    fn every_mistake_is_told_with_line_key_and_suggestion() {
        let text = "titel = \"a\"\n[inner]\nrate = \"5\"\nkind = \"poison\"\nnames = [\"a\", 5]\nfoo = 1\n";
        assert_eq!(
            mistakes(text),
            [
                at(1, "titel", codes::key_unknown),
                at(3, "inner.rate", codes::type_wrong),
                at(4, "inner.kind", codes::choice_unknown),
                at(5, "inner.names", codes::type_wrong),
                at(6, "inner.foo", codes::key_unknown),
            ]
        );
        let found = read(text, MODEL, negative).unwrap_err();
        let text = |at: usize, name: &str| found[at].fault.data[name].as_str().unwrap().to_owned();
        assert_eq!([text(0, "name"), text(2, "word")], ["titel", "poison"]);
        assert_eq!([text(1, "example"), text(1, "found"), text(3, "found")], ["500.0", "the text \"5\"", "5"]);
        assert_eq!(found[4].fault.data["known"], serde_json::json!(["rate", "kind", "names"]));
        assert_eq!(mistakes("\n\n[inner]\nrate = -1.0\n"), [at(4, "inner.rate", codes::value_refused)]);
        assert_eq!(mistakes("inner.rate = -1"), [at(1, "inner.rate", codes::value_refused)]);
    }

    #[test]
    fn broken_lines_are_told_and_nothing_else() {
        assert_eq!(mistakes("title = \"a\"\nrate 5\n[x\n").len(), 2);
        assert!(read("title = \"a\"\n[inner]\nrate = 5.0\n", MODEL, negative).is_ok());
        let open = "title = \"a\"\n[inner]\nnames = [\"a\", \"b\"\nrate = 5.0\nkind = \"x\"\n\n[other]\nx = 1\n";
        let [(3..=4, _, code)] = &mistakes(open)[..] else { panic!("{:?}", mistakes(open)) };
        assert_eq!(*code, codes::list_unclosed);
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
        let first = |text: &str| {
            let Mistake { line, key, fault } = read::<Needs>(text, "", |_| Vec::new()).unwrap_err().swap_remove(0);
            (line, key, fault.code)
        };
        assert_eq!(first("x = 1"), at(0, "inner", codes::key_missing));
        assert_eq!(first("\n[inner]\n"), at(2, "inner.rate", codes::key_missing));
        assert_eq!(first("[inner]\nrate = 'x'\n"), at(2, "inner.rate", codes::type_wrong));
    }

    #[test]
    fn mistakes_in_lists_of_tables_have_a_line_and_a_key() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Units {
            #[serde(rename = "unit")]
            _unit: Vec<Unit>,
        }
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Unit {
            #[serde(rename = "kind")]
            _kind: Kind,
            #[serde(rename = "rates", default)]
            _rates: Vec<Inner>,
        }
        let first = |text: &str| {
            let Mistake { line, key, fault } = read::<Units>(text, "", |_| Vec::new()).unwrap_err().swap_remove(0);
            (line, key, fault.code)
        };
        let unit = "[[unit]]\nkind = 'poisson'\n\n";
        assert_eq!(first(&format!("{unit}[[unit]]\nkind = 'poison'\n")), at(5, "unit.kind", codes::choice_unknown));
        assert_eq!(first(&format!("{unit}[[unit]]\nkin = 'poisson'\n")), at(5, "unit.kin", codes::key_unknown));
        assert_eq!(first(&format!("{unit}[[unit]]\n")), at(4, "unit.kind", codes::key_missing));
        let rates = "[[unit]]\nkind = 'poisson'\nrates = [\n  { rate = 1.0 },\n  { rate = 'x' },\n]\n";
        assert_eq!(first(rates), at(5, "unit.rates.rate", codes::type_wrong));
        assert_eq!(first(&rates.replace("rate = 'x'", "speed = 1")), at(5, "unit.rates.speed", codes::key_unknown));
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
