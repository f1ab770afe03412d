//! Values: each can be checked with its key alone, whichever run wrote it.

mod sizes;

use serde::{Deserialize, Serialize};
use tiermark_stats::{Rng, split_mix};

pub use sizes::Sizes;

/// Bytes of a value that say which value it is; the rest follows from these and the key.
const NONCE: usize = 8;
/// Smallest value that can be checked: half of it then follows from the other half.
pub const SMALLEST_CHECKED: usize = 2 * NONCE;
/// Filler of the compressible part: not zero, since pages of zeros are special to zswap, zram and KSM.
const FILLER: u8 = b'.';
/// Sets the draw of a size apart from the content that follows from the same nonce.
const SIZE: u64 = 0x9d5c_1f3a_6e28_b047;

/// How values are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueShape {
    /// Bytes of a value.
    pub sizes: Sizes,
    /// Which value has which of several sizes.
    pub order: SizeOrder,
    /// Share of a value (0 to 1) that any compressor removes: it is one byte repeated, the rest is random.
    pub compressible: f64,
}

/// Which value has which of several sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SizeOrder {
    /// Each value that is written draws its own: a key has another size after the next SET.
    #[default]
    Random,
    /// A size belongs to a key: in the order of the list, rising within a range, from the first key to the last.
    Rising,
}

impl ValueShape {
    /// Values of one size in bytes, of which `compressible` (0 to 1) can be compressed away.
    pub fn of(bytes: usize, compressible: f64) -> Self {
        Self { sizes: Sizes::of(bytes), order: SizeOrder::Random, compressible }
    }
}

/// Makes and checks the values of a range of keys. What a value is follows from its key and its nonce.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    shape: ValueShape,
    first_key: u64,
    keys: u64,
}

impl Values {
    /// Values of `keys` keys from `first_key` on.
    pub(crate) fn new(shape: ValueShape, first_key: u64, keys: u64) -> Self {
        Self { shape, first_key, keys }
    }

    /// The length of a key's value with this nonce, bytes.
    pub(crate) fn bytes(&self, key: u64, nonce: u64) -> usize {
        let sizes = &self.shape.sizes;
        sizes.only().unwrap_or_else(|| {
            sizes.at(match self.shape.order {
                SizeOrder::Random => Rng::new(split_mix(nonce ^ SIZE)).unit(),
                SizeOrder::Rising => key.wrapping_sub(self.first_key) as f64 / self.keys as f64,
            })
        })
    }

    /// Of a value of so many bytes, those at the front that are random, the nonce among them.
    fn random_bytes(&self, bytes: usize) -> usize {
        let kept = (bytes as f64 * (1.0 - self.shape.compressible)).round() as usize;
        kept.clamp(NONCE.min(bytes), bytes)
    }

    /// Appends a new value for a key. Two values for one key are alike only if their nonces are.
    pub(crate) fn append(&self, key: u64, nonce: u64, out: &mut Vec<u8>) {
        let (start, bytes) = (out.len(), self.bytes(key, nonce));
        let random = self.random_bytes(bytes);
        out.extend_from_slice(&nonce.to_le_bytes()[..NONCE.min(random)]);
        let mut rng = content(key, nonce);
        while out.len() + NONCE <= start + random {
            out.extend_from_slice(&rng.next_u64().to_le_bytes());
        }
        let tail = rng.next_u64().to_le_bytes();
        out.extend_from_slice(&tail[..start + random - out.len()]);
        out.resize(start + bytes, FILLER);
    }

    /// Whether this is a value that was written for the key in this shape.
    pub(crate) fn is_for(&self, key: u64, value: &[u8]) -> bool {
        let Some(nonce) = value.first_chunk::<NONCE>().map(|bytes| u64::from_le_bytes(*bytes)) else { return false };
        if value.len() != self.bytes(key, nonce) {
            return false;
        }
        let mut rng = content(key, nonce);
        let (kept, filler) = value.split_at(self.random_bytes(value.len()));
        let expected = kept[NONCE..].chunks(NONCE).all(|chunk| chunk == &rng.next_u64().to_le_bytes()[..chunk.len()]);
        expected && filler.iter().all(|byte| *byte == FILLER)
    }
}

