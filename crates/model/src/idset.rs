//! Sets of operating-system ids (cpus, nodes) in the kernel's list format, `0-3,8,16-30:2/4`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The id the kernel gives a logical cpu. Sparse: not an index.
pub type CpuId = u32;
/// The id the kernel gives a NUMA node. Sparse: not an index.
pub type NodeId = u32;

/// Larger ids are refused: no Linux has them (sockets of Itanium come near), and garbage must not allocate gigabytes.
const MAX_ID: u32 = 1 << 20;
/// Ids that all strides of a list may name, repeated ones counted each time: each costs a step.
const MOST_OF_STRIDES: u64 = 16 * MAX_ID as u64;

/// A sorted set of ids. Any size: machines with more than 1,024 cpus exist.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct IdSet {
    /// Bit `i % 64` of word `i / 64`; never ends in a zero word, so that equality is structural.
    words: Vec<u64>,
}

/// Why a list was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListError {
    /// The list as it was given.
    pub text: String,
    /// Description of the mistake.
    pub why: String,
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "list '{}': {}; the format is 0-3,8,16-30:2/4", self.text, self.why)
    }
}

impl std::error::Error for ListError {}

impl IdSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an id. Ids above 2²⁰ are ignored.
    pub fn insert(&mut self, id: u32) {
        if id > MAX_ID {
            return;
        }
        let word = id as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (id % 64);
    }

    /// Adds the ids from `low` to `high`, which is at most [`MAX_ID`].
    fn insert_range(&mut self, low: u32, high: u32) {
        let (first, last) = (low as usize / 64, high as usize / 64);
        if last >= self.words.len() {
            self.words.resize(last + 1, 0);
        }
        let (from, to) = (u64::MAX << (low % 64), u64::MAX >> (63 - high % 64));
        match &mut self.words[first..=last] {
            [] => {}
            [word] => *word |= from & to,
            [head, middle @ .., tail] => {
                *head |= from;
                middle.fill(u64::MAX);
                *tail |= to;
            }
        }
    }

    /// Removes an id.
    pub fn remove(&mut self, id: u32) {
        if let Some(word) = self.words.get_mut(id as usize / 64) {
            *word &= !(1 << (id % 64));
        }
        self.trim();
    }

    /// Whether the id is in the set.
    pub fn contains(&self, id: u32) -> bool {
        self.words.get(id as usize / 64).is_some_and(|w| w >> (id % 64) & 1 == 1)
    }

    /// How many ids the set has.
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether the set has no id.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The smallest id.
    pub fn first(&self) -> Option<u32> {
        self.iter().next()
    }

    /// The ids in rising order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            std::iter::successors((word != 0).then_some(word), |w| {
                let rest = w & (w - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |w| i as u32 * 64 + w.trailing_zeros())
        })
    }

    /// The ids in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        let mut set = Self { words: self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect() };
        set.trim();
        set
    }

    /// The ids in either set.
    pub fn union(&self, other: &Self) -> Self {
        let (long, short) = if self.words.len() >= other.words.len() { (self, other) } else { (other, self) };
        let mut set = long.clone();
        for (a, b) in set.words.iter_mut().zip(&short.words) {
            *a |= b;
        }
        set
    }

    /// The ids in this set and not in the other.
    pub fn difference(&self, other: &Self) -> Self {
        let mut set = self.clone();
        for (a, b) in set.words.iter_mut().zip(&other.words) {
            *a &= !b;
        }
        set.trim();
        set
    }

    /// Whether every id of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.difference(other).is_empty()
    }

    /// The bit mask, least significant word first: what `sched_setaffinity` and `mbind` take.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Makes a set from a bit mask, least significant word first.
    pub fn from_words(words: &[u64]) -> Self {
        let mut set = Self { words: words.to_vec() };
        set.trim();
        set
    }

    /// Parses the kernel's hexadecimal mask format (`ff,ffffffff`: 32-bit groups, most significant first).
    ///
    /// # Errors
    /// A [`ListError`] for anything but comma-separated groups of hexadecimal digits.
    pub fn from_hex_mask(text: &str) -> Result<Self, ListError> {
        let fail = |why: &str| ListError { text: text.chars().take(80).collect(), why: why.to_owned() };
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
        Ok(set)
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }
}

impl FromIterator<u32> for IdSet {
    fn from_iter<I: IntoIterator<Item = u32>>(ids: I) -> Self {
        let mut set = Self::new();
        for id in ids {
            set.insert(id);
        }
        set
    }
}

impl FromStr for IdSet {
    type Err = ListError;

