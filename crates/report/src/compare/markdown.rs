//! A comparison in Markdown, for pull requests.

use std::fmt::Write;

use tiermark_model::{Against, ChangeVerdict, ComparedFigure, Comparison};
use tiermark_page::{Style, escaped_markdown};

use super::words::{change, graded_text, name, signed, tally, unit_of};
use super::{clock_text, described, family_name, is_clock, moved};
use crate::order::grouped;

/// Renders a comparison as Markdown: tables of what changed and of the facts that differ, and the rest by reason.
pub fn compare_markdown(comparison: &Comparison, style: &Style) -> String {
    comparison.others.iter().map(|other| against(comparison, other, style)).collect::<Vec<_>>().join("\n")
}

fn against(comparison: &Comparison, other: &Against, style: &Style) -> String {
    let text = |text: &str| escaped_markdown(text, style);
    let mut out = format!("### tiermark: {}\n\n", tally(&other.figures));
    let _ = writeln!(out, "* first: {}", text(&described(&comparison.first)));
    let _ = writeln!(out, "* other: {}", text(&described(&other.run)));
    if let Some(clock) = clock_text(other, style) {
        let _ = writeln!(out, "* core clock: {}", text(&clock));
    }
    let mut shown = moved(other);
    if style.verbose {
        shown.extend(other.figures.iter().filter(|figure| figure.verdict == ChangeVerdict::Same));
    }
    if !shown.is_empty() {
        out.push_str("\n| number | first | other | unit | change | verdict |\n|---|---:|---:|---|---:|---|\n");
    }
    for figure in shown {
        let number = |number| graded_text(number, figure, style);
        let cells = [
            name(figure, style),
            number(figure.first.as_ref()),
            number(figure.other.as_ref()),
            unit_of(figure, style).to_owned(),
            change(figure, style),
            figure.verdict.name().to_owned(),
        ];
        let _ = writeln!(out, "| {} |", cells.map(|cell| text(&cell)).join(" | "));
    }
    for family in other.families.iter().filter(|family| family.verdict.has_moved()) {
        let (name, verdict) = (text(&family_name(family)), family.verdict.name());
        let _ = writeln!(out, "\n* {name}: {} {verdict}", text(&signed(family.change)));
    }
    if !other.facts.is_empty() {
        out.push_str("\n| differs | first | other |\n|---|---|---|\n");
    }
    for fact in &other.facts {
        let or = |value: &Option<String>| text(value.as_deref().unwrap_or("not reported"));
        let _ = writeln!(out, "| {} | {} | {} |", fact.fact.name(), or(&fact.first), or(&fact.other));
    }
    let why = |figure: &ComparedFigure| match &figure.verdict {
        ChangeVerdict::Unsure(doubt) => Some(format!("unsure: {doubt}")),
        ChangeVerdict::NotComparable(obstacle) => Some(format!("not comparable: {obstacle}")),
        _ => None,
    };
    let judged = other.figures.iter().filter(|figure| !is_clock(figure));
    let groups = grouped(judged.filter_map(|figure| Some((why(figure)?, figure))));
    if !groups.is_empty() {
        out.push('\n');
    }
    for (why, figures) in groups {
        let _ = writeln!(out, "* {}: {}", text(&why), figures.len());
    }
    out
}
