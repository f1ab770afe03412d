//! Judges a run by the rules.

use tiermark_expect::Entry;
use tiermark_model::messages::explain as says;
use tiermark_model::{
    CheckOutcome, CheckUnit, CheckedValue, Comparator, ComparedRun, Confidence, CounterSourceId, Explained,
    ExplainedNumber, ExplainedUnit, Explanation, Known, Note, Run, UnjudgedRule,
};

use crate::boxes::boxes;
use crate::cells::{Cell, cells};
use crate::facts::{FactName, Found, Scene};
use crate::machine::{counts, lacks, nodes_per_socket, scenes};
use crate::measured::Bounds;
use crate::pairs::{Measured, pairs};
use crate::rules::{Condition, Holds, RULES, Rule, read};

/// Other places that are named.
const MOST_ALSO: usize = 8;

/// Explains a run. `name` is the user's name of the run.
#[must_use]
pub fn explain(name: &str, run: &Run) -> Explanation {
    let (all, has_counts) = all_scenes(run);
    // The file is a part of the program, and a test reads it.
    let rules = read(RULES).unwrap_or_default();
    let mut explanation = Explanation {
        run: ComparedRun {
            name: name.to_owned(),
            id: run.id.clone(),
            title: run.title.clone(),
            started: run.started.clone(),
            cpu: run.machine.cpu_model.name.clone(),
            complete: run.complete,
            simulated: run.simulated.is_some(),
        },
        counters: run
            .counters
            .as_ref()
            .map(|own| own.source)
            .filter(|source| has_counts && *source != CounterSourceId::None),
        found: Vec::new(),
        clear: Vec::new(),
        unjudged: Vec::new(),
    };
    for alternatives in rules.chunk_by(|one, next| one.name == next.name) {
        let Some(first) = alternatives.first() else { continue };
        let mut judged: Vec<Judged> = alternatives.iter().map(|rule| judge(rule, run, &all, has_counts)).collect();
        let found = judged.iter().position(|one| matches!(one, Judged::Found(_)));
        match found.map(|at| judged.swap_remove(at)) {
            Some(Judged::Found(found)) => explanation.found.push(*found),
            _ if judged.iter().any(|one| matches!(one, Judged::Clear)) => explanation.clear.push(first.name.clone()),
            _ => {
                let why = reason(judged);
                explanation.unjudged.push(UnjudgedRule { rule: first.name.clone(), why });
            }
        }
    }
    explanation
}

/// Every scene of a run, and whether its counts can be used.
fn all_scenes(run: &Run) -> (Vec<Scene>, bool) {
    let has_counts = counts(run);
    let bounds = Bounds::of(run, has_counts);
    let measured: Vec<Measured<'_>> = cells(run)
        .into_iter()
        .map(|cell| {
            let scene = bounds.scene(&cell);
            (cell, scene)
        })
        .collect();
    let plain: Vec<&Cell<'_>> = measured.iter().map(|(cell, _)| cell).collect();
    let mut all = pairs(&measured, run);
    all.extend(scenes(run, &plain));
    if has_counts {
        all.extend(boxes(&plain, nodes_per_socket(&run.machine) > 1.0));
    }
    all.extend(measured.into_iter().map(|(_, scene)| scene));
    (all, has_counts)
}

/// Why no alternative of a rule was judged: what can be had without counters is said first.
fn reason(judged: Vec<Judged>) -> Note {
    let mut reasons: Vec<Note> =
        judged.into_iter().filter_map(|one| if let Judged::Unjudged(why) = one { Some(why) } else { None }).collect();
    reasons.sort_by_key(|why| why.code == says::codes::no_counts);
    reasons.into_iter().next().unwrap_or_else(says::nothing_to_judge)
}

/// Result of a rule.
enum Judged {
    Found(Box<Explained>),
    Clear,
    Unjudged(Note),
}

fn judge(rule: &Rule, run: &Run, all: &[Scene], has_counts: bool) -> Judged {
    if let Some(why) = rule.needs.iter().find_map(|need| lacks(*need, &run.machine)) {
        return Judged::Unjudged(why);
    }
    match &rule.condition {
        Condition::Fails(entry) => fails(rule, entry, run),
        Condition::Holds(holds) => scene(rule, holds, all, has_counts),
    }
}