    /// Parses the kernel's list format; the empty text is the empty set.
    fn from_str(text: &str) -> Result<Self, ListError> {
        let fail = |why: &str| ListError { text: text.chars().take(80).collect(), why: why.to_owned() };
        let number = |digits: &str| -> Result<u32, ListError> {
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err(fail(&format!("'{digits}' is not an id")));
            }
            digits.parse().ok().filter(|id| *id <= MAX_ID).ok_or_else(|| fail(&format!("id '{digits}' is too large")))
        };
        let mut set = Self::new();
        let (mut ranges, mut of_strides) = (Vec::new(), 0);
        for part in text.trim().split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (range, stride) = match part.split_once(':') {
                Some((range, stride)) => {
                    let (used, group) =
                        stride.split_once('/').ok_or_else(|| fail("a stride is written used/group, as in 0-31:2/4"))?;
                    (range, Some((number(used)?, number(group)?)))
                }
                None => (part, None),
            };
            let (low, high) = match range.split_once('-') {
                Some((low, high)) => (number(low)?, number(high)?),
                None => (number(range)?, number(range)?),
            };
            if low > high {
                return Err(fail(&format!("the range {low}-{high} runs backwards")));
            }
            let Some((used, group)) = stride else {
                ranges.push((low, high));
                continue;
            };
            if group == 0 || used > group {
                return Err(fail("a stride needs 0 < used <= group"));
            }
            of_strides += u64::from(high - low) + 1;
            if of_strides > MOST_OF_STRIDES {
                return Err(fail("its strides name too many ids"));
            }
            (low..=high).filter(|id| (id - low) % group < used).for_each(|id| set.insert(id));
        }
        // Ranges that overlap are one: a file of a megabyte can name all ids some hundred thousand times.
        ranges.sort_unstable();
        let mut end = None;
        for (low, high) in ranges {
            let low = end.map_or(low, |end: u32| low.max(end.saturating_add(1)));
            if low <= high {
                set.insert_range(low, high);
                end = Some(high);
            }
        }
        Ok(set)
    }
}

impl fmt::Display for IdSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let mut ids = self.iter().peekable();
        while let Some(low) = ids.next() {
            let mut high = low;
            while ids.next_if_eq(&(high + 1)).is_some() {
                high += 1;
            }
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(&if low == high { format!("{low}") } else { format!("{low}-{high}") });
        }
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
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for IdSet {
    fn schema_name() -> Cow<'static, str> {
        "IdSet".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "ids in the kernel's list format, such as 0-3,8", "pattern": "^[0-9,:/-]*$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_kernels_list_format() {
        for (text, ids) in [
            ("", vec![]),
            ("0", vec![0]),
            ("0-3,8\n", vec![0, 1, 2, 3, 8]),
            ("0-9:2/4", vec![0, 1, 4, 5, 8, 9]),
            ("5,1,5", vec![1, 5]),
            ("2047", vec![2047]),
        ] {
            let set: IdSet = text.parse().unwrap();
            assert_eq!(set.iter().collect::<Vec<_>>(), ids, "{text}");
        }
    }

    #[test]
    fn refuses_garbage_in_words() {
        for text in ["a", "3-1", "1-", "-1", "0-3:2", "0-3:3/2", "0-3:1/0", "99999999999", "1;2"] {
            let error = text.parse::<IdSet>().expect_err(text);
            assert!(error.to_string().contains("0-3,8"), "{error}");
        }
    }

    /// A list of a few megabytes that names all ids again and again, and strides that do.
    #[test]
    fn a_list_that_repeats_itself_costs_what_its_length_says() {
        let all: IdSet = format!("0-{MAX_ID},").repeat(200_000).parse().unwrap();
        assert_eq!((all.len(), all.to_string()), (MAX_ID as usize + 1, format!("0-{MAX_ID}")));
        let error = format!("0-{MAX_ID}:1/2,").repeat(200_000).parse::<IdSet>().unwrap_err();
        assert!(error.why.contains("strides"), "{error}");
        assert_eq!(format!("0-{MAX_ID}:1/2,").repeat(9).parse::<IdSet>().unwrap().len(), MAX_ID as usize / 2 + 1);
    }

    #[test]
    fn reads_hex_masks() {
        assert_eq!(IdSet::from_hex_mask("00000001,80000003").unwrap().to_string(), "0-1,31-32");
        assert!(IdSet::from_hex_mask("xyz").is_err());
    }

    #[test]
    fn removal_keeps_equality_structural() {
        let mut set: IdSet = "1,100".parse().unwrap();
        set.remove(100);
        assert_eq!(set, "1".parse().unwrap());
        set.remove(1);
        assert!(set.is_empty());
    }

    proptest! {
        #[test]
        fn never_panics(text in "[0-9,:/ -]{0,24}") {
            let _ = text.parse::<IdSet>();
        }

        /// Ranges in any order, of which some overlap, are the ids that they name one by one.
        #[test]
        fn ranges_are_their_ids(ranges in proptest::collection::vec((0u32..400, 0u32..200), 0..20)) {
            let text: Vec<String> = ranges.iter().map(|(low, length)| format!("{low}-{}", low + length)).collect();
            let ids: IdSet = ranges.iter().flat_map(|(low, length)| *low..=low + length).collect();
            prop_assert_eq!(text.join(",").parse::<IdSet>().unwrap(), ids);
        }

        #[test]
        fn round_trips(ids in proptest::collection::btree_set(0u32..3000, 0..64)) {
            let set: IdSet = ids.iter().copied().collect();
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), ids.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.to_string().parse::<IdSet>().unwrap(), set.clone());
            prop_assert_eq!(set.len(), ids.len());
        }

        #[test]
        fn set_algebra(a in proptest::collection::btree_set(0u32..200, 0..40), b in proptest::collection::btree_set(0u32..200, 0..40)) {
            let (x, y): (IdSet, IdSet) = (a.iter().copied().collect(), b.iter().copied().collect());
            prop_assert_eq!(x.intersection(&y), a.intersection(&b).copied().collect());
            prop_assert_eq!(x.union(&y), a.union(&b).copied().collect());
            prop_assert_eq!(x.difference(&y), a.difference(&b).copied().collect());
        }
    }
}
