//! The same threads with local, remote and mixed memory: one table, and what distance and mixing do.

use tiermark_model::messages::rules::codes;
use tiermark_model::{
    Finding, Grade, MOST_THEORETICAL_SHARE, Observation, PlacementRow, Quantity, Run, Unit, placements,
};
use tiermark_page::{
    Cell, Detail, Fit, Ink, Page, Table, fitting, graded, heading, paragraph, percent, rate, rate_unit, text,
};

use crate::order::distinct;

/// More rows than these are shown with details.
const ROWS: usize = 12;
/// Share of what a link carries in theory from which on it is taken to be full: headers and acknowledgements take the
/// rest (the published experiment reached 78 to 91 %).
const FULL_LINK: f64 = 0.85;

/// The section; empty for a run that mixed no memory.
pub(super) fn placement(run: &Run, detail: Detail) -> Page {
    let mut rows = placements(run);
    // Mixed memory alone compares nothing.
    rows.retain(|row| row.local.is_some() || row.remote.is_some());
    if rows.is_empty() {
        return Page::new();
    }
    let shown = &rows[..rows.len().min(detail.listed(ROWS))];
    let left = rows.len() - shown.len();
    let more =
        if left > 0 { paragraph("  ", format!("and {left} more, with --verbose"), Ink::Dim) } else { Page::new() };
    less_memory(run) + table(shown) + more + not_mixed(&rows) + conclusion(&rows, run)
}

/// That each thread has less memory than was asked for: of the usual memory caches may hold a part.
fn less_memory(run: &Run) -> Page {
    let rules = run.experiments.iter().flat_map(|experiment| &experiment.plan.rules);
    let cached = " Caches may hold a part of it.";
    let notes = rules.filter_map(|note| match &note.code {
        code if *code == codes::worker_less => Some((note.text.as_str(), "")),
        code if *code == codes::worker_usual => Some((note.text.as_str(), cached)),
        _ => None,
    });
    let notes = distinct(notes).into_iter();
    notes.map(|(text, doubt)| paragraph("! ", format!("Memory: {text}.{doubt}"), Ink::Warn)).collect()
}