/// An explanation without a place and numbers.
fn explained(rule: &Rule, rests_on: Confidence) -> Explained {
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

/// A rule that finds what an expectation fails for.
fn fails(rule: &Rule, entry: &Entry, run: &Run) -> Judged {
    let check = tiermark_expect::check("", run, "", std::slice::from_ref(entry));
    let Some(result) = check.results.into_iter().next() else { return Judged::Unjudged(says::nothing_to_judge()) };
    match result.outcome {
        CheckOutcome::Passed => Judged::Clear,
        CheckOutcome::Unjudged => {
            Judged::Unjudged(result.reasons.into_iter().next().unwrap_or_else(says::nothing_to_judge))
        }
        CheckOutcome::Failed => {
            let sides = result.worst.as_ref().map(|worst| sides(&result.that, worst)).unwrap_or_default();
            let place = result.worst.and_then(|worst| worst.place);
            let found = Explained {
                place,
                numbers: sides,
                others: result.failed.saturating_sub(1),
                ..explained(rule, Confidence::Reported)
            };
            Judged::Found(Box::new(found))
        }
    }
}

/// Both sides of an expectation as numbers.
fn sides(that: &str, worst: &CheckedValue) -> Vec<ExplainedNumber> {
    let unit = match worst.unit {
        CheckUnit::Ns => ExplainedUnit::Ns,
        CheckUnit::BytesPerSecond => ExplainedUnit::BytesPerSecond,
        CheckUnit::TransfersPerSecond => ExplainedUnit::TransfersPerSecond,
        CheckUnit::Number if that.contains('%') => ExplainedUnit::Share,
        // No name of a run has an amount or a clock.
        CheckUnit::Number | CheckUnit::Bytes | CheckUnit::Hz => ExplainedUnit::Number,
    };
    let sign = worst.comparator.sign();
    let (left, right) = that.split_once(sign).unwrap_or((that, ""));
    let number = |name: &str, what: String, value: f64, known: Known| {
        let what = match known {
            Known::Exactly => what,
            Known::AtLeast => format!("{what}, or more"),
            Known::AtMost => format!("{what}, or less"),
        };
        ExplainedNumber { name: name.to_owned(), what, value, unit, steps: Vec::new() }
    };
    let (left, right) = (left.trim(), right.trim());
    let limit = match worst.comparator {
        Comparator::AtLeast | Comparator::Above => "at least expected",
        Comparator::AtMost | Comparator::Below => "at most expected",
    };
    // A plain number says itself what it is.
    let is_named = right.contains(char::is_alphabetic);
    let limit = if is_named { format!("{limit} ({right})") } else { limit.to_owned() };
    let both = [
        number(left, format!("({left})"), worst.value, worst.value_is),
        number("limit", limit, worst.limit, worst.limit_is),
    ];
    both.into_iter().filter(|number| number.value.is_finite()).collect()
}

/// A rule that compares numbers of scenes.
fn scene(rule: &Rule, holds: &Holds, all: &[Scene], has_counts: bool) -> Judged {
    let fits =
        |scene: &&Scene| scene.kind == holds.of && holds.words.iter().all(|(key, words)| scene.is_one_of(key, words));
    let (mut best, mut is_judged, mut missing): (Vec<(f64, &Scene)>, bool, Option<FactName>) =
        (Vec::new(), false, None);
    for scene in all.iter().filter(fits) {
        let value = |name: &FactName| scene.get(*name).map(|found| found.value);
        let results: Vec<Option<bool>> = holds.all.iter().map(|one| one.holds(value)).collect();
        match (results.iter().all(|one| *one == Some(true)), results.contains(&Some(false))) {
            (true, _) => {
                let excess = holds.all.first().and_then(|one| one.excess(value)).unwrap_or(f64::INFINITY);
                best.push((excess, scene));
            }
            // One comparison that fails decides, whatever else is not known.
            (false, true) => is_judged = true,
            (false, false) => missing = missing.or_else(|| lacking(holds, scene)),
        }
    }
    best.sort_by(|a, b| b.0.total_cmp(&a.0));
    match (best.split_first(), is_judged) {
        (Some(((_, first), others)), _) => Judged::Found(Box::new(found(rule, holds, first, others))),
        (None, true) => Judged::Clear,
        (None, false) => Judged::Unjudged(match missing {
            Some(name) if name.is_counted() && !has_counts => says::no_counts(),
            Some(name) => name.unknown(),
            None => {
                let (what, command) = holds.of.subject();
                if holds.of.is_counted() && !has_counts {
                    says::no_counts()
                } else {
                    says::scene_not_measured(what, command)
                }
            }
        }),
    }
}

/// A number that the comparisons need and a scene lacks.
fn lacking(holds: &Holds, scene: &Scene) -> Option<FactName> {
    holds.all.iter().flat_map(tiermark_expect::Comparison::names).find(|name| scene.get(**name).is_none()).copied()
}

/// What a rule found at the most pronounced place.
fn found(rule: &Rule, holds: &Holds, first: &Scene, others: &[(f64, &Scene)]) -> Explained {
    let rests: Vec<&Found> = holds.all.iter().flat_map(|one| one.names()).filter_map(|name| first.get(*name)).collect();
    let has = |what: Confidence| rests.iter().any(|found| found.rests_on == what);
    // What is counted decides, and what is reported only sets the limit.
    let rests_on = match () {
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
    // Rules cannot know the nodes: their advice has letters.
    let advice = match first.word_of("nodes") {
        Some(nodes) => explained.advice.replace("N,M", nodes),
        None => explained.advice.clone(),
    };
    Explained {
        advice,
        place: first.place.clone(),
        numbers: first.numbers(&holds.numbers),
        also,
        others: others.len() as u64,
        ..explained
    }
}
