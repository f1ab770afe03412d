//! The terminal report of a run.

use std::collections::BTreeSet;

use tiermark_model::{Drift, Experiment, Finding, IdSet, Labels, Observation, Quantity, Refusal, Run, Warning};
use tiermark_page::{Ink, Page, Style, bullet, heading, paragraph, percent, rule, space};

use crate::c2c::c2c;
use crate::cold::cold;
use crate::curves::{curves, orphans, tables, unmeasured};
use crate::findings::{others, scaling, tails};
use crate::header::{footer, header};
use crate::ladder::{Shown, ladder};
use crate::limits::limits;
use crate::loaded::loaded;
use crate::machine::machine;
use crate::matrix::matrix;
use crate::os::{os, ran_out_of_time};
use crate::parts::{page, parts};
use crate::published::published;
use crate::refusals::trouble;
use crate::shapes::shapes;
use crate::steps;
use crate::survey;
use crate::tally::summary;
use crate::traffic::traffic;

/// Renders a run: header, its parts, how far the numbers can be trusted, and all trouble with its cure. A survey has a
/// report of its own; with `verbose` all of this follows it.
pub fn run(run: &Run, style: &Style) -> Page {
    if survey::is_survey(run) && !style.verbose {
        return survey::survey(run, style);
    }
    let mut out = if survey::is_survey(run) { survey::survey(run, style) + space() } else { Page::new() };
    out += header(run);
    out.extend(run.plan.as_ref().map(|plan| page(plan, style)));
    if run.plan.as_ref().is_some_and(|plan| plan.machine) {
        out += space() + machine(&run.machine, style);
    }
    let mut numbers = Vec::new();
    let parts = parts(run);
    for (at, part) in parts.iter().enumerate() {
        out += part.head(at + 1, parts.len());
        let (text, shown) = body(run, &part.experiments, style);
        out += text;
        numbers.extend(shown);
        // What is missing stands with the part it is missing from, unless there is but one.
        if parts.len() > 1 {
            out += refusals(&part.experiments, style);
        }
    }
    if parts.len() > 1 {
        out += space() + rule();
    }
    let beside = published(run, style);
    // The rule is the empty line.
    let is_below_rule = parts.len() > 1 && beside.is_empty();
    out += beside;
    let summary = summary(&numbers, style);
    if !summary.is_empty() && !is_below_rule {
        out += space();
    }
    out += summary;
    if let [only] = parts.as_slice() {
        out += refusals(&only.experiments, style);
    }
    out += warnings(&run.warnings);
    if style.verbose {
        out += survey::places(run, style);
        out += rules(&run.experiments);
    }
    out += footer(run, style);
    out
}

/// The numbers that the report of a run shows; of a survey the figures of its ladder.
pub(crate) fn numbers(run: &Run) -> Vec<&Finding> {
    if survey::is_survey(run) {
        return survey::figures(run);
    }
    parts(run).iter().flat_map(|part| numbers_of(run, &part.experiments)).collect()
}

