//! Numbers of things and times as people write them: `75k`, `2m`.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::idset::IdSet;
use crate::units::{Bytes, parse_size};

/// A whole number.
///
/// # Errors
/// A message that says what to write instead.
pub fn parse_whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = text.trim().parse::<u64>().ok().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| "use a whole number, such as 42".into())
}

/// Reads whole numbers of a range; an error says what to write instead.
pub fn parse_within<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.trim().parse::<u64>().ok().filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match *range.end() {
            u64::MAX => format!("use a whole number from {} on", range.start()),
            most => format!("use a whole number from {} to {most}", range.start()),
        })
    }
}

/// The size of a footprint: above zero.
///
/// # Errors
/// A message that says what to write instead.
pub fn parse_footprint(text: &str) -> Result<Bytes, String> {
    match parse_size(text).map_err(|e| e.why)? {
        Bytes(0) => Err("a size of 0 bytes has no memory to measure; give at least 1K".into()),
        size => Ok(size),
    }
}

/// A number of things above 0: they are counted in powers of 1000, as in `3300000`, `100k` or `3M`.
///
/// # Errors
/// A message that says what to write instead.
pub fn parse_count(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[digits.len()..] {
        "" => 1,
        "k" | "K" => 1_000,
        "m" | "M" => 1_000_000,
        "g" | "G" => 1_000_000_000,
        _ => 0,
    };
    let number = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(scale)).filter(|n| *n > 0);
    number.ok_or_else(|| "use a number above 0, such as 3300000, 100k or 3M".into())
}

/// A time in seconds, above 0: `90`, `1.5`, `90s`, `2m`, `1h`.
///
/// # Errors
/// A message that says what to write instead.
pub fn parse_seconds(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.trim().strip_suffix(['s', 'm', 'h']) {
        Some(number) if text.ends_with('m') => (number, 60.0),
        Some(number) if text.ends_with('h') => (number, 3600.0),
        Some(number) => (number, 1.0),
        None => (text.trim(), 1.0),
    };
    let seconds = number.parse::<f64>().ok().map(|n| n * scale);
    seconds
        .filter(|s| *s > 0.0 && Duration::try_from_secs_f64(*s).is_ok())
        .ok_or_else(|| "use a number of seconds above 0, such as 90, or 2m".into())
}

/// A time in seconds as [`parse_seconds`] reads it, or none: `0`, `0s`.
///
/// # Errors
/// As [`parse_seconds`].
pub fn parse_seconds_or_none(text: &str) -> Result<f64, String> {
    if text.trim_end_matches('s') == "0" { Ok(0.0) } else { parse_seconds(text) }
}

/// Nodes in list format.
///
/// # Errors
/// A message that says what to write instead.
pub fn parse_nodes(text: &str) -> Result<IdSet, String> {
    match text.parse::<IdSet>() {
        Ok(nodes) if nodes.is_empty() => Err("it names no node; use 0-1,3".into()),
        Ok(nodes) => Ok(nodes),
        Err(error) => Err(error.to_string()),
    }
}

/// `1 cpu`, `3 cpus`.
pub fn count_of(number: u64, of: &str) -> String {
    if number == 1 { format!("1 {of}") } else { format!("{number} {of}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!(
            (parse_count("3300000"), parse_count("100k"), parse_count("2M")),
            (Ok(3_300_000), Ok(100_000), Ok(2_000_000))
        );
        assert_eq!((parse_seconds("2m"), parse_seconds("1.5s"), parse_seconds("1h")), (Ok(120.0), Ok(1.5), Ok(3600.0)));
        assert_eq!(
            (parse_seconds_or_none("0"), parse_seconds_or_none("0s"), parse_seconds_or_none("5")),
            (Ok(0.0), Ok(0.0), Ok(5.0))
        );
    }

    #[test]
    fn whole_numbers_are_of_their_range() {
        assert_eq!((parse_whole("42"), parse_within(1..=32)("32")), (Ok(42u64), Ok(32u8)));
        for bad in ["x", "", "-1", "1.5", "99999999999999999999"] {
            assert!(parse_whole::<u64>(bad).unwrap_err().contains("whole number"), "{bad}");
            assert!(parse_within::<u8>(1..=32)(bad).unwrap_err().contains("from 1 to 32"), "{bad}");
            assert!(parse_within::<u32>(1..=u64::MAX)(bad).unwrap_err().contains("from 1 on"), "{bad}");
        }
        assert!(parse_within::<u8>(1..=32)("0").is_err() && parse_within::<u8>(1..=32)("33").is_err());
        assert!(parse_whole::<u8>("256").is_err());
    }

    #[test]
    fn refuses_with_what_to_write_instead() {
        assert_eq!(parse_footprint("32K"), Ok(Bytes(32 << 10)));
        assert!(parse_footprint("0").unwrap_err().contains("1K"));
        assert!(parse_footprint("1.3").unwrap_err().contains("whole number of bytes"));
        for bad in ["0", "-1", "", "k", "3x", "99999999999999999999", "20000000000G", "ü"] {
            assert!(parse_count(bad).unwrap_err().contains("100k"), "{bad}");
        }
        for bad in ["0", "-1", "NaN", "inf", "1e400", "m"] {
            assert!(parse_seconds(bad).unwrap_err().contains("seconds"), "{bad}");
        }
    }
}