fn content(key: u64, nonce: u64) -> Rng {
    Rng::new(split_mix(nonce) ^ key)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tiermark_stats::Rng;

    use super::*;

    fn values(bytes: usize, compressible: f64) -> Values {
        Values::new(ValueShape::of(bytes, compressible), 0, 1)
    }

    fn value(of: &Values, key: u64, nonce: u64) -> Vec<u8> {
        let mut out = vec![1, 2, 3];
        of.append(key, nonce, &mut out);
        out.split_off(3)
    }

    proptest! {
        #[test]
        fn a_value_is_known_by_its_key_and_by_no_other(
            bytes in SMALLEST_CHECKED..3000usize,
            percent in 0..=50u32,
            key: u64,
            nonce: u64,
        ) {
            let shape = values(bytes, f64::from(percent) / 100.0);
            let made = value(&shape, key, nonce);
            prop_assert_eq!(made.len(), bytes);
            prop_assert!(shape.is_for(key, &made));
            // Of 16 bytes, half of them filler, only the nonce may be random.
            if shape.random_bytes(bytes) >= SMALLEST_CHECKED {
                prop_assert!(!shape.is_for(key ^ 1, &made));
            }
            for broken in [0, bytes / 2, bytes - 1] {
                let mut other = made.clone();
                other[broken] ^= 4;
                if shape.random_bytes(bytes) >= SMALLEST_CHECKED {
                    prop_assert!(!shape.is_for(key, &other), "byte {broken}");
                }
            }
            prop_assert!(!shape.is_for(key, &made[1..]));
        }

        #[test]
        fn whatever_is_read_is_judged(value: Vec<u8>, bytes in 0..64usize, compressible in 0.0..1.0f64) {
            let _ = values(bytes, compressible).is_for(1, &value);
        }
    }

    #[test]
    fn small_and_empty_values_have_their_length() {
        for bytes in 0..40 {
            for compressible in [0.0, 0.5, 1.0] {
                assert_eq!(value(&values(bytes, compressible), 3, 5).len(), bytes);
            }
        }
    }

    #[test]
    fn as_much_compresses_as_was_asked() {
        let made = value(&values(1024, 0.75), 9, 9);
        assert_eq!(made.iter().rev().take_while(|byte| **byte == FILLER).count(), 768);
        // The random part is random: 256 bytes of 256 values have about 162 different ones.
        let distinct: std::collections::HashSet<u8> = made[..256].iter().copied().collect();
        assert!(distinct.len() > 130, "{}", distinct.len());
    }
    #[test]
    fn values_of_several_sizes_are_checked_with_their_lengths() {
        let sizes: Sizes = "16-100:3,1K".parse().unwrap();
        let shape = |order| ValueShape { sizes: sizes.clone(), order, compressible: 0.25 };
        let random = Values::new(shape(SizeOrder::Random), 0, 1000);
        let mut rng = Rng::new(6);
        let made: Vec<Vec<u8>> = (0..4000).map(|_| value(&random, 7, rng.next_u64())).collect();
        assert!(made.iter().all(|value| random.is_for(7, value)));
        let large = made.iter().filter(|value| value.len() == 1024).count();
        // Four standard deviations of a share of a quarter in 4,000.
        assert!(large.abs_diff(1000) < 110, "{large}");
        // A value that lost its end has the length of another.
        let cut = made.iter().filter(|value| value.len() > 16).any(|value| random.is_for(7, &value[..value.len() - 1]));
        assert!(!cut);
        let rising = Values::new(shape(SizeOrder::Rising), 5000, 1000);
        let lengths: Vec<usize> = (5000..6000).map(|key| value(&rising, key, rng.next_u64()).len()).collect();
        assert!(lengths.is_sorted(), "{lengths:?}");
        assert_eq!((lengths[0], lengths[749], lengths[750]), (16, 100, 1024));
        assert!(!rising.is_for(5000, &value(&rising, 5100, 1)));
    }
}
