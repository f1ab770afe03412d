//! Names of figures: short, and never the same for two figures of one list.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tiermark_model::{FigureHistory, Finding, LabelSet, Labels, Quantity, Unit};

use crate::figure_name;

/// Labels that are in no name: how a figure was measured, and the footprint, which a tier has one of.
const UNNAMED: LabelSet = LabelSet::NONE.cpus().kernel().purpose().size();

/// The name of a figure in reports, by its probe, quantity and labels. Two figures may have one.
fn short_name(probe: &str, quantity: &Quantity, labels: &Labels) -> String {
    if *quantity == Quantity::CoreClock {
        return "core clock".to_owned();
    }
    let interrupted = match quantity {
        Quantity::InterruptionsShare => Some("interrupted share of the time"),
        Quantity::InterruptionsLongShare => Some("share of the time interrupted for over 20 µs"),
        _ => None,
    };
    if let Some(name) = interrupted {
        return name.to_owned();
    }
    let labels = labels.clone().without(LabelSet::NONE.cpus());
    let name = figure_name(&Finding::new(quantity.clone(), labels, None, Unit::Count));
    // The figures of a survey are what is meant without another word.
    if probe == "survey" || name.starts_with(probe) { name } else { format!("{name} ({probe})") }
}

/// The names of the figures of a list.
pub(super) struct FigureNames<'a> {
    by_key: HashMap<&'a str, String>,
}

/// A name for each figure of a list, by its probe, quantity and labels: figures with one short name get the labels that
/// differ between them.
pub(crate) fn distinct_names<'a>(figures: &[(&str, &Quantity, &'a Labels)]) -> Vec<String> {
    let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, (probe, metric, labels)) in figures.iter().enumerate() {
        alike.entry(short_name(probe, metric, labels)).or_default().push(at);
    }
    let mut names = vec![String::new(); figures.len()];
    for (short, places) in alike {
        let labels = || places.iter().map(|at| figures[*at].2);
        let all: BTreeSet<&str> = labels().flat_map(Labels::iter).map(|(name, _)| name).collect();
        let value =
            |labels: &'a Labels, name: &str| labels.iter().find(|(own, _)| *own == name).map(|(_, label)| label);
        let differs = |name: &&str| {
            !UNNAMED.has_name(name) && labels().any(|labels| value(labels, name) != value(figures[places[0]].2, name))
        };
        let names_that_differ: BTreeSet<&str> = all.into_iter().filter(differs).collect();
        for at in &places {
            let own = figures[*at].2.clone().filtered(|name| names_that_differ.contains(name));
            let more = own.words(LabelSet::NONE);
            names[*at] = if more.is_empty() { short.clone() } else { format!("{short}, {more}") };
        }
    }
    names
}

impl<'a> FigureNames<'a> {
    /// Names figures so that no two names are alike.
    pub(super) fn of(figures: &'a [FigureHistory]) -> Self {
        // The other series of a figure have its key.
        let figures: Vec<&FigureHistory> = figures.iter().filter(|figure| figure.apart.is_none()).collect();
        let described: Vec<(&str, &Quantity, &Labels)> =
            figures.iter().map(|figure| (figure.probe.as_str(), &figure.quantity, &figure.labels)).collect();
        let keys = figures.iter().map(|figure| figure.key.as_str());
        Self { by_key: keys.zip(distinct_names(&described)).collect() }
    }

    /// The name of a figure of the list.
    pub(super) fn name(&self, figure: &FigureHistory) -> String {
        let short = || short_name(&figure.probe, &figure.quantity, &figure.labels);
        self.by_key.get(figure.key.as_str()).cloned().unwrap_or_else(short)
    }
}
