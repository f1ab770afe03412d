//! A part of a TOML file that serde reads into a type: what is wrong with it is a value, with its key and its place.

use std::fmt::Display;

use serde::de::value::{SeqDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use toml::Spanned;
use toml::de::{DeString, DeValue};

/// Why a part of a file was not read.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    /// The keys of the tables around the key, then the key; for a missing key, only the tables. Empty for the whole
    /// file.
    pub(crate) path: Vec<String>,
    /// The byte at which the key, or the table in a list, begins; `None` for the whole file.
    pub(crate) at: Option<usize>,
    /// Whether the key is in a list of tables: another table of the list has the same keys.
    pub(crate) listed: bool,
}

/// What is wrong.
#[derive(Debug)]
pub(crate) enum FaultKind {
    /// A key that the table does not have, and those that it has.
    UnknownKey(String, &'static [&'static str]),
    /// A word that is no choice, and the choices.
    UnknownChoice(String, &'static [&'static str]),
    /// The key that a table lacks.
    Missing(&'static str),
    /// Another value than the type has.
    Type {
        /// The expected form in words, for a built-in type of Rust.
        wanted: Option<&'static str>,
        /// The expected form, as the type's reader states it.
        expected: String,
        /// What there is.
        found: String,
    },
    /// The reader of the type gives this reason.
    Refused(String),
}

impl Fault {
    fn new(kind: FaultKind) -> Self {
        Self { kind, path: Vec::new(), at: None, listed: false }
    }

    fn of_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match found {
            Unexpected::Bool(value) => value.to_string(),
            Unexpected::Unsigned(number) => number.to_string(),
            Unexpected::Signed(number) => number.to_string(),
            Unexpected::Float(number) => format!("{number:?}"),
            Unexpected::Str(text) => format!("the text {text:?}"),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Map => "a table".to_owned(),
            other => other.to_string().replace('`', "'"),
        };
        Self::new(FaultKind::Type { wanted: None, expected: expected.to_string(), found })
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:?}", self.path.join("."), self.kind)
    }
}

impl std::error::Error for Fault {}

impl Error for Fault {
    fn custom<T: Display>(why: T) -> Self {
        Self::new(FaultKind::Refused(why.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::of_type(found, expected)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::of_type(found, expected)
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        Self::new(FaultKind::UnknownKey(name.to_owned(), known))
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        Self::new(FaultKind::UnknownChoice(word.to_owned(), known))
    }

    fn missing_field(name: &'static str) -> Self {
        Self::new(FaultKind::Missing(name))
    }
}

/// A value of a file, or all of it.
#[derive(Debug, Clone)]
pub(crate) struct Node<'a> {
    value: &'a DeValue<'a>,
    path: Vec<String>,
    /// See [`Fault`].
    at: Option<usize>,
    listed: bool,
}

impl<'a> Node<'a> {
    /// A whole file.
    pub(crate) fn whole(value: &'a DeValue<'a>) -> Self {
        Self { value, path: Vec::new(), at: None, listed: false }
    }

    /// The value of a key of this table.
    fn of_key(&self, key: &Spanned<DeString<'_>>, value: &'a DeValue<'a>) -> Self {
        let path = [self.path.as_slice(), &[key.get_ref().to_string()]].concat();
        Self { value, path, at: Some(key.span().start), listed: self.listed }
    }

    /// An item of this list: a table has a place of its own.
    fn of_item(&self, item: &'a Spanned<DeValue<'a>>) -> Self {
        let value = item.get_ref();
        match value {
            DeValue::Table(_) => Self { value, path: self.path.clone(), at: Some(item.span().start), listed: true },
            _ => Self { value, ..self.clone() },
        }
    }

    /// Adds the place to a fault that has none: that of an unknown key, else of this value. `wanted`: the expected
    /// form, in words.
    fn fault(&self, mut fault: Fault, wanted: Option<&'static str>) -> Fault {
        if fault.at.is_none() {
            let key = match (&fault.kind, self.value) {
                (FaultKind::UnknownKey(name, _), DeValue::Table(table)) => {
                    table.iter().find(|(key, _)| key.get_ref() == name)
                }
                _ => None,
            };
            let place = key.map_or_else(|| self.clone(), |(key, value)| self.of_key(key, value.get_ref()));
            (fault.path, fault.at, fault.listed) = (place.path, place.at, place.listed);
            if let FaultKind::Type { wanted: own, .. } = &mut fault.kind {
                *own = own.or(wanted);
            }
        }
        fault
    }

    fn read<'de, V: Visitor<'de>>(self, visitor: V, wanted: Option<&'static str>) -> Result<V::Value, Fault> {
        let read = match self.value {
            DeValue::String(text) => visitor.visit_str(text),
            DeValue::Integer(number) => {
                let digits = number.as_str().replace('_', "");
                let (signed, whole) = (i64::from_str_radix, u64::from_str_radix);
                match (signed(&digits, number.radix()), whole(&digits, number.radix())) {
                    (Ok(number), _) => visitor.visit_i64(number),
                    (_, Ok(number)) => visitor.visit_u64(number),
                    _ => Err(Fault::custom(format!("{digits} is out of range"))),
                }
            }
            DeValue::Float(number) => match number.as_str().replace('_', "").parse() {
                Ok(number) => visitor.visit_f64(number),
                Err(_) => Err(Fault::custom(format!("{} is no number", number.as_str()))),
            },
            DeValue::Boolean(value) => visitor.visit_bool(*value),
            DeValue::Datetime(_) => Err(Fault::invalid_type(Unexpected::Other("a date"), &visitor)),
            DeValue::Array(items) => {
                visitor.visit_seq(SeqDeserializer::new(items.iter().map(|item| self.of_item(item))))
            }
            DeValue::Table(table) => {
                let entries =
                    table.iter().map(|(key, value)| (key.get_ref().as_ref(), self.of_key(key, value.get_ref())));
                visitor.visit_map(Entries { entries, value: None })
            }
        };
        read.map_err(|fault| self.fault(fault, wanted))
    }
}

impl IntoDeserializer<'_, Fault> for Node<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The entries of a table. A reader may refuse a value after it was read: the place is that of its key.
struct Entries<'a, I> {
    entries: I,
    /// The value whose key was read last.
    value: Option<Node<'a>>,
}

impl<'de, 'a, I: Iterator<Item = (&'a str, Node<'a>)>> MapAccess<'de> for Entries<'a, I> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        self.value = Some(value);
        let key: StrDeserializer<'_, Fault> = key.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let value = self.value.take().ok_or_else(|| Fault::custom("a value without its key"))?;
        seed.deserialize(value.clone()).map_err(|fault| value.fault(fault, None))
    }
}

/// What readers of types of Rust want, in words.
macro_rules! wanting {
    ($($words:literal: $($method:ident)+;)+) => {
        $($(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.read(visitor, Some($words))
        })+)+
    };
}

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = Fault;

    wanting! {
        "a whole number from 0 on": deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64;
        "a whole number": deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64;
        "a number": deserialize_f32 deserialize_f64;
        "a text in quotes": deserialize_str deserialize_string deserialize_char;
        "a list in [ ]": deserialize_seq;
        "a table": deserialize_map;
        "true or false": deserialize_bool;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.read(visitor, None)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.read(visitor, Some("a table"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let DeValue::String(word) = self.value else { return self.read(visitor, Some("a text in quotes")) };
        let word: StrDeserializer<'_, Fault> = word.as_ref().into_deserializer();
        visitor.visit_enum(word).map_err(|fault| self.fault(fault, None))
    }

    forward_to_deserialize_any! {
        i128 u128 bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}
