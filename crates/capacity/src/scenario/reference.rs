//! Every key of a scenario file for those who write one: asked from the definitions and from the parser itself.

use tiermark_load::KEY_FORMS;
use tiermark_model::Bytes;
use tiermark_model::messages::files::codes;
use toml::{Table, Value};

use super::tables::{ABOVE_ZERO, ANY};
use super::{Key, Load, MODEL, Scenario, SearchLimits, Tenant, Times};
use crate::level::Level;

/// The form of a key whose words the parser knows.
const CHOICE: &str = "choice";
/// The form of a key that is a table by itself.
const TABLE: &str = "table";

/// The tables of the file, by their names; the keys of the first stand before all tables.
const TABLES: [(&str, &[Key]); 6] = [
    ("", Scenario::KEYS),
    ("tenant", Tenant::KEYS),
    ("load", Load::KEYS),
    ("time", Times::KEYS),
    ("level", Level::KEYS),
    ("limits", SearchLimits::KEYS),
];

/// The smallest and the largest value of a key such as `time.settle`; unlimited if its definition states no range.
pub(super) fn range(key: &str) -> (f64, f64) {
    let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
    let keys = TABLES.iter().filter(|(own, _)| *own == table).flat_map(|(_, keys)| keys.iter());
    let key_range = |key: &Key| key.range.filter(|_| name_of(key) == name);
    keys.filter_map(key_range).next().unwrap_or((-ANY, ANY))
}

/// How a number of a key is written, with its range.
fn form_of(key: &Key) -> String {
    let Some((least, most)) = key.range else { return key.form.to_owned() };
    let shown =
        |number: f64| if key.form.contains("size") { Bytes(number as u64).to_string() } else { number.to_string() };
    let least = if least == ABOVE_ZERO { "above 0".to_owned() } else { shown(least) };
    match (least.as_str(), most) {
        ("above 0", most) => format!("{}, above 0, at most {}", key.form, shown(most)),
        (least, ANY) => format!("{}, at least {least}", key.form),
        (least, most) => format!("{}, {least} to {}", key.form, shown(most)),
    }
}

/// The value of a key that is missing from the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unnamed {
    /// The file must name it.
    Required,
    /// It has this value, as it would be written.
    Value(String),
    /// It is not set.
    Unset,
}

/// A key of a scenario file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// The table that it stands in; empty for keys before all tables.
    pub table: &'static str,
    /// Its name, as it is written.
    pub name: String,
    /// The meaning of the key: one or more sentences from its definition.
    pub about: String,
    /// How its value is written, with the unit; of a choice all words.
    pub form: String,
    /// What it has where it is not named.
    pub unnamed: Unnamed,
}

/// All keys, in the order of the file.
pub fn reference() -> Vec<KeyRow> {
    let model: Table = MODEL.parse().unwrap_or_default();
    let all = || TABLES.iter().flat_map(|(table, keys)| keys.iter().map(move |key| (*table, key)));
    let keys = all().filter(|(_, key)| key.form != TABLE);
    // A default may contradict the other values of the model, which is another mistake.
    let optional = |table: &str, name: &str| match Scenario::read(&without(&model, table, name).to_string()) {
        Ok(_) => true,
        Err(mistakes) => !mistakes.iter().any(|mistake| mistake.fault.code == codes::key_missing),
    };
    let least = keys.clone().fold(model.clone(), |left, (table, key)| {
        let name = name_of(key);
        if optional(table, &name) { without(&left, table, &name) } else { left }
    });
    // What the parser makes of a file with the keys alone that it must have.
    let filled = Scenario::read(&least.to_string()).ok().and_then(|scenario| Table::try_from(&scenario).ok());
    let filled = filled.unwrap_or_default();
    keys.map(|(table, key)| {
        let name = name_of(key);
        let unnamed = match (optional(table, &name), value(&filled, table, &name)) {
            (false, _) => Unnamed::Required,
            (true, Some(value)) => Unnamed::Value(value.to_string()),
            (true, None) => Unnamed::Unset,
        };
        let about = key.about.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        let form = match key.form {
            CHOICE => choices(&model, table, &name).join(", "),
            KEY_FORMS => format!("list of {KEY_FORMS}"),
            _ => form_of(key),
        };
        KeyRow { table, name, about, form, unnamed }
    })
    .collect()
}

fn name_of(key: &Key) -> String {
    key.field.replace('_', "-")
}

fn value<'a>(file: &'a Table, table: &str, name: &str) -> Option<&'a Value> {
    if table.is_empty() { file.get(name) } else { file.get(table)?.get(name) }
}

/// The table that a key stands in; made where the file does not have it.
fn table_of<'a>(file: &'a mut Table, table: &str) -> Option<&'a mut Table> {
    if table.is_empty() {
        return Some(file);
    }
    file.entry(table).or_insert_with(|| Value::Table(Table::new())).as_table_mut()
}

fn without(file: &Table, table: &str, name: &str) -> Table {
    let mut file = file.clone();
    if let Some(of) = table_of(&mut file, table) {
        of.remove(name);
    }
    file
}

