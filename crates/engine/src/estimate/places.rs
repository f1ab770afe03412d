//! Places in memory at which a core's own caches are slower for good. Pure.

use std::collections::BTreeMap;

use tiermark_model::{SlowPlaces, Visit};

use super::{VALUE, moments_of, samples};

/// A visit is slow if it is worse than the level by more than this: pages that crowd some sets of a second level cost
/// half of the rate and more, and moments scatter by less.
const SLOWER: f64 = 0.1;
/// Fewest visits to a place that is judged, and moments that they were at.
const ENOUGH: (usize, usize) = (5, 2);
/// Probability, at most, that a place as good as the others is called slow: that at each of its moments the neighbour
/// was there who makes visits to the others slow (over all places that are judged: Bonferroni).
const CHANCE: f64 = 0.01;

/// The places that never reach the level, among those that were visited often enough. `speed` is that of a visit's
/// value: higher is better.
pub(super) fn slow(chosen: &[&Visit], level: f64, speed: impl Fn(f64) -> f64) -> Option<SlowPlaces> {
    let mut places: BTreeMap<u32, Vec<&Visit>> = BTreeMap::new();
    chosen.iter().for_each(|visit| places.entry(visit.allocation).or_default().push(visit));
    let seen: Vec<Seen> = places.into_values().map(|visits| Seen::of(visits, level, &speed)).collect();
    let judged = seen.iter().filter(|place| place.is_enough()).count();
    let others = || seen.iter().filter(|place| place.slow < place.visits);
    let (slow, all) = others().fold((0, 0), |(slow, all), place| (slow + place.slow, all + place.visits));
    // One more slow visit than was seen, as if the next were.
    let usual = (slow + 1) as f64 / (all + 1) as f64;
    let is_chance = |place: &Seen| usual.powf(place.moments as f64) * judged as f64 > CHANCE;
    let found = seen.iter().filter(|place| place.is_enough() && place.slow == place.visits && !is_chance(place));
    let (count, worst) = (found.clone().count(), found.map(|place| place.best).reduce(f64::min)?);
    Some(SlowPlaces { slow: count as u32, of: judged as u32, share: worst })
}

/// What visits to a place saw.
struct Seen {
    visits: usize,
    slow: usize,
    moments: usize,
    /// The best visit, as a share of the level.
    best: f64,
}

impl Seen {
    fn of(visits: Vec<&Visit>, level: f64, speed: impl Fn(f64) -> f64) -> Self {
        let seen = samples(visits.into_iter(), VALUE, false);
        let shares: Vec<f64> = seen.iter().map(|sample| speed(sample.value) / speed(level)).collect();
        let slow = shares.iter().filter(|share| **share < 1.0 - SLOWER).count();
        let best = shares.iter().copied().fold(0.0, f64::max);
        Self { visits: shares.len(), slow, moments: moments_of(&seen), best }
    }

    fn is_enough(&self) -> bool {
        self.visits >= ENOUGH.0 && self.moments >= ENOUGH.1
    }
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
        // A neighbour who is there for most of the time may have been there at all moments of a place.
        let busy = |round: u32, place: u32| if place == 3 || !(round + place).is_multiple_of(3) { 30.0 } else { 40.0 };
        assert_eq!(seen(6, busy), None);
        assert_eq!(seen(30, busy).map(|found| found.slow), Some(1), "but not for half a minute");
    }

    /// Visits that a neighbour makes slow by lot, over 10 s.
    #[test]
    fn a_busy_neighbour_makes_hardly_a_place_slow() {
        for busy in [0.5, 0.7, 0.9] {
            let mut rng = tiermark_stats::Rng::new(1);
            let wrong = (0..2000).filter(|_| {
                let slow: Vec<bool> = (0..50).map(|_| rng.unit() < busy).collect();
                let at = |round: u32, place: u32| slow[(round * 5 + place) as usize];
                seen(10, |round, place| if at(round, place) { 30.0 } else { 40.0 }).is_some()
            });
            let wrong = wrong.count();
            assert!(wrong <= 60, "{busy}: {wrong} of 2000");
        }
    }
}
