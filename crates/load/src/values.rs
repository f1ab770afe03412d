//! Values: each can be checked with its key alone, whichever run wrote it.

use serde::{Deserialize, Serialize};
use tiermark_stats::Rng;

use crate::seed::mix;

/// Bytes of a value that say which value it is; the rest follows from these and the key.
const NONCE: usize = 8;
/// Smallest value that can be checked: half of it then follows from the other half.
pub const SMALLEST_CHECKED: usize = 2 * NONCE;
/// Filler of the compressible part: not zero, since pages of zeros are special to zswap, zram and KSM.
const FILLER: u8 = b'.';

/// How values are made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ValueShape {
    /// Bytes of a value.
    pub bytes: usize,
    /// Share of a value (0 to 1) that any compressor removes: it is one byte repeated, the rest is random.
    pub compressible: f64,
}

impl ValueShape {
    /// Bytes at the front that are random, the nonce among them.
    fn random_bytes(self) -> usize {
        let kept = (self.bytes as f64 * (1.0 - self.compressible)).round() as usize;
        kept.clamp(NONCE.min(self.bytes), self.bytes)
    }

    /// Appends a new value for a key. Two values for one key are alike only if their nonces are.
    pub(crate) fn append(self, key: u64, nonce: u64, out: &mut Vec<u8>) {
        let start = out.len();
        let random = self.random_bytes();
        out.extend_from_slice(&nonce.to_le_bytes()[..NONCE.min(random)]);
        let mut rng = content(key, nonce);
        while out.len() + NONCE <= start + random {
            out.extend_from_slice(&rng.next_u64().to_le_bytes());
        }
        let tail = rng.next_u64().to_le_bytes();
        out.extend_from_slice(&tail[..start + random - out.len()]);
        out.resize(start + self.bytes, FILLER);
    }

    /// Whether this is a value that was written for the key in this shape.
    pub(crate) fn is_for(self, key: u64, value: &[u8]) -> bool {
        let random = self.random_bytes();
        let Some(nonce) = value.first_chunk::<NONCE>().filter(|_| value.len() == self.bytes) else { return false };
        let mut rng = content(key, u64::from_le_bytes(*nonce));
        let (kept, filler) = value.split_at(random);
        let expected = kept[NONCE..].chunks(NONCE).all(|chunk| chunk == &rng.next_u64().to_le_bytes()[..chunk.len()]);
        expected && filler.iter().all(|byte| *byte == FILLER)
    }
}

fn content(key: u64, nonce: u64) -> Rng {
    Rng::new(mix(nonce) ^ key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(shape: ValueShape, key: u64, nonce: u64) -> Vec<u8> {
        let mut out = vec![1, 2, 3];
        shape.append(key, nonce, &mut out);
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
            let shape = ValueShape { bytes, compressible: f64::from(percent) / 100.0 };
            let made = value(shape, key, nonce);
            prop_assert_eq!(made.len(), bytes);
            prop_assert!(shape.is_for(key, &made));
            // Of 16 bytes, half of them filler, only the nonce may be random.
            if shape.random_bytes() >= SMALLEST_CHECKED {
                prop_assert!(!shape.is_for(key ^ 1, &made));
            }
            for broken in [0, bytes / 2, bytes - 1] {
                let mut other = made.clone();
                other[broken] ^= 4;
                if shape.random_bytes() >= SMALLEST_CHECKED {
                    prop_assert!(!shape.is_for(key, &other), "byte {broken}");
                }
            }
            prop_assert!(!shape.is_for(key, &made[1..]));
        }

        #[test]
        fn whatever_is_read_is_judged(value: Vec<u8>, bytes in 0..64usize, compressible in 0.0..1.0f64) {
            let shape = ValueShape { bytes, compressible };
            let _ = shape.is_for(1, &value);
        }
    }

    #[test]
    fn small_and_empty_values_have_their_length() {
        for bytes in 0..40 {
            for compressible in [0.0, 0.5, 1.0] {
                assert_eq!(value(ValueShape { bytes, compressible }, 3, 5).len(), bytes);
            }
        }
    }

    #[test]
    fn as_much_compresses_as_was_asked() {
        let shape = ValueShape { bytes: 1024, compressible: 0.75 };
        let made = value(shape, 9, 9);
        assert_eq!(made.iter().rev().take_while(|byte| **byte == FILLER).count(), 768);
        // The random part is random: 256 bytes of 256 values have about 162 different ones.
        let distinct: std::collections::HashSet<u8> = made[..256].iter().copied().collect();
        assert!(distinct.len() > 130, "{}", distinct.len());
    }
}
