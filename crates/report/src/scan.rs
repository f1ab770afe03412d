//! Memory by region: what each has, the medians of each node, and the slow ones by name.

use tiermark_model::messages::scan::codes;
use tiermark_model::{Finding, Labels, Note, Quantity};
use tiermark_page::{Align, Cell, Ink, Page, Style, Table, graded, heading, paragraph, with_interval};

use crate::order::grouped;
use crate::pivot::{label, of};
use crate::reasons::Reasons;
use crate::steps::Curves;

/// As many regions are listed; of more, only the slow ones, unless all are asked for.
const LISTED: usize = 24;

/// The view; empty where nothing was scanned.
pub(crate) fn scan(findings: &[&Finding], style: &Style) -> Page {
    let latencies = of(findings, &Quantity::ScanLatency);
    if latencies.is_empty() && of(findings, &Quantity::ScanBandwidth).is_empty() {
        return Page::new();
    }
    let slow = of(findings, &Quantity::ScanSlow);
    let is_slow = |f: &Finding| slow.iter().any(|s| region(s) == region(f));
    let is_listed = |f: &Finding| style.verbose || latencies.len() <= LISTED || is_slow(f);
    let curves = Curves {
        x: &|f| region(f).map(|region| region as f64),
        x_unit: "region",
        series: &|f| format!("node {}", label(f, Labels::NODE)),
        unit: ("ns", 1.0),
        log_y: false,
    };
    let mut out = heading("Memory by region") + table(findings, &is_listed, style);
    let drawn = curves.drawn(&latencies);
    if !drawn.is_empty() {
        out += heading("Latency by region, ns") + drawn;
    }
    for median in of(findings, &Quantity::ScanMedian) {
        let number = median.value.map(|v| with_interval(v, None, median.unit, style).to_string()).unwrap_or_default();
        let notes = Note::joined(&median.notes, style.rate_unit);
        let of = what(median);
        let line = format!("node {}, {of}: median {number}, {notes}", label(median, Labels::NODE));
        out += paragraph("  ", &line, Ink::Plain);
    }
    out += verdict(findings, &slow, style);
    // A median rests on one of the regions, and a slow region on its own number: these say it.
    let mut reasons = Reasons::new(style);
    for number in latencies.iter().copied().chain(of(findings, &Quantity::ScanBandwidth)) {
        reasons.add(&format!("region {} {}", label(number, Labels::REGION), what(number)), &number.verdict);
    }
    out + reasons.page(style)
}

fn region(finding: &Finding) -> Option<u64> {
    finding.labels.number(Labels::REGION)
}

/// The name of the number of a region.
fn what(finding: &Finding) -> String {
    label(finding, Labels::OP)
}

/// A row for each region: both numbers, how many times slower than the median it is, and where it lies.
fn table(findings: &[&Finding], is_listed: &dyn Fn(&Finding) -> bool, style: &Style) -> Page {
    let numbers = findings.iter().filter(|f| region(f).is_some() && is_listed(f));
    let regions = grouped(numbers.map(|f| (region(f), *f)));
    let place = |f: &Finding| Some(f.noted(&codes::physical_range)?.text.clone());
    let has_places = findings.iter().any(|f| place(f).is_some());
    let mut table = Table::new().column("region", Align::Right).column("node", Align::Right);
    table = table.column("ns ", Align::Right).column(&format!("{} ", style.rate_unit()), Align::Right);
    table = table.column("slow", Align::Left);
    if has_places {
        table = table.column("physical addresses", Align::Left);
    }
    for (number, of_region) in &regions {
        let find = |metric: Quantity| of_region.iter().find(|f| f.metric == metric);
        let cell = |metric: Quantity| {
            find(metric).map_or_else(Cell::default, |f| {
                graded(f.value.map(|v| with_interval(v, f.interval, f.unit, style)), &f.verdict, f.unit, style)
            })
        };
        let slow = of_region.iter().filter(|f| f.metric == Quantity::ScanSlow);
        let slow: Vec<String> = slow.filter_map(|f| Some(format!("{} {:.2}x", what(f), f.value?))).collect();
        let mut row = vec![
            Cell::new(number.unwrap_or_default().to_string()),
            Cell::new(of_region.first().map_or_else(String::new, |f| label(f, Labels::NODE))),
            cell(Quantity::ScanLatency),
            cell(Quantity::ScanBandwidth),
            Cell::inked(slow.join(", "), Ink::Bad),
        ];
        if has_places {
            row.push(Cell::new(find(Quantity::ScanLatency).and_then(|f| place(f)).unwrap_or_default()));
        }
        table.row(row);
    }
    if table.is_empty() { Page::new() } else { table.into() }
}

/// The slow regions by name, or that there is none.
fn verdict(findings: &[&Finding], slow: &[&Finding], style: &Style) -> Page {
    let mut out = Page::new();
    for found in slow {
        let notes = Note::joined(&found.notes, style.rate_unit);
        let place = findings.iter().find(|f| region(f) == region(found) && f.noted(&codes::physical_range).is_some());
        let place = place
            .and_then(|f| f.noted(&codes::physical_range))
            .map(|note| format!(" (physical addresses: {})", note.text));
        let number = label(found, Labels::REGION);
        let name = format!("region {number} of node {}{}", label(found, Labels::NODE), place.unwrap_or_default());
        out += paragraph("  ", format!("Slow: {name}, {}: {notes}", what(found)), Ink::Bad);
    }
    let compared = of(findings, &Quantity::ScanMedian);
    let is_judged = compared.iter().any(|f| f.noted(&codes::too_few_regions).is_none());
    if slow.is_empty() && is_judged {
        let text = "No slow region: none is a tenth slower than the median of its node and far from the others.";
        out += paragraph("  ", text, Ink::Plain);
    }
    if findings.iter().all(|f| f.noted(&codes::physical_range).is_none()) {
        let note = tiermark_model::messages::scan::physical_unreadable();
        out += paragraph("  ", &note.text, Ink::Dim);
    }
    out
}
