//! The terminal report of a run.

use std::collections::BTreeSet;

use tiermark_model::{Drift, Experiment, Finding, IdSet, Labels, Observation, Quantity, Refusal, Run, Warning};

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
use crate::number::percent;
use crate::os::{os, ran_out_of_time};
use crate::parts::{page, parts};
use crate::published::published;
use crate::refusals::trouble;
use crate::shapes::shapes;
use crate::steps;
use crate::style::{Ink, Style};
use crate::survey;
use crate::tally::summary;
use crate::text::{bullet, hanging, heading, rule};
use crate::traffic::traffic;

/// Renders a run: header, its parts, how far the numbers can be trusted, and all trouble with its cure. A survey has a report of its
/// own; with `verbose` all of this follows it.
pub fn run(run: &Run, style: &Style) -> String {
    if survey::is_survey(run) && !style.verbose {
        return survey::survey(run, style);
    }
    let mut out = if survey::is_survey(run) { survey::survey(run, style) + "\n" } else { String::new() };
    out.push_str(&header(run, style));
    out.push_str(&run.plan.as_ref().map_or_else(String::new, |plan| page(plan, style)));
    if run.plan.as_ref().is_some_and(|plan| plan.machine) {
        out.push_str(&format!("\n{}", machine(&run.machine, style)));
    }
    let mut numbers = Vec::new();
    let parts = parts(run);
    for (at, part) in parts.iter().enumerate() {
        out.push_str(&part.head(at + 1, parts.len(), style));
        let (text, shown) = body(run, &part.experiments, style);
        out.push_str(&text);
        numbers.extend(shown);
        // What is missing stands with the part it is missing from, unless there is but one.
        if parts.len() > 1 {
            out.push_str(&refusals(&part.experiments, style));
        }
    }
    if parts.len() > 1 {
        out.push_str(&format!("\n{}", rule(style)));
    }
    let beside = published(run, style);
    let summary = summary(&numbers, &out, style);
    // The rule is the empty line.
    out.push_str(&beside);
    out.push_str(if parts.len() > 1 && beside.is_empty() { summary.trim_start_matches('\n') } else { &summary });
    if let [only] = parts.as_slice() {
        out.push_str(&refusals(&only.experiments, style));
    }
    out.push_str(&warnings(&run.warnings, style));
    if style.verbose {
        out.push_str(&survey::places(run, style));
        out.push_str(&rules(&run.experiments, style));
    }
    out.push_str(&footer(run, style));
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

/// Ladder, curves, tails, scaling, tables, and everything else that some experiments found, with the numbers that are shown.
fn body<'a>(run: &'a Run, experiments: &[&'a Experiment], style: &Style) -> (String, Vec<&'a Finding>) {
    let observations: Vec<&Observation> = experiments.iter().flat_map(|e| &e.observations).collect();
    let mut shown = Shown::new(experiments.iter().flat_map(|e| &e.findings));
    told_by_tables(&mut shown, &observations);
    let mut out = matrix(&mut shown, &run.machine, run.counters.as_ref(), style);
    let only = only_core(run, experiments);
    out.push_str(&ladder(&mut shown, only.as_deref(), style));
    out.push_str(&after_other_work(&mut shown, style));
    out.push_str(&survey::core_clock(&mut shown, survey::is_survey(run), style));
    out.push_str(&c2c(&mut shown, style));
    out.push_str(&curves(&observations, &run.machine, style));
    out.push_str(&steps::pages(experiments, style));
    out.push_str(&shapes(&mut shown, style));
    out.push_str(&os(&mut shown, run, experiments, style));
    out.push_str(&tails(&mut shown, style));
    out.push_str(&loaded(&mut shown, &observations, run.counters.as_ref(), style));
    out.push_str(&scaling(&mut shown, style));
    out.push_str(&limits(&mut shown, style));
    out.push_str(&tables(&observations, &run.machine, style));
    out.push_str(&traffic(run, &observations, style));
    out.push_str(&others(&mut shown, style));
    out.push_str(&orphans(&observations, &evidence(experiments), style));
    if experiments.iter().all(|e| e.findings.is_empty()) && observations.is_empty() {
        out.push_str(&format!("\n{}", hanging("", "Nothing was measured.", Ink::Plain, style)));
    }
    out.push_str(&drift(experiments, style));
    (out, shown.numbers)
}

/// Cold latency, and how fast it recovers, in words.
fn after_other_work(shown: &mut Shown<'_>, style: &Style) -> String {
    let back = shown.take_all(|f| f.metric == Quantity::LatencyRecovery);
    shown.count(&back);
    cold(shown.findings.iter().copied(), "  ", style)
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
fn drift(experiments: &[&Experiment], style: &Style) -> String {
    let line = |change: &Drift| {
        let at = change.at_seconds.map(|at| format!(" at {at:.1} s")).unwrap_or_default();
        let sign = if change.change > 0.0 { "+" } else { "" };
        let text = format!("Changed{at}: {} by {sign}{}", change.step, percent(change.change));
        hanging("", &text, Ink::Plain, style)
    };
    let out: String = experiments.iter().flat_map(|e| &e.drift).map(line).collect();
    if out.is_empty() { out } else { format!("\n{out}") }
}

/// Refused steps and plans, each once, with the cure, and steps without a number.
fn refusals(experiments: &[&Experiment], style: &Style) -> String {
    let mut all: Vec<&Refusal> = experiments.iter().flat_map(|e| &e.plan.refused).collect();
    // Of primitives, what only makes a curve less dense is no part that is missing, and what there was no time for has been counted.
    let (points, parts): (Vec<&Observation>, Vec<&Observation>) = experiments
        .iter()
        .flat_map(|e| &e.observations)
        .partition(|o| o.labels.get(Labels::GROUP).is_some() && o.labels.is_point());
    let points: Vec<&Observation> = points.into_iter().filter(|o| !ran_out_of_time(o)).collect();
    let known = evidence(experiments);
    let (steps, points) = (unmeasured(&parts, &known), unmeasured(&points, &known));
    all.extend(&steps);
    trouble("Not measured", &all, style) + &trouble("Points left out", &points.iter().collect::<Vec<_>>(), style)
}

fn warnings(warnings: &[Warning], style: &Style) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let mut out = heading("Warnings", style);
    for warning in warnings {
        let text = format!("{}: {}", warning.code, warning.text);
        out.push_str(&bullet("!", Ink::Warn, &text, warning.cure.as_deref(), style));
    }
    out
}

pub(crate) fn rules(experiments: &[Experiment], style: &Style) -> String {
    let mut out = String::new();
    // Those of primitives stand in their view.
    for experiment in experiments.iter().filter(|e| !e.plan.rules.is_empty() && e.request.probe != "os") {
        out.push_str(&heading(&format!("Rules of the {} plan", experiment.request.probe), style));
        for rule in &experiment.plan.rules {
            out.push_str(&hanging("  ", &rule.text, Ink::Dim, style));
        }
    }
    out
}
