//! A first pass over a document: the schema that it names, and what its free data would take in memory.
//!
//! Most of a document has types, and takes some times its length in memory. What messages and requests hold as data has
//! none: `{"a":0}` takes a hundred times its length. So it is counted first, in no memory.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};

/// Bytes that a value of an object takes at most: a node of a B-tree with room for eleven, and the text of a key.
const OBJECT: u64 = 700;
/// Bytes that an element of an array takes at most: a value of 32 bytes, in an array that grows by doubling.
const ELEMENT: u64 = 64;

/// Sizes that the pass found.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Weighed {
    /// The schema; `None` where the document names none.
    pub(crate) schema: Option<String>,
    /// Bytes that its free data would take at most.
    pub(crate) free_bytes: u64,
}

/// Bytes that the free data of a document would take if all of it were free: a member of an object has a colon, and an
/// element of an array stands behind a comma or a bracket.
pub(crate) fn heaviest(document: &[u8]) -> u64 {
    let weight = |byte: &u8| match byte {
        b':' => OBJECT,
        b',' | b'[' => ELEMENT,
        _ => 0,
    };
    document.iter().map(weight).sum()
}

/// Looks through a document.
///
/// # Errors
/// Errors of the JSON parser.
pub(crate) fn weigh(bytes: &[u8]) -> serde_json::Result<Weighed> {
    let mut found = Weighed::default();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    Look { found: &mut found, place: Place::Top }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(found)
}

/// Position of a value in the document.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    /// The document itself.
    Top,
    /// The value of its key `schema`.
    Schema,
    /// A part whose form the schema fixes.
    Typed,
    /// A part of free form.
    Free,
}

struct Look<'a> {
    found: &'a mut Weighed,
    place: Place,
}

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        if self.place == Place::Schema {
            self.found.schema = Some(text.to_owned());
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let place = if self.place == Place::Free { Place::Free } else { Place::Typed };
        while elements.next_element_seed(Look { found: self.found, place })?.is_some() {
            self.found.free_bytes += if place == Place::Free { ELEMENT } else { 0 };
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(place) = members.next_key_seed(Key(self.place))? {
            self.found.free_bytes += if place == Place::Free { OBJECT } else { 0 };
            members.next_value_seed(Look { found: self.found, place })?;
        }
        Ok(())
    }
}

/// A key of an object that stands there: where its value does.
struct Key(Place);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Place;
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Place, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Place;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E>(self, key: &str) -> Result<Place, E> {
        Ok(match (self.0, key) {
            (Place::Free, _) | (_, "data" | "params") => Place::Free,
            (Place::Top, "schema") => Place::Schema,
            _ => Place::Typed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_free_data_weighs() {
        let weighed = |text: &str| weigh(text.as_bytes()).unwrap();
        let plain = weighed(r#"{"schema": "a\u0062", "x": [{"schema": "c"}, [1, 2.5, -3, null, true]]}"#);
        assert_eq!(plain, Weighed { schema: Some("ab".into()), free_bytes: 0 });
        assert_eq!(weighed("[7]"), Weighed::default());
        let free = weighed(r#"{"schema": 1, "x": [{"data": {"a": [1, {"b": 2}]}}], "params": 3}"#);
        // "data" and "params" themselves, "a" and "b"; two elements.
        assert_eq!(free, Weighed { schema: None, free_bytes: 4 * OBJECT + 2 * ELEMENT });
        for text in [r#"{"data":{"a":[1,[],{"b":[[2]]}],"c":{}}}"#, r#"{"data":[[[],3],"d",{":":null}]}"#, "{}"] {
            let free = weighed(text).free_bytes;
            assert!((free..2 * free + 1).contains(&heaviest(text.as_bytes())), "{text} {free}");
        }
        assert!(weigh(b"{} x").is_err() && weigh(b"{").is_err());
    }
}
