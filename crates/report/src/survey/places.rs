//! How the visits of figures differ that are bounds or less precise than wanted.

use std::collections::BTreeMap;

use tiermark_model::{Grade, Observation, Run};
use tiermark_page::{Ink, Page, Table, heading, paragraph, percent};
use tiermark_stats::{Spread, VisitSpread, VisitsDiffer, median};

use super::figures::{Figure, of_run};

/// What a difference has to be to matter where the plan does not say which precision was wanted.
const WORTH: f64 = 0.01;

/// What differs, in plain words.
fn words(spread: &VisitSpread) -> String {
    let share = |spread: Option<f64>| spread.map_or_else(|| "an unknown share".to_owned(), percent);
    let (between, within) = (share(spread.between), share(spread.within));
    let places = spread.places;
    match spread.differ {
        VisitsDiffer::Moments if spread.between.is_none() => {
            format!("visits differ by {within}; measured at one place in memory")
        }
        VisitsDiffer::Neither if spread.between.is_none() => {
            format!("visits differ by only {within}; measured at one place in memory")
        }
        VisitsDiffer::Places => {
            format!("its {places} places in memory differ by {between}, visits to one place by {within}")
        }
        VisitsDiffer::Both => {
            format!("both: its {places} places in memory differ by {between}, visits to one place by {within}")
        }
        VisitsDiffer::Moments => format!("visits to one place differ by {within}, {places} places by {between}"),
        VisitsDiffer::Neither => {
            format!("neither: its {places} places in memory differ by {between}, visits to one place by {within}")
        }
        VisitsDiffer::Unknown => "too few visits to each place in memory to compare places".to_owned(),
    }
}

/// The spread of a figure that is a bound, or whose interval is wider than wanted; `None` of others, and of what is
/// derived from a step: only its own number differs as its visits do.
fn spread_of(figure: &Figure<'_>) -> Option<VisitSpread> {
    let (finding, seen) = (figure.finding, figure.seen?);
    let own = finding.evidence.len() == 1 && finding.unit == seen.unit && finding.value == seen.value;
    let doubted = matches!(finding.verdict.grade, Grade::Shared | Grade::Bound) || figure.too_wide().is_some();
    if !own || !doubted || finding.value.is_none() {
        return None;
    }
    let spread = Spread { within: seen.spread_within, between: seen.spread_between };
    VisitSpread::of(&by_place(seen), spread, figure.wanted.unwrap_or(WORTH))
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

/// What differs, figure by figure; empty where every figure is trusted and precise, or no document says.
pub(crate) fn table(run: &Run) -> Page {
    let figures = of_run(run);
    let mut rows: Vec<(String, VisitSpread)> =
        figures.iter().filter_map(|figure| Some((figure.name(), spread_of(figure)?))).collect();
    if rows.is_empty() {
        return Page::new();
    }
    rows.sort_by_key(|(_, spread)| spread.differ);
    let table = Table::of(&rows).texts("figure", |(name, _)| name).texts("what differs", |(_, spread)| words(spread));
    let mut out = heading("How visits differ: standard deviations of their medians, by place in memory");
    out += table.table();
    if matches!(rows[0].1.differ, VisitsDiffer::Places | VisitsDiffer::Both) {
        let todo = "where places differ, run again: each run allocates other places in memory";
        out += paragraph("  → ", todo, Ink::Plain);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_in_plain_words() {
        let words = |differ, places, between, within| words(&VisitSpread { differ, places, between, within });
        assert_eq!(
            words(VisitsDiffer::Places, 3, Some(0.041), Some(0.01)),
            "its 3 places in memory differ by 4.1 %, visits to one place by 1.0 %"
        );
        assert_eq!(
            words(VisitsDiffer::Moments, 2, Some(0.005), Some(0.12)),
            "visits to one place differ by 12 %, 2 places by 0.5 %"
        );
        assert_eq!(
            words(VisitsDiffer::Moments, 1, None, Some(0.12)),
            "visits differ by 12 %; measured at one place in memory"
        );
        assert_eq!(
            words(VisitsDiffer::Unknown, 8, Some(0.2), None),
            "too few visits to each place in memory to compare places"
        );
    }
}
