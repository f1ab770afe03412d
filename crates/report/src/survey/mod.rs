//! The report of a survey: is this machine all right, what does its memory do, and what does a program get.

mod cycles;
mod figures;
mod interruptions;
mod key;
mod ladder;
mod marks;
mod notes;
mod places;
mod result;
mod sentence;
mod states;
mod timeline;
mod views;
mod why;
mod words;

use tiermark_model::{Bytes, Check, CheckVerdict, Finding, Grade, Machine, Node, Observation, Run, count_of};
use tiermark_page::{Detail, Ink, Page, heading, items, paragraph, rule, space, variants};

use crate::curves::brief;
use crate::header::counts;
use crate::parts::parts;
use crate::soak::soak;
use crate::time_spent::time_spent;
use crate::traffic::traffic;
pub(crate) use cycles::conditions;
use figures::Survey;
pub use figures::figure_name;
pub(crate) use marks::{TierSize, declared};
pub(crate) use places::table as places;
use states::labelled;
pub use views::{RUN_VIEWS, RunView, run_view, run_view_options};

/// Whether a run is a survey by itself: surveys in a plan are parts of its report.
pub(crate) fn is_survey(run: &Run) -> bool {
    run.title == "survey" && run.plan.is_none() && run.experiments.iter().all(|e| e.request.part.is_none())
}

/// The figures of a survey's ladder.
pub(crate) fn figures(run: &Run) -> Vec<&Finding> {
    Survey::new(run).figures().map(|figure| figure.finding).collect()
}

/// What an index says of a run: of a survey the conclusion of its check, with the expectations that failed;
/// else how many of its numbers are trusted.
pub fn verdict(run: &Run, judged: &Check) -> (String, Ink) {
    if is_survey(run) {
        let verdict = judged.verdict;
        let failed: Vec<&str> = result::failed(judged).map(|result| result.that.as_str()).collect();
        return match verdict {
            CheckVerdict::Failed => (format!("failed: {}", failed.join(", ")), Ink::Bad),
            CheckVerdict::Passed => (verdict.name().to_owned(), Ink::Good),
            _ => (verdict.name().to_owned(), Ink::Warn),
        };
    }
    let numbers = crate::run::numbers(run);
    let count = |grade: Grade| numbers.iter().filter(|finding| finding.verdict.grade == grade).count();
    let shared = match count(Grade::Shared) {
        0 => String::new(),
        shared => format!(", {shared} shared"),
    };
    if numbers.is_empty() {
        return ("no number".to_owned(), Ink::Warn);
    }
    let all = count_of(numbers.len() as u64, "number");
    (format!("{} of {all} trusted{shared}", count(Grade::Trusted)), Ink::Plain)
}

/// What ran, where, and for how long.
pub(crate) fn head(run: &Run) -> Page {
    let seconds = match run.seconds {
        s if s < 99.5 => format!("{s:.0} s"),
        s => tiermark_page::seconds(s),
    };
    let mut parts = vec![format!("tiermark {}", run.title)];
    parts.extend(run.host().map(str::to_owned));
    parts.extend([machine_words(&run.machine), seconds]);
    let mut out = paragraph("", items(&parts), Ink::Head);
    out += crate::header::labels_line(&run.labels);
    out += crate::header::remarks(run);
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

/// Renders a survey, judged by the rules of thumb. All details follow in the report of a run.
pub(crate) fn survey(run: &Run, judged: &Check, detail: Detail) -> Page {
    let survey = Survey::new(run);
    let mut out = head(run);
    // On a page for a browser it is the headline.
    out += variants(result::result(&survey, judged), Page::new());
    let parts = parts(run);
    for (at, part) in parts.iter().enumerate() {
        out += part.head(at + 1, parts.len());
        out += figures_of(&Survey::of(run, part.experiments.clone()), detail);
    }
    // In detail the report of the run has it.
    let soaked = if detail.is_all() { Page::new() } else { soak(run, &run.observations().collect::<Vec<_>>(), detail) };
    if !soaked.is_empty() {
        out += heading("Soak of the memory") + soaked;
    }
    if parts.len() > 1 {
        out += space() + rule();
    }
    out += details_of(states::section(&survey), detail);
    out += notes::section(&survey, judged, detail);
    // Who reads a page has no terminal at hand.
    out += space() + variants(next(run), Page::new());
    let gutter = " ".repeat(states::GUTTER);
    let mut below = Page::new();
    below.extend(time_spent(run).map(|sentences| labelled("Time", paragraph(&gutter, sentences, Ink::Plain))));
    let which = format!("{} by tiermark {}", run.id, run.tool.version);
    below += labelled("Run", paragraph(&gutter, &which, Ink::Plain));
    out + details_of(below, detail)
}

/// What a terminal shows with details only, and a page always.
fn details_of(page: Page, detail: Detail) -> Page {
    if detail.is_all() { page } else { variants(Page::new(), page) }
}

/// The RESULT of a survey; empty for any other run.
pub(crate) fn headline(run: &Run, judged: &Check) -> Page {
    if is_survey(run) { result::result(&Survey::new(run), judged) } else { Page::new() }
}

/// The figures of one place: its ladder and its curves.
fn figures_of(survey: &Survey<'_>, detail: Detail) -> Page {
    let observations: Vec<&Observation> = survey.experiments.iter().flat_map(|e| &e.observations).collect();
    let mut out = ladder::ladder(survey, detail);
    // Details draw the same curves, with their points.
    if !detail.is_all() {
        out += brief(&observations, &survey.run.machine, detail);
        out += traffic(survey.run, &observations, detail);
    }
    out
}

/// Whether memory of several nodes was measured together: their sum says nothing of each.
fn has_several_nodes(run: &Run) -> bool {
    let with_memory = |node: &&Node| node.memory_bytes.is_none_or(|bytes| bytes > 0);
    run.machine.nodes.iter().filter(with_memory).count() > 1 && parts(run).len() == 1
}

/// What to look at next.
fn next(run: &Run) -> Page {
    let gutter = " ".repeat(states::GUTTER);
    let views = format!("tiermark explain, or tiermark show {} | -v", run_view_options(" | "));
    let matrix = "tiermark matrix: the memory of each node, seen from the cpus of each node";
    let matrix =
        if has_several_nodes(run) { labelled("", paragraph(&gutter, matrix, Ink::Plain)) } else { Page::new() };
    labelled("Next", paragraph(&gutter, &views, Ink::Plain)) + matrix
}
