//! The limit of the growth of bandwidth with threads.

use tiermark_model::messages::memory::codes;
use tiermark_model::{Finding, Labels, Quantity, Unit};
use tiermark_page::{Detail, Ink, Page, Table, Text, graded, heading, number, paragraph, rate_unit, text};

use crate::findings::at_least;
use crate::reasons::Reasons;
use crate::remark::{remark, share};
use crate::tally::is_number;

/// Name of a ramp.
fn name(labels: &Labels) -> String {
    let node = labels.node().map(|n| format!("node {n}"));
    let words = [labels.op(), labels.place_name(), node.as_deref()];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Heading of a finding's column; a share has a remark.
fn column_name(finding: &Finding) -> String {
    match &finding.quantity {
        Quantity::ScaleLatency => "idle".to_owned(),
        Quantity::ScaleInFlight => "lines in flight".to_owned(),
        Quantity::ScaleShare => format!("share {}", finding.labels.statistic().unwrap_or_default()),
        metric => metric.part().to_owned(),
    }
}

/// One row a ramp: latency, lines in flight, knee, ceiling and its cause; then the reasons.
pub(crate) fn limits(findings: &[&Finding], detail: Detail) -> Page {
    let mut rows: Vec<&Labels> = Vec::new();
    for finding in findings.iter().filter(|f| f.labels.op().is_some()) {
        if rows.iter().all(|known| name(known) != name(&finding.labels)) {
            rows.push(&finding.labels);
        }
    }
    if rows.is_empty() {
        return Page::new();
    }
    let here = |labels: &Labels, f: &Finding| {
        name(&f.labels) == name(labels)
            // Latency belongs to every operation of its place.
            || f.quantity == Quantity::ScaleLatency
                && f.labels.are_alike(labels, |of| (of.place_name(), of.node()))
    };
    let find = |labels: &Labels, quantity: &Quantity| {
        findings.iter().find(|f| f.quantity == *quantity && here(labels, f)).copied()
    };
    let cell = |f: &Finding| match f.unit {
        Unit::Count => graded(f.value.map(|v| number(v.round(), f.unit)), &f.verdict, f.unit),
        _ => graded(f.value.map(|v| text![at_least(f), number(v, f.unit).within(f.interval)]), &f.verdict, f.unit),
    };
    // Beside rates of whole lines, bytes that are used are called so.
    let used = if findings.iter().any(|f| f.noted(&codes::lines_wasted).is_some()) { " used" } else { "" };
    let heads = [
        (Text::from("idle|ns"), Quantity::ScaleLatency),
        ("lines in|flight".into(), Quantity::ScaleInFlight),
        ("knee,|threads".into(), Quantity::ScaleKnee),
        (text!["ceiling|", rate_unit(), used], Quantity::ScaleCeiling),
    ];
    let table = Table::of(&rows)
        .texts("", |labels| name(labels))
        .each(heads, |table, (head, metric)| table.figures(head, |labels| find(labels, &metric).map(cell)));
    let limit = |labels: &Labels| find(labels, &Quantity::ScaleCeiling)?.labels.limit().map(str::to_owned);
    let table = table.texts("limit", |labels| limit(labels).unwrap_or_default()).table();
    let mut reasons = Reasons::default();
    let mut remarks = Page::new();
    for labels in rows {
        let row = name(labels);
        for finding in findings.iter().filter(|f| here(labels, f) && is_number(f)) {
            reasons.add(&format!("{row} {}", column_name(finding)), &finding.verdict);
        }
        if let Some(note) = find(labels, &Quantity::ScaleCeiling).and_then(remark) {
            remarks += paragraph("  ", text![&row, ": ", note], Ink::Plain);
        }
        for finding in findings.iter().filter(|f| f.quantity == Quantity::ScaleShare && here(labels, f)) {
            remarks += paragraph("  ", text![format!("{row}: "), share(finding)], Ink::Plain);
        }
    }
    heading("What limits") + table + reasons.page(detail) + remarks
}
