//! Memory by region: what each has, the medians of each node, and the slow ones by name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use tiermark_model::messages::scan::codes;
use tiermark_model::{Finding, Labels, NodeId, Quantity, count_of};
use tiermark_page::{Cell, Detail, Ink, Page, Table, Text, heading, number, paragraph, rate_unit, text};

use crate::findings::figure;
use crate::order::grouped;
use crate::pivot::{label, with_quantity};
use crate::reasons::Reasons;
use crate::remark::remark;
use crate::steps::Curves;

/// As many regions are listed; of more, only the slow ones, unless all are asked for.
const LISTED: usize = 24;

/// The view; empty where nothing was scanned.
pub(crate) fn scan(findings: &[&Finding], detail: Detail) -> Page {
    let latencies = with_quantity(findings, &Quantity::ScanLatency);
    if latencies.is_empty() && with_quantity(findings, &Quantity::ScanBandwidth).is_empty() {
        return Page::new();
    }
    let slow = with_quantity(findings, &Quantity::ScanSlow);
    let is_slow = |f: &Finding| slow.iter().any(|s| region(s) == region(f));
    let is_listed = |f: &Finding| detail.is_all() || latencies.len() <= LISTED || is_slow(f);
    let curves = Curves {
        x: &|f| region(f).map(|region| region as f64),
        x_unit: "region",
        series: &|f| format!("node {}", label(f, Labels::node)),
        unit: ("ns", 1.0),
        log_y: false,
    };
    let mut out = heading("Memory by region") + scanned(findings) + table(findings, &is_listed);
    let drawn = curves.drawn(&latencies);
    if !drawn.is_empty() {
        out += heading("Latency by region, ns") + drawn;
    }
    for median in with_quantity(findings, &Quantity::ScanMedian) {
        let value = median.value.map(|v| Text::from(number(v, median.unit))).unwrap_or_default();
        let quantity = what(median);
        let node = format!("node {}, {quantity}: median ", label(median, Labels::node));
        out += paragraph("  ", text![node, value, ", ", remark(median).unwrap_or_default()], Ink::Plain);
    }
    out += verdict(findings, &slow);
    // A median rests on one of the regions, and a slow region on its own number: these say it.
    let mut reasons = Reasons::default();
    for number in latencies.iter().copied().chain(with_quantity(findings, &Quantity::ScanBandwidth)) {
        reasons.add(&format!("region {} {}", label(number, Labels::region), what(number)), &number.verdict);
    }
    out + reasons.page(detail)
}

fn region(finding: &Finding) -> Option<u64> {
    finding.labels.region()
}

/// Where a region is among those of its node, in the order in which the kernel gave them: `3 of 12`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PlaceInNode {
    /// From 1.
    number: usize,
    of: usize,
}

impl fmt::Display for PlaceInNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.number, self.of)
    }
}

/// The place of each region by its number.
fn places(findings: &[&Finding]) -> BTreeMap<u64, PlaceInNode> {
    let mut nodes: BTreeMap<Option<NodeId>, BTreeSet<u64>> = BTreeMap::new();
    for finding in findings {
        nodes.entry(finding.labels.node()).or_default().extend(region(finding));
    }
    let of_node = |regions: &BTreeSet<u64>| {
        let of = regions.len();
        regions.iter().zip(1..).map(|(region, number)| (*region, PlaceInNode { number, of })).collect::<Vec<_>>()
    };
    nodes.values().flat_map(of_node).collect()
}

/// How much of each node was scanned, where that is not all of it: an answer for these regions alone.
fn scanned(findings: &[&Finding]) -> Page {
    let mut nodes: BTreeMap<Option<NodeId>, [BTreeSet<u64>; 2]> = BTreeMap::new();
    for (number, finding) in findings.iter().filter_map(|f| Some((region(f)?, f))) {
        let [all, seen] = nodes.entry(finding.labels.node()).or_default();
        all.insert(number);
        seen.extend(finding.value.is_some().then_some(number));
    }
    let part = |(node, [all, seen]): (Option<NodeId>, [BTreeSet<u64>; 2])| {
        let node = node.map_or_else(String::new, |node| format!(" of node {node}"));
        let (seen, all) = (seen.len(), all.len());
        let text =
            format!("{seen} of {}{node} scanned: what follows is of these alone.", count_of(all as u64, "region"));
        (seen < all).then(|| paragraph("! ", text, Ink::Warn))
    };
    nodes.into_iter().filter_map(part).collect()
}

/// The physical addresses that a region has; `None` where they are not readable.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Physical {
    /// One piece, from its first to its last byte.
    Range(u64, u64),
    /// Pages all over the memory: their lowest and highest address say nothing.
    Scattered,
}

fn physical(finding: &Finding) -> Option<Physical> {
    let data = &finding.noted(&codes::physical_range)?.data;
    let [low, high] = ["low", "high"].map(|end| data.get(end).and_then(serde_json::Value::as_u64));
    let scattered = data.get("scattered").and_then(serde_json::Value::as_bool)?;
    Some(if scattered { Physical::Scattered } else { Physical::Range(low?, high?) })
}

/// The addresses of a region that is one piece, in words.
fn range(finding: &Finding) -> Option<String> {
    match physical(finding)? {
        Physical::Range(low, high) => Some(format!("{low:#x} to {high:#x}")),
        Physical::Scattered => None,
    }
}

