//! The terminal report of a run.

use std::collections::BTreeSet;

use tiermark_model::{Check, Drift, Experiment, Finding, Observation, Refusal, Run, Warning};
use tiermark_page::{Detail, Ink, Page, bullet, heading, paragraph, percent, rule, space};

use crate::answer::answer;
use crate::c2c::c2c;
use crate::cold::cold;
use crate::curves::{curves, orphans, tables, unmeasured};
use crate::findings::{others, scaling, tails};
use crate::header::{footer, header, header_around};
use crate::ladder::ladder;
use crate::limits::limits;
use crate::loaded::loaded;
use crate::machine::machine;
use crate::matrix::matrix;
use crate::os::{os, ran_out_of_time};
use crate::parts::{only_core, page, parts};
use crate::published::published;
use crate::refusals::trouble;
use crate::selection::Selection;
use crate::shapes::shapes;
use crate::soak::soak;
use crate::steps;
use crate::survey;
use crate::tally::summary;
use crate::time_spent::time_spent;
use crate::traffic::traffic;

/// Renders a run: header, its parts, how far the numbers can be trusted, and all trouble with its cure. A survey has a
/// report of its own, which begins with what the rules of thumb (`judged`) found; in detail all of this follows it.
pub fn run(run: &Run, judged: &Check, detail: Detail) -> Page {
    report(run, judged, header(run), detail)
}

/// The same without the line of the machine.
pub(crate) fn run_without_machine(run: &Run, judged: &Check, detail: Detail) -> Page {
    report(run, judged, header_around(run, Page::new()), detail)
}

fn report(run: &Run, judged: &Check, header: Page, detail: Detail) -> Page {
    if survey::is_survey(run) && !detail.is_all() {
        return survey::survey(run, judged, detail);
    }
    let mut out = if survey::is_survey(run) { survey::survey(run, judged, detail) + space() } else { Page::new() };
    out += header;
    let answer = answer(run, detail);
    out.extend(run.plan.as_ref().map(|plan| page(plan, answer.is_empty(), detail)));
    out += answer;
    if run.plan.as_ref().is_some_and(|plan| plan.machine) {
        out += space() + machine(&run.machine, detail);
    }
    let mut numbers = Vec::new();
    let parts = parts(run);
    for (at, part) in parts.iter().enumerate() {
        out += part.head(at + 1, parts.len());
        let selection = Selection::of(&part.experiments, detail);
        out += body(run, &part.experiments, &selection, detail);
        numbers.extend(selection.numbers);
        // What is missing stands with the part it is missing from, unless there is but one.
        if parts.len() > 1 {
            out += refusals(&part.experiments, detail);
        }
    }
    if parts.len() > 1 {
        out += space() + rule();
    }
    let beside = published(run);
    // The rule is the empty line.
    let is_below_rule = parts.len() > 1 && beside.is_empty();
    out += beside;
    let summary = summary(&numbers);
    if !summary.is_empty() && !is_below_rule {
        out += space();
    }
    out += summary;
    if let [only] = parts.as_slice() {
        out += refusals(&only.experiments, detail);
    }
    out += warnings(&run.warnings);
    if detail.is_all() {
        out += survey::places(run);
        out += rules(&run.experiments);
    }
    if !survey::is_survey(run) {
        out.extend(time_spent(run).map(|sentences| space() + paragraph("", sentences, Ink::Plain)));
    }
    out += footer(run, detail);
    out
}

/// The numbers that the report of a run shows; of a survey the figures of its ladder.
pub fn numbers(run: &Run) -> Vec<&Finding> {
    if survey::is_survey(run) {
        return survey::figures(run);
    }
    parts(run).iter().flat_map(|part| Selection::of(&part.experiments, Detail::Usual).numbers).collect()
}

