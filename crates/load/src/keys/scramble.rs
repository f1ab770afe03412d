//! A permutation of `0..count` that leaves nothing of its order.

use tiermark_stats::split_mix;

/// The permutation is part of what a workload means: other seeds of a run do not change it.
const ROUNDS: [u64; 3] = [0x5851_f42d_4c95_7f2d, 0x1405_7b7e_f767_814f, 0x2545_f491_4f6c_dd1d];

/// Bijective mixing of as many bits as `count` needs, repeated while the result lies outside (cycle walking: Black &
/// Rogaway, CT-RSA 2002), which is at most every second time.
#[derive(Debug, Clone)]
pub(super) struct Scramble {
    count: u64,
    /// Ones in the bits that are mixed.
    mask: u64,
    /// Half of those bits, at least 1.
    shift: u32,
}

impl Scramble {
    pub(super) fn new(count: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let mask = if bits == 0 { 0 } else { u64::MAX >> (u64::BITS - bits) };
        Self { count, mask, shift: bits.div_ceil(2).max(1) }
    }

    /// Where a key goes.
    pub(super) fn of(&self, key: u64) -> u64 {
        let mut at = key;
        loop {
            for (round, factor) in ROUNDS.iter().enumerate() {
                // Adding, multiplying by an odd number and xoring in the upper half are each bijections of these bits.
                at = at.wrapping_add(split_mix(round as u64)).wrapping_mul(factor | 1) & self.mask;
                at ^= at >> self.shift;
            }
            if at < self.count {
                return at;
            }
        }
    }
}
