//! Sizes of values: one, ranges, or a list with weights.

use std::fmt;
use std::str::FromStr;

use tiermark_model::parse_size;

/// Longest value of Redis, bytes.
const LARGEST: usize = 512 << 20;
/// Most sizes of a list: each new value goes through them.
const MOST_PARTS: usize = 100;
/// Highest weight: the sum of all fits.
const HIGHEST_WEIGHT: u32 = 1_000_000_000;

/// Sizes of values in bytes, each a number or a range whose sizes are equally frequent, with its weight. Documents hold
/// the text of the option: `1024`, `32-4096`, `64:80,1024:20`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    /// At least one.
    parts: Vec<Part>,
    /// Sum of the weights.
    total: u64,
}

/// Sizes that are equally frequent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    least: usize,
    most: usize,
    weight: u32,
}

impl Sizes {
    /// One size for all values, bytes.
    pub fn of(bytes: usize) -> Self {
        Self { parts: vec![Part { least: bytes, most: bytes, weight: 1 }], total: 1 }
    }

    /// The only size, bytes; `None` of several.
    pub fn only(&self) -> Option<usize> {
        (self.smallest() == self.largest()).then(|| self.largest())
    }

    /// The smallest, bytes.
    pub fn smallest(&self) -> usize {
        self.parts.iter().map(|part| part.least).min().unwrap_or(0)
    }

    /// The largest, bytes: what memory is planned for.
    pub fn largest(&self) -> usize {
        self.parts.iter().map(|part| part.most).max().unwrap_or(0)
    }

    /// Mean size of many values, bytes.
    pub fn mean(&self) -> f64 {
        let middle = |part: &Part| (part.least as f64 + part.most as f64) / 2.0 * f64::from(part.weight);
        self.parts.iter().map(middle).sum::<f64>() / self.total as f64
    }

    /// The size that this share (0 to below 1) of all values is before, in the order of the list and rising within a
    /// range. A share that is drawn uniformly gives each size as often as its weight says.
    pub(super) fn at(&self, share: f64) -> usize {
        let mut left = share * self.total as f64;
        for part in &self.parts {
            let weight = f64::from(part.weight);
            if left < weight {
                let steps = (part.most - part.least + 1) as f64;
                return (part.least + (left / weight * steps) as usize).min(part.most);
            }
            left -= weight;
        }
        self.parts.last().map_or(0, |part| part.most)
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, part) in self.parts.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(f, "{comma}{}", part.least)?;
            if part.most > part.least {
                write!(f, "-{}", part.most)?;
            }
            if part.weight != 1 {
                write!(f, ":{}", part.weight)?;
            }
        }
        Ok(())
    }
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.split(',').count() > MOST_PARTS {
            return Err(format!("a list has at most {MOST_PARTS} sizes"));
        }
        let parts = text.split(',').map(part).collect::<Result<Vec<_>, _>>()?;
        let total = parts.iter().map(|part| u64::from(part.weight)).sum();
        Ok(Self { parts, total })
    }
}

tiermark_model::text_form!(Sizes);

/// Reads a size or a range, with its weight.
fn part(text: &str) -> Result<Part, String> {
    let (sizes, weight) = match text.split_once(':') {
        None => (text, 1),
        Some((sizes, weight)) => {
            let number = weight.trim().parse().ok().filter(|weight| (1..=HIGHEST_WEIGHT).contains(weight));
            (sizes, number.ok_or_else(|| format!("'{weight}' is no weight; use a whole number, such as 64:80,1K:20"))?)
        }
    };
    let bytes = |text: &str| match parse_size(text.trim()) {
        Ok(size) if size.0 <= LARGEST as u64 => Ok(size.0 as usize),
        Ok(_) => Err("a value of Redis has at most 512M".to_owned()),
        Err(error) => Err(error.why),
    };
    let (least, most) = match sizes.split_once('-') {
        None => (bytes(sizes)?, bytes(sizes)?),
        Some((least, most)) => (bytes(least)?, bytes(most)?),
    };
    match least <= most {
        true => Ok(Part { least, most, weight }),
        false => Err(format!("the range '{sizes}' ends before it begins; use SMALLEST-LARGEST, such as 32-4096")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(text: &str) -> Sizes {
        text.parse().unwrap()
    }

    #[test]
    fn sizes_ranges_and_lists_are_read_as_people_write_them() {
        for (text, shown, smallest, largest, mean) in [
            ("1K", "1024", 1024, 1024, 1024.0),
            ("32-4096", "32-4096", 32, 4096, 2064.0),
            ("64:80,1K:20", "64:80,1024:20", 64, 1024, 256.0),
            ("64, 1K", "64,1024", 64, 1024, 544.0),
            ("16-64:3,2M", "16-64:3,2097152", 16, 2 << 20, (3.0 * 40.0 + 2_097_152.0) / 4.0),
            ("0", "0", 0, 0, 0.0),
        ] {
            let read = sizes(text);
            assert_eq!(read.to_string(), shown, "{text}");
            assert_eq!((read.smallest(), read.largest(), read.mean()), (smallest, largest, mean), "{text}");
        }
        assert_eq!((sizes("1K").only(), sizes("1-2").only(), Sizes::of(7)), (Some(1024), None, sizes("7")));
    }

    #[test]
    fn what_is_no_size_is_refused_with_what_to_write() {
        for (bad, told) in [
            ("", "32K"),
            ("4096-32", "32-4096"),
            ("64:0", "64:80"),
            ("64:x", "64:80"),
            ("1G", "512M"),
            ("1-1G", "512M"),
            ("64,,1K", "32K"),
            ("x-5", "KiB"),
        ] {
            let why = bad.parse::<Sizes>().unwrap_err();
            assert!(why.contains(told), "{bad}: {why}");
        }
        assert!(vec!["1"; MOST_PARTS + 1].join(",").parse::<Sizes>().unwrap_err().contains("at most"));
    }

    #[test]
    fn equal_steps_of_the_share_give_each_size_as_often_as_its_weight() {
        const N: usize = 10_000;
        let list = sizes("64:80,1000-1009:20");
        let drawn: Vec<usize> = (0..N).map(|i| list.at(i as f64 / N as f64)).collect();
        let count = |bytes| drawn.iter().filter(|size| **size == bytes).count();
        assert_eq!(count(64), 8000);
        assert!((1000..=1009).all(|bytes| count(bytes).abs_diff(200) <= 1), "{:?}", (1000..=1009).map(count));
        assert_eq!((list.at(0.0), list.at(1.0)), (64, 1009));
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_shown_and_read_back(text in "[0-9]{1,4}(K|-[0-9]{4})?(:[0-9]{1,3})?(,[0-9]{1,4})?", share in 0.0..1.0) {
            if let Ok(read) = text.parse::<Sizes>() {
                prop_assert_eq!(&read.to_string().parse::<Sizes>(), &Ok(read.clone()));
                prop_assert!((read.smallest()..=read.largest()).contains(&read.at(share)));
            }
        }
    }
}
