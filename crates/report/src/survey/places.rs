//! Whether the visits of a figure differ by place in memory or from moment to moment: of figures that are bounds or
//! less precise than wanted.

use std::collections::BTreeMap;

use tiermark_model::{Grade, Observation, Run};
use tiermark_page::{Ink, Page, Table, heading, median, paragraph, percent};

use super::figures::{Figure, of_run};

/// One of the two is named alone where its spread is at least so many times the other's.
const CLEARLY: f64 = 2.0;
/// Fewest visits to a typical place: of fewer, the medians of places differ by chance.
const ENOUGH: usize = 8;
/// Places differ only where a visit to the slower of two is slower in at least this share of all pairs of visits: a
/// machine that is in one of two states by turns has a small spread in each place too, and medians that fall on either
/// side by chance.
const APART: f64 = 0.85;
/// What a difference has to be to matter where the plan does not say which precision was wanted.
const WORTH: f64 = 0.01;

/// How the visits of a step differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Differ {
    Places,
    Both,
    Moments,
    Neither,
    Unknown,
}

/// How far the visits of a step differ, as standard deviations of the visits' medians.
struct Spread {
    differ: Differ,
    /// Places in memory that were visited.
    places: usize,
    /// From place to place, without what moments add; `None` with one place.
    between: Option<f64>,
    /// From moment to moment in one place; `None` where no place was visited twice.
    within: Option<f64>,
}

impl Spread {
    fn of(seen: &Observation, worth: f64) -> Option<Self> {
        let places = by_place(seen);
        let finite = |spread: Option<f64>| spread.filter(|spread| spread.is_finite());
        let (between, within) = (finite(seen.spread_between), finite(seen.spread_within));
        let mut visits: Vec<usize> = places.iter().map(Vec::len).collect();
        visits.sort_unstable();
        let few = visits.get(visits.len().saturating_sub(1) / 2).is_none_or(|typical| *typical < ENOUGH);
        let differ = match (between, within) {
            (None, None) => return None,
            _ if few => Differ::Unknown,
            (Some(between), Some(within)) => judged(between, within, worth, &places),
            (None, Some(within)) if within >= worth => Differ::Moments,
            (None, Some(_)) => Differ::Neither,
            (Some(_), None) => Differ::Unknown,
        };
        Some(Self { differ, places: places.len(), between, within })
    }

    /// In plain words.
    fn words(&self) -> String {
        let share = |spread: Option<f64>| spread.map_or_else(|| "an unknown share".to_owned(), percent);
        let (between, within) = (share(self.between), share(self.within));
        let places = self.places;
        match self.differ {
            Differ::Moments if self.between.is_none() => {
                format!("visits differ by {within}; measured at one place in memory")
            }
            Differ::Neither if self.between.is_none() => {
                format!("visits differ by only {within}; measured at one place in memory")
            }
            Differ::Places => {
                format!("its {places} places in memory differ by {between}, visits to one place by {within}")
            }
            Differ::Both => {
                format!("both: its {places} places in memory differ by {between}, visits to one place by {within}")
            }
            Differ::Moments => format!("visits to one place differ by {within}, {places} places by {between}"),
            Differ::Neither => {
                format!("neither: its {places} places in memory differ by {between}, visits to one place by {within}")
            }
            Differ::Unknown => "too few visits to each place in memory to compare places".to_owned(),
        }
    }
}

