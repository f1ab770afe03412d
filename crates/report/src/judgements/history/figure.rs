//! A figure run by run.

use tiermark_model::{FigureHistory, FigurePoint, Grade, History, Unit};

use super::{FigureNames, changes, conclusion, day, is_changed, is_worse, signed, valued, when};

use tiermark_page::{
    Cell, Detail, Ink, Page, Plot, ROWS, Rates, Series, Table, Text, bullet, heading, height, paragraph, plot_over,
    text,
};

/// Renders the figures of a history, each with a plot over time and a line for each run.
pub fn history_of_figures(history: &History, detail: Detail) -> Page {
    let names = FigureNames::of(&history.figures);
    let newest = history.figures.iter().filter(|figure| figure.apart.is_none());

    newest.map(|figure| one(figure, &history.figures, &names, detail)).collect::<Page>()
}

fn one(figure: &FigureHistory, all: &[FigureHistory], names: &FigureNames<'_>, detail: Detail) -> Page {
    let version = format!(", method version {}", figure.method);
    let mut out = heading(text![names.name(figure), ", ", Text::unit(figure.unit), version]);
    out += plot(figure);
    out += table(figure);
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
    if !is_changed(figure) {
        out += paragraph("  ", text!["Verdict: ", conclusion(figure).text], Ink::Plain);
    }
    out += changes(figure.changes.iter().map(|change| (figure, change)), names, detail);
    out += others(figure, all);
    out
}

/// Values over days; empty where fewer than two have a time.
fn plot(figure: &FigureHistory) -> Page {
    let drawn = |point: &&FigurePoint| Some((point.day?, point.value));
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
    let rates = if figure.unit == Unit::BytesPerSecond { Rates::Y } else { Rates::None };
    plot_over(
        Plot { unit: Text::axis(figure.unit), rates, series, rows: ROWS, ..Plot::default() },
        format!("{name} since the first run"),
    )
}

fn table(figure: &FigureHistory) -> Page {
    let changed = |run: &str| match figure.changes.iter().find(|change| change.run == run) {
        Some(change) => Cell::inked(
            format!("changed {}", signed(change.change)),
            if is_worse(figure, change.change) { Ink::Bad } else { Ink::Good },
        ),
        None => Cell::default(),
    };
    let table = Table::of(&figure.points).texts("when (UTC)", |point| when(&point.started));
    let table = table.numbers("run", |point| Cell::inked(&point.run, Ink::Head));
    let table = table.numbers("value", |point| valued(point, point.interval, figure.unit));
    let grade = |point: &FigurePoint| match point.grade {
        _ if !point.counts => "bound",
        Grade::Shared => "shared",
        _ => "",
    };
    let table = table.texts("", |point| Cell::inked(grade(point), Ink::Dim));
    table.texts("", |point| changed(&point.run)).table().into()
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

/// Characters at most: the newest values.
const MOST: usize = 24;
/// Share of the middle that the whole height stands for at least: noise of a percent is to look flat. Two runs of an
/// unchanged machine may differ by half of it.
const LEAST_HEIGHT: f64 = 0.06;

/// Stands for a bound.
pub(super) const OPEN: &str = "·";
/// Stands before the first value of another level.
pub(super) const CHANGES: &str = "┆";

/// The newest values of a figure: higher is more.
pub(super) fn spark(figure: &FigureHistory) -> String {
    let points = &figure.points[figure.points.len().saturating_sub(MOST)..];
    let counted = points.iter().filter(|point| point.counts).map(|point| point.value);
    let Some((least, most)) = counted.fold(None, |ends: Option<(f64, f64)>, value| {
        Some(ends.map_or((value, value), |(least, most)| (least.min(value), most.max(value))))
    }) else {
        return OPEN.repeat(points.len());
    };
    let middle = least.midpoint(most);
    let whole = (most - least).max(LEAST_HEIGHT * middle);
    let mut out = String::new();
    for (at, point) in points.iter().enumerate() {
        if at > 0 && figure.changes.iter().any(|change| change.run == point.run) {
            out.push_str(CHANGES);
        }
        let share = (point.value - middle) / whole + 0.5;
        out.push_str(if point.counts { height(share) } else { OPEN });
    }
    out
}
