//! Random data, by the generator of the statistics.

pub use tiermark_stats::Rng;

/// Fills memory with incompressible words that are also ordinary floating-point numbers: `f64` in [1, 2), 52 random
/// bits each. Plain random bits would hold subnormals and NaNs, which slow the arithmetic of triad on some cores.
pub fn fill_data(words: &mut [u64], seed: u64) {
    let mut rng = Rng::new(seed);
    for word in words {
        *word = 0x3ff0_0000_0000_0000 | (rng.next_u64() >> 12);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_finite_and_does_not_repeat() {
        let mut words = vec![0; 4096];
        fill_data(&mut words, 1);
        assert!(words.iter().all(|w| (1.0..2.0).contains(&f64::from_bits(*w))));
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 4096);
    }
}