/// Both spreads are standard deviations of the same medians of visits, over the same median, so that they may be
/// compared.
fn judged(between: f64, within: f64, worth: f64, places: &[Vec<f64>]) -> Differ {
    match (between >= worth, within >= worth) {
        (false, false) => Differ::Neither,
        _ if between >= CLEARLY * within => match apart(places) {
            true => Differ::Places,
            false => Differ::Unknown,
        },
        _ if within >= CLEARLY * between => Differ::Moments,
        _ => Differ::Both,
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

/// The medians of the clean windows of each visit, by place.
fn by_place(seen: &Observation) -> Vec<Vec<f64>> {
    let mut places: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for visit in &seen.visits.list {
        let clean = visit.windows.iter().filter(|window| window.clean).filter_map(|window| window.value());
        let clean: Vec<f64> = clean.collect();
        if let Some(middle) = median(&clean) {
            places.entry(visit.allocation).or_default().push(middle);
        }
    }
    places.into_values().collect()
}

/// The spread of a figure that is a bound, or whose interval is wider than wanted; `None` of others, and of what is
/// derived from a step: only its own number differs as its visits do.
fn spread_of(figure: &Figure<'_>) -> Option<Spread> {
    let (finding, seen) = (figure.finding, figure.seen?);
    let own = finding.evidence.len() == 1 && finding.unit == seen.unit && finding.value == seen.value;
    let doubted = matches!(finding.verdict.grade, Grade::Shared | Grade::Bound) || figure.too_wide().is_some();
    if !own || !doubted || finding.value.is_none() {
        return None;
    }
    Spread::of(seen, figure.wanted.unwrap_or(WORTH))
}

/// What differs, figure by figure; empty where every figure is trusted and precise, or no document says.
pub(crate) fn table(run: &Run) -> Page {
    let figures = of_run(run);
    let mut rows: Vec<(String, Spread)> =
        figures.iter().filter_map(|figure| Some((figure.name(), spread_of(figure)?))).collect();
    if rows.is_empty() {
        return Page::new();
    }
    rows.sort_by_key(|(_, spread)| spread.differ);
    let table = Table::of(&rows).texts("figure", |(name, _)| name).texts("what differs", |(_, spread)| spread.words());
    let mut out = heading("How visits differ: standard deviations of their medians, by place in memory");
    out += table.table();
    if matches!(rows[0].1.differ, Differ::Places | Differ::Both) {
        let todo = "where places differ, run again: each run allocates other places in memory";
        out += paragraph("  → ", todo, Ink::Plain);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Labels, Metric, Visit, Visits, Window};

    /// An observation with these visits' medians, by place.
    fn seen(places: &[&[f64]], between: Option<f64>, within: Option<f64>) -> Observation {
        let mut seen = Observation {
            allocations: places.len() as u32,
            spread_between: between,
            spread_within: within,
            ..Observation::new("a", Labels::new(), Metric::Latency)
        };
        let window = |value: &f64| Window { clean: true, values: vec![Some(*value)], ..Window::default() };
        seen.visits = Visits::new(0, 0);
        for (allocation, values) in places.iter().enumerate() {
            for value in *values {
                let (allocation, windows) = (allocation as u32, vec![window(value)]);
                seen.visits.push(Visit { allocation, windows, ..Visit::default() });
            }
        }
        seen
    }

    fn differ(places: &[&[f64]], between: f64, within: f64) -> Differ {
        Spread::of(&seen(places, Some(between), Some(within)), 0.01).expect("a spread").differ
    }

    const FAST: [f64; 8] = [10.0, 10.1, 10.0, 9.9, 10.0, 10.1, 10.0, 9.9];
    const SLOW: [f64; 8] = [10.5, 10.6, 10.5, 10.4, 10.5, 10.6, 10.5, 10.4];

    #[test]
    fn what_clearly_exceeds_the_other_is_named() {
        assert_eq!(differ(&[&FAST, &SLOW], 0.041, 0.01), Differ::Places);
        assert_eq!(differ(&[&FAST, &SLOW], 0.005, 0.12), Differ::Moments);
        assert_eq!(differ(&[&FAST, &SLOW], 0.041, 0.03), Differ::Both);
        assert_eq!(differ(&[&FAST, &SLOW], 0.009, 0.001), Differ::Neither);
    }

    #[test]
    fn places_are_not_blamed_for_moments() {
        assert_eq!(differ(&[&FAST[..7], &SLOW[..7]], 0.041, 0.01), Differ::Unknown, "too few visits");
        // Two states by turns: most visits of one place met the fast one, most of the other the slow one.
        let often = [10.0, 10.0, 10.0, 10.0, 10.0, 20.0, 20.0, 20.0];
        let seldom = [10.0, 10.0, 10.0, 20.0, 20.0, 20.0, 20.0, 20.0];
        assert_eq!(differ(&[&often, &seldom], 0.5, 0.0), Differ::Unknown);
        // Fresh memory at each visit: place and moment are one.
        let fresh: Vec<&[f64]> = FAST.chunks(1).collect();
        let told = Spread::of(&seen(&fresh, Some(0.2), None), 0.01).expect("a spread");
        assert_eq!(
            (told.differ, told.words().as_str()),
            (Differ::Unknown, "too few visits to each place in memory to compare places")
        );
    }

    #[test]
    fn it_is_said_in_plain_words() {
        let words = |places: &[&[f64]], between, within| {
            Spread::of(&seen(places, between, within), 0.01).expect("a spread").words()
        };
        assert_eq!(
            words(&[&FAST, &FAST, &SLOW], Some(0.041), Some(0.01)),
            "its 3 places in memory differ by 4.1 %, visits to one place by 1.0 %"
        );
        assert_eq!(
            words(&[&FAST, &SLOW], Some(0.005), Some(0.12)),
            "visits to one place differ by 12 %, 2 places by 0.5 %"
        );
        assert_eq!(words(&[&FAST], None, Some(0.12)), "visits differ by 12 %; measured at one place in memory");
        assert!(Spread::of(&seen(&[], None, None), 0.01).is_none());
    }
}
