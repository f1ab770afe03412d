//! Numbers of a scenario that may be written as on the command line: `records = "75k"`, `measure = "2m"`.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use tiermark_model::{parse_count, parse_seconds_or_none};

/// Reads a number, or the text of one.
pub(super) struct Written<T> {
    /// What is expected, in words.
    pub(super) form: &'static str,
    /// Reads a text.
    pub(super) text: fn(&str) -> Result<T, String>,
    /// Takes a whole number from 0 on.
    pub(super) whole: fn(u64) -> T,
    /// Takes any other number; `None` refuses it.
    pub(super) number: Option<fn(f64) -> T>,
}

impl<T> Visitor<'_> for Written<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.form)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.text)(text).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        Ok((self.whole)(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        match (u64::try_from(number), self.number) {
            (Ok(whole), _) => Ok((self.whole)(whole)),
            (Err(_), Some(take)) => Ok(take(number as f64)),
            (Err(_), None) => Err(E::custom(format!("{number} is negative"))),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.number.map(|take| take(number)).ok_or_else(|| E::invalid_type(Unexpected::Float(number), &self))
    }
}

/// Reads a number of things.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = |text: &str| parse_count(text).map_err(|why| format!("'{text}': {why}"));
    deserializer.deserialize_u64(Written { form: "a whole number from 0 on", text, whole: |count| count, number: None })
}

/// Reads a time in seconds.
pub(super) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let text = |text: &str| parse_seconds_or_none(text).map_err(|why| format!("'{text}': {why}"));
    let whole = |seconds| seconds as f64;
    deserializer.deserialize_f64(Written { form: "a number", text, whole, number: Some(|seconds| seconds) })
}

/// Reads an optional time in seconds.
pub(super) fn some_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    #[derive(Deserialize)]
    struct Seconds(#[serde(deserialize_with = "seconds")] f64);
    Option::<Seconds>::deserialize(deserializer).map(|read| read.map(|Seconds(seconds)| seconds))
}
