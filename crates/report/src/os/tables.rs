//! Parts of several primitives that are alike, in one table.

use tiermark_model::{Finding, Interval, Unit};

use super::points::Part;
use super::words::Dimension;
use crate::number::{graded, unit_name, value, with_interval};
use crate::style::{Ink, Style};
use crate::table::{Align, Cell, Table};
use crate::text::hanging;

/// Tables, and whether some of them had no room for intervals.
pub(super) struct Tables {
    pub(super) text: String,
    pub(super) cut: bool,
}

/// All parts of a group, those that are alike together, in the order in which the first of each came; plain numbers first.
pub(super) fn tables(parts: &[Part<'_>], style: &Style) -> Tables {
    let mut kinds: Vec<(String, Vec<&Part<'_>>)> = Vec::new();
    for part in parts {
        let key = key(part, parts);
        match kinds.iter_mut().find(|(known, _)| *known == key) {
            Some((_, alike)) => alike.push(part),
            None => kinds.push((key, vec![part])),
        }
    }
    kinds.sort_by_key(|(_, alike)| !alike[0].is_plain());
    let mut out = Tables { text: String::new(), cut: false };
    for (_, alike) in &kinds {
        let (text, cut) = table(alike, style);
        out.text.push_str(if out.text.is_empty() { "" } else { "\n" });
        out.text.push_str(&title(alike).map_or_else(String::new, |title| hanging("  ", &title, Ink::Plain, style)));
        out.text.push_str(&text);
        out.cut |= cut;
    }
    out
}

/// What parts have in common that share a table.
fn key(part: &Part<'_>, all: &[Part<'_>]) -> String {
    let along: Vec<&str> = part.along.iter().map(|d| d.key()).collect();
    // How much a channel holds is told beside.
    let fixed: Vec<String> =
        part.fixed.iter().filter(|(d, _)| *d != Dimension::Capacity).map(|(d, n)| d.told(*n)).collect();
    // One dimension: its values are columns, and have to be the same.
    let values = if part.across.is_empty() { part.rows() } else { Vec::new() };
    let kind = if part.is_plain() { "" } else { suffix(part, all).unwrap_or_default() };
    format!("{along:?} {:?} {} {fixed:?} {values:?} {kind}", part.across, part.word)
}

/// The last word of a name, where other names of parts like it end with the same: `ping-pong`.
fn suffix<'a>(part: &'a Part<'_>, all: &[Part<'_>]) -> Option<&'a str> {
    let (_, last) = part.op.rsplit_once(' ').filter(|_| part.along.is_empty() && !part.is_plain())?;
    let like = |other: &&Part<'_>| other.along.is_empty() && other.op.rsplit_once(' ').is_some_and(|(_, w)| w == last);
    (all.iter().filter(like).count() > 1).then_some(last)
}

/// The word that the names of all rows end with, and the names without it.
fn short_names<'a>(alike: &[&'a Part<'_>]) -> (Option<&'a str>, Vec<&'a str>) {
    let names = || alike.iter().map(|part| part.op.as_str());
    let last = alike[0].along.is_empty().then(|| alike[0].op.rsplit_once(' ').map(|(_, last)| last)).flatten();
    let shared = last.filter(|last| {
        alike.len() > 1 && names().all(|name| name.rsplit_once(' ').is_some_and(|(_, word)| word == *last))
    });
    match shared {
        Some(last) => (shared, names().map(|name| name[..name.len() - last.len()].trim_end()).collect()),
        None => (None, names().collect()),
    }
}

