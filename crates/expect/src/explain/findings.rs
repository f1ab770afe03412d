//! What rules are judged by, and what they find.

use tiermark_model::{Confidence, Explained, Machine, Note, Run};

use crate::explain::boxes::Few;
use crate::explain::facts::{ALL_CORES, CORES, FactName, Found, Scene};
use crate::explain::rules::{Holds, Rule};

/// Other places that are named.
const MOST_ALSO: usize = 8;

/// What rules are judged by.
pub(crate) struct Input<'a> {
    /// The run of probes; `None` of another document.
    pub(crate) run: Option<&'a Run>,
    pub(crate) machine: &'a Machine,
    pub(crate) all: Vec<Scene>,
    /// Why the counts of memory traffic cannot be used; `None` if they can.
    pub(crate) counts: Option<Note>,
    /// What the counters see too few of to compare.
    pub(crate) few: Few,
}

/// The scenes in which all comparisons hold, the most pronounced first, each with by how much.
pub(crate) fn holding<'a>(holds: &Holds, input: &'a Input<'_>) -> Vec<(f64, &'a Scene)> {
    let fits = |scene: &&Scene| holds.fits(scene) && holds.results(scene).all(|one| one == Some(true));
    let excess = |scene: &Scene| {
        let value = |name: &FactName| scene.get(*name).map(|found| found.value);
        holds.all.first().and_then(|one| one.excess(value)).unwrap_or(f64::INFINITY)
    };
    let mut all: Vec<(f64, &Scene)> = input.all.iter().filter(fits).map(|scene| (excess(scene), scene)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all
}

/// Result of a rule.
pub(crate) enum Judged {
    Found(Box<Explained>),
    Clear,
    /// Why, and the command whose run has what is missing.
    Unjudged(Note, Option<String>),
}

/// An explanation without a place and numbers.
pub(crate) fn explained(rule: &Rule, rests_on: Confidence) -> Explained {
    Explained {
        rule: rule.name.clone(),
        kind: rule.kind,
        found: rule.finding.clone(),
        confidence: rule.at_best.map_or(rests_on, |best| best.max(rests_on)),
        place: None,
        numbers: Vec::new(),
        also: Vec::new(),
        others: 0,
        advice: rule.advice.clone(),
        source: rule.source.clone(),
    }
}

/// What a rule found at the most pronounced place.
pub(crate) fn found(rule: &Rule, holds: &Holds, first: &Scene, others: &[(f64, &Scene)]) -> Explained {
    let rests: Vec<&Found> = holds.all.iter().flat_map(|one| one.names()).filter_map(|name| first.get(*name)).collect();
    let has = |what: Confidence| rests.iter().any(|found| found.rests_on == what);
    // What is counted decides, and what is reported only sets the limit.
    let rests_on = match () {
        // Words of a scene are results of the run.
        () if holds.all.is_empty() => Confidence::Measured,
        () if has(Confidence::Hint) => Confidence::Hint,
        () if has(Confidence::Counted) => Confidence::Counted,
        () if has(Confidence::Measured) => Confidence::Measured,
        () => Confidence::Reported,
    };
    let mut also: Vec<String> = Vec::new();
    for place in others.iter().filter_map(|(_, scene)| scene.place.as_ref()) {
        if also.len() < MOST_ALSO && !also.contains(place) && Some(place) != first.place.as_ref() {
            also.push(place.clone());
        }
    }
    let explained = explained(rule, rests_on);
    let is_full = first.word_of(CORES) == Some(ALL_CORES);
    let advice = rule.advice_if_full.as_ref().filter(|_| is_full).unwrap_or(&explained.advice);
    let advice = advice.replace("{nodes}", first.word_of("nodes").unwrap_or("N,M"));
    Explained {
        advice,
        place: first.place.clone(),
        numbers: first.numbers(&holds.numbers),
        also,
        others: others.len() as u64,
        ..explained
    }
}
