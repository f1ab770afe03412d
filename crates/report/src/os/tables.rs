//! Parts of several primitives that are alike, in one table.

use tiermark_model::{Finding, Interval, Unit};
use tiermark_page::{
    Align, Cell, Fit, Ink, Page, Style, Table, fitting, graded, paragraph, space, time_unit, unit_name, value,
    with_interval,
};

use super::kinds::{Kind, kinds};
use super::points::PointGroup;

/// All parts of a group, those that are alike together; no two tables have the same title.
pub(super) fn tables(parts: &[PointGroup<'_>], style: &Style) -> Page {
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
        out += table(&kind, style);
    }
    out
}

/// Parts that are alike as a table, with intervals or without.
type Layout = fn(&Kind<'_>, bool, &Style) -> Table;

/// Several layouts, those with intervals first.
fn table(kind: &Kind<'_>, style: &Style) -> Page {
    let layouts: &[Layout] = match kind.alike[0] {
        _ if kind.is_single() => &[single],
        part if part.along.is_empty() => &[by_word],
        part if part.across.is_empty() && part.along.len() == 1 => &[values_across, values_down],
        _ => &[rows],
    };
    let of = |intervals: bool| layouts.iter().map(move |layout| layout(kind, intervals, style).into());
    fitting(of(true).chain(of(false)).collect(), Fit::WholeOrLess(layouts.len()))
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
fn single(kind: &Kind<'_>, intervals: bool, style: &Style) -> Table {
    let head = head(kind.alike.iter().flat_map(|part| &part.points).map(|p| &p.finding.unit));
    let bare = kind.alike.iter().all(|part| part.is_plain());
    let mut table = Table::new().whole().column("operation", Align::Left);
    if !bare {
        table = table.column("at", Align::Left);
    }
    table = table.column(&format!("{head} "), Align::Right);
    for part in &kind.alike {
        let at = (!bare).then(|| Cell::new(part.whole()));
        let found = part.points.iter().map(|p| cell(p.finding, intervals, style));
        table.row(std::iter::once(Cell::new(&part.op)).chain(at).chain(found).collect());
    }
    table
}

/// A row for each primitive, a column for each place, page size or pair of nodes.
fn by_word(kind: &Kind<'_>, intervals: bool, style: &Style) -> Table {
    let (_, names) = kind.short_names();
    let columns = &kind.values;
    let mut table = columns
        .iter()
        .fold(Table::new().whole().column("", Align::Left), |t, c| t.column(&format!("{c} "), Align::Right));
    for (part, name) in kind.alike.iter().zip(names) {
        table.row(std::iter::once(Cell::new(name)).chain(cells(part, "", columns, intervals, style)).collect());
    }
    table
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
fn values_across(kind: &Kind<'_>, intervals: bool, style: &Style) -> Table {
    let table = Table::new().whole().column(kind.alike[0].along[0].head(), Align::Left);
    let mut table = values(kind).fold(table, |t, (_, head)| t.column(&format!("{head} "), Align::Right));
    for part in &kind.alike {
        let found = kind.values.iter().flat_map(|row| cells(part, row, &part.columns(), intervals, style));
        table.row(std::iter::once(Cell::new(&part.op)).chain(found).collect());
    }
    table
}

/// A row for each value, a column for each primitive.
fn values_down(kind: &Kind<'_>, intervals: bool, style: &Style) -> Table {
    let table = Table::new().whole().column(kind.alike[0].along[0].head(), Align::Right);
    let mut table = kind.alike.iter().fold(table, |t, part| t.column(&format!("{} ", part.op), Align::Right));
    for (row, head) in values(kind) {
        let found = kind.alike.iter().flat_map(|part| cells(part, row, &part.columns(), intervals, style));
        table.row(std::iter::once(Cell::new(head)).chain(found).collect());
    }
    table
}

/// Rows of each primitive one below the other, its name at the first of them.
fn rows(kind: &Kind<'_>, intervals: bool, style: &Style) -> Table {
    let first = kind.alike[0];
    let (columns, along) = (first.columns(), &first.along);
    // A word that all numbers have stands in the title.
    let only = head(kind.alike.iter().flat_map(|part| &part.points).map(|p| &p.finding.unit));
    let of = if let [only] = along.as_slice() { only.head() } else { "of" };
    let table = Table::new().whole().named_by(2).column("operation", Align::Left).column(of, Align::Right);
    let mut table = columns
        .iter()
        .fold(table, |t, c| t.column(&format!("{} ", if first.across.is_empty() { only } else { c }), Align::Right));
    for part in &kind.alike {
        for (index, row) in part.rows().iter().enumerate() {
            let name = if index == 0 { part.op.as_str() } else { "" };
            let told = match along.as_slice() {
                [only] => {
                    let value = part.points.iter().find(|p| p.label(along) == *row).and_then(|p| p.number(*only));
                    value.map_or_else(String::new, |n| only.value(n))
                }
                _ => row.clone(),
            };
            let head = [Cell::new(name), Cell::new(told)];
            table.row(head.into_iter().chain(cells(part, row, &columns, intervals, style)).collect());
        }
    }
    table
}

fn cells(part: &PointGroup<'_>, row: &str, columns: &[String], intervals: bool, style: &Style) -> Vec<Cell> {
    let found = |column: &String| part.at(row, column).map(|p| cell(p.finding, intervals, style));
    columns.iter().map(|column| found(column).unwrap_or_default()).collect()
}

/// A time with its own unit, since one table reaches from ns to ms; a rate in the style's.
pub(super) fn cell(finding: &Finding, intervals: bool, style: &Style) -> Cell {
    let number = |of: f64, interval: Option<Interval>, unit: Unit| match intervals {
        true => with_interval(of, interval, unit, style),
        false => value(of, unit, style).into(),
    };
    let text = finding.value.map(|value| match finding.unit {
        Unit::Ns => {
            let (scale, unit) = time_unit(value, style);
            let interval = finding.interval.map(|i| Interval { low: i.low / scale, high: i.high / scale, ..i });
            number(value / scale, interval, Unit::Ns).between("", &format!(" {unit}"))
        }
        unit => number(value, finding.interval, unit).between("", &format!(" {}", unit_name(unit, style))),
    });
    graded(text, &finding.verdict, finding.unit, style)
}
