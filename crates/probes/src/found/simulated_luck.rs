//! Machines whose L2 is numbered by physical address while the host maps small pages at random, and quick curves.

use tiermark_model::{KIB, MIB};
use tiermark_stats::Rng;

use super::simulated::*;

/// The Genoa of the other simulations, with small host pages and this L2.
fn placed(rng: &mut Rng, l2: u64) -> Truth {
    let mut truth = drawn([GENOA[0], l2, GENOA[2]], GENOA_NS, rng);
    let (same, width) = (rng.unit() < 0.5, 0.15 + 0.35 * rng.unit());
    truth.caches[1].2 = Replaced::CurveProfile { width, seed: rng.below(1 << 30) as u64, same };
    truth.translation = vec![(288 * KIB, 2.15)];
    truth
}

#[test]
fn pages_at_random() {
    let tally = tally("pages at random", &GENOA, &USUAL, |rng| placed(rng, MIB), rungs_fit);
    few(&tally);
    assert!(tally.resolved[1] * 3 >= seeds(), "L2 is resolved less than every third time: {}", tally.resolved[1]);
}

/// The declared size decides between sizes that the curve allows; it has to be found out where it is not among them.
#[test]
fn pages_at_random_under_a_lie() {
    for declared in [512 * KIB, 2 * MIB, 4 * MIB] {
        let sizes = [GENOA[0], declared, GENOA[2]];
        let name = format!("pages at random, L2 of 1 MiB declared as {} KiB", declared / KIB);
        few(&tally(&name, &sizes, &USUAL, |rng| placed(rng, MIB), |_, _| Ok(())));
    }
}

#[test]
fn quick_curves() {
    let noise = Noise { quick: true, ..USUAL };
    let sizes = [48 * KIB, MIB, 32 * MIB];
    let tally = tally("quick", &sizes, &noise, |rng| drawn(sizes, GENOA_NS, rng), |_, _| Ok(()));
    few(&tally);
    assert!(tally.resolved[0] * 10 >= seeds() * 8, "L1 is resolved {} times", tally.resolved[0]);
}
