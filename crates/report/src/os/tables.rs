//! Parts of several primitives that are alike, in one table.

use tiermark_model::{Finding, Unit};
use tiermark_page::{Cell, Fit, Ink, Page, Table, fitting, graded, number, paragraph, space};

use super::kinds::{Kind, kinds};
use super::points::PointGroup;

/// All parts of a group, those that are alike together; no two tables have the same title.
pub(super) fn tables(parts: &[PointGroup<'_>]) -> Page {
    let mut out = Page::new();
    let mut titles: Vec<String> = Vec::new();
    for kind in kinds(parts) {
        if !out.is_empty() {
            out += space();
        }
        if let Some(mut title) = kind.title(false) {
            if titles.contains(&title) {
                title = kind.title(true).unwrap_or(title);
            }
            out += paragraph("  ", &title, Ink::Plain);
            titles.push(title);
        }
        out += table(&kind);
    }
    out
}

/// Parts that are alike as a table, with intervals or without.
type Layout = fn(&Kind<'_>, bool) -> Table;

/// Several layouts, those with intervals first.
fn table(kind: &Kind<'_>) -> Page {
    let layouts: &[Layout] = match kind.alike[0] {
        _ if kind.is_single() => &[single],
        part if part.along.is_empty() => &[by_word],
        part if part.across.is_empty() && part.along.len() == 1 => &[values_across, values_down],
        _ => &[rows],
    };
    let rendered = |intervals: bool| layouts.iter().map(move |layout| layout(kind, intervals).into());
    fitting(rendered(true).chain(rendered(false)).collect(), Fit::WholeOrLess(layouts.len()))
}

/// Unit and kind of the numbers of a column.
fn head<'a>(mut units: impl Iterator<Item = &'a Unit>) -> &'static str {
    let first = units.next();
    match first {
        Some(first) if units.any(|unit| unit != first) => "",
        Some(Unit::Ns) => "each",
        _ => "rate",
    }
}

/// A row for each number.
fn single(kind: &Kind<'_>, intervals: bool) -> Table {
    let head = head(kind.alike.iter().flat_map(|part| &part.points).map(|p| &p.finding.unit));
    let bare = kind.alike.iter().all(|part| part.is_plain());
    let table = Table::of(&kind.alike).texts("operation", |part| &part.op);
    let table = table.when(!bare, |table| table.texts("at", |part| part.whole()));
    table.figures(head, |part| part.points.first().map(|p| cell(p.finding, intervals))).table().whole()
}

/// A row for each primitive, a column for each place, page size or pair of nodes.
fn by_word(kind: &Kind<'_>, intervals: bool) -> Table {
    let (_, names) = kind.short_names();
    let rows: Vec<(&str, &PointGroup<'_>)> = names.into_iter().zip(kind.alike.iter().copied()).collect();
    let table = Table::of(&rows).texts("", |(name, _)| *name);
    let table = table.each(&kind.values, |table, column| {
        table.figures(column, |(_, part)| part.at("", column).map(|p| cell(p.finding, intervals)))
    });
    table.table().whole()
}

/// The values of a kind whose parts were moved along one dimension, in words, and as they stand under its head.
fn values<'a>(kind: &'a Kind<'_>) -> impl Iterator<Item = (&'a String, String)> {
    let (part, dimension) = (kind.widest(), kind.alike[0].along[0]);
    kind.values.iter().map(move |row| {
        let number = part.points.iter().find(|p| p.label(&[dimension]) == *row).and_then(|p| p.number(dimension));
        (row, number.map_or_else(String::new, |n| dimension.value(n)))
    })
}

/// A row for each primitive, a column for each value.
fn values_across(kind: &Kind<'_>, intervals: bool) -> Table {
    let table = Table::of(&kind.alike).texts(kind.alike[0].along[0].head(), |part| &part.op);
    let table = table.each(values(kind), |table, (row, head)| {
        table.figures(head, |part| part.only_at(row).map(|p| cell(p.finding, intervals)))
    });
    table.table().whole()
}

/// A row for each value, a column for each primitive.
fn values_down(kind: &Kind<'_>, intervals: bool) -> Table {
    let rows: Vec<(&String, String)> = values(kind).collect();
    let table = Table::of(&rows).numbers(kind.alike[0].along[0].head(), |(_, head)| head);
    let table = table.each(&kind.alike, |table, part| {
        table.figures(&part.op, |(row, _)| part.only_at(row).map(|p| cell(p.finding, intervals)))
    });
    table.table().whole()
}

/// Rows of each primitive one below the other, its name at the first of them.
fn rows(kind: &Kind<'_>, intervals: bool) -> Table {
    let first = kind.alike[0];
    let along = &first.along;
    // A word that all numbers have stands in the title.
    let only = head(kind.alike.iter().flat_map(|part| &part.points).map(|p| &p.finding.unit));
    let key = if let [only] = along.as_slice() { only.head() } else { "of" };
    let value = |part: &PointGroup<'_>, row: &String| match along.as_slice() {
        [only] => {
            let value = part.points.iter().find(|p| p.label(along) == *row).and_then(|p| p.number(*only));
            value.map_or_else(String::new, |n| only.value(n))
        }
        _ => row.clone(),
    };
    let of_part = |part: &&'_ PointGroup<'_>| part.rows().into_iter().enumerate().collect::<Vec<_>>();
    let rows = kind.alike.iter().flat_map(|part| of_part(part).into_iter().map(move |(at, row)| (*part, at, row)));
    let rows: Vec<(&PointGroup<'_>, usize, String)> = rows.collect();
    let table = Table::of(&rows).texts("operation", |(part, at, _)| if *at == 0 { part.op.as_str() } else { "" });
    let table = table.numbers(key, |(part, _, row)| value(part, row)).each(first.columns(), |table, column| {
        let head = if first.across.is_empty() { only } else { &column };
        table.figures(head, |(part, _, row)| part.at(row, &column).map(|p| cell(p.finding, intervals)))
    });
    table.table().whole().named_by(2)
}

/// A time with its own unit, since one table reaches from ns to ms.
pub(super) fn cell(finding: &Finding, intervals: bool) -> Cell {
    let interval = finding.interval.filter(|_| intervals);
    let text = finding.value.map(|value| {
        let number = number(value, finding.unit).within(interval).with_unit();
        if finding.unit == Unit::Ns { number.in_time_of(value) } else { number }
    });
    graded(text, &finding.verdict, finding.unit)
}
