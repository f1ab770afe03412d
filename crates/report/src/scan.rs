//! Memory by region: what each has, the medians of each node, and the slow ones by name.

use tiermark_model::messages::scan::codes;
use tiermark_model::{Finding, Key, Quantity};
use tiermark_page::{Cell, Detail, Ink, Page, Table, Text, heading, number, paragraph, rate_unit, text};

use crate::findings::figure;
use crate::order::grouped;
use crate::pivot::{label, with_metric};
use crate::reasons::Reasons;
use crate::remark::remark;
use crate::steps::Curves;

/// As many regions are listed; of more, only the slow ones, unless all are asked for.
const LISTED: usize = 24;

/// The view; empty where nothing was scanned.
pub(crate) fn scan(findings: &[&Finding], detail: Detail) -> Page {
    let latencies = with_metric(findings, &Quantity::ScanLatency);
    if latencies.is_empty() && with_metric(findings, &Quantity::ScanBandwidth).is_empty() {
        return Page::new();
    }
    let slow = with_metric(findings, &Quantity::ScanSlow);
    let is_slow = |f: &Finding| slow.iter().any(|s| region(s) == region(f));
    let is_listed = |f: &Finding| detail.is_all() || latencies.len() <= LISTED || is_slow(f);
    let curves = Curves {
        x: &|f| region(f).map(|region| region as f64),
        x_unit: "region",
        series: &|f| format!("node {}", label(f, Key::Node)),
        unit: ("ns", 1.0),
        log_y: false,
    };
    let mut out = heading("Memory by region") + table(findings, &is_listed);
    let drawn = curves.drawn(&latencies);
    if !drawn.is_empty() {
        out += heading("Latency by region, ns") + drawn;
    }
    for median in with_metric(findings, &Quantity::ScanMedian) {
        let value = median.value.map(|v| Text::from(number(v, median.unit))).unwrap_or_default();
        let quantity = what(median);
        let node = format!("node {}, {quantity}: median ", label(median, Key::Node));
        out += paragraph("  ", text![node, value, ", ", remark(median).unwrap_or_default()], Ink::Plain);
    }
    out += verdict(findings, &slow);
    // A median rests on one of the regions, and a slow region on its own number: these say it.
    let mut reasons = Reasons::default();
    for number in latencies.iter().copied().chain(with_metric(findings, &Quantity::ScanBandwidth)) {
        reasons.add(&format!("region {} {}", label(number, Key::Region), what(number)), &number.verdict);
    }
    out + reasons.page(detail)
}

fn region(finding: &Finding) -> Option<u64> {
    finding.labels.region()
}

/// The name of the number of a region.
fn what(finding: &Finding) -> String {
    label(finding, Key::Op)
}

/// A row for each region: both numbers, how many times slower than the median it is, and where it lies.
fn table(findings: &[&Finding], is_listed: &dyn Fn(&Finding) -> bool) -> Page {
    let numbers = findings.iter().filter(|f| region(f).is_some() && is_listed(f));
    let regions = grouped(numbers.map(|f| (region(f), *f)));
    if regions.is_empty() {
        return Page::new();
    }
    let place = |f: &Finding| Some(f.noted(&codes::physical_range)?.text.clone());
    let find = |of: &[&'_ Finding], metric: Quantity| of.iter().position(|f| f.metric == metric);
    let cell = |of: &[&Finding], metric: Quantity| find(of, metric).map(|at| figure(of[at]));
    let slow = |of: &[&Finding]| {
        let slow = of.iter().filter(|f| f.metric == Quantity::ScanSlow);
        let slow: Vec<String> = slow.filter_map(|f| Some(format!("{} {:.2}x", what(f), f.value?))).collect();
        Cell::inked(slow.join(", "), Ink::Bad)
    };
    let table = Table::of(&regions).numbers("region", |(number, _)| number.unwrap_or_default().to_string());
    let table = table.numbers("node", |(_, of)| of.first().map_or_else(String::new, |f| label(f, Key::Node)));
    let table = table.figures("ns", |(_, of)| cell(of, Quantity::ScanLatency));
    let table = table.figures(rate_unit(), |(_, of)| cell(of, Quantity::ScanBandwidth));
    let table = table.texts("slow", |(_, of)| slow(of));
    let addresses = |of: &[&Finding]| find(of, Quantity::ScanLatency).and_then(|at| place(of[at])).unwrap_or_default();
    let has_places = findings.iter().any(|f| place(f).is_some());
    table.when(has_places, |table| table.texts("physical addresses", |(_, of)| addresses(of))).table().into()
}

/// The slow regions by name, or that there is none.
fn verdict(findings: &[&Finding], slow: &[&Finding]) -> Page {
    let mut out = Page::new();
    for found in slow {
        let notes = remark(found).unwrap_or_default();
        let place = findings.iter().find(|f| region(f) == region(found) && f.noted(&codes::physical_range).is_some());
        let place = place
            .and_then(|f| f.noted(&codes::physical_range))
            .map(|note| format!(" (physical addresses: {})", note.text));
        let number = label(found, Key::Region);
        let name = format!("region {number} of node {}{}", label(found, Key::Node), place.unwrap_or_default());
        out += paragraph("  ", text![format!("Slow: {name}, {}: ", what(found)), notes], Ink::Bad);
    }
    let compared = with_metric(findings, &Quantity::ScanMedian);
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
