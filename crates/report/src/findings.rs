//! Findings that have no place on the ladder: tails, scaling, drift, and whatever else was concluded.

use std::collections::HashSet;

use tiermark_model::{Finding, Grade, LADDER_SPANS, LabelSet, Labels, Mark, NodeId, Quantity, Span};
use tiermark_page::{
    Cell, Detail, Ink, Page, Table, Text, graded, heading, number, paragraph, percent, rate_unit, text,
};

use crate::ladder::subject;
use crate::order::grouped;
use crate::pivot::{Pivot, label};
use crate::reasons::Reasons;
use crate::remark::{self, remark};
use crate::shown::Shown;

/// Reasons and remarks of findings, each remark once with its row.
fn details(findings: &[&Finding], row: &dyn Fn(&Finding) -> String, detail: Detail) -> Page {
    let mut reasons = Reasons::default();
    findings.iter().for_each(|f| reasons.add(&subject(f), &f.verdict));
    let remarks = remark::distinct(findings.iter().filter_map(|f| Some(text![row(f), ": ", remark(f)?])));
    let remarks = if remarks.is_empty() { Page::new() } else { paragraph("  ", Text::joined(remarks, "; "), Ink::Dim) };
    reasons.page(detail) + remarks
}

/// Where a statistic stands among the columns: quantiles by rank, the largest last, other words where they came.
pub(crate) fn quantile(name: &str) -> f64 {
    match name {
        "max" => f64::INFINITY,
        _ => name.strip_prefix('p').and_then(|rank| rank.parse().ok()).unwrap_or(0.0),
    }
}

/// Names rows by as few labels as distinguish them: the tier alone, with layout and page, or all labels.
fn row_names(findings: &[&Finding]) -> impl Fn(&Finding) -> String {
    const PLACE: LabelSet = LabelSet::NONE.tier().node();
    const FEWEST: [LabelSet; 4] = [PLACE, PLACE.page(), PLACE.layout(), PLACE.layout().page().chains()];
    let full = |f: &Finding| f.labels.words(LabelSet::NONE.statistic().purpose());
    let distinct = |name: &dyn Fn(&Finding) -> String| {
        findings.iter().map(|f| name(f)).filter(|n| !n.is_empty()).collect::<std::collections::BTreeSet<_>>().len()
    };
    let rows = distinct(&full);
    let labels = FEWEST.into_iter().find(|labels| distinct(&|f| f.labels.words_of(*labels)) == rows);
    move |f| labels.map_or_else(|| full(f), |labels| f.labels.words_of(labels))
}

/// The remarks of findings, each said once.
fn notes(findings: &[&Finding]) -> Page {
    let remarks = remark::distinct(findings.iter().filter_map(|f| remark(f)));
    remarks.iter().map(|note| paragraph("  ", note, Ink::Dim)).collect()
}

/// Takes the quantiles of latency.
pub(crate) fn take_tails<'a>(shown: &mut Shown<'a>) -> Vec<&'a Finding> {
    shown.take_all(|f| f.quantity == Quantity::LatencyTail && f.labels.statistic().is_some())
}

/// Tail latency: quantiles as columns. Reasons and remarks come in detail: quantiles have the verdict of the number
/// whose tail they are.
pub(crate) fn tails(findings: &[&Finding], detail: Detail) -> Page {
    if findings.is_empty() {
        return Page::new();
    }
    let row = row_names(findings);
    let mut pivot = Pivot::new(findings, &|f| row(f), &|f| label(f, Labels::statistic));
    pivot.columns.sort_by(|a, b| quantile(a).total_cmp(&quantile(b)));
    let table = pivot.table("", &|f| graded(f.value.map(|v| number(v, f.unit)), &f.verdict, f.unit));
    let mut out = heading("Tail latency, ns an access, of the means of blocks") + table;
    if detail.is_all() {
        out += details(findings, &row, detail);
    }
    out
}

/// Takes how bandwidth grows with threads; of two cpus the ladder shows as much.
pub(crate) fn scalings<'a>(shown: &mut Shown<'a>, detail: Detail) -> Vec<(String, Vec<&'a Finding>)> {
    let findings = shown.take_all(|f| f.quantity == Quantity::BandwidthScaling);
    let name = |f: &Finding| {
        // The footprint of one thread shrinks as threads are added; the rest must be the same along the table.
        f.labels.words(LabelSet::NONE.threads().size().purpose().span().cpus().kernel())
    };
    let mut groups = grouped(findings.into_iter().map(|f| (name(f), f)));
    let rates = shown.findings.iter().filter(|f| f.quantity == Quantity::Bandwidth && f.value.is_some());
    let columns: HashSet<Column<'_>> = rates.map(|f| column(f, f.labels.span())).collect();
    groups.retain(|(_, group)| detail.is_all() || !is_on_ladder(group, &columns));
    groups.iter().for_each(|(_, group)| shown.count(group));
    groups
}

