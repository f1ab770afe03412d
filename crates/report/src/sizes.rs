//! Tables of observations by size: a row a size, a column a series.

use std::collections::BTreeSet;

use tiermark_model::{Observation, Unit};
use tiermark_page::{Cell, Fit, Page, Table, Text, fitting, graded, heading, number};

use crate::order::first;

/// A series: its name, empty where it is the only one, and its points.
pub(crate) type SizeSeries<'a> = (String, Vec<&'a Observation>);

/// What a column has of a point; `None` of nothing.
type SizeCell<'c> = &'c dyn Fn(&Observation) -> Option<Cell>;

/// All points, with their intervals if the table still fits with them.
pub(crate) fn by_size(all: &[SizeSeries<'_>]) -> Page {
    let [with, without] = [true, false].map(|intervals| values(all, intervals).into());
    fitting(vec![with, without], Fit::Uncut) + apart(all)
}

/// All points, without intervals.
pub(crate) fn without_intervals(all: &[SizeSeries<'_>]) -> Page {
    Page::from(values(all, false)) + apart(all)
}

/// The values, with those per cycle beside them where there is one series.
fn values(all: &[SizeSeries<'_>], intervals: bool) -> Table {
    let value = |o: &Observation| {
        let interval = o.interval.filter(|_| intervals);
        Some(graded(o.value.map(|v| number(v, o.unit).within(interval)), &o.verdict, o.unit))
    };
    let beside = cycles_of(all).filter(|_| all.len() == 1);
    let beside = beside.map(|unit| (Some(unit), &in_cycles as SizeCell<'_>));
    let columns: Vec<_> = std::iter::once((None, &value as SizeCell<'_>)).chain(beside).collect();
    table(all, &columns)
}

/// A table of the values per cycle, where there are several series.
fn apart(all: &[SizeSeries<'_>]) -> Page {
    let Some(unit) = cycles_of(all).filter(|_| all.len() > 1) else { return Page::new() };
    let has_cycles = |(_, points): &&SizeSeries<'_>| points.iter().any(|o| o.per_cycle.is_some());
    let clocked: Vec<SizeSeries<'_>> = all.iter().filter(has_cycles).cloned().collect();
    let title =
        if unit == Unit::Cycles { "The same in cycles of the core" } else { "The same in bytes a cycle of a core" };
    heading(title) + table(&clocked, &[(None, &in_cycles)])
}

/// The unit of the values per cycle; `None` where no point is clocked by the core.
fn cycles_of(all: &[SizeSeries<'_>]) -> Option<Unit> {
    all.iter().flat_map(|(_, points)| points).find_map(|o| o.per_cycle).map(|of| of.unit)
}

fn in_cycles(o: &Observation) -> Option<Cell> {
    o.per_cycle.map(|of| graded(Some(number(of.value, of.unit)), &o.verdict, of.unit))
}

/// Rows of the sizes that some column has. A column without a unit of its own has the name of its series as its head.
fn table(all: &[SizeSeries<'_>], columns: &[(Option<Unit>, SizeCell<'_>)]) -> Table {
    let is_shown = |o: &&&Observation| columns.iter().any(|(_, cell)| cell(o).is_some());
    let points = all.iter().flat_map(|(_, points)| points).filter(is_shown);
    let sizes: BTreeSet<u64> = points.filter_map(|o| o.labels.size()).map(|size| size.0).collect();
    let sizes: Vec<u64> = sizes.into_iter().collect();
    let table = Table::of(&sizes).numbers("size", |size| tiermark_model::Bytes(*size).to_string());
    let table = table.each(all, |table, (name, points)| {
        let here = first(points.iter().filter_map(|o| Some((o.labels.size()?.0, *o))));
        table.each(columns, |table, (unit, cell)| {
            let head = match (unit, name.as_str()) {
                (Some(unit), _) => Text::unit(*unit),
                (None, "") => Text::unit(points.first().map_or(Unit::Ns, |o| o.unit)),
                (None, name) => head_lines(name).into(),
            };
            table.figures(head, |size| here.get(size).and_then(|o| cell(o)))
        })
    });
    table.table()
}

/// Long names stand in as many lines as they have words; a number stays with what it counts.
fn head_lines(name: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split(' ') {
        match lines.last_mut().filter(|line| line.chars().all(|c| c.is_ascii_digit())) {
            Some(number) => number.push_str(&format!(" {word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines.join("|")
}

#[cfg(test)]
mod tests {
    use tiermark_model::{KIB, Labels, Metric, PerCycle};
    use tiermark_page::{Style, terminal};

    use super::*;

    fn point(size: u64, ns: f64, cycles: Option<f64>) -> Observation {
        let labels = Labels::new().with_size(size);
        let per_cycle = cycles.map(|value| PerCycle { value, unit: Unit::Cycles });
        Observation { value: Some(ns), per_cycle, ..Observation::new("a", labels, Metric::Latency) }
    }

    fn series<'a>(name: &str, points: &[&'a Observation]) -> SizeSeries<'a> {
        (name.to_owned(), points.to_vec())
    }

    fn shown(page: &Page) -> String {
        terminal(page, &Style::default())
    }

    #[test]
    fn cycles_stand_beside_one_series_and_below_several() {
        let points =
            [point(16 * KIB, 1.25, Some(4.0)), point(256 * KIB, 4.375, Some(14.0)), point(64 << 20, 90.0, None)];
        let [l1, l2, memory] = points.each_ref();
        insta::assert_snapshot!(shown(&without_intervals(&[series("", &[l1, l2, memory])])));
        insta::assert_snapshot!(shown(&by_size(&[
            series("random", &[l1, l2, memory]),
            series("stride:64", &[l1]),
            series("stride:4096", &[memory]),
        ])));
        let without = shown(&by_size(&[series("", &[memory]), series("a", &[memory])]));
        assert!(!without.contains("cycle"), "{without}");
    }
}
