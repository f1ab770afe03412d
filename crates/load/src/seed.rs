//! Seeds that differ wherever two streams of requests must differ.

use serde::{Deserialize, Serialize};
use tiermark_stats::split_mix;

/// Which part of an experiment a stream of requests belongs to.
///
/// A measurement that repeats the warm-up's keys finds them all in memory, so each phase and iteration draws its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Before the measurement, with the number of the warm-up round.
    WarmUp(u32),
    /// A measured iteration.
    Measure(u32),
}

/// The seed of one tenant's stream in one phase: its parts mixed in turn, so that streams whose parts differ by one bit
/// have nothing in common.
pub fn seed(base: u64, tenant: u64, phase: Phase) -> u64 {
    let (kind, iteration) = match phase {
        Phase::WarmUp(iteration) => (1, iteration),
        Phase::Measure(iteration) => (2, iteration),
    };
    [tenant, kind, u64::from(iteration)].into_iter().fold(split_mix(base), |state, part| split_mix(state ^ part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_streams_share_a_seed() {
        let mut seen = HashSet::new();
        for base in 0..4 {
            for tenant in 0..200 {
                for iteration in 0..4 {
                    assert!(seen.insert(seed(base, tenant, Phase::WarmUp(iteration))));
                    assert!(seen.insert(seed(base, tenant, Phase::Measure(iteration))));
                }
            }
        }
    }

    #[test]
    fn a_seed_is_the_same_for_ever() {
        // SplitMix64's first outputs from state 0, from its authors' reference.
        assert_eq!(split_mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(split_mix(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }
}