/// Ladder, curves, tails, scaling, tables, and everything else that some experiments found.
fn body(run: &Run, experiments: &[&Experiment], selection: &Selection<'_>, detail: Detail) -> Page {
    let observations: Vec<&Observation> = experiments.iter().flat_map(|e| &e.observations).collect();
    let mut out = soak(run, &observations, detail);
    out += matrix(&selection.matrix, &run.machine, run.counters.as_ref(), detail);
    let only = only_core(run, experiments);
    out += ladder(&selection.ladder, &selection.shares, (only.as_deref(), &run.machine), detail);
    out += cold(selection.all.iter().copied(), "  ");
    out += survey::conditions(&selection.conditions, &selection.ladder, experiments, run, detail);
    out += c2c(&selection.c2c, detail);
    out += curves(&observations, &run.machine, detail);
    out += steps::pages(experiments);
    out += shapes(&selection.shapes, detail);
    out += os(&selection.os, run, experiments, detail);
    out += tails(&selection.tails, detail);
    out += loaded(&selection.loaded, &observations, run.counters.as_ref(), detail);
    // The answer of a ramp has each of its steps.
    if detail.is_all() || experiments.iter().all(|e| e.request.probe != "scale") {
        out += scaling(&selection.scaling, detail);
    }
    out += limits(&selection.limits, detail);
    out += tables(&observations, &run.machine, detail);
    out += traffic(run, &observations, detail);
    out += others(&selection.all, &selection.others, detail);
    out += orphans(&observations, &evidence(experiments), detail);
    if experiments.iter().all(|e| e.findings.is_empty()) && observations.is_empty() {
        out += space() + paragraph("", "Nothing was measured.", Ink::Plain);
    }
    out + drift(experiments)
}

/// The steps that findings rest on.
fn evidence<'a>(experiments: &[&'a Experiment]) -> BTreeSet<&'a str> {
    experiments.iter().flat_map(|e| &e.findings).flat_map(|f| &f.evidence).map(String::as_str).collect()
}

/// Changes of the machine.
fn drift(experiments: &[&Experiment]) -> Page {
    let line = |change: &Drift| {
        let at = change.at_seconds.map(|at| format!(" at {at:.1} s")).unwrap_or_default();
        let sign = if change.change > 0.0 { "+" } else { "" };
        let text = format!("Changed{at}: {} by {sign}{}", change.step, percent(change.change));
        paragraph("", &text, Ink::Plain)
    };
    let out: Page = experiments.iter().flat_map(|e| &e.drift).map(line).collect();
    if out.is_empty() { out } else { space() + out }
}

/// Refused steps and plans, each once, with the cure, and steps without a number.
fn refusals(experiments: &[&Experiment], detail: Detail) -> Page {
    let mut all: Vec<&Refusal> = experiments.iter().flat_map(|e| &e.plan.refused).collect();
    // Of primitives, what only makes a curve less dense is no part that is missing, and what there was no time for has
    // been counted.
    let (points, parts): (Vec<&Observation>, Vec<&Observation>) = experiments
        .iter()
        .flat_map(|e| &e.observations)
        .partition(|o| o.labels.group().is_some() && o.labels.is_point());
    let points: Vec<&Observation> = points.into_iter().filter(|o| !ran_out_of_time(o)).collect();
    let known = evidence(experiments);
    let (steps, points) = (unmeasured(&parts, &known), unmeasured(&points, &known));
    all.extend(&steps);
    trouble("Not measured", &all, detail) + trouble("Points left out", &points.iter().collect::<Vec<_>>(), detail)
}

fn warnings(warnings: &[Warning]) -> Page {
    if warnings.is_empty() {
        return Page::new();
    }
    let mut out = heading("Warnings");
    for warning in warnings {
        let text = format!("{}: {}", warning.code, warning.text);
        out += bullet("!", Ink::Warn, text, warning.cure.as_deref());
    }
    out
}

/// The rules that plans followed; empty without any.
pub fn rules(experiments: &[Experiment]) -> Page {
    let mut out = Page::new();
    // Those of primitives stand in their view.
    for experiment in experiments.iter().filter(|e| !e.plan.rules.is_empty() && e.request.probe != "os") {
        out += heading(format!("Rules of the {} plan", experiment.request.probe));
        for rule in &experiment.plan.rules {
            out += paragraph("  ", &rule.text, Ink::Dim);
        }
    }
    out
}
