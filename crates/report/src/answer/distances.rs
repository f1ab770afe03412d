//! Latency by distance: local and far memory side by side, with their ratio, and what distance costs.

use std::collections::BTreeSet;

use tiermark_model::{
    Bytes, Distance, DistanceCost, DistantLatency, FarLatency, FarNodes, NodeId, Run, Unit, cost_of_distance,
    latency_by_distance,
};
use tiermark_page::{
    Cell, Detail, Ink, NO_VALUE, Page, Plot, ROWS, Series, Table, Text, graded, heading, nanoseconds, number,
    paragraph, plot, short_size, variants,
};

use crate::order::distinct;
use crate::points::observed;

/// More far nodes than these are shown with details.
const NODES: usize = 3;

/// The section; empty for a run that measured memory at one distance of several.
pub(super) fn distances(run: &Run, detail: Detail) -> Page {
    let all = latency_by_distance(run);
    let froms = distinct(all.iter().map(|of| of.from));
    let shown = froms.len().min(detail.listed(1));
    let mut out = Page::new();
    for from in &froms[..shown] {
        out += from_node(&all, *from, detail);
        out.extend(cost_of_distance(&all, *from, &run.machine).map(|cost| conclusion(*from, &cost)));
    }
    if !all.is_empty() && run.machine.memory_nodes().len() == 1 {
        out += paragraph("", "This machine has memory on one node: there is no distance to measure.", Ink::Head);
    }
    let others: Vec<String> = froms[shown..].iter().map(|node| format!("node {node}")).collect();
    if !others.is_empty() {
        let text = format!("the same from the cpus of {}, with --verbose", others.join(", "));
        out += paragraph("  ", text, Ink::Dim);
    }
    out
}

/// A row of the table: a latency, or its ratio to that of local memory.
struct DistanceRow<'a> {
    layout: &'a str,
    what: String,
    of: &'a DistantLatency<'a>,
    /// The points beside those of local memory, where the row is of ratios.
    ratios: Option<Vec<FarLatency<'a>>>,
}

impl DistanceRow<'_> {
    fn cell(&self, bytes: u64) -> Cell {
        let Some(ratios) = &self.ratios else {
            let Some(seen) = self.of.seen.get(&bytes) else { return Cell::default() };
            return graded(seen.value.map(|ns| number(ns, Unit::Ns)), &seen.verdict, Unit::Ns);
        };
        let ratio = ratios.iter().find(|point| point.bytes == bytes).and_then(FarLatency::ratio);
        ratio.map_or_else(Cell::default, |ratio| Cell::inked(format!("{ratio:.2}"), Ink::Dim))
    }
}

fn rows<'a>(all: &'a [DistantLatency<'a>], from: NodeId, detail: Detail) -> Vec<DistanceRow<'a>> {
    let here: Vec<&DistantLatency<'_>> = all.iter().filter(|of| of.from == from).collect();
    let mut rows = Vec::new();
    for local in here.iter().filter(|of| of.distance == Distance::Local) {
        let far = here.iter().filter(|of| of.layout == local.layout && of.distance != Distance::Local);
        let what = |of: &DistantLatency<'_>| format!("{}, node {}", of.distance, of.to);
        rows.push(DistanceRow { layout: local.layout, what: what(local), of: local, ratios: None });
        for far in far.take(detail.listed(NODES)) {
            rows.push(DistanceRow { layout: "", what: what(far), of: far, ratios: None });
            let ratios = Some(far.beside(local));
            rows.push(DistanceRow { layout: "", what: "  times local".to_owned(), of: far, ratios });
        }
    }
    rows
}

/// The table of one node's cpus, and in a browser all its curves in one chart.
fn from_node(all: &[DistantLatency<'_>], from: NodeId, detail: Detail) -> Page {
    let rows = rows(all, from, detail);
    let sizes: BTreeSet<u64> = rows.iter().flat_map(|row| row.of.seen.keys()).copied().collect();
    let table = Table::of(&rows).texts("", |row| row.layout).texts("", |row| Cell::new(row.what.clone()));
    let table = table.each(sizes, |table, bytes| table.figures(short_size(bytes as f64), |row| row.cell(bytes)));
    let table = table.table().gap(1).named_by(2);
    let title = format!("Latency by distance, ns: cpus of node {from}, by footprint");
    let page = heading(title.clone()) + table;
    variants(page.clone(), page + chart(title, &rows))
}

fn chart(title: String, rows: &[DistanceRow<'_>]) -> Page {
    let mut layout = "";
    let mut series = Vec::new();
    for row in rows {
        if !row.layout.is_empty() {
            layout = row.layout;
        }
        if row.ratios.is_some() {
            continue;
        }
        let mut one = Series { name: format!("{layout}, {}", row.what), ..Series::default() };
        for (bytes, seen) in &row.of.seen {
            one.points.push((*bytes as f64, seen.value.unwrap_or(NO_VALUE)));
            one.about.push(observed(seen));
        }
        series.push(one);
    }
    let chart = Plot { unit: Text::axis(Unit::Ns), log_y: true, series, rows: ROWS, ..Plot::default() };
    heading(title) + plot(chart)
}

/// What follows: from which footprint on distance costs something, how much, and in which order of access most.
fn conclusion(from: NodeId, cost: &DistanceCost<'_>) -> Page {
    let ratio = |point: &FarLatency<'_>| point.ratio().map_or_else(String::new, |ratio| format!("{ratio:.2}"));
    let ns = |ns: Option<f64>| ns.map(nanoseconds).unwrap_or_default();
    let node = format!("node {}", cost.node);
    let mut sentences = Vec::new();
    if let Some(bytes) = cost.alike_up_to {
        let held = if cost.is_cached { ", which the caches hold" } else { "" };
        let up_to = Bytes(bytes);
        sentences
            .push(format!("Up to {up_to}{held}, the cpus of node {from} reach memory of {node} as fast as their own."));
    }
    match &cost.first {
        Some((layout, point)) => {
            let (size, local, far) = (Bytes(point.bytes), ns(point.local.value), ns(point.far.value));
            let times = ratio(point);
            sentences.push(format!(
                "At {size}, {layout} takes {local} ns in local memory and {far} ns in that of {node}: {times} times."
            ));
        }
        None if cost.trusted.1 == 0 => sentences.push("No footprint has a number in both memories.".to_owned()),
        None => sentences.push(format!("A difference between local memory and {node} could not be shown.")),
    }
    if let (Some((_, point)), Some(_)) = (cost.largest.first(), &cost.first) {
        let each: Vec<String> =
            cost.largest.iter().map(|(layout, point)| format!("{layout} {}", ratio(point))).collect();
        let grows = if cost.grows_with_randomness() {
            "; random most, since prefetchers cannot guess the next line"
        } else {
            ""
        };
        let (size, each) = (Bytes(point.bytes), each.join(", "));
        sentences.push(format!("At {size}, latency of {node} over that of local memory: {each}{grows}."));
    }
    if let Some(FarNodes { layout, bytes, ratios }) = &cost.nodes {
        let each: Vec<String> = ratios.iter().map(|(node, ratio)| format!("node {node} {ratio:.2}")).collect();
        let (size, each) = (Bytes(*bytes), each.join(", "));
        sentences.push(format!("Latency over that of local memory, {layout} at {size}: {each}."));
    }
    let (trusted, all) = cost.trusted;
    if trusted < all {
        sentences.push(format!("Of {all} comparisons with {node}, {trusted} rest on trusted numbers."));
    }
    paragraph("", sentences.join(" "), Ink::Head)
}
