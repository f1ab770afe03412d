//! Samples that a coarse clock has rounded.

use crate::usable;

/// Chance, over all candidate quanta together, that samples of a fine clock are called quantised.
const FALSE_ALARM: f64 = 1e-3;

/// Finest quantum looked for, as a share of the largest sample. A finer one is no coarse clock, and the bound keeps the
/// search to two milliseconds for 300 samples.
const MAX_STEPS: u32 = 100_000;

/// The step all samples are whole multiples of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantum {
    /// The step, in the samples' unit.
    pub size: f64,
    /// The step as a share of the samples' median: coarse when it is not small beside the interval aimed at.
    pub relative: f64,
    /// Different multiples seen.
    pub distinct: usize,
    /// Upper bound of the chance that unquantised samples would look so, over all steps tried.
    pub chance: f64,
}

/// Looks for one step of which all samples are whole multiples, and which is coarse beside `resolution_floor`: how
/// finely the samples are known, that is the last digit of printed ones, or the rounding of computed ones. The finer
/// the floor, the fewer different values give a step away. A step found this way is real but may still be harmless:
/// hold [`Quantum::relative`] against the precision that is claimed. Give raw samples: an overhead already subtracted
/// shifts them off their multiples. Latencies of one fixed number of clock cycles each are honest multiples too.
///
/// Method (derived here; an approximate greatest common divisor with a bound on false alarms). Each sample is known to
/// ± r/2, r being the floor. If x = kq for all, the largest is mq for a whole m, so q = x_max/m is known to ± r/2m, and
/// every other sample must lie within r of a multiple of it. The candidates are therefore m = 1, 2, 3, …, coarse first.
/// For samples that have no common step, the place of each one between two multiples is uniform, and the chance to lie
/// within r of one is at most p = 3r/q (2r of q, and r more because printed samples stand on a grid of r). Samples at
/// the same multiple may be one value seen many times, so d different multiples besides the largest's (and zero) count
/// as d independent hits, and chance(m) = p^d. Step m is accepted when all samples fit and chance(m) ≤ α/(m(m + 1));
/// since Σ 1/(m(m + 1)) = 1, all steps together raise a false alarm with probability at most α = 0.001 (Bonferroni with
/// weights). A step below 3r has p ≥ 1 and can never be accepted: that fine a clock does not matter.
///
/// Samples that are all alike carry no evidence (a quiet machine gives them too) and are accepted. `None` also when the
/// input is empty, negative or non-finite, or the floor is not positive.
#[must_use]
pub fn quantum(values: &[f64], resolution_floor: f64) -> Option<Quantum> {
    let floor_usable = resolution_floor.is_finite() && resolution_floor > 0.0;
    if !floor_usable || !usable(values) || values.iter().any(|v| *v < 0.0) {
        return None;
    }
    let mut sorted = values.to_vec();
    // Largest first: those are the least likely to fit by being small, so a wrong step is dropped soonest.
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    sorted.dedup();
    let largest = sorted[0];
    let most_hits = sorted.len() as i32 - 1;
    for m in 1..=MAX_STEPS {
        let steps = f64::from(m);
        let step = largest / steps;
        let p = 3.0 * resolution_floor / step;
        let weight = steps * (steps + 1.0);
        // Finer steps only raise this, so nothing beyond can be accepted.
        if p >= 1.0 || p.powi(most_hits) * weight > FALSE_ALARM {
            return None;
        }
        let Some(hits) = hits(&sorted, step, resolution_floor) else { continue };
        let chance = p.powi(hits as i32) * weight;
        if chance <= FALSE_ALARM {
            let middle = crate::order::median_in_place(&mut values.to_vec());
            return Some(Quantum { size: step, relative: step / middle, distinct: hits + 1, chance });
        }
    }
    None
}

/// How many different multiples of `step`, other than the largest's and zero, the descending samples stand on; `None`
/// when one of them stands on none.
fn hits(descending: &[f64], step: f64, tolerance: f64) -> Option<usize> {
    // Decimal fractions are not exact in binary; the slack is far below any tolerance.
    let tolerance = tolerance * (1.0 + 1e-6);
    let mut last = (descending[0] / step).round();
    let mut hits = 0;
    for value in &descending[1..] {
        let multiple = (value / step).round();
        if (value - multiple * step).abs() > tolerance {
            return None;
        }
        if multiple != last && multiple != 0.0 {
            hits += 1;
            last = multiple;
        }
    }
    Some(hits)
}
