//! Sets of ids as text: lists, masks, and how documents hold them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{IdSet, MAX_ID};

/// Ids that all strides of a list may name, repeated ones counted each time: each may cost a step.
const MOST_OF_STRIDES: u64 = 4 * MAX_ID as u64;

/// Why a list was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListError {
    /// The list as it was given.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
    /// An example of the format.
    pub format: &'static str,
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "list '{}': {}; the format is {}", self.text, self.why, self.format)
    }
}

impl std::error::Error for ListError {}

impl ListError {
    /// With the start of the list.
    fn new(text: &str, why: &str) -> Self {
        Self { text: text.chars().take(80).collect(), why: why.to_owned(), format: "0-3,8,16-30:2/4" }
    }
}

impl IdSet {
    /// Parses the kernel's hexadecimal mask format (`ff,ffffffff`: 32-bit groups, most significant first).
    ///
    /// # Errors
    /// A [`ListError`] for anything but comma-separated groups of hexadecimal digits.
    pub fn from_hex_mask(text: &str) -> Result<Self, ListError> {
        let fail = |why: &str| ListError::new(text, why);
        let mut set = Self::new();
        for (group, digits) in text.trim().rsplit(',').enumerate() {
            let bits = u32::from_str_radix(digits.trim().trim_start_matches("0x"), 16)
                .map_err(|_| fail("not a hexadecimal mask"))?;
            for bit in (0..32).filter(|b| bits >> b & 1 == 1) {
                let id = u32::try_from(group * 32 + bit)
                    .ok()
                    .filter(|id| *id <= MAX_ID)
                    .ok_or_else(|| fail("mask too long"))?;
                set.insert(id);
            }
        }
        set.ranges.shrink_to_fit();
        Ok(set)
    }

    /// Parses a list without strides (`0-3,8`), as the kernel and documents have it. It takes memory and time by its
    /// length only, while a stride of a few bytes names half a million ranges.
    ///
    /// # Errors
    /// A [`ListError`] for anything else.
    pub fn from_plain_list(text: &str) -> Result<Self, ListError> {
        if text.contains(':') {
            let refused = ListError::new(text, "only options and plans may have strides (:)");
            return Err(ListError { format: "0-3,8", ..refused });
        }
        text.parse()
    }
}

/// One part of a list: its range, and how many of how many ids of it a stride takes; all where there is none.
struct Part {
    low: u32,
    high: u32,
    used: u32,
    group: u32,
}

impl Part {
    fn read(part: &str) -> Result<Self, String> {
        let number = |digits: &str| -> Result<u32, String> {
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err(format!("'{digits}' is not an id"));
            }
            digits.parse().ok().filter(|id| *id <= MAX_ID).ok_or_else(|| format!("id '{digits}' is too large"))
        };
        let (range, stride) = part.split_once(':').map_or((part, None), |(range, stride)| (range, Some(stride)));
        let (used, group) = match stride.map(|stride| stride.split_once('/')) {
            None => (1, 1),
            Some(None) => return Err("a stride is written used/group, as in 0-31:2/4".to_owned()),
            Some(Some((used, group))) => (number(used)?, number(group)?),
        };
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let (low, high) = (number(low)?, number(high)?);
        if low > high {
            return Err(format!("the range {low}-{high} runs backwards"));
        }
        if group == 0 || used > group {
            return Err("a stride needs 0 < used <= group".to_owned());
        }
        Ok(Self { low, high, used, group })
    }

    /// How many ids its stride goes through; 0 where it has none.
    fn of_stride(&self) -> u64 {
        if self.used == self.group { 0 } else { u64::from(self.high - self.low) + 1 }
    }

    /// Its ranges.
    fn ranges(self) -> impl Iterator<Item = (u32, u32)> {
        let Self { low, high, used, group } = self;
        let (step, length) = if used == group { (MAX_ID + 1, MAX_ID + 1) } else { (group, used) };
        let begins = (low..=high).step_by(step as usize).filter(move |_| length > 0);
        begins.map(move |begin| (begin, high.min(begin + length - 1)))
    }
}

impl FromStr for IdSet {
    type Err = ListError;

    /// Parses the kernel's list format; the empty text is the empty set.
    fn from_str(text: &str) -> Result<Self, ListError> {
        let mut of_strides = 0;
        let mut wrong = None;
        let mut read = |part: &str| {
            let part = Part::read(part)?;
            of_strides += part.of_stride();
            if of_strides > MOST_OF_STRIDES { Err("its strides name too many ids".to_owned()) } else { Ok(part) }
        };
        let parts = text.trim().split(',').map(str::trim).filter(|p| !p.is_empty());
        let parts = parts.map_while(|part| read(part).map_err(|why| wrong = Some(why)).ok());
        let set = Self::joined(parts.flat_map(Part::ranges));
        wrong.map_or(Ok(set), |why| Err(ListError::new(text, &why)))
    }
}

impl fmt::Display for IdSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |(low, high): &(u32, u32)| if low == high { format!("{low}") } else { format!("{low}-{high}") };
        let text = self.ranges.iter().map(range).collect::<Vec<_>>().join(",");
        f.pad(&text)
    }
}

impl fmt::Debug for IdSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

impl Serialize for IdSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for IdSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::from_plain_list(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for IdSet {
    fn schema_name() -> Cow<'static, str> {
        "IdSet".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "ids in the kernel's list format, such as 0-3,8", "pattern": "^[0-9,-]*$" })
    }
}
