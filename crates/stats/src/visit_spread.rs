//! Whether the visits of a step differ by place in memory or from moment to moment.

use crate::{Spread, median};

/// One of the two is named alone where its spread is at least so many times the other's.
const CLEARLY: f64 = 2.0;
/// Fewest visits to a typical place: of fewer, the medians of places differ by chance.
const ENOUGH: usize = 8;
/// Places differ only where a visit to the slower of two is slower in at least this share of all pairs of visits: a
/// machine that is in one of two states by turns has a small spread in each place too, and medians that fall on either
/// side by chance.
const APART: f64 = 0.85;

/// How the visits of a step differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VisitsDiffer {
    /// By place in memory.
    Places,
    /// By place and from moment to moment.
    Both,
    /// From moment to moment.
    Moments,
    /// By less than matters.
    Neither,
    /// Too few visits to tell.
    Unknown,
}

/// How far the visits of a step differ, as standard deviations of the visits' medians.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VisitSpread {
    /// What differs.
    pub differ: VisitsDiffer,
    /// Places in memory that were visited.
    pub places: usize,
    /// From place to place, without what moments add; `None` with one place.
    pub between: Option<f64>,
    /// From moment to moment in one place; `None` where no place was visited twice.
    pub within: Option<f64>,
}

impl VisitSpread {
    /// Of the visits' medians, by place, and their `spread`; differences matter from the share `worth` on. `None` without
    /// both spreads.
    #[must_use]
    pub fn of(places: &[Vec<f64>], spread: Spread, worth: f64) -> Option<Self> {
        let finite = |spread: Option<f64>| spread.filter(|spread| spread.is_finite());
        let (between, within) = (finite(spread.between), finite(spread.within));
        let mut visits: Vec<usize> = places.iter().map(Vec::len).collect();
        visits.sort_unstable();
        let few = visits.get(visits.len().saturating_sub(1) / 2).is_none_or(|typical| *typical < ENOUGH);
        let differ = match (between, within) {
            (None, None) => return None,
            _ if few => VisitsDiffer::Unknown,
            (Some(between), Some(within)) => which(between, within, worth, places),
            (None, Some(within)) if within >= worth => VisitsDiffer::Moments,
            (None, Some(_)) => VisitsDiffer::Neither,
            (Some(_), None) => VisitsDiffer::Unknown,
        };
        Some(Self { differ, places: places.len(), between, within })
    }
}

/// Both spreads are standard deviations of the same medians of visits, over the same median, so that they may be
/// compared.
fn which(between: f64, within: f64, worth: f64, places: &[Vec<f64>]) -> VisitsDiffer {
    match (between >= worth, within >= worth) {
        (false, false) => VisitsDiffer::Neither,
        _ if between >= CLEARLY * within => match apart(places) {
            true => VisitsDiffer::Places,
            false => VisitsDiffer::Unknown,
        },
        _ if within >= CLEARLY * between => VisitsDiffer::Moments,
        _ => VisitsDiffer::Both,
    }
}

/// Whether visits to the place with the highest median lie above those to the one with the lowest nearly always.
fn apart(places: &[Vec<f64>]) -> bool {
    let mut sorted: Vec<&Vec<f64>> = places.iter().collect();
    let middle = |values: &[f64]| median(values).unwrap_or_default();
    sorted.sort_by(|a, b| middle(a).total_cmp(&middle(b)));
    let (Some(low), Some(high)) = (sorted.first(), sorted.last()) else { return false };
    let above = |value: &f64| low.iter().filter(|other| value > other).count();
    let pairs = low.len() * high.len();
    high.iter().map(above).sum::<usize>() as f64 >= APART * pairs as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(places: &[&[f64]], between: Option<f64>, within: Option<f64>) -> Option<VisitSpread> {
        let places: Vec<Vec<f64>> = places.iter().map(|visits| visits.to_vec()).collect();
        VisitSpread::of(&places, Spread { within, between }, 0.01)
    }

    fn differ(places: &[&[f64]], between: f64, within: f64) -> VisitsDiffer {
        of(places, Some(between), Some(within)).expect("a spread").differ
    }

    const FAST: [f64; 8] = [10.0, 10.1, 10.0, 9.9, 10.0, 10.1, 10.0, 9.9];
    const SLOW: [f64; 8] = [10.5, 10.6, 10.5, 10.4, 10.5, 10.6, 10.5, 10.4];

    #[test]
    fn what_clearly_exceeds_the_other_is_named() {
        assert_eq!(differ(&[&FAST, &SLOW], 0.041, 0.01), VisitsDiffer::Places);
        assert_eq!(differ(&[&FAST, &SLOW], 0.005, 0.12), VisitsDiffer::Moments);
        assert_eq!(differ(&[&FAST, &SLOW], 0.041, 0.03), VisitsDiffer::Both);
        assert_eq!(differ(&[&FAST, &SLOW], 0.009, 0.001), VisitsDiffer::Neither);
    }

    #[test]
    fn places_are_not_blamed_for_moments() {
        assert_eq!(differ(&[&FAST[..7], &SLOW[..7]], 0.041, 0.01), VisitsDiffer::Unknown, "too few visits");
        // Two states by turns: most visits of one place met the fast one, most of the other the slow one.
        let often = [10.0, 10.0, 10.0, 10.0, 10.0, 20.0, 20.0, 20.0];
        let seldom = [10.0, 10.0, 10.0, 20.0, 20.0, 20.0, 20.0, 20.0];
        assert_eq!(differ(&[&often, &seldom], 0.5, 0.0), VisitsDiffer::Unknown);
        // Fresh memory at each visit: place and moment are one.
        let fresh: Vec<&[f64]> = FAST.chunks(1).collect();
        let spread = of(&fresh, Some(0.2), None).expect("a spread");
        assert_eq!(spread.differ, VisitsDiffer::Unknown);
        assert!(of(&[], None, None).is_none());
    }
}
