//! Places in memory at which a core's own caches are slower for good. Pure.

use std::collections::BTreeMap;

use tiermark_model::{SlowPlaces, Visit};

use super::{VALUE, moments_of, samples};

/// A place is slow if the best of its visits is worse than the level by more than this: pages that crowd some sets of a
/// second level cost half of the rate and more, and moments scatter by less.
const SLOWER: f64 = 0.1;
/// Fewest visits to a place that is judged, and moments that they were at: a neighbour who comes and goes is not there
/// at all of them.
const ENOUGH: (usize, usize) = (5, 2);

/// The places that never reach the level, among those that were visited often enough. `speed` is that of a visit's
/// value: higher is better.
pub(super) fn slow(chosen: &[&Visit], level: f64, speed: impl Fn(f64) -> f64) -> Option<SlowPlaces> {
    let mut places: BTreeMap<u32, Vec<&Visit>> = BTreeMap::new();
    chosen.iter().for_each(|visit| places.entry(visit.allocation).or_default().push(visit));
    let best = |visits: Vec<&Visit>| {
        let seen = samples(visits.into_iter(), VALUE, false);
        let is_enough = seen.len() >= ENOUGH.0 && moments_of(&seen) >= ENOUGH.1;
        let best = seen.iter().map(|sample| speed(sample.value) / speed(level)).reduce(f64::max);
        best.filter(|_| is_enough)
    };
    let shares: Vec<f64> = places.into_values().filter_map(best).collect();
    let slow = shares.iter().filter(|share| **share < 1.0 - SLOWER);
    let (count, worst) = (slow.clone().count(), slow.copied().reduce(f64::min)?);
    Some(SlowPlaces { slow: count as u32, of: shares.len() as u32, share: worst })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::Window;

    fn visit(allocation: u32, at: f64, value: f64) -> Visit {
        let window = Window { clean: true, values: vec![Some(value)], ..Window::default() };
        Visit { allocation, at, windows: vec![window], ..Visit::default() }
    }

    /// Visits to five places in turn, of which some reach a share of the rate.
    fn seen(rounds: u32, value: impl Fn(u32, u32) -> f64) -> Option<SlowPlaces> {
        let of = |round| (0..5).map(move |place| (round, place));
        let visits: Vec<Visit> = (0..rounds)
            .flat_map(of)
            .map(|(round, place)| visit(place, f64::from(round) + 0.1 * f64::from(place), value(round, place)))
            .collect();
        slow(&visits.iter().collect::<Vec<_>>(), 40.0, |rate| rate)
    }

    #[test]
    fn a_place_that_never_reaches_the_level_is_told() {
        let one = seen(6, |_, place| if place == 3 { 10.0 } else { 40.0 });
        assert_eq!(one, Some(SlowPlaces { slow: 1, of: 5, share: 0.25 }));
        assert_eq!(seen(6, |_, _| 40.0), None);
        assert_eq!(seen(6, |_, place| if place == 3 { 37.0 } else { 40.0 }), None, "moments scatter as much");
    }

    #[test]
    fn moments_are_no_places() {
        assert_eq!(seen(4, |_, place| if place == 3 { 10.0 } else { 40.0 }), None, "too few visits");
        assert_eq!(seen(6, |round, _| if round > 0 { 10.0 } else { 40.0 }), None, "all places reached it once");
    }
}