/// Why figures of mixed memory are missing, each reason once.
fn not_mixed(rows: &[PlacementRow<'_>]) -> Page {
    let missing = rows.iter().filter(|row| row.mixed.value.is_none());
    let refusals = missing.filter_map(|row| row.mixed.refusal.as_ref());
    let reasons = distinct(refusals.map(|refusal| format!("{} ({})", refusal.why, refusal.cure)));
    reasons.into_iter().map(|why| paragraph("  ", format!("mixed –: not measured, {why}"), Ink::Plain)).collect()
}

fn table(rows: &[PlacementRow<'_>]) -> Page {
    let figure = |seen: Option<&Observation>| {
        seen.map_or_else(Cell::default, |o| graded(o.value.map(rate), &o.verdict, Unit::BytesPerSecond))
    };
    let share = |share: Option<f64>| Cell::new(share.map(percent).unwrap_or_default());
    let part =
        |row: &PlacementRow<'_>, name: &str| graded(row.part(name).map(rate), &row.mixed.verdict, Unit::BytesPerSecond);
    let several = |name: fn(&PlacementRow<'_>) -> String| distinct(rows.iter().map(name)).len() > 1;
    // With one remote node for each cpus, there is nothing to tell apart.
    let places = distinct(rows.iter().map(|row| (row.from, row.node))).len();
    let nodes = places > distinct(rows.iter().map(|row| row.from)).len();
    let shares = several(|row| row.percent.to_string());
    let layout = |all: bool| {
        let table = Table::of(rows).texts("cpus", |row| row.from);
        let table = table.when(nodes, |table| table.numbers("remote|node", |row| row.node.to_string()));
        let table = table.texts("operation", |row| row.work.op);
        let table = table.when(shares, |table| table.numbers("remote|%", |row| row.percent.to_string()));
        let table = table.figures("local", |row| figure(row.local)).figures("remote", |row| figure(row.remote));
        let table = table.figures("mixed", |row| figure(Some(row.mixed)));
        let table =
            table.figures("local|part", |row| part(row, "local")).figures("remote|part", |row| part(row, "remote"));
        let table = table.when(all, |table| table.numbers("remote|of local", |row| share(row.remote_of_local())));
        let table = table.numbers("mixed|of local", |row| share(row.mixed_of_local()));
        table.table().gap(1).into()
    };
    // What both columns say gives way before the table is cut.
    heading(text!["The same threads with local, remote and mixed memory, ", rate_unit()])
        + fitting(vec![layout(true), layout(false)], Fit::Uncut)
}

/// That the link to remote memory is full; `None` where its share is not known, or lower.
fn full_link(row: &PlacementRow<'_>, run: &Run) -> Option<String> {
    let is_of_row = |f: &&Finding| {
        let labels = &f.labels;
        f.quantity == Quantity::MatrixShare
            && labels.statistic() == Some("of link")
            && (labels.from(), labels.node(), labels.op()) == (Some(row.from), Some(row.node), Some(row.work.op))
    };
    let found = run.findings().find(is_of_row)?;
    let share = found.value.filter(|share| (FULL_LINK..=MOST_THEORETICAL_SHARE).contains(share))?;
    let perhaps = if found.verdict.grade == Grade::Trusted { "" } else { "perhaps " };
    let (op, share) = (row.work.op, percent(share));
    Some(format!("Remote {op} takes {share} of what the link carries: {perhaps}the link is its limit."))
}

/// Remote nodes that the conclusion speaks of.
const NODES: usize = 4;

/// What remote memory leaves of local memory, and what mixing gains or loses, by operation: of the first cpus, for each
/// remote node.
fn conclusion(rows: &[PlacementRow<'_>], run: &Run) -> Page {
    let Some(first) = rows.first() else { return Page::new() };
    let nodes = distinct(rows.iter().filter(|row| row.from == first.from).map(|row| row.node));
    let of_node = |node| rows.iter().filter(|row| row.from == first.from && row.node == node).collect::<Vec<_>>();
    nodes.into_iter().take(NODES).map(|node| of_one_node(&of_node(node), run)).collect()
}

/// The conclusion of the rows of one remote node.
fn of_one_node(here: &[&PlacementRow<'_>], run: &Run) -> Page {
    let Some(first) = here.first() else { return Page::new() };
    let several = distinct(here.iter().map(|row| row.percent)).len() > 1;
    let name = |row: &PlacementRow<'_>| {
        if several { format!("{} ({} % remote)", row.work.op, row.percent) } else { row.work.op.to_owned() }
    };
    let remote = here.iter().filter_map(|row| Some(format!("{} {}", row.work.op, percent(row.remote_of_local()?))));
    let remote = distinct(remote).join(", ");
    let with = |gains: Option<bool>| {
        let fits = here.iter().filter(|row| row.gains() == gains);
        let parts = fits.filter_map(|row| Some(format!("{} ({})", name(row), percent(row.mixed_of_local()?))));
        parts.collect::<Vec<_>>().join(", ")
    };
    let mut sentences = Vec::new();
    if !remote.is_empty() {
        let (from, node) = (first.from, first.node);
        sentences.push(format!(
            "From the cpus of {from}, memory of node {node} gives this share of the local rate: {remote}."
        ));
    }
    sentences.extend(here.iter().filter_map(|row| full_link(row, run)));
    let whose = match first.percent {
        _ if several => "some of the threads".to_owned(),
        50 => "half of the threads".to_owned(),
        one => format!("{one} % of the threads"),
    };
    let found = [(Some(true), "higher for"), (Some(false), "lower for"), (None, "not clearly different for")];
    let parts = found.map(|(gains, word)| (with(gains), word));
    let parts: Vec<String> =
        parts.into_iter().filter(|(list, _)| !list.is_empty()).map(|(list, word)| format!("{word} {list}")).collect();
    if !parts.is_empty() {
        sentences.push(format!(
            "If {whose} use remote memory, the rate (in % of the rate with all local memory) is {}.",
            parts.join("; ")
        ));
    }
    let trusted = here.iter().filter(|row| row.is_trusted()).count();
    if trusted < here.len() {
        sentences.push(format!("{trusted} of {} rows rest on trusted numbers alone.", here.len()));
    }
    paragraph("", sentences.join(" "), Ink::Head)
}
