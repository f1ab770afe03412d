//! Use of a declared size where the curve leaves the size of a private cache open.

use super::types::Declared;

/// Share of machines whose declared private caches are what they have: hosts give guests parts of the shared level,
/// hardly ever of the private ones, but some declare a made-up processor.
const HONEST: f64 = 0.9;
/// Other sizes are as likely as each other (in the logarithm) over this factor on both sides.
const OTHERWISE: f64 = 8.0;
/// Wanted probability that the declared size is right within [`RIGHT`]: that of the interval of a size that the curve
/// resolves.
const SURE: f64 = 0.98;
/// Right within 10 %.
const RIGHT: f64 = 1.1;
/// A curve that leaves more open than this (ratio of the ends) says too little: the declared size would be repeated,
/// not found.
const WIDEST: f64 = 2.5;
/// Half the width of a central 98 % interval in standard deviations.
const HALF_WIDTH: f64 = 2.326;

/// The declared size of a level that only one core uses; `None` for the last level too: hosts partition it, and a guest
/// with one cpu cannot see that it is shared.
pub(super) fn private(declared: &[Declared], level: u8) -> Option<u64> {
    let last = declared.iter().map(|d| d.level).max()?;
    declared.iter().find(|d| d.level == level && !d.shared && d.level < last).map(|d| d.bytes)
}

/// Whether a curve with a central 98 % interval from `low` to `high` makes it sure that a cache has its declared size.
///
/// The posterior of a point mass in a flat prior (Jeffreys, "Theory of Probability", 3rd edition 1961, chapter 5),
/// where the curve's likelihood is taken for log-normal. Half or twice the size is more than three standard deviations
/// off where the interval is narrow enough to support anything.
pub(super) fn supports(low: f64, high: f64, declared: u64) -> bool {
    let declared = declared as f64;
    let inside = low <= declared && declared <= high;
    if !inside || high > WIDEST * low {
        return false;
    }
    let deviation = (high / low).ln() / 2.0 / HALF_WIDTH;
    let off = (declared / (low * high).sqrt()).ln() / deviation;
    let density = (-0.5 * off * off).exp() / (deviation * (2.0 * std::f64::consts::PI).sqrt());
    let (honest, otherwise) = (HONEST * density, (1.0 - HONEST) / (2.0 * OTHERWISE.ln()));
    honest / (honest + otherwise) >= SURE
}

/// The interval of a size that is right within 10 %.
pub(super) fn interval(declared: u64) -> (u64, u64) {
    ((declared as f64 / RIGHT).round() as u64, (declared as f64 * RIGHT).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::MIB;

    #[test]
    fn a_declared_size_is_supported_near_the_middle_of_a_narrow_interval() {
        let mib = MIB as f64;
        assert!(supports(0.8 * mib, 1.25 * mib, MIB) && supports(0.75 * mib, 1.3 * mib, MIB));
        assert!(!supports(0.7 * mib, 1.01 * mib, MIB), "at its edge");
        assert!(!supports(0.6 * mib, 1.6 * mib, MIB), "too wide");
        for lie in [MIB / 4, MIB / 2, 2 * MIB, 4 * MIB] {
            assert!(!supports(0.72 * mib, 1.4 * mib, lie), "{lie}");
        }
    }

    #[test]
    fn shared_and_last_levels_are_not_taken_from_what_is_declared() {
        let all: Vec<Declared> =
            [(1, false), (2, true), (3, false)].map(|(level, shared)| Declared { level, bytes: MIB, shared }).to_vec();
        assert_eq!([1, 2, 3, 4].map(|level| private(&all, level)), [Some(MIB), None, None, None]);
        assert_eq!(private(&[], 1), None);
    }
}
