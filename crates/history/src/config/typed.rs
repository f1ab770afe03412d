//! Files that are a type, read by serde: after each mistake its key is given a right value, so that the next one shows.

use serde::de::DeserializeOwned;
use tiermark_model::messages::files as says;
use tiermark_model::{Note, near};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::mistakes::{Mistake, parse};
use crate::config::node::{Fault, FaultKind, Node};

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
    let written = table.clone();
    let model = DeTable::parse_recoverable(model).0;
    // Keys with values that are the model's.
    let mut stand_in: Vec<String> = Vec::new();
    while mistakes.count() < MOST {
        let whole = DeValue::Table(table.get_ref().clone());
        let fault = match T::deserialize(Node::whole(&whole)) {
            Ok(read) => {
                for problem in problems(&read) {
                    if !stand_in.iter().any(|key| problem.is_about(key)) {
                        let line = nearest_key(written.get_ref(), &problem.key).map_or(0, |at| mistakes.line(at));
                        mistakes.add(line, problem.key, problem.fault);
                    }
                }
                return mistakes.none_in(read);
            }
            Err(fault) => fault,
        };
        let Fault { kind, mut path, at, listed } = fault;
        let line = at.map_or(0, |at| mistakes.line(at));
        if let FaultKind::Missing(name) = &kind {
            path.push((*name).to_owned());
        }
        let key = path.join(".");
        let right = of_path(model.get_ref(), &path);
        let again = stand_in.contains(&key);
        match &kind {
            // What was taken away as a mistake is no second one.
            FaultKind::Missing(_) if again => {}
            _ => mistakes.add(line, key.clone(), note(&kind, right)),
        }
        // The model has a list of its own, so that nothing stands for this key.
        if path.is_empty() || listed {
            break;
        }
        stand_in.push(key);
        if let FaultKind::UnknownKey(name, known) = &kind
            && let Some(meant) = near(name, known)
        {
            // The key that was meant is not missing as well.
            let path = [&path[..path.len() - 1], &[meant.to_owned()]].concat();
            stand_in.push(path.join("."));
            if of_path(table.get_ref(), &path).is_none() {
                put(table.get_mut(), &path, of_path(model.get_ref(), &path).cloned());
            }
        }
        let right = right.filter(|_| !again).cloned();
        // The form of a value that no model has is unknown, so mistakes below it cannot be found.
        let is_unknown = matches!(kind, FaultKind::Missing(_)) && right.is_none();
        put(table.get_mut(), &path, right);
        if is_unknown {
            break;
        }
    }
    Err(mistakes.in_order())
}

/// The byte at which a key begins, or the nearest table around it that the file has; `None` for the whole file.
fn nearest_key(table: &DeTable<'_>, key: &str) -> Option<usize> {
    table.iter().find_map(|(name, value)| {
        let rest = key.strip_prefix(name.get_ref().as_ref())?;
        let below = match (rest.strip_prefix('.'), value.get_ref()) {
            (None, _) if !rest.is_empty() => return None,
            (Some(rest), DeValue::Table(inner)) => nearest_key(inner, rest),
            _ => None,
        };
        Some(below.unwrap_or(name.span().start))
    })
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

/// What is wrong; `right` is how the value is written rightly.
fn note(kind: &FaultKind, right: Option<&Spanned<DeValue<'_>>>) -> Note {
    match kind {
        FaultKind::UnknownKey(name, known) => says::key_unknown(name, known),
        FaultKind::UnknownChoice(word, known) => says::choice_unknown(word, known),
        FaultKind::Missing(_) => says::key_missing(),
        FaultKind::Type { wanted: Some(wanted), found, .. } => {
            says::type_wrong(wanted, right.and_then(example).as_deref(), found)
        }
        FaultKind::Type { wanted: None, expected, found } => says::type_wrong(expected, None, found),
        FaultKind::Refused(why) => says::value_refused(&why.replace('`', "'")),
    }
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

#[cfg(test)]
mod tests {
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
}
