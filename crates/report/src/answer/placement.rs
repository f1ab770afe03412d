//! The same threads with local, remote and mixed memory: one table, and what distance and mixing do.

use tiermark_model::{Observation, PlacementRow, Run, Unit, placements};
use tiermark_page::{
    Cell, Detail, Fit, Ink, Page, Table, fitting, graded, heading, paragraph, percent, rate, rate_unit, text,
};

use crate::order::distinct;

/// More rows than these are shown with details.
const ROWS: usize = 12;

/// The section; empty for a run that mixed no memory.
pub(super) fn placement(run: &Run, detail: Detail) -> Page {
    let rows = placements(run);
    if rows.is_empty() {
        return Page::new();
    }
    let shown = &rows[..rows.len().min(detail.listed(ROWS))];
    let left = rows.len() - shown.len();
    let more =
        if left > 0 { paragraph("  ", format!("and {left} more, with --verbose"), Ink::Dim) } else { Page::new() };
    table(shown) + more + conclusion(&rows)
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

/// What remote memory leaves of local memory, and what mixing gains or loses, by operation: of the first cpus.
fn conclusion(rows: &[PlacementRow<'_>]) -> Page {
    let Some(first) = rows.first() else { return Page::new() };
    let here: Vec<&PlacementRow<'_>> =
        rows.iter().filter(|row| row.from == first.from && row.node == first.node).collect();
    let each = |share: &dyn Fn(&PlacementRow<'_>) -> Option<f64>, fits: &dyn Fn(f64) -> bool| {
        let parts = here.iter().filter_map(|row| Some((row.work.op, share(row).filter(|share| fits(*share))?)));
        parts.map(|(op, share)| format!("{op} {}", percent(share))).collect::<Vec<_>>().join(", ")
    };
    let remote = each(&|row| row.remote_of_local(), &|_| true);
    let gains = each(&|row| row.mixed_of_local(), &|share| share > 1.0);
    let loses = each(&|row| row.mixed_of_local(), &|share| share <= 1.0);
    let mut sentences = Vec::new();
    if !remote.is_empty() {
        sentences.push(format!("Remote memory has, of local memory: {remote}."));
    }
    let percents = distinct(here.iter().map(|row| row.percent));
    let whose = match percents.as_slice() {
        [50] => "half of the threads".to_owned(),
        [one] => format!("{one} % of the threads"),
        _ => "some of the threads".to_owned(),
    };
    let with = format!("With remote memory for {whose}");
    match (gains.is_empty(), loses.is_empty()) {
        (false, false) => {
            sentences.push(format!("{with}, these gain over all local memory: {gains}; these do not: {loses}."));
        }
        (false, true) => sentences.push(format!("{with}, all gain over all local memory: {gains}.")),
        (true, false) => sentences.push(format!("{with}, none gains over all local memory: {loses}.")),
        (true, true) => {}
    }
    let trusted = here.iter().filter(|row| row.is_trusted()).count();
    if trusted < here.len() {
        sentences.push(format!("Only {trusted} of {} rows rest on trusted numbers alone.", here.len()));
    }
    paragraph("", sentences.join(" "), Ink::Head)
}