/// The words that a key accepts: the parser lists them when it rejects an unknown word.
fn choices(model: &Table, table: &str, name: &str) -> Vec<String> {
    let mut file = model.clone();
    if let Some(of) = table_of(&mut file, table) {
        of.insert(name.to_owned(), Value::String("?".to_owned()));
    }
    let mistakes = Scenario::read(&file.to_string()).err().unwrap_or_default();
    let unknown = mistakes.iter().find(|mistake| mistake.fault.code == codes::choice_unknown);
    let known = unknown.and_then(|mistake| mistake.fault.data.get("known")?.as_array());
    known.into_iter().flatten().filter_map(|word| word.as_str().map(|word| format!("\"{word}\""))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys that the parser knows in a table: what it offers in place of one that it does not know.
    fn known(table: &str) -> Vec<String> {
        let mut file: Table = MODEL.parse().unwrap();
        table_of(&mut file, table).unwrap().insert("zzzzzzzz".to_owned(), Value::Boolean(true));
        let mistakes = Scenario::read(&file.to_string()).unwrap_err();
        let known = mistakes[0].fault.data["known"].as_array().unwrap().iter();
        known.map(|name| name.as_str().unwrap().to_owned()).collect()
    }

    /// A number as a file has it: as whole as it is.
    fn written(number: f64) -> Value {
        if number.fract() == 0.0 { Value::Integer(number as i64) } else { Value::Float(number) }
    }

    #[test]
    fn the_parser_takes_the_ranges_that_the_reference_has() {
        // A budget for the largest tenant, and no level that needs many requests.
        let model = MODEL.replace("\"512M\"", "\"1000T\"").replace("p99 <", "max <");
        let model: Table = model.replace("\"off\"", "\"64M\"\nmaxmemory-policy = \"allkeys-lru\"").parse().unwrap();
        let ranged = TABLES.iter().flat_map(|(table, keys)| keys.iter().map(move |key| (*table, key)));
        let ranged: Vec<_> = ranged.filter_map(|(table, key)| Some((table, key, key.range?))).collect();
        assert!(ranged.len() >= 15, "{}", ranged.len());
        for (table, key, (least, most)) in ranged {
            let name = name_of(key);
            let at = format!("{table}.{name}");
            let is_refused = |number: f64| {
                let mut file = model.clone();
                let is_list = value(&model, table, &name).is_some_and(Value::is_array);
                let number = if is_list { Value::Array(vec![Value::Float(number)]) } else { written(number) };
                table_of(&mut file, table).unwrap().insert(name.clone(), number);
                let mistakes = Scenario::read(&file.to_string()).err().unwrap_or_default();
                mistakes.iter().any(|mistake| mistake.key == at && mistake.fault.text.contains("out of range"))
            };
            for outside in
                [least / 2.0 - 0.01, most * 1.5].into_iter().filter(|number| *number > 0.0 && number.is_finite())
            {
                let whole = if least.fract() == 0.0 && least >= 1.0 { outside.floor() } else { outside };
                assert!(is_refused(whole), "{at} = {whole}");
            }
            assert!(!is_refused(least), "{at} = {least}");
            assert!(!is_refused(most.min(1e15)), "{at} = {most}");
        }
    }

    #[test]
    fn every_key_of_the_parser_has_a_row_with_its_form_and_default() {
        let rows = reference();
        for (table, keys) in TABLES {
            let own: Vec<String> = keys.iter().map(name_of).collect();
            // serde lists old names of a key beside it.
            let listed: Vec<String> = known(table).into_iter().filter(|name| !name.contains("probe")).collect();
            assert_eq!(own, listed, "{table}");
        }
        for row in &rows {
            assert!(row.about.len() > 10 && row.about.ends_with('.') && !row.form.is_empty(), "{row:?}");
        }
        let of = |table: &str, name: &str| rows.iter().find(|row| row.table == table && row.name == name).unwrap();
        for required in [("", "name"), ("", "tiers"), ("", "dram-budget"), ("tenant", "records"), ("load", "rate")] {
            assert_eq!(of(required.0, required.1).unnamed, Unnamed::Required, "{required:?}");
        }
        assert_eq!(of("time", "settle").unnamed, Unnamed::Value("120.0".into()));
        assert_eq!(of("limits", "memory-floor").unnamed, Unnamed::Value("\"512 MiB\"".into()));
        assert_eq!((&of("", "seed").unnamed, &of("limits", "tenants").unnamed), (&Unnamed::Unset, &Unnamed::Unset));
        let keys =
            "list of uniform, brief:WIDTH, normal[:SIGMA[,MEAN]], zipf:EXPONENT, hotspot:KEYS,REQUESTS, sequential";
        assert_eq!(of("load", "keys").form, keys);
        assert_eq!(of("load", "rate").form, "requests/s, above 0, at most 10000000");
        assert_eq!(of("limits", "most-tenants").form, "number, 1 to 100000");
        assert_eq!(of("tenant", "value").form, "size, 1 B to 512 MiB");
        assert_eq!(of("tenant", "maxmemory").form, "\"off\" or a size, at least 4 MiB");
        assert_eq!(of("", "backend").form, "\"process\", \"qemu\", \"external\"");
        let policies = "\"noeviction\", \"allkeys-lru\", \"allkeys-lfu\", \"allkeys-random\"";
        assert_eq!(of("tenant", "maxmemory-policy").form, policies);
        assert_eq!(of("tenant", "maxmemory").unnamed, Unnamed::Value("\"off\"".into()));
    }
}
