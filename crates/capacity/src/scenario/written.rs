//! Numbers of a scenario that may be written as on the command line: `records = "75k"`, `measure = "2m"`.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use tiermark_model::{parse_count, parse_seconds_or_none};

/// Reads a whole number.
struct Count;

impl Visitor<'_> for Count {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("u64")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        parse_count(text).map_err(|why| E::custom(format!("'{text}': {why}")))
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<u64, E> {
        Ok(count)
    }

    fn visit_i64<E: Error>(self, count: i64) -> Result<u64, E> {
        u64::try_from(count).map_err(|_| E::custom(format!("{count} is negative")))
    }
}

/// Reads a number of things.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_any(Count)
}

/// Reads a time, and keeps seconds.
struct Seconds(f64);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Seconds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("f64")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Seconds, E> {
                parse_seconds_or_none(text).map(Seconds).map_err(|why| E::custom(format!("'{text}': {why}")))
            }

            fn visit_f64<E: Error>(self, seconds: f64) -> Result<Seconds, E> {
                Ok(Seconds(seconds))
            }

            fn visit_u64<E: Error>(self, seconds: u64) -> Result<Seconds, E> {
                Ok(Seconds(seconds as f64))
            }

            fn visit_i64<E: Error>(self, seconds: i64) -> Result<Seconds, E> {
                Ok(Seconds(seconds as f64))
            }
        }
        deserializer.deserialize_any(Read)
    }
}

/// Reads a time in seconds.
pub(super) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Seconds::deserialize(deserializer).map(|seconds| seconds.0)
}

/// Reads an optional time in seconds.
pub(super) fn some_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Option::<Seconds>::deserialize(deserializer).map(|seconds| seconds.map(|seconds| seconds.0))
}
