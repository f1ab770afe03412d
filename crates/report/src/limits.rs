//! The limit of the growth of bandwidth with threads.

use tiermark_model::{Finding, Labels, Quantity, Unit};
use tiermark_page::{Align, Cell, Ink, Page, Style, Table, graded, heading, paragraph, percent, value, with_interval};

use crate::ladder::Shown;
use crate::reasons::Reasons;
use crate::tally::is_number;

/// Name of a ramp.
fn name(labels: &Labels) -> String {
    let node = labels.number(Labels::NODE).map(|n| format!("node {n}"));
    let words = [labels.get(Labels::OP), labels.get(Labels::PLACE), node.as_deref()];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Heading of a finding's column; a share has a remark.
fn column_name(finding: &Finding) -> String {
    match &finding.metric {
        Quantity::ScaleLatency => "idle".to_owned(),
        Quantity::ScaleInFlight => "lines in flight".to_owned(),
        Quantity::ScaleShare => format!("share {}", finding.labels.get(Labels::STATISTIC).unwrap_or_default()),
        metric => metric.part().to_owned(),
    }
}

/// One row a ramp: latency, lines in flight, knee, ceiling and its cause; then the reasons.
pub(crate) fn limits(shown: &mut Shown<'_>, style: &Style) -> Page {
    let findings = shown.take_all(|f| f.metric.family() == "scale");
    // A share stands in a remark, and has the doubts of its ceiling.
    shown.count(&findings.iter().filter(|f| f.metric != Quantity::ScaleShare).copied().collect::<Vec<_>>());
    let mut rows: Vec<&Labels> = Vec::new();
    for finding in findings.iter().filter(|f| f.labels.get(Labels::OP).is_some()) {
        if rows.iter().all(|known| name(known) != name(&finding.labels)) {
            rows.push(&finding.labels);
        }
    }
    if rows.is_empty() {
        return Page::new();
    }
    let mut table = Table::new().column("", Align::Left).column("idle|ns ", Align::Right);
    table = table.column("lines in|flight ", Align::Right).column("knee,|threads ", Align::Right);
    table = table.column(&format!("ceiling|{} ", style.rate_unit()), Align::Right).column("limit", Align::Left);
    let mut reasons = Reasons::new(style);
    let mut remarks = Page::new();
    for labels in rows {
        let row = name(labels);
        let here = |f: &Finding| {
            name(&f.labels) == row
                // Latency belongs to every operation of its place.
                || f.metric == Quantity::ScaleLatency && [Labels::PLACE, Labels::NODE].iter().all(|k| f.labels.0.get(*k) == labels.0.get(*k))
        };
        let find = |metric: Quantity| findings.iter().find(|f| f.metric == metric && here(f)).copied();
        let cell = |metric: Quantity| match find(metric) {
            Some(f) if f.unit == Unit::Count => {
                let shown = |v: f64| value(v.round(), Unit::Count, style);
                graded(f.value.map(shown), &f.verdict, f.unit, style)
            }
            Some(f) => {
                let at_least = f.labels.is(Labels::STATISTIC, "at least");
                let bound = if at_least { format!("{} ", style.glyph("≥", ">=")) } else { String::new() };
                let shown = |v: f64| with_interval(v, f.interval, f.unit, style).between(&bound, "");
                graded(f.value.map(shown), &f.verdict, f.unit, style)
            }
            None => Cell::default(),
        };
        let ceiling = find(Quantity::ScaleCeiling);
        table.row(vec![
            Cell::new(&row),
            cell(Quantity::ScaleLatency),
            cell(Quantity::ScaleInFlight),
            cell(Quantity::ScaleKnee),
            cell(Quantity::ScaleCeiling),
            Cell::new(ceiling.and_then(|f| f.labels.get(Labels::LIMIT)).unwrap_or_default()),
        ]);
        for finding in findings.iter().filter(|f| here(f)) {
            if is_number(finding) {
                reasons.add(&format!("{row} {}", column_name(finding)), &finding.verdict);
            }
        }
        if let Some(note) = ceiling.and_then(|f| f.note(style.rate_unit)) {
            remarks += paragraph("  ", format!("{row}: {note}"), Ink::Plain);
        }
        for finding in findings.iter().filter(|f| f.metric == Quantity::ScaleShare && here(f)) {
            let of = finding.labels.get(Labels::STATISTIC).unwrap_or_default();
            let share = finding.value.map_or_else(|| style.absent().to_owned(), percent);
            let note = finding.note(style.rate_unit).unwrap_or_default();
            remarks += paragraph("  ", format!("{row}: {share} {of} ({note})"), Ink::Plain);
        }
    }
    heading("What limits") + table + reasons.page(style) + remarks
}
