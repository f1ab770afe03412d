//! Doubts about the numbers of this view, shown once for all groups, and points skipped for lack of time.

use tiermark_model::messages::run;
use tiermark_model::{Experiment, Finding, Observation};
use tiermark_page::{Detail, Ink, Page, bullet, heading, paragraph, seconds, space};

use super::points::name;
use crate::reasons::Reasons;

/// Steps that took this share of the time allowed have used it up: what comes between them is the rest.
const NEARLY: f64 = 0.95;

/// Whether a step was skipped for lack of time.
pub(crate) fn ran_out_of_time(seen: &Observation) -> bool {
    seen.refusal
        .as_ref()
        .is_some_and(|refusal| [run::codes::no_time_left, run::codes::curve_point_skipped].contains(&refusal.code))
}

/// Reasons of all numbers, the worst first.
pub(super) fn doubts(findings: &[&Finding], detail: Detail) -> Page {
    let mut reasons = Reasons::default();
    for finding in findings {
        reasons.add(&name(finding).replace(", ", " "), &finding.verdict);
    }
    let text = reasons.counted_by_reason(findings.len(), detail);
    if text.is_empty() { text } else { heading("Doubts") + text }
}

/// Points that effort and options of a request exclude.
pub(super) fn left_out(experiments: &[&Experiment]) -> Page {
    let rules = experiments.iter().filter(|e| e.request.probe == "os").flat_map(|e| &e.plan.rules);
    let text: Page = rules.map(|rule| bullet("·", Ink::Dim, &rule.text, None)).collect();
    if text.is_empty() { text } else { heading("Left out") + text }
}

/// Points that were skipped when the time was used up.
pub(super) fn time(experiments: &[&Experiment]) -> Page {
    let mut out = Page::new();
    for experiment in experiments.iter().filter(|e| e.request.probe == "os") {
        let untried = |points: bool| {
            let steps = experiment.observations.iter().filter(|o| o.labels.is_point() == points);
            steps.filter(|o| ran_out_of_time(o)).count()
        };
        let steps = |o: &&Observation| {
            let wanted = experiment.plan.steps.iter().find(|step| step.id == o.step).map(|s| s.stop.min_visits);
            !o.visits.is_empty() && wanted.is_some_and(|wanted| (o.visits.len() as u32) < wanted)
        };
        let (numbers, points) = (untried(false), untried(true));
        let short = experiment.observations.iter().filter(steps).count();
        // Visits can be few for other reasons than time.
        let spent: f64 = experiment.observations.iter().map(|o| o.seconds).sum();
        if numbers + points == 0 && (short == 0 || spent < NEARLY * experiment.plan.max_seconds) {
            continue;
        }
        let counted =
            |n: usize, one: &str, many: &str| (n > 0).then(|| format!("{n} {}", if n == 1 { one } else { many }));
        let parts: Vec<String> = [
            counted(numbers, "primitive was not tried", "primitives were not tried"),
            counted(points, "further point was not tried", "further points were not tried"),
            counted(short, "number has fewer visits than required", "numbers have fewer visits than required"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let text = format!(
            "The time budget, {}, was used up: {}. Raise --max-time to measure all",
            seconds(experiment.plan.max_seconds),
            parts.join(", ")
        );
        out += space() + paragraph("", &text, Ink::Warn);
    }
    out
}
