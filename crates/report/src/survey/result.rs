//! The line that answers whether the machine is all right.

use tiermark_model::{Check, CheckOutcome, CheckResult, Finding, Grade, Quantity, Reason, Run, Tier, Unit, count_of};
use tiermark_page::{Ink, Page, Text, paragraph, text};

use super::figures::{Figure, Survey};
use super::marks::{TierSize, declared};
use super::sentence::sentence;
use super::states::{self, labelled};
use super::words;
use crate::expectation::found;
use crate::judgements::too_little;
use crate::order::distinct;
use crate::parts::{RunSection, parts};

/// The most important result of a run.
pub(crate) enum Outcome {
    /// Something is wrong: what, in one clause.
    Wrong(Text),
    /// Nothing is wrong, and something was expected: how much.
    AsExpected(Text),
}

/// The figure below its record that lies furthest below it.
pub(crate) fn below_record<'a>(survey: &Survey<'a>) -> Option<(Figure<'a>, f64, String)> {
    let record = |reason: &Reason| match reason {
        Reason::BelowRecord { record, date, .. } => Some((*record, date.clone())),
        _ => None,
    };
    let below = survey.figures().filter_map(|figure| {
        let (record, date) = figure.finding.verdict.reasons.iter().find_map(record)?;
        Some((figure, record, date))
    });
    let loss = |(figure, record, _): &(Figure<'_>, f64, String)| {
        figure.finding.value.map_or(0.0, |value| (value / record).ln().abs())
    };
    below.max_by(|a, b| loss(a).total_cmp(&loss(b)))
}

/// The first tier whose size the curve did not resolve.
pub(crate) fn not_resolved<'a>(survey: &Survey<'a>) -> Option<&'a Finding> {
    survey.findings().find(|f| f.quantity == Quantity::TierSize && f.value.is_none())
}

/// Why a size is not known, without the name that is said before it.
pub(crate) fn why_not_resolved(finding: &Finding) -> Text {
    let reasons = &finding.verdict.reasons;
    reasons.iter().find_map(Reason::unresolved).map_or_else(|| words::main_reason(reasons), Text::from)
}

/// Where a finding of a run with several parts was measured: ` (cpus of node 1)`; empty in a run of one part.
pub(crate) fn at(run: &Run, finding: &Finding) -> String {
    let parts = parts(run);
    let has = |part: &&RunSection<'_>| {
        part.experiments.iter().flat_map(|experiment| &experiment.findings).any(|other| std::ptr::eq(other, finding))
    };
    let place = parts.iter().find(has).filter(|_| parts.len() > 1).map(|part| part.place(&run.machine));
    place.filter(|place| !place.is_empty()).map_or_else(String::new, |place| format!(" ({place})"))
}

/// The expectations that failed, in the order of the rules.
pub(super) fn failed(judged: &Check) -> impl Iterator<Item = &CheckResult> {
    judged.results.iter().filter(|result| result.outcome == CheckOutcome::Failed)
}

/// The failed expectations in one clause: the first with its value and why it matters, the others by name.
fn failures(judged: &Check, run: &Run) -> Option<Text> {
    let first = failed(judged).next()?;
    let problems: Vec<String> = run.problems.iter().flatten().map(|row| row.name.clone()).collect();
    // What the check-up found is said by its names, not as a comparison of numbers.
    if !first.measured && !problems.is_empty() {
        let count = count_of(problems.len() as u64, "problem");
        // The values of two still are a sentence.
        let names = match run.problems.iter().flatten().collect::<Vec<_>>().as_slice() {
            few @ ([_] | [_, _]) => few.iter().map(|row| format!("{} ({})", row.name, row.found())).collect(),
            _ => problems,
        };
        let names = names.join(", ");
        let more: Vec<&str> =
            failed(judged).filter(|result| result.measured).map(|result| result.that.as_str()).collect();
        let more = if more.is_empty() { String::new() } else { format!("; also failed: {}", more.join(", ")) };
        return Some(format!("`tiermark doctor` finds {count} that may change these figures: {names}{more}").into());
    }
    let why = first.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    let others: Vec<&str> = failed(judged).skip(1).map(|result| result.that.as_str()).collect();
    let others = if others.is_empty() { String::new() } else { format!("; also failed: {}", others.join(", ")) };
    let passed = match judged.count(CheckOutcome::Passed) {
        0 => "none passed".to_owned(),
        passed => format!("{} passed", count_of(passed as u64, "expectation")),
    };
    Some(text![format!("expected {}", first.that), found(first), format!("{why}{others}; {passed}")])
}