/// How bandwidth grows with threads, with bars.
pub(crate) fn scaling(groups: &[(String, Vec<&Finding>)], detail: Detail) -> Page {
    groups.iter().map(|(name, group)| scaling_table(name, group, detail)).collect()
}

/// Whether a scaling has only the two ends that the ladder has columns for.
fn is_on_ladder(group: &[&Finding], columns: &HashSet<Column<'_>>) -> bool {
    let Some(first) = group.first() else { return true };
    group.len() <= 2 && LADDER_SPANS.iter().all(|span| columns.contains(&column(first, Some(*span))))
}

/// A column of the ladder and a row of it: span; tier, node and operation.
type Column<'a> = (Option<Span>, Option<&'a str>, Option<NodeId>, Option<&'a str>);

/// Where a rate stands on the ladder, or would with this span.
fn column(finding: &Finding, span: Option<Span>) -> Column<'_> {
    (span, finding.labels.tier_name(), finding.labels.node(), finding.labels.op())
}

fn scaling_table(name: &str, group: &[&Finding], detail: Detail) -> Page {
    let best = group.iter().filter_map(|f| f.value).filter(|v| v.is_finite()).fold(0.0, f64::max);
    let threads = |f: &Finding| f.labels.threads();
    let single = group.iter().find(|f| threads(f) == Some(1)).and_then(|f| f.value);
    // How much of one thread's rate each thread keeps: what sharing costs.
    let kept = |f: &Finding| match (f.value, single, threads(f)) {
        (Some(v), Some(one), Some(n)) if one > 0.0 && n > 0 => percent(v / one / n as f64),
        _ => String::new(),
    };
    let share =
        |f: &Finding| f.value.filter(|v| v.is_finite() && best > 0.0).map_or(0.0, |v| (v / best).clamp(0.0, 1.0));
    let table = Table::of(group).numbers("threads", |f| threads(f).map_or_else(String::new, |n| n.to_string()));
    let table = table.figures(rate_unit(), |f| figure(f)).numbers("per thread", |f| kept(f));
    let table = table.texts("", |f| Cell::bar(share(f), Ink::Series(0))).table();
    let mut reasons = Reasons::default();
    group.iter().for_each(|f| reasons.add(&subject(f), &f.verdict));
    let title = format!("Bandwidth by threads: {name}");
    heading(title.trim_end_matches([':', ' ']))
        + table
        + reasons.page(detail)
        + if detail.is_all() { notes(group) } else { Page::new() }
}

/// A number with its interval and the mark of its grade.
pub(crate) fn figure(f: &Finding) -> Cell {
    graded(f.value.map(|v| number(v, f.unit).within(f.interval)), &f.verdict, f.unit)
}

/// The sign before a number that is known to be at least so much; empty where its grade gives it the same sign.
pub(crate) fn at_least(f: &Finding) -> &'static str {
    let by_grade = f.verdict.grade == Grade::Bound && Mark::of_bound(f.unit) == Mark::AtLeast;
    if f.labels.statistic() == Some("at least") && !by_grade { "≥ " } else { "" }
}

/// Every finding no other view has shown; in detail all findings, with interval and number of samples.
pub(crate) fn others(all: &[&Finding], rest: &[&Finding], detail: Detail) -> Page {
    let mut findings = if detail.is_all() { all.to_vec() } else { rest.to_vec() };
    // Conditions of the others have lines of their own.
    findings.retain(|f| !f.quantity.is_condition());
    if findings.is_empty() {
        return Page::new();
    }
    let mut reasons = Reasons::default();
    for f in rest {
        reasons.add(&format!("{} {}", f.quantity, f.labels.words(LabelSet::NONE.purpose())), &f.verdict);
    }
    let table = Table::of(&findings).texts("what", |f| f.quantity.name());
    let table = table.texts("of", |f| f.labels.words(LabelSet::NONE.purpose())).figures("value", |f| figure(f));
    let table = table.texts("unit", |f| Cell::inked(Text::unit(f.unit), Ink::Dim));
    let table = table.numbers("n", |f| Cell::inked(f.samples.to_string(), Ink::Dim)).table();
    heading("Findings") + table + reasons.page(detail) + notes(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{Labels, Unit};
    use tiermark_page::text;

    #[test]
    fn a_number_that_is_a_bound_by_itself_and_by_its_grade_has_one_sign() {
        let labels = Labels::new().with_statistic("at least");
        let mut found = Finding::new(Quantity::ScaleCeiling, labels, Some(1.87e9), Unit::BytesPerSecond);
        assert_eq!(at_least(&found), "≥ ");
        found.verdict.bound(tiermark_model::Reason::NotReproduced { reached: 1 });
        assert_eq!(text![at_least(&found), figure(&found).words()].plain(), "≥1.87");
        let counted = Finding { unit: Unit::Count, ..found };
        assert_eq!(at_least(&counted), "≥ ", "a bound of a count has no sign of its own");
    }
}
