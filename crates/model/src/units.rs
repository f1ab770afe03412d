//! Sizes and rates: parsing of typed text, and printing.
//!
//! Sizes are IEC (KiB = 2¹⁰ bytes) because caches and pages are powers of two; bandwidth is
//! decimal (GB/s = 10⁹ bytes a second) because data sheets, STREAM and every peer use it.

use std::fmt;
use std::num::ParseFloatError;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A number of bytes. Prints as an exact IEC size (`32 KiB`, `1.25 MiB`, `37 B`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// One KiB in bytes.
pub const KIB: u64 = 1 << 10;
/// One MiB in bytes.
pub const MIB: u64 = 1 << 20;
/// One GiB in bytes.
pub const GIB: u64 = 1 << 30;

impl Bytes {
    /// The size as one types it for an option, without loss: `16K`, `130M`, `1000`.
    pub fn typed(self) -> String {
        let units = [(GIB, "G"), (MIB, "M"), (KIB, "K")];
        let whole = units.into_iter().find(|(scale, _)| self.0 > 0 && self.0.is_multiple_of(*scale));
        whole.map_or_else(|| self.0.to_string(), |(scale, unit)| format!("{}{unit}", self.0 / scale))
    }

    /// In short, for axes and heads: `32K`, `1.5M`.
    pub fn short(self) -> String {
        let (number, prefix) = self.scaled();
        number + prefix
    }

    /// The number as it is shown, and the prefix of its unit.
    fn scaled(self) -> (String, &'static str) {
        let scales = [(1u64 << 40, "T"), (GIB, "G"), (MIB, "M"), (KIB, "K")];
        let Some((scale, prefix)) = scales.into_iter().find(|(scale, _)| self.0 >= *scale) else {
            return (self.0.to_string(), "");
        };
        // Two decimals show 1.25 and 1.75 MiB caches exactly; whole sizes stay short.
        let number = format!("{:.2}", self.0 as f64 / scale as f64);
        (number.trim_end_matches('0').trim_end_matches('.').to_owned(), prefix)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, prefix) = self.scaled();
        let binary = if prefix.is_empty() { "" } else { "i" };
        f.pad(&format!("{number} {prefix}{binary}B"))
    }
}

/// Why a size was refused: the text, and the accepted form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeError {
    /// The typed text.
    pub text: String,
    /// The mistake, and what to type instead.
    pub why: String,
}

impl fmt::Display for SizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "size '{}': {}", self.text, self.why)
    }
}

impl std::error::Error for SizeError {}

/// Parses a size: `64` (bytes), `64K` = `64KiB` = 2¹⁰ × 64, `64kB` = 10³ × 64, likewise M, G, T.
///
/// Fractions are accepted where they come out as whole bytes (`1.25M`), and refused otherwise.
///
/// # Errors
/// A [`SizeError`] for an unknown unit, a negative, non-finite or too large number, or a fraction
/// of a byte.
pub fn parse_size(text: &str) -> Result<Bytes, SizeError> {
    let fail = |why: &str| SizeError { text: text.to_owned(), why: why.to_owned() };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let scale: u64 = match unit.trim() {
        "" | "B" | "b" => 1,
        "K" | "k" | "KiB" | "kib" | "Ki" => KIB,
        "M" | "m" | "MiB" | "mib" | "Mi" => MIB,
        "G" | "g" | "GiB" | "gib" | "Gi" => GIB,
        "T" | "t" | "TiB" | "tib" | "Ti" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => {
            return Err(fail(
                "unknown unit; use K, M, G (powers of 1024), KiB, MiB, GiB, or kB, MB, GB (powers of 1000)",
            ));
        }
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // 18 digits of fraction keep fraction × scale inside u128.
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || fraction.len() > 18 {
        return Err(fail("not a number; use for example 32K, 1.25M or 1G, several joined by commas"));
    }
    let too_large = || fail("too large: the limit is 2^63 bytes");
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| too_large())? };
    let denominator = 10u128.pow(fraction.len() as u32);
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| too_large())? };
    let numerator = fraction * u128::from(scale);
    if !numerator.is_multiple_of(denominator) {
        return Err(fail("is not a whole number of bytes"));
    }
    let bytes = whole
        .checked_mul(u128::from(scale))
        .and_then(|b| b.checked_add(numerator / denominator))
        .filter(|b| *b < 1 << 63)
        .ok_or_else(too_large)?;
    Ok(Bytes(bytes as u64))
}

/// The unit of a number in a document. Numbers are always in the base unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Bytes per second.
    BytesPerSecond,
    /// An amount of memory in bytes, shown in KiB, MiB or GiB.
    Bytes,
    /// Cycles per second.
    Hz,
    /// Events per second.
    PerSecond,
    /// Cycles of the core's clock.
    #[serde(rename = "cycles")]
    Cycles,
    /// Bytes per cycle of the core's clock.
    #[serde(rename = "bytes/cycle")]
    BytesPerCycle,
    /// A plain ratio: 0.01 is one percent.
    Ratio,
    /// A count of things.
    Count,
}

impl Unit {
    /// Whether less is better: true for times, false for rates. `None` for sizes, clocks, counts, events and
    /// shares.
    pub fn less_is_better(self) -> Option<bool> {
        match self {
            Self::Ns | Self::Cycles => Some(true),
            Self::BytesPerSecond | Self::BytesPerCycle => Some(false),
            Self::Bytes | Self::Hz | Self::PerSecond | Self::Ratio | Self::Count => None,
        }
    }
}