/// The numbers that the report of some experiments shows.
pub(crate) fn numbers_of<'a>(run: &'a Run, experiments: &[&'a Experiment]) -> Vec<&'a Finding> {
    body(run, experiments, &Style::default()).1
}

/// Ladder, curves, tails, scaling, tables, and everything else that some experiments found, with the numbers that are
/// shown.
fn body<'a>(run: &'a Run, experiments: &[&'a Experiment], style: &Style) -> (Page, Vec<&'a Finding>) {
    let observations: Vec<&Observation> = experiments.iter().flat_map(|e| &e.observations).collect();
    let mut shown = Shown::new(experiments.iter().flat_map(|e| &e.findings));
    told_by_tables(&mut shown, &observations);
    let mut out = matrix(&mut shown, &run.machine, run.counters.as_ref(), style);
    let only = only_core(run, experiments);
    out += ladder(&mut shown, only.as_deref(), style);
    out += after_other_work(&mut shown);
    out += survey::core_clock(&mut shown, survey::is_survey(run), style);
    out += c2c(&mut shown, style);
    out += curves(&observations, &run.machine, style);
    out += steps::pages(experiments);
    out += shapes(&mut shown, style);
    out += os(&mut shown, run, experiments, style);
    out += tails(&mut shown, style);
    out += loaded(&mut shown, &observations, run.counters.as_ref(), style);
    out += scaling(&mut shown, style);
    out += limits(&mut shown, style);
    out += tables(&observations, &run.machine, style);
    out += traffic(run, &observations, style);
    out += others(&mut shown, style);
    out += orphans(&observations, &evidence(experiments), style);
    if experiments.iter().all(|e| e.findings.is_empty()) && observations.is_empty() {
        out += space() + paragraph("", "Nothing was measured.", Ink::Plain);
    }
    out += drift(experiments);
    (out, shown.numbers)
}

/// Cold latency, and how fast it recovers, in words.
fn after_other_work(shown: &mut Shown<'_>) -> Page {
    let back = shown.take_all(|f| f.metric == Quantity::LatencyRecovery);
    shown.count(&back);
    cold(shown.findings.iter().copied(), "  ")
}

/// The cpus of some experiments, where they are of one core of a machine that has more.
pub(crate) fn only_core(run: &Run, experiments: &[&Experiment]) -> Option<String> {
    let cpus = experiments.iter().fold(IdSet::new(), |all, e| all.union(&e.plan.cpus()));
    let cores = |within: &dyn Fn(u32) -> bool| {
        let within = run.machine.cpus.iter().filter(|cpu| within(cpu.id));
        within.map(|cpu| (cpu.socket, cpu.core)).collect::<BTreeSet<_>>().len()
    };
    (cores(&|cpu| cpus.contains(cpu)) == 1 && cores(&|_| true) > 1).then(|| cpus.to_string())
}

/// The steps that findings rest on.
fn evidence<'a>(experiments: &[&'a Experiment]) -> BTreeSet<&'a str> {
    experiments.iter().flat_map(|e| &e.findings).flat_map(|f| &f.evidence).map(String::as_str).collect()
}

/// Marks findings that only repeat a cell of a table as shown.
fn told_by_tables(shown: &mut Shown<'_>, observations: &[&Observation]) {
    let cells: BTreeSet<&str> = observations
        .iter()
        .filter(|o| o.labels.is("purpose", "table") && o.labels.size().is_some())
        .map(|o| o.step.as_str())
        .collect();
    let repeats = |f: &Finding| {
        matches!(f.metric, Quantity::Latency | Quantity::Bandwidth)
            && f.labels.get("tier").is_none()
            && matches!(f.evidence.as_slice(), [step] if cells.contains(step.as_str()))
    };
    let told = shown.take_all(repeats);
    shown.count(&told);
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
fn refusals(experiments: &[&Experiment], style: &Style) -> Page {
    let mut all: Vec<&Refusal> = experiments.iter().flat_map(|e| &e.plan.refused).collect();
    // Of primitives, what only makes a curve less dense is no part that is missing, and what there was no time for has
    // been counted.
    let (points, parts): (Vec<&Observation>, Vec<&Observation>) = experiments
        .iter()
        .flat_map(|e| &e.observations)
        .partition(|o| o.labels.get(Labels::GROUP).is_some() && o.labels.is_point());
    let points: Vec<&Observation> = points.into_iter().filter(|o| !ran_out_of_time(o)).collect();
    let known = evidence(experiments);
    let (steps, points) = (unmeasured(&parts, &known), unmeasured(&points, &known));
    all.extend(&steps);
    trouble("Not measured", &all, style) + trouble("Points left out", &points.iter().collect::<Vec<_>>(), style)
}

fn warnings(warnings: &[Warning]) -> Page {
    if warnings.is_empty() {
        return Page::new();
    }
    let mut out = heading("Warnings");
    for warning in warnings {
        let text = format!("{}: {}", warning.code, warning.text);
        out += bullet("!", Ink::Warn, &text, warning.cure.as_deref());
    }
    out
}

pub(crate) fn rules(experiments: &[Experiment]) -> Page {
    let mut out = Page::new();
    // Those of primitives stand in their view.
    for experiment in experiments.iter().filter(|e| !e.plan.rules.is_empty() && e.request.probe != "os") {
        out += heading(&format!("Rules of the {} plan", experiment.request.probe));
        for rule in &experiment.plan.rules {
            out += paragraph("  ", &rule.text, Ink::Dim);
        }
    }
    out
}
