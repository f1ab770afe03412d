//! The order of the phases of a soak.

use tiermark_model::{SoakBetween, SoakPattern};

use super::pattern::Pattern;

/// The phases of a round. What finds most comes first, since a short soak of much memory ends early: every byte, what
/// needs rest to change, address lines, neighbours, then each bit by itself.
const ROUND: [(SoakPattern, SoakBetween); 8] = [
    (SoakPattern::Addresses, SoakBetween::Nothing),
    (SoakPattern::Random, SoakBetween::Rested),
    (SoakPattern::Neighbours, SoakBetween::Nothing),
    (SoakPattern::Random, SoakBetween::Copied),
    (SoakPattern::Neighbours, SoakBetween::Hammered),
    (SoakPattern::MovingOnes, SoakBetween::Nothing),
    (SoakPattern::MovingZeros, SoakBetween::Nothing),
    (SoakPattern::Neighbours, SoakBetween::Rested),
];

/// A phase by its number from the start: rounds alternate between patterns and their inverse.
pub(super) fn phase(number: u64, seed: u64) -> (Pattern, SoakBetween) {
    let length = ROUND.len() as u64;
    let (kind, between) = ROUND[(number % length) as usize];
    let round = number / length;
    // The third use of the neighbours in a round is the inverse of the first.
    let inverted = (round + u64::from(number % length == length - 1)) % 2 == 1;
    (Pattern { kind, inverted, seed: seed.wrapping_add(number) }, between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_all_kinds_of_phase() {
        let kinds: std::collections::HashSet<_> = ROUND.into_iter().collect();
        assert_eq!(kinds.len(), tiermark_model::Soak::KINDS);
    }

    #[test]
    fn two_rounds_have_every_pattern_and_its_inverse() {
        let all: Vec<_> = (0..2 * ROUND.len() as u64).map(|number| phase(number, 1)).collect();
        for (kind, between) in ROUND {
            for inverted in [false, true] {
                let is = |(pattern, was): &&(Pattern, SoakBetween)| {
                    pattern.kind == kind && *was == between && pattern.inverted == inverted
                };
                assert!(all.iter().any(|phase| is(&phase)), "{kind}, {between}, {inverted}");
            }
        }
    }
}
