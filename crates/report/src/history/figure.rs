//! A figure run by run.

use tiermark_model::{FigureHistory, History};

use super::{FigureNames, changes, day, is_worse, signed, when};

use tiermark_model::{FigurePoint, Grade, Unit};
use tiermark_page::{
    Align, Cell, Ink, Page, Plot, ROWS, Series, Style, Table, bound_sign, bullet, heading, paragraph, plot_over,
    unit_name, with_interval,
};

/// Renders the figures of a history, each with a plot over time and a line for each run.
pub fn history_of_figures(history: &History, style: &Style) -> Page {
    let names = FigureNames::of(&history.figures);
    let newest = history.figures.iter().filter(|figure| figure.apart.is_none());

    newest.map(|figure| one(figure, &history.figures, &names, style)).collect::<Page>()
}

fn one(figure: &FigureHistory, all: &[FigureHistory], names: &FigureNames<'_>, style: &Style) -> Page {
    let unit = unit_name(figure.unit, style);
    let mut out = heading(&format!("{}, {unit}, method version {}", names.name(figure), figure.method));
    out += plot(figure, style);
    out += table(figure, style);
    if let Some(trend) = &figure.trend {
        let text = format!(
            "Trend: {} since {} ({} values, p = {:.1e})",
            signed(trend.change),
            day(&trend.started),
            trend.values,
            trend.p_value
        );
        let ink = if is_worse(figure, trend.change) { Ink::Bad } else { Ink::Good };
        out += paragraph("  ", &text, ink);
    }
    out += changes(figure.changes.iter().map(|change| (figure, change)), names, style);
    out += others(figure, all);
    out
}

/// Values over days; empty where fewer than two have a time.
fn plot(figure: &FigureHistory, style: &Style) -> Page {
    let (scale, unit) = match figure.unit {
        Unit::BytesPerSecond => style.axis(),
        _ => (1.0, unit_name(figure.unit, style)),
    };
    let drawn = |point: &&FigurePoint| Some((point.day?, point.value / scale));
    let counted: Vec<&FigurePoint> = figure.points.iter().filter(|point| point.counts).collect();
    // A bound among sharp values would look like a change.
    let shown = if counted.len() < 2 { figure.points.iter().collect() } else { counted };
    let points: Vec<(f64, f64)> = shown.iter().filter_map(drawn).collect();
    let days = |ends: fn(f64, f64) -> f64| points.iter().map(|(day, _)| *day).reduce(ends).unwrap_or_default();
    let (first, last) = (days(f64::min), days(f64::max));
    // The table says as much of fewer.
    if points.len() < 4 || last <= first {
        return Page::new();
    }
    let (in_a_day, name) = match last - first {
        days if days < 2.0 / 24.0 => (24.0 * 60.0, "minutes"),
        days if days < 2.0 => (24.0, "hours"),
        _ => (1.0, "days"),
    };
    let points = points.into_iter().map(|(day, value)| (day * in_a_day, value)).collect();
    let series = vec![Series { points, ..Series::default() }];
    plot_over(
        Plot { unit: unit.to_owned(), series, rows: ROWS, ..Plot::default() },
        &format!("{name} since the first run"),
    )
}

fn table(figure: &FigureHistory, style: &Style) -> Page {
    let mut table = Table::new().column("when (UTC)", Align::Left).column("run", Align::Right);
    table = table.column("value", Align::Right).column("", Align::Left).column("", Align::Left);
    for point in &figure.points {
        let change = figure.changes.iter().find(|change| change.run == point.run);
        let (text, ink) = match change {
            Some(change) => (
                format!("changed {}", signed(change.change)),
                if is_worse(figure, change.change) { Ink::Bad } else { Ink::Good },
            ),
            None => (String::new(), Ink::Plain),
        };
        table.row(vec![
            Cell::new(when(&point.started)),
            Cell::inked(&point.run, Ink::Head),
            Cell::new(valued(point, figure.unit, style)),
            Cell::inked(if point.counts { "" } else { "bound" }, Ink::Dim),
            Cell::inked(text, ink),
        ]);
    }
    table.into()
}

fn valued(point: &FigurePoint, unit: Unit, style: &Style) -> String {
    let sign = bound_sign(unit, style).filter(|_| point.grade == Grade::Bound).unwrap_or_default();
    format!("{sign}{}", with_interval(point.value, point.interval, unit, style))
}

/// Series of the same figure whose values are not comparable with the newest.
fn others(figure: &FigureHistory, all: &[FigureHistory]) -> Page {
    let is_same = |other: &&FigureHistory| other.apart.is_some() && other.key == figure.key;
    let one = |other: &FigureHistory| {
        let why = other.apart.as_ref().map(ToString::to_string).unwrap_or_default();
        let (first, last) = (other.points.first(), other.points.last());
        let time = first.zip(last).map_or_else(String::new, |(first, last)| {
            let (from, to) = (day(&first.started), day(&last.started));
            if from == to { format!(" of {from}") } else { format!(" of {from} to {to}") }
        });
        let changed = if other.changes.is_empty() { "" } else { ", with a change of level (--json has it)" };
        let text = format!("{} values{time} are not comparable with the newest: {why}{changed}", other.points.len());
        bullet("?", Ink::Dim, &text, None)
    };
    all.iter().filter(is_same).map(one).collect()
}