/// Formats a latency in ns: one decimal below 100, none above.
pub fn format_ns(ns: f64) -> String {
    if ns.abs() < 10.0 {
        format!("{ns:.2}")
    } else if ns.abs() < 100.0 {
        format!("{ns:.1}")
    } else {
        format!("{ns:.0}")
    }
}

/// Formats a rate in bytes per second as decimal GB/s without the unit: three significant digits or so.
pub fn format_gbs(bytes_per_second: f64) -> String {
    let gbs = bytes_per_second / 1e9;
    if gbs.abs() < 10.0 {
        format!("{gbs:.2}")
    } else if gbs.abs() < 1000.0 {
        format!("{gbs:.1}")
    } else {
        format!("{gbs:.0}")
    }
}

/// The unit of rates for a reader. Documents hold bytes per second, and their sentences GB/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RateUnit {
    /// GB/s, 10⁹ bytes per second.
    #[default]
    Si,
    /// GiB/s, 2³⁰ bytes per second.
    Iec,
    /// GB/s, with GiB/s in brackets.
    Both,
}

/// A rate with the unit that it is shown in; a document has the bytes per second alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Rate {
    /// Bytes per second.
    pub bytes_per_second: f64,
    unit: RateUnit,
}

impl Rate {
    /// The same in another unit.
    #[must_use]
    pub fn in_unit(self, unit: RateUnit) -> Self {
        Self { unit, ..self }
    }
}

impl From<f64> for Rate {
    fn from(bytes_per_second: f64) -> Self {
        Self { bytes_per_second, unit: RateUnit::Si }
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> Self {
        rate.bytes_per_second
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let si = format_gbs(self.bytes_per_second);
        let iec = format_gbs(self.bytes_per_second * 1e9 / GIB as f64);
        match self.unit {
            RateUnit::Si => write!(f, "{si} GB/s"),
            RateUnit::Iec => write!(f, "{iec} GiB/s"),
            RateUnit::Both => write!(f, "{si} GB/s ({iec} GiB/s)"),
        }
    }
}

/// Numbers that are of a unit.
macro_rules! from_numbers {
    ($($type:ident),+) => { $(impl From<f64> for $type {
        fn from(number: f64) -> Self {
            Self(number)
        }
    })+ };
}
from_numbers!(Nanoseconds, Share);

/// Nanoseconds, shown with the digits of [`format_ns`].
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanoseconds(pub f64);

impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", format_ns(self.0))
    }
}

/// The latency that a curve is read at (`--target-ns`), in ns. As text it is the word of a label: `150 ns`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct LatencyTarget(pub f64);

const NS: &str = " ns";

impl fmt::Display for LatencyTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{NS}", self.0)
    }
}

impl FromStr for LatencyTarget {
    type Err = ParseFloatError;

    fn from_str(text: &str) -> Result<Self, ParseFloatError> {
        text.strip_suffix(NS).unwrap_or(text).parse().map(Self)
    }
}

/// A part of 1, shown in percent: whole, or with the decimals that a format asks for.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Share(pub f64);

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.*} %", f.precision().unwrap_or(0), self.0 * 100.0)
    }
}

/// Formats a time in ns as people say it: `50 µs`, `1.25 ms`.
pub fn format_time(ns: f64) -> String {
    let (scale, unit) = match ns.abs() {
        ns if ns < 1e3 => (1.0, "ns"),
        ns if ns < 1e6 => (1e3, "µs"),
        ns if ns < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let value = ns / scale;
    let digits = if value.abs() < 10.0 { 2 } else { usize::from(value.abs() < 100.0) };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// The metric of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Time of one access of a chase, ns.
    Latency,
    /// Useful bytes a second over the window common to all threads.
    Bandwidth,
}

impl Metric {
    /// The unit of its numbers.
    pub fn unit(self) -> Unit {
        match self {
            Self::Latency => Unit::Ns,
            Self::Bandwidth => Unit::BytesPerSecond,
        }
    }
}

/// The sum of numbers from a machine or a document; saturates at the largest number.
pub fn total(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_size_is_typed_without_loss() {
        let typed =
            [0, 1000, 16 << 10, (130 << 20) + 512, 130 << 20, 3 << 30, 4 << 40].map(|bytes| Bytes(bytes).typed());
        assert_eq!(typed, ["0", "1000", "16K", "136315392", "130M", "3G", "4096G"]);
    }

    #[test]
    fn accepts_what_people_type() {
        for (text, bytes) in [
            ("64", 64),
            ("32K", 32 << 10),
            ("32KiB", 32 << 10),
            ("32kB", 32_000),
            ("1.25M", 1_310_720),
            ("1G", 1 << 30),
            (" 2 MiB", 2 << 20),
            ("0", 0),
            ("2GB", 2_000_000_000),
        ] {
            assert_eq!(parse_size(text), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        for text in
            ["", "K", ".", "1.2.3M", "-1", "1.3", "0.3K", "12Q", "99999999999999999999", "9999999T", "1e3", "NaN"]
        {
            let error = parse_size(text).expect_err(text);
            assert!(error.to_string().contains(text), "{error}");
        }
    }

    #[test]
    fn prints_iec_sizes() {
        for (bytes, text) in [
            (0, "0 B"),
            (37, "37 B"),
            (32 << 10, "32 KiB"),
            (1_310_720, "1.25 MiB"),
            (1 << 30, "1 GiB"),
            (3 << 40, "3 TiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn whole_units_round_trip(n in 1u64..1023, unit in 0usize..4) {
            let bytes = n << (10 * unit);
            let printed = Bytes(bytes).to_string();
            prop_assert_eq!(parse_size(&printed), Ok(Bytes(bytes)));
        }
    }
}