/// Most channels hold what the kernel gives them; of the others it is told, those that hold the same together.
fn held(alike: &[&Part<'_>]) -> Vec<String> {
    let mut kinds: Vec<(String, Vec<&str>)> = Vec::new();
    for part in alike {
        let Some((dimension, n)) = part.fixed.iter().find(|(d, _)| *d == Dimension::Capacity) else { continue };
        let told = dimension.told(*n);
        match kinds.iter_mut().find(|(known, _)| *known == told) {
            Some((_, ops)) => ops.push(&part.op),
            None => kinds.push((told, vec![&part.op])),
        }
    }
    kinds.into_iter().map(|(told, ops)| format!("{} {told}", ops.join(" and "))).collect()
}

/// What a table is of, on a line of its own.
fn title(alike: &[&Part<'_>]) -> Option<String> {
    let first = alike.first().filter(|part| !part.is_plain())?;
    let mut words: Vec<String> = Vec::new();
    let size = first.fixed.iter().find(|(d, _)| *d == Dimension::Size);
    words.extend(size.map(|(_, bytes)| format!("{} a time", Dimension::Size.told(*bytes))));
    let others = first.fixed.iter().filter(|(d, _)| !matches!(d, Dimension::Size | Dimension::Capacity));
    words.extend(others.map(|(d, n)| d.told(*n)));
    words.extend(held(alike));
    let mut along: Vec<&str> = first.along.iter().map(|d| d.by()).collect();
    along.extend(match first.across.first().map(String::as_str) {
        Some(word) if word.starts_with("node ") => Some("nodes"),
        Some(word) if word.starts_with("base") || word.starts_with("thp") || word.ends_with('B') => Some("page size"),
        Some(_) => Some("place of the other side"),
        None => None,
    });
    if !first.word.is_empty() {
        words.push(match first.word.as_str() {
            word if word.starts_with("node ") || word.ends_with("cpu") => word.to_owned(),
            word => format!("other side {word}"),
        });
    }
    let by = if along.is_empty() { String::new() } else { format!("by {}", along.join(" and ")) };
    let shared = short_names(alike).0.map_or_else(String::new, |shared| format!("{shared} "));
    let text = [format!("{shared}{by}"), words.join(", ")];
    Some(text.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(": "))
}

/// Parts that are alike as a table, with intervals or without.
type Layout = fn(&[&Part<'_>], bool, &Style) -> Table;

/// The first of several layouts that fits, intervals before their absence; and whether intervals are left out.
fn table(alike: &[&Part<'_>], style: &Style) -> (String, bool) {
    let layouts: &[Layout] = match alike[0] {
        part if part.is_plain() => &[plain],
        part if part.along.is_empty() => &[by_word],
        part if part.across.is_empty() && part.along.len() == 1 => &[values_across, values_down],
        _ => &[rows],
    };
    for intervals in [true, false] {
        for layout in layouts {
            let table = layout(alike, intervals, style);
            if table.fits(style) {
                return (table.render(style), !intervals);
            }
        }
    }
    (layouts[layouts.len() - 1](alike, false, style).render(style), true)
}

fn plain(alike: &[&Part<'_>], intervals: bool, style: &Style) -> Table {
    let mut table = Table::new().whole().column("operation", Align::Left).column("each ", Align::Right);
    for part in alike {
        let found = part.points.iter().map(|p| cell(p.finding, intervals, style));
        table.row(std::iter::once(Cell::new(&part.op)).chain(found).collect());
    }
    table
}

/// A row for each primitive, a column for each place, page size or pair of nodes.
fn by_word(alike: &[&Part<'_>], intervals: bool, style: &Style) -> Table {
    let (_, names) = short_names(alike);
    let columns = columns(alike[0]);
    let mut table = columns
        .iter()
        .fold(Table::new().whole().column("", Align::Left), |t, c| t.column(&format!("{c} "), Align::Right));
    for (part, name) in alike.iter().zip(names) {
        table.row(std::iter::once(Cell::new(name)).chain(cells(part, "", &columns, intervals, style)).collect());
    }
    table
}

/// A row for each primitive, a column for each value.
fn values_across(alike: &[&Part<'_>], intervals: bool, style: &Style) -> Table {
    let (dimension, rows) = (alike[0].along[0], alike[0].rows());
    let heads = alike[0].points.iter().filter_map(|p| p.number(dimension)).map(|n| dimension.value(n));
    let mut table = heads.fold(Table::new().whole().column(dimension.head(), Align::Left), |t, head| {
        t.column(&format!("{head} "), Align::Right)
    });
    for part in alike {
        let found = rows.iter().flat_map(|row| cells(part, row, &[String::new()], intervals, style));
        table.row(std::iter::once(Cell::new(&part.op)).chain(found).collect());
    }
    table
}

/// A row for each value, a column for each primitive.
fn values_down(alike: &[&Part<'_>], intervals: bool, style: &Style) -> Table {
    let dimension = alike[0].along[0];
    let mut table = alike.iter().fold(Table::new().whole().column(dimension.head(), Align::Right), |t, part| {
        t.column(&format!("{} ", part.op), Align::Right)
    });
    for row in alike[0].rows() {
        let value = alike[0].points.iter().find(|p| p.told(&[dimension]) == row).and_then(|p| p.number(dimension));
        let head = Cell::new(value.map_or_else(String::new, |n| dimension.value(n)));
        let found = alike.iter().flat_map(|part| cells(part, &row, &[String::new()], intervals, style));
        table.row(std::iter::once(head).chain(found).collect());
    }
    table
}

/// Rows of each primitive one below the other, its name at the first of them.
fn rows(alike: &[&Part<'_>], intervals: bool, style: &Style) -> Table {
    let columns = columns(alike[0]);
    let along = &alike[0].along;
    let head = if let [only] = along.as_slice() { only.head() } else { "of" };
    let table = Table::new().whole().named_by(2).column("operation", Align::Left).column(head, Align::Right);
    let mut table = columns
        .iter()
        .fold(table, |t, c| t.column(&format!("{} ", if c.is_empty() { "each" } else { c }), Align::Right));
    for part in alike {
        for (index, row) in part.rows().iter().enumerate() {
            let name = if index == 0 { part.op.as_str() } else { "" };
            let told = match along.as_slice() {
                [only] => {
                    let value = part.points.iter().find(|p| p.told(along) == *row).and_then(|p| p.number(*only));
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

fn columns(part: &Part<'_>) -> Vec<String> {
    if part.across.is_empty() { vec![part.word.clone()] } else { part.across.clone() }
}

fn cells(part: &Part<'_>, row: &str, columns: &[String], intervals: bool, style: &Style) -> Vec<Cell> {
    let found = |column: &String| part.at(row, column).map(|p| cell(p.finding, intervals, style));
    columns.iter().map(|column| found(column).unwrap_or_default()).collect()
}

/// A time with its own unit, since one table reaches from ns to ms; a rate in the style's.
pub(super) fn cell(finding: &Finding, intervals: bool, style: &Style) -> Cell {
    let told = |of: f64, interval: Option<Interval>, unit: Unit| match intervals {
        true => with_interval(of, interval, unit, style),
        false => value(of, unit, style),
    };
    let text = finding.value.map(|value| match finding.unit {
        Unit::Ns => {
            let (scale, unit) = match value {
                v if v < 1e3 => (1.0, "ns"),
                v if v < 1e6 => (1e3, style.glyph("µs", "us")),
                v if v < 1e9 => (1e6, "ms"),
                _ => (1e9, "s"),
            };
            let interval = finding.interval.map(|i| Interval { low: i.low / scale, high: i.high / scale, ..i });
            format!("{} {unit}", told(value / scale, interval, Unit::Ns))
        }
        unit => format!("{} {}", told(value, finding.interval, unit), unit_name(unit, style)),
    });
    graded(text, &finding.verdict, style)
}
