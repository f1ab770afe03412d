//! The files in `format/` and `events/` of an event source: where the value of each term goes, and the terms of an
//! event.

use tiermark_machine::EventSource;

/// The words `config`, `config1`, `config2` and `config3` of an event.
pub type Words = [u64; 4];

/// The terms of an event with their values: `event=0x04,umask=0x0f`.
pub type Terms = Vec<(String, u64)>;

/// Ranges of one format: the most that a kernel has is 4.
const MOST_RANGES: usize = 64;
/// Terms of one event: the most that a kernel has is 6.
const MOST_TERMS: usize = 64;

/// Why a format, or a value for it, makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormatError {
    /// The text is not what kernels write.
    Malformed(String),
    /// The value needs more bits than the format has.
    TooLarge {
        /// The value.
        value: u64,
        /// Bits of the format.
        bits: u32,
    },
    /// The source has no term of this name.
    NoTerm(String),
}

impl FormatError {
    /// What is wrong, to follow the name of an event source.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Malformed(text) => format!("has a format that makes no sense ({text})"),
            Self::TooLarge { value, bits } => format!("has {bits} bits for the value {value:#x}"),
            Self::NoTerm(name) => format!("has no term {name}"),
        }
    }
}

/// Bits of one word, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    low: u32,
    bits: u32,
}

impl Range {
    /// `7`, or `0-7`.
    fn parse(text: &str) -> Option<Self> {
        let (low, high) = text.split_once('-').unwrap_or((text, text));
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|bit| *bit < u64::BITS);
        let (low, high) = (number(low)?, number(high)?);
        (low <= high).then(|| Self { low, bits: high - low + 1 })
    }
}

/// The lowest bits of a number.
fn ones(bits: u32) -> u64 {
    u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0)
}

/// Where the value of a term goes: its low bits fill the ranges in the order in which the format names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    word: usize,
    ranges: Vec<Range>,
}

impl Field {
    /// Reads `config:0-7`, `config:8-15,32-43,45-55` or `config1:0-3`.
    ///
    /// # Errors
    /// [`FormatError::Malformed`] for any other text, and for ranges that overlap.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let malformed = || FormatError::Malformed(text.chars().take(60).collect());
        let (word, ranges) = text.trim().split_once(':').ok_or_else(malformed)?;
        let names = ["config", "config1", "config2", "config3"];
        let word = names.iter().position(|name| *name == word).ok_or_else(malformed)?;
        let ranges: Option<Vec<Range>> = ranges.split(',').take(MOST_RANGES + 1).map(Range::parse).collect();
        let ranges = ranges.filter(|ranges| ranges.len() <= MOST_RANGES).ok_or_else(malformed)?;
        let mut taken = 0;
        for range in &ranges {
            let bits = ones(range.bits) << range.low;
            if taken & bits != 0 {
                return Err(malformed());
            }
            taken |= bits;
        }
        Ok(Self { word, ranges })
    }

    /// Bits that the format has.
    pub fn bits(&self) -> u32 {
        self.ranges.iter().map(|range| range.bits).sum()
    }

    /// Puts a value into the words.
    ///
    /// # Errors
    /// [`FormatError::TooLarge`] if the format has too few bits for the value.
    pub fn put(&self, value: u64, words: &mut Words) -> Result<(), FormatError> {
        let bits = self.bits();
        if value & !ones(bits) != 0 {
            return Err(FormatError::TooLarge { value, bits });
        }
        let mut rest = value;
        for range in &self.ranges {
            words[self.word] |= (rest & ones(range.bits)) << range.low;
            rest = rest.checked_shr(range.bits).unwrap_or(0);
        }
        Ok(())
    }
}

/// Reads the text of an event; a term without a value is 1.
///
/// # Errors
/// [`FormatError::Malformed`] for a value that is no number, as the `?` that the user has to replace.
pub fn terms(text: &str) -> Result<Terms, FormatError> {
    let malformed = |text: &str| FormatError::Malformed(text.chars().take(60).collect());
    let term = |term: &str| {
        let (name, value) = term.split_once('=').map_or((term, "1"), |(name, value)| (name, value));
        let name = name.trim();
        let value = number(value.trim()).filter(|_| !name.is_empty()).ok_or_else(|| malformed(term))?;
        Ok((name.to_owned(), value))
    };
    let all: Terms = text.trim().split(',').take(MOST_TERMS + 1).map(term).collect::<Result<_, _>>()?;
    if all.len() > MOST_TERMS { Err(malformed(text)) } else { Ok(all) }
}

/// A number as kernels write it: `0x1f` or `31`.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The words of an event by its terms.
pub(crate) fn encode<'a>(
    source: &EventSource,
    terms: impl Iterator<Item = (&'a str, u64)>,
) -> Result<Words, FormatError> {
    let mut words = [0; 4];
    for (name, value) in terms {
        let Some(format) = source.formats.get(name) else {
            // A term that a format lacks and that is 0 changes nothing.
            if value == 0 {
                continue;
            }
            return Err(FormatError::NoTerm(name.to_owned()));
        };
        Field::parse(format)?.put(value, &mut words)?;
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn put(format: &str, value: u64) -> Result<Words, FormatError> {
        let mut words = [0; 4];
        Field::parse(format)?.put(value, &mut words)?;
        Ok(words)
    }

    #[test]
    fn low_bits_fill_the_ranges_in_order() {
        assert_eq!(put("config:0-7", 0xcf), Ok([0xcf, 0, 0, 0]));
        // QPI of Haswell: event 0x102 is 0x02 with bit 21.
        assert_eq!(put("config:0-7,21", 0x102), Ok([0x20_0002, 0, 0, 0]));
        // UPI of Skylake.
        assert_eq!(put("config:8-15,32-43,45-55", 0x12_3497), Ok([0x0000_2234_0000_9700, 0, 0, 0]));
        assert_eq!(put("config:0-7,32-37", 0x2df), Ok([0x2_0000_00df, 0, 0, 0]));
        assert_eq!(put("config2:3-8", 0x12), Ok([0, 0, 0x90, 0]));
        assert_eq!(put("config3:63", 1), Ok([0, 0, 0, 1 << 63]));
        assert_eq!(put("config1:0-63", u64::MAX), Ok([0, u64::MAX, 0, 0]));
    }

    #[test]
    fn refuses_what_does_not_fit_or_makes_no_sense() {
        assert_eq!(put("config:8-15", 0x7fe), Err(FormatError::TooLarge { value: 0x7fe, bits: 8 }));
        for text in ["", "config", "config:", "config4:0", "config:7-0", "config:0-64", "config:0-7,3", "config:0-7,"] {
            assert!(matches!(Field::parse(text), Err(FormatError::Malformed(_))), "{text}");
        }
    }

    #[test]
    fn events_are_terms_with_numbers() {
        let said = |text: &str| terms(text).unwrap().into_iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>();
        assert_eq!(said("event=0x04,umask=0x0f"), ["event=4", "umask=15"]);
        assert_eq!(said("event=12,inv\n"), ["event=12", "inv=1"]);
        assert!(terms("event=?").is_err() && terms("event=0x4,").is_err() && terms("").is_err());
    }

    proptest! {
        #[test]
        fn a_value_comes_back(low in 0u32..30, bits in 1u32..20, value: u64) {
            let value = value & ones(bits + 1);
            let words = put(&format!("config:{low}-{},60", low + bits - 1), value).unwrap();
            prop_assert_eq!(words[0] >> low & ones(bits) | (words[0] >> 60) << bits, value);
        }
    }
}