/// The name of the number of a region.
fn what(finding: &Finding) -> String {
    label(finding, Labels::op)
}

/// A row for each region: where it is, both numbers, and how many times slower than the median it is.
fn table(findings: &[&Finding], is_listed: &dyn Fn(&Finding) -> bool) -> Page {
    let numbers = findings.iter().filter(|f| region(f).is_some() && is_listed(f));
    let regions = grouped(numbers.map(|f| (region(f), *f)));
    if regions.is_empty() {
        return Page::new();
    }
    let places = places(findings);
    let place = |number: Option<u64>| number.and_then(|number| places.get(&number)).map(PlaceInNode::to_string);
    let find = |of: &[&'_ Finding], quantity: Quantity| of.iter().position(|f| f.quantity == quantity);
    let cell = |of: &[&Finding], quantity: Quantity| find(of, quantity).map(|at| figure(of[at]));
    let slow = |of: &[&Finding]| {
        let slow = of.iter().filter(|f| f.quantity == Quantity::ScanSlow);
        let slow: Vec<String> = slow.filter_map(|f| Some(format!("{} {:.2}x", what(f), f.value?))).collect();
        Cell::inked(slow.join(", "), Ink::Bad)
    };
    let table = Table::of(&regions).numbers("region", |(number, _)| number.unwrap_or_default().to_string());
    let table = table.numbers("node", |(_, of)| of.first().map_or_else(String::new, |f| label(f, Labels::node)));
    let table = table.numbers("place|in node", |(number, _)| place(*number).unwrap_or_default());
    let table = table.figures("ns", |(_, of)| cell(of, Quantity::ScanLatency));
    let table = table.figures(rate_unit(), |(_, of)| cell(of, Quantity::ScanBandwidth));
    let table = table.texts("slow", |(_, of)| slow(of));
    let addresses = |of: &[&Finding]| find(of, Quantity::ScanLatency).and_then(|at| range(of[at])).unwrap_or_default();
    let has_ranges = regions.iter().any(|(_, of)| !addresses(of).is_empty());
    table.when(has_ranges, |table| table.texts("physical addresses", |(_, of)| addresses(of))).table().into()
}

/// The slow regions by name, or that there is none.
fn verdict(findings: &[&Finding], slow: &[&Finding]) -> Page {
    let mut out = Page::new();
    let places = places(findings);
    for found in slow {
        let notes = remark(found).unwrap_or_default();
        let place = region(found).and_then(|number| places.get(&number));
        let place = place.map_or_else(String::new, |place| format!(", {place}"));
        let range = findings.iter().filter(|f| region(f) == region(found)).find_map(|f| range(f));
        let range = range.map_or_else(String::new, |range| format!(" (physical addresses: {range})"));
        let name =
            format!("region {} of node {}{place}{range}", label(found, Labels::region), label(found, Labels::node));
        out += paragraph("  ", text![format!("Slow: {name}, {}: ", what(found)), notes], Ink::Bad);
    }
    let compared = with_quantity(findings, &Quantity::ScanMedian);
    let is_judged = compared.iter().any(|f| f.noted(&codes::too_few_regions).is_none());
    if slow.is_empty() && is_judged {
        let text = "No slow region among those scanned: none is a tenth slower than the median of its node and far from the others.";
        out += paragraph("  ", text, Ink::Plain);
    }
    let known: Vec<Physical> = findings.iter().filter_map(|f| physical(f)).collect();
    let scattered = known.iter().filter(|of| **of == Physical::Scattered).count();
    if scattered > 0 {
        let regions =
            if scattered == known.len() { "all regions".to_owned() } else { count_of(scattered as u64, "region") };
        let text = format!(
            "the pages of {regions} lie scattered over the memory of the node: a region's place is its number in the \
             order in which the kernel gave the memory"
        );
        out += paragraph("  ", &text, Ink::Dim);
    }
    if known.is_empty() {
        let note = tiermark_model::messages::scan::physical_unreadable();
        out += paragraph("  ", &note.text, Ink::Dim);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::messages::scan::physical_range;
    use tiermark_model::{Labels, Unit};
    use tiermark_page::{Style, terminal};

    /// The latency of a region that has these addresses.
    fn latency(number: u64, node: u32, low: u64, scattered: bool) -> Finding {
        let labels = Labels::new().with_region(number).with_node(node).with_op("latency");
        let found = Finding::new(Quantity::ScanLatency, labels, Some(100.0), Unit::Ns);
        found.with_notes([physical_range(low, low + 0xfff, scattered)])
    }

    #[test]
    fn a_region_is_named_by_its_place_in_the_node_and_scattered_pages_have_no_addresses() {
        let found = [latency(0, 0, 0x1000, true), latency(1, 0, 0x2000, true), latency(2, 1, 0x9000, true)];
        let all: Vec<&Finding> = found.iter().collect();
        let shown = terminal(&scan(&all, Detail::Usual), &Style::default());
        assert!(shown.contains("2 of 2") && shown.contains("1 of 1") && !shown.contains("0x"), "{shown}");
        assert!(shown.contains("pages of all regions lie scattered"), "{shown}");
        let piece = latency(3, 1, 0xa000, false);
        let shown = terminal(&scan(&[all[0], &piece], Detail::Usual), &Style::default());
        assert!(shown.contains("0xa000 to 0xafff") && shown.contains("pages of 1 region lie"), "{shown}");
    }
}