/// The first of what a reader has to know: what the rules of `check` find, then what keeps figures from being judged.
pub(crate) fn outcome(survey: &Survey<'_>, judged: &Check) -> Outcome {
    if let Some(text) = failures(judged, survey.run) {
        return Outcome::Wrong(text);
    }
    let withheld: Vec<Figure<'_>> = survey.figures().filter(Figure::is_withheld).collect();
    if let Some(first) = withheld.first() {
        let why = words::main_reason(&first.finding.verdict.reasons);
        let more = match withheld.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let place = at(survey.run, first.finding);
        return Outcome::Wrong(text![format!("withheld: {}{place}{more}: ", first.name()), why]);
    }
    let unmeasured = survey.figures().filter(Figure::is_unmeasured).count();
    if unmeasured > 0 || survey.rows.is_empty() {
        let what = if survey.rows.is_empty() {
            "no figure was".to_owned()
        } else {
            format!("{} not", count_of(unmeasured as u64, "figure"))
        };
        return Outcome::Wrong(format!("{what} measured").into());
    }
    if let Some(finding) = not_resolved(survey) {
        let tier = finding.labels.tier_of_node().unwrap_or_default();
        // A note says why.
        let place = at(survey.run, finding);
        let size = TierSize::of(finding, declared(&tier, &survey.run.machine));
        let size = size.map_or_else(Text::default, |size| text![" (", Text::from(size), ")"]);
        return Outcome::Wrong(text![format!("size of {tier}{place} not resolved"), size]);
    }
    if let Some(warning) = survey.run.warnings.first() {
        return Outcome::Wrong(format!("`tiermark doctor` finds: {}", warning.state()).into());
    }
    if survey.run.stopped {
        return Outcome::Wrong("stopped before its end".into());
    }
    expected(judged)
}

/// What a run without a fault is: as expected only if something was expected of its figures.
fn expected(judged: &Check) -> Outcome {
    if let Some(lacking) = too_little(judged) {
        return Outcome::Wrong(format!("nothing to compare with: {lacking}").into());
    }
    // The names and reasons of what is missing are no part of a sentence that one may quote.
    if judged.missing().next().is_some() {
        return Outcome::Wrong("not judged: `tiermark check` says what is missing".into());
    }
    let passed = count_of(judged.count(CheckOutcome::Passed) as u64, "expectation");
    let open = match judged.count(CheckOutcome::Unjudged) {
        0 => String::new(),
        open => format!(", {open} could not be judged"),
    };
    Outcome::AsExpected(format!("as expected: {passed} passed, none failed{open}").into())
}

/// What others use, by the tiers of shared figures: `others use the cores, L3 and memory`. The first two levels are of
/// a core, whose other hardware thread is busy.
fn shared_with(figures: &[Figure<'_>]) -> Option<String> {
    let shared = figures.iter().filter(|figure| figure.grade() == Grade::Shared);
    let word = |tier: Tier| match tier {
        Tier::Cache(1 | 2) => "the cores".to_owned(),
        tier if tier.is_memory() => "memory".to_owned(),
        tier => tier.to_string(),
    };
    let tiers = distinct(shared.filter_map(|figure| figure.finding.quoted().tier).map(word));
    let (last, first) = tiers.split_last()?;
    let tiers = if first.is_empty() { last.clone() } else { format!("{} and {last}", first.join(", ")) };
    Some(format!("others use {tiers}"))
}

/// `20 of 28 figures trusted, 6 shared (others use L3 and memory), 2 bounds`.
fn counts(survey: &Survey<'_>) -> String {
    let figures: Vec<Figure<'_>> = survey.figures().collect();
    let count = |fits: &dyn Fn(&Figure<'_>) -> bool| figures.iter().filter(|f| fits(f)).count();
    let trusted = count(&|f| f.grade() == Grade::Trusted);
    let mut parts = vec![match figures.len() {
        0 => return String::new(),
        all if all == trusted => format!("all {all} figures trusted"),
        all => format!("{trusted} of {all} figures trusted"),
    }];
    if let Some(who) = shared_with(&figures) {
        parts.push(format!("{} shared ({who})", count(&|f| f.grade() == Grade::Shared)));
    }
    for (count, one, many) in [
        (count(&|f| f.grade() == Grade::Bound), "bound", "bounds"),
        (count(&|f| f.grade() == Grade::Suspect), "in doubt", "in doubt"),
        (count(&|f| f.is_withheld()), "withheld", "withheld"),
        (count(&|f| f.is_unmeasured()), "not measured", "not measured"),
    ] {
        match count {
            0 => {}
            1 => parts.push(format!("1 {one}")),
            n => parts.push(format!("{n} {many}")),
        }
    }
    parts.join(", ")
}

/// The RESULT: what the memory does, in a sentence that may be quoted; and how far that is as expected.
pub(crate) fn result(survey: &Survey<'_>, judged: &Check) -> Page {
    let (text, ink) = match outcome(survey, judged) {
        Outcome::Wrong(text) => (text, Ink::Warn),
        Outcome::AsExpected(text) => (text, Ink::Good),
    };
    let mut rest: Vec<String> = vec![counts(survey)];
    rest.extend(states::cpus_move(survey.run).then(|| "Cpus move: see `tiermark show -v`".to_owned()));
    rest.retain(|part| !part.is_empty());
    let rest = (!rest.is_empty()).then(|| Text::from(rest.join(". ")));
    let line = Text::joined(std::iter::once(text.clone()).chain(rest), "; ");
    let gutter = " ".repeat(states::GUTTER);
    let answer = sentence(survey).map(|answer| answer + ".");
    let answer = answer.map(|answer| paragraph(&gutter, answer.clone(), Ink::Plain).opened_by(answer, Ink::Head));
    let answer = answer.unwrap_or_default();
    labelled("RESULT", answer + paragraph(&gutter, line + ".", Ink::Plain).opened_by(text, ink))
}

/// Whether a figure is a time.
pub(crate) fn is_time(figure: &Figure<'_>) -> bool {
    figure.finding.unit == Unit::Ns
}
