//! A small seeded generator for resampling: reproducible on every machine, not for secrets.

/// The step of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): one step and its finaliser, a bijection of 64 bits. Values that
/// differ by one bit come out with nothing in common.
#[must_use]
pub fn split_mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// xoshiro256++ seeded by SplitMix64: Blackman & Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS
/// 47(4), 2021. Own implementation so that a run's intervals are the same for ever, whatever a library changes.
#[derive(Debug, Clone)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator whose whole stream is decided by `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: std::array::from_fn(|at| split_mix(seed.wrapping_add(STEP.wrapping_mul(at as u64)))) }
    }

    /// The next 64 random bits. Inlined: it fills memory word by word.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }

    /// A whole number in `0..n` (0 when `n` is 0), by multiply-and-shift (Lemire, ACM TOMACS 29(1), 2019) without the
    /// rejection step: the bias is at most n/2^64, far below anything a resample can show.
    #[inline]
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// A number in [0, 1) with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A standard normal deviate (Box & Muller, Annals of Mathematical Statistics 29, 1958).
    pub fn normal(&mut self) -> f64 {
        // 1 − u is in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}
