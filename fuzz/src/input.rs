//! What a target makes of the fuzzer's bytes where bytes alone would rarely get past a checksum or a bracket.

use serde_json::{Value, json};

/// The bytes, taken from the front; zeros where there are no more.
pub(crate) struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// One byte.
    pub(crate) fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or_default()
    }

    /// A number below a limit; 0 for a limit of 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let number = usize::from(self.byte()) << 8 | usize::from(self.byte());
        if limit == 0 { 0 } else { number % limit }
    }

    /// So many bytes, or what is left.
    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Bytes up to the next zero, which is left out.
    pub(crate) fn until_zero(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let taken = self.take(end);
        self.take(1);
        taken
    }

    /// Text up to the next zero.
    pub(crate) fn text(&mut self) -> String {
        String::from_utf8_lossy(self.until_zero()).into_owned()
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Most changes of one document.
const MOST_EDITS: usize = 24;

/// A document with some of its values changed: each edit is the number of a value in the order of the text, what is
/// done to it, and for a text its bytes up to a zero.
pub(crate) fn edited(mut document: Value, input: &mut Input<'_>) -> Value {
    for _ in 0..MOST_EDITS {
        if input.is_empty() {
            break;
        }
        let count = values(&document);
        let mut at = input.below(count);
        let value = replacement(input);
        edit(&mut document, &mut at, value);
    }
    document
}

/// What an edit does.
enum Edit {
    /// Another value in its place.
    Put(Value),
    /// The last member goes, or the value becomes null.
    Pop,
    /// The first member once more at the end.
    Again,
}

fn replacement(input: &mut Input<'_>) -> Edit {
    let numbers = [
        json!(0),
        json!(-1),
        json!(1),
        json!(2),
        json!(63),
        json!(64),
        json!(65),
        json!(4096),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(u32::MAX),
        json!(1e300),
        json!(-1e300),
        json!(1e-300),
        json!(0.5),
        json!(-0.0),
        json!(f64::MAX),
        json!(f64::MIN_POSITIVE),
    ];
    match input.byte() % 32 {
        at if usize::from(at) < numbers.len() => Edit::Put(numbers[usize::from(at)].clone()),
        18 => Edit::Put(Value::Null),
        19 => Edit::Put(json!(true)),
        20 => Edit::Put(json!([])),
        21 => Edit::Put(json!({})),
        22 | 23 => Edit::Pop,
        24 | 25 => Edit::Again,
        26 => Edit::Put(json!(u64::from(input.byte()) << (input.byte() % 57))),
        27 => Edit::Put(json!(f64::from(input.byte()) * 10f64.powi(i32::from(input.byte() as i8)))),
        _ => Edit::Put(json!(input.text())),
    }
}

/// Values in a document, with those that hold others.
fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(values).sum(),
        Value::Object(map) => map.values().map(values).sum(),
        _ => 0,
    }
}

/// Does it to the value that `at` counts down to. Recursion is as deep as the seed's own nesting.
fn edit(value: &mut Value, at: &mut usize, change: Edit) -> Option<Edit> {
    if *at == 0 {
        match (change, value) {
            (Edit::Put(new), value) => *value = new,
            (Edit::Pop, Value::Array(list)) => drop(list.pop()),
            (Edit::Again, Value::Array(list)) => list.extend(list.first().cloned()),
            (Edit::Pop, Value::Object(map)) => drop(map.keys().next_back().cloned().and_then(|key| map.remove(&key))),
            (_, value) => *value = Value::Null,
        }
        return None;
    }
    *at -= 1;
    let members: Box<dyn Iterator<Item = &mut Value>> = match value {
        Value::Array(list) => Box::new(list.iter_mut()),
        Value::Object(map) => Box::new(map.values_mut()),
        _ => return Some(change),
    };
    let mut change = Some(change);
    for member in members {
        change = edit(member, at, change.take()?);
        change.as_ref()?;
    }
    change
}

/// Documents, one a line, with values changed, lines left out and the end cut off.
pub(crate) fn edited_lines(seed: &str, input: &mut Input<'_>) -> Vec<u8> {
    let mut lines: Vec<Value> = seed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let cut = usize::from(input.byte());
    for _ in 0..MOST_EDITS {
        if input.is_empty() || lines.is_empty() {
            break;
        }
        let at = input.below(lines.len());
        match input.byte() % 16 {
            0 => drop(lines.remove(at)),
            1 => lines.push(lines[at].clone()),
            _ => {
                let mut own = Input(input.until_zero());
                let line = std::mem::take(&mut lines[at]);
                lines[at] = edited(line, &mut own);
            }
        }
    }
    let mut bytes: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    bytes.truncate(bytes.len().saturating_sub(cut));
    bytes
}
