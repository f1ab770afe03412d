//! Sets of operating-system ids (cpus, nodes) in the kernel's list format, `0-3,8,16-30:2/4`.

mod text;

pub use text::ListError;

/// The id the kernel gives a logical cpu. Sparse: not an index.
pub type CpuId = u32;
/// The id the kernel gives a NUMA node. Sparse: not an index.
pub type NodeId = u32;

/// Larger ids are refused: no Linux has them (sockets of Itanium come near), and a mask of this id takes 128 KiB.
const MAX_ID: u32 = 1 << 20;
/// Ranges that are collected before those that repeat others are joined with them.
const MANY_RANGES: usize = 1 << 16;

/// A sorted set of ids. Any size: machines with more than 1,024 cpus exist.
///
/// A set takes eight bytes for each of its ranges, however large its ids are, so that a list from a file takes at most
/// some times its own length.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct IdSet {
    /// The first and last id of each range, rising. At least one id is missing between two, so that equality is
    /// structural.
    ranges: Vec<(u32, u32)>,
}

impl IdSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The ids of ranges that come in any order and may overlap.
    fn joined(ranges: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut set = Self::new();
        let mut most = MANY_RANGES;
        for range in ranges {
            set.ranges.push(range);
            // A file of megabytes can name the same ids some hundred thousand times.
            if set.ranges.len() == most {
                set.join();
                most = MANY_RANGES.max(2 * set.ranges.len());
            }
        }
        set.join();
        set.ranges.shrink_to_fit();
        set
    }

    /// Sorts the ranges and joins those that overlap or touch.
    fn join(&mut self) {
        self.ranges.sort_unstable();
        self.ranges.dedup_by(|next, last| {
            let touch = next.0 <= last.1 + 1;
            if touch {
                last.1 = last.1.max(next.1);
            }
            touch
        });
    }

    /// The place of the first range that ends at this id or after it.
    fn place(&self, id: u32) -> usize {
        self.ranges.partition_point(|(_, high)| *high < id)
    }

    /// Adds an id. Ids above 2²⁰ are ignored.
    pub fn insert(&mut self, id: u32) {
        if id > MAX_ID || self.contains(id) {
            return;
        }
        let at = self.place(id);
        let before = at.checked_sub(1).filter(|before| self.ranges[*before].1 + 1 == id);
        let after = self.ranges.get(at).filter(|(low, _)| id + 1 == *low).copied();
        match (before, after) {
            (Some(before), Some((_, high))) => {
                self.ranges[before].1 = high;
                self.ranges.remove(at);
            }
            (Some(before), None) => self.ranges[before].1 = id,
            (None, Some((_, high))) => self.ranges[at] = (id, high),
            (None, None) => self.ranges.insert(at, (id, id)),
        }
    }

    /// Removes an id.
    pub fn remove(&mut self, id: u32) {
        *self = self.difference(&Self::from_iter([id]));
    }

    /// Whether the id is in the set.
    pub fn contains(&self, id: u32) -> bool {
        self.ranges.get(self.place(id)).is_some_and(|(low, _)| *low <= id)
    }

    /// How many ids the set has.
    pub fn len(&self) -> usize {
        self.ranges.iter().map(|(low, high)| (high - low) as usize + 1).sum()
    }

    /// How many ranges of ids the set has, of eight bytes each.
    pub fn ranges(&self) -> usize {
        self.ranges.len()
    }

    /// Whether the set has no id.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The smallest id.
    pub fn first(&self) -> Option<u32> {
        self.ranges.first().map(|(low, _)| *low)
    }

    /// The ids in rising order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.ranges.iter().flat_map(|(low, high)| *low..=*high)
    }

    /// The ids in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        let (few, many) = if self.ranges.len() <= other.ranges.len() { (self, other) } else { (other, self) };
        let mut ranges = Vec::new();
        for (low, high) in &few.ranges {
            let overlapping = many.ranges[many.place(*low)..].iter().take_while(|(begin, _)| begin <= high);
            ranges.extend(overlapping.map(|(begin, end)| (*low.max(begin), *high.min(end))));
        }
        ranges.shrink_to_fit();
        Self { ranges }
    }

    /// The ids in either set.
    pub fn union(&self, other: &Self) -> Self {
        Self::union_of([self, other])
    }

    /// The ids in any of these sets, in a time by all of their ranges.
    pub fn union_of<'a>(sets: impl IntoIterator<Item = &'a Self>) -> Self {
        Self::joined(sets.into_iter().flat_map(|set| &set.ranges).copied())
    }

    /// The ids in this set and not in the other.
    pub fn difference(&self, other: &Self) -> Self {
        self.intersection(&other.others())
    }

    /// The ids that are not in the set.
    fn others(&self) -> Self {
        let begins = std::iter::once(0).chain(self.ranges.iter().map(|(_, high)| high + 1));
        let ends = self.ranges.iter().map(|(low, _)| *low).chain([MAX_ID + 1]);
        let gaps = begins.zip(ends).filter(|(begin, end)| begin < end);
        Self { ranges: gaps.map(|(begin, end)| (begin, end - 1)).collect() }
    }

    /// Whether every id of this set is in the other.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.ranges.iter().all(|(low, high)| {
            other.ranges.get(other.place(*low)).is_some_and(|(begin, end)| begin <= low && high <= end)
        })
    }

    /// The bit mask, least significant word first: what `sched_setaffinity` and `mbind` take. It never ends in a zero
    /// word.
    pub fn words(&self) -> Vec<u64> {
        let mut words = vec![0; self.ranges.last().map_or(0, |(_, high)| *high as usize / 64 + 1)];
        for id in self.iter() {
            words[id as usize / 64] |= 1 << (id % 64);
        }
        words
    }

    /// Makes a set from a bit mask, least significant word first.
    pub fn from_words(words: &[u64]) -> Self {
        let bits = |word: u64| (0..64).filter(move |bit| word >> bit & 1 == 1);
        (0..).zip(words).flat_map(|(at, word)| bits(*word).map(move |bit| at * 64 + bit)).collect()
    }
}

impl FromIterator<u32> for IdSet {
    fn from_iter<I: IntoIterator<Item = u32>>(ids: I) -> Self {
        Self::joined(ids.into_iter().filter(|id| *id <= MAX_ID).map(|id| (id, id)))
    }
}

#[cfg(test)]
mod tests;
