//! The report of a survey: is this machine all right, what does its memory do, and what does a program get.

mod cycles;
mod figures;
mod key;
mod ladder;
mod notes;
mod places;
mod result;
mod states;
mod timeline;
mod views;
mod why;
mod words;

use tiermark_model::{Bytes, Finding, Machine, Node, Observation, Run};

use crate::curves::brief;
use crate::header::counts;
use crate::parts::parts;
use crate::style::{Ink, Style};
use crate::text::{hanging, items, rule};
use crate::traffic::traffic;
pub(crate) use cycles::core_clock;
use figures::Survey;
pub(crate) use figures::figure_name;
pub(crate) use notes::sentence;
pub(crate) use places::table as places;
use states::labelled;
pub(crate) use views::view_body;
pub use views::{RUN_VIEWS, RunView, run_view, run_view_options};

/// Whether a run is a survey by itself: surveys in a plan are parts of its report.
pub(crate) fn is_survey(run: &Run) -> bool {
    run.title == "survey" && run.plan.is_none() && run.experiments.iter().all(|e| e.request.part.is_none())
}

/// The figures of a survey's ladder.
pub(crate) fn figures(run: &Run) -> Vec<&Finding> {
    Survey::new(run).figures().map(|figure| figure.finding).collect()
}

/// What ran, where, and for how long.
pub(crate) fn head(run: &Run, style: &Style) -> String {
    let seconds = match run.seconds {
        s if s < 99.5 => format!("{s:.0} s"),
        s => crate::number::seconds(s),
    };
    let parts = [format!("tiermark {}", run.title), machine_words(&run.machine), seconds];
    let mut out = hanging("", &items(&parts, style), Ink::Head, style);
    out.push_str(&crate::header::remarks(run, style));
    out
}

/// `AMD EPYC, 2 vCPUs of a KVM guest, 23.5 GiB`.
fn machine_words(machine: &Machine) -> String {
    let system = &machine.system;
    let name = machine.cpu_model.name.clone().unwrap_or_else(|| "unknown processor".to_owned());
    let cpus = machine.cpus.len();
    let counted = match &system.hypervisor {
        Some(hypervisor) => format!("{cpus} vCPU{} of a {hypervisor} guest", if cpus == 1 { "" } else { "s" }),
        None => counts(machine),
    };
    let memory = system.memory_bytes.map(|bytes| match bytes as f64 / (1u64 << 30) as f64 {
        gib if (1.0..1024.0).contains(&gib) => format!("{}\u{a0}GiB", format!("{gib:.1}").trim_end_matches(".0")),
        _ => Bytes(bytes).to_string(),
    });
    [Some(name), Some(counted), memory].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Renders a survey. What `style.verbose` adds follows in [`crate::run`].
pub(crate) fn survey(run: &Run, style: &Style) -> String {
    let survey = Survey::new(run);
    let judged = tiermark_expect::check_by_rules_of_thumb(run);
    let mut out = head(run, style);
    out.push_str(&result::result(&survey, &judged, style));
    let parts = parts(run);
    for (at, part) in parts.iter().enumerate() {
        out.push_str(&part.head(at + 1, parts.len(), style));
        out.push_str(&figures_of(&Survey::of(run, part.experiments.clone()), style));
    }
    if parts.len() > 1 {
        out.push_str(&format!("\n{}", rule(style)));
    }
    out.push_str(&states::section(&survey, style));
    out.push_str(&notes::section(&survey, &judged, style));
    out.push_str(&format!("\n{}", next(run, style)));
    out
}

/// The figures of one place: its ladder and its curves.
fn figures_of(survey: &Survey<'_>, style: &Style) -> String {
    let observations: Vec<&Observation> = survey.experiments.iter().flat_map(|e| &e.observations).collect();
    let mut out = ladder::ladder(survey, style);
    // Details draw the same curves, with their points.
    if !style.verbose {
        out.push_str(&brief(&observations, &survey.run.machine, style));
        out.push_str(&traffic(survey.run, &observations, style));
    }
    out
}

/// Whether memory of several nodes was measured together: their sum says nothing of each.
fn has_several_nodes(run: &Run) -> bool {
    let with_memory = |node: &&Node| node.memory_bytes.is_none_or(|bytes| bytes > 0);
    run.machine.nodes.iter().filter(with_memory).count() > 1 && parts(run).len() == 1
}

/// What to look at next, and what was shown.
fn next(run: &Run, style: &Style) -> String {
    let gutter = " ".repeat(states::GUTTER);
    let views = format!("tiermark show {} | -v", run_view_options(" | "));
    let explain = "tiermark explain: what limits, what costs, what is wrong";
    let matrix = "tiermark matrix: the memory of each node, seen from the cpus of each node";
    let matrix = if has_several_nodes(run) {
        labelled("", &hanging(&gutter, matrix, Ink::Plain, style), style)
    } else {
        String::new()
    };
    let which = format!("{} by tiermark {}", run.id, run.tool.version);
    labelled("Next", &hanging(&gutter, explain, Ink::Plain, style), style)
        + &matrix
        + &labelled("", &hanging(&gutter, &views, Ink::Plain, style), style)
        + &labelled("Run", &hanging(&gutter, &which, Ink::Plain, style), style)
}
