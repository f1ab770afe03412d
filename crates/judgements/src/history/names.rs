//! Names of figures: short, and never the same for two figures of one list.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tiermark_model::{FigureHistory, Finding, Labels, Quantity, Unit};

use tiermark_report::{figure_name, label_words};

/// Labels that are in no name: how a figure was measured, and the footprint, which a tier has one of.
const UNNAMED: [&str; 4] = [Labels::CPUS, Labels::KERNEL, Labels::PURPOSE, Labels::SIZE];

/// The name of a figure in reports, by its probe, quantity and labels. Two figures may have one.
fn short_name(probe: &str, metric: &Quantity, labels: &Labels) -> String {
    let mut labels = labels.clone();
    labels.0.remove(Labels::CPUS);
    let name = figure_name(&Finding::new(metric.clone(), labels, None, Unit::Count));
    // The figures of a survey are what is meant without another word.
    if probe == "survey" || name.starts_with(probe) { name } else { format!("{name} ({probe})") }
}

/// All words of a figure: its short name, and its labels.
pub fn history_words(probe: &str, metric: &Quantity, labels: &Labels) -> String {
    format!("{}, {}", short_name(probe, metric, labels), label_words(labels, &UNNAMED))
}

/// The names of the figures of a list.
pub struct FigureNames<'a> {
    by_key: HashMap<&'a str, String>,
}

impl<'a> FigureNames<'a> {
    /// Names figures: those with one short name get the labels that differ between them.
    pub fn of(figures: &'a [FigureHistory]) -> Self {
        let mut alike: BTreeMap<String, Vec<&FigureHistory>> = BTreeMap::new();
        // The other series of a figure have its key.
        for figure in figures.iter().filter(|figure| figure.apart.is_none()) {
            alike.entry(short_name(&figure.probe, &figure.metric, &figure.labels)).or_default().push(figure);
        }
        let mut by_key = HashMap::new();
        for (short, figures) in alike {
            let keys: BTreeSet<&String> = figures.iter().flat_map(|figure| figure.labels.0.keys()).collect();
            let differs = |key: &String| {
                !UNNAMED.contains(&key.as_str())
                    && figures.iter().any(|figure| figure.labels.0.get(key) != figures[0].labels.0.get(key))
            };
            let keys: BTreeSet<&String> = keys.into_iter().filter(|key| differs(key)).collect();
            for figure in figures {
                let mut own = figure.labels.clone();
                own.0.retain(|key, _| keys.contains(key));
                let more = label_words(&own, &[]);
                let name = if more.is_empty() { short.clone() } else { format!("{short}, {more}") };
                by_key.insert(figure.key.as_str(), name);
            }
        }
        Self { by_key }
    }

    /// The name of a figure of the list.
    pub fn name(&self, figure: &FigureHistory) -> String {
        let short = || short_name(&figure.probe, &figure.metric, &figure.labels);
        self.by_key.get(figure.key.as_str()).cloned().unwrap_or_else(short)
    }
}
