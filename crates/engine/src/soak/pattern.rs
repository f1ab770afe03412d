//! The words that a soak writes: a table for the words of a page, and a key for each page.

use tiermark_model::SoakPattern;

/// Words of a page.
pub const WORDS: usize = 512;
/// Bytes of a page.
pub const PAGE_BYTES: u64 = WORDS as u64 * 8;
/// Words of a line.
const LINE_WORDS: usize = 8;
/// Alternating bits: neighbouring cells differ.
const ALTERNATING: u64 = 0x5555_5555_5555_5555;

/// What is written in one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pattern {
    /// Its kind.
    pub kind: SoakPattern,
    /// Whether each bit is the other one.
    pub inverted: bool,
    /// Makes random words, and chooses the bits that move.
    pub seed: u64,
}

impl Pattern {
    /// The words of a page whose key is 0.
    #[must_use]
    pub fn table(&self) -> [u64; WORDS] {
        let line = |index: usize| index / LINE_WORDS;
        std::array::from_fn(|index| match self.kind {
            SoakPattern::Addresses => index as u64 * 8,
            SoakPattern::Random => mixed(self.seed ^ index as u64),
            SoakPattern::Neighbours if line(index).is_multiple_of(2) => ALTERNATING,
            SoakPattern::Neighbours => !ALTERNATING,
            SoakPattern::MovingOnes => self.moving(index),
            SoakPattern::MovingZeros => !self.moving(index),
        })
    }

    /// The key of a page by its number in all memory of the soak.
    #[must_use]
    pub fn key(&self, page: u64) -> u64 {
        let key = match self.kind {
            SoakPattern::Addresses => page * PAGE_BYTES,
            SoakPattern::Random => mixed(!self.seed ^ page),
            SoakPattern::Neighbours if page.is_multiple_of(2) => 0,
            SoakPattern::Neighbours => u64::MAX,
            SoakPattern::MovingOnes | SoakPattern::MovingZeros => 0,
        };
        if self.inverted { !key } else { key }
    }

    /// The word at an offset into all memory of the soak.
    #[must_use]
    pub fn word(&self, offset: u64) -> u64 {
        self.table()[(offset % PAGE_BYTES / 8) as usize] ^ self.key(offset / PAGE_BYTES)
    }

    fn moving(&self, index: usize) -> u64 {
        1 << ((index as u64).wrapping_add(self.seed) % 64)
    }
}

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014): any number by
/// itself, in no order.
fn mixed(number: u64) -> u64 {
    let mut word = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn pattern(kind: SoakPattern) -> Pattern {
        Pattern { kind, inverted: false, seed: 5 }
    }

    #[test]
    fn addresses_and_random_words_are_each_their_own() {
        for kind in [SoakPattern::Addresses, SoakPattern::Random] {
            let words = (0..1 << 15).map(|word| pattern(kind).word(word * 8));
            assert_eq!(words.collect::<BTreeSet<u64>>().len(), 1 << 15, "{kind}");
        }
        assert_eq!(pattern(SoakPattern::Addresses).word(0x1234_5678), 0x1234_5678);
    }

    #[test]
    fn moving_bits_come_to_each_place_of_each_word() {
        for word in [0, 8, 4088, 4096] {
            let seen = (0..64).map(|seed| Pattern { seed, ..pattern(SoakPattern::MovingOnes) }.word(word));
            assert_eq!(seen.fold(0, |all, bit| all | bit), u64::MAX);
        }
        assert!((0..512).all(|word| pattern(SoakPattern::MovingOnes).word(word * 8).count_ones() == 1));
        assert!((0..512).all(|word| pattern(SoakPattern::MovingZeros).word(word * 8).count_zeros() == 1));
    }

    #[test]
    fn neighbouring_lines_and_pages_are_each_others_inverse() {
        let word = |offset| pattern(SoakPattern::Neighbours).word(offset);
        assert_eq!((word(0), word(64), word(4096)), (ALTERNATING, !ALTERNATING, !ALTERNATING));
        for kind in [SoakPattern::Neighbours, SoakPattern::Random, SoakPattern::Addresses, SoakPattern::MovingOnes] {
            let inverted = Pattern { inverted: true, ..pattern(kind) };
            assert!((0..2048).all(|word| inverted.word(word * 8) == !pattern(kind).word(word * 8)), "{kind}");
        }
    }
}
