//! Published figures beside those of a run.

use std::collections::BTreeSet;

use tiermark_model::{
    Bytes, Distance, Experiment, KernelInfo, LabelSet, Metric, Observation, Published, PublishedFigure, PublishedPoint,
    Run, Scope, count_of, distance,
};
use tiermark_page::{
    ABSENT, Cell, Ink, NO_VALUE, Number, Page, Plot, ROWS, Rates, Series, Table, Text, graded, heading, number,
    paragraph, plot, plot_over, rate_unit, space, text, time_unit, variants,
};

use crate::order::grouped;
use crate::points::observed;

/// The fewest points that are drawn as a curve.
const CURVE: usize = 4;
/// Curves that a table has beside each other: published and measured, in 80 columns.
const ABREAST: usize = 4;

/// Figures, and points of one, at most: a document may come from anywhere.
const MOST_FIGURES: usize = 64;
const MOST_POINTS: usize = 256;

/// The section; empty for a run whose plan has none.
pub(crate) fn published(run: &Run) -> Page {
    let Some(published) = run.plan.as_ref().and_then(|plan| plan.published.as_ref()) else { return Page::new() };
    let figures: Vec<BesidePublished<'_>> =
        published.figures.iter().take(MOST_FIGURES).map(|figure| BesidePublished::of(figure, run)).collect();
    if figures.is_empty() {
        return Page::new();
    }
    let (curves, single): (Vec<&BesidePublished<'_>>, Vec<&BesidePublished<'_>>) =
        figures.iter().partition(|of| of.figure.points.len() >= CURVE && of.figure.by.is_some());
    let kinds = grouped(
        curves
            .iter()
            .map(|of| (CurveKind(of.figure.metric == Metric::Latency, of.figure.lines, of.figure.by.as_deref()), *of)),
    );
    // Four curves fit beside each other.
    let of_kind = |(kind, curves): &(CurveKind<'_>, Vec<&BesidePublished<'_>>)| {
        curves.chunks(ABREAST).map(|some| by_coordinate(kind.2.unwrap_or_default(), some)).collect::<Page>()
    };
    let tables: Page = kinds.iter().map(of_kind).collect();
    let charts: Page = curves.iter().map(|of| curve(published, of)).collect();
    let title = format!("Figures published for {}, beside those of this run", published.machine);
    let note = "The machines differ: compare the shapes, not the values.";
    let below = table(&single) + paragraph("  ", note, Ink::Dim);
    variants(heading(title.clone()) + tables.clone() + below.clone(), heading(title) + tables + below + charts)
}

/// What the curves of one table share: whether they are of latencies, whether they count lines, and their coordinate.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct CurveKind<'a>(bool, bool, Option<&'a str>);

/// A published figure with what a run measured of each of its points.
struct BesidePublished<'a> {
    figure: &'a PublishedFigure,
    points: Vec<(PublishedPoint, Option<&'a Observation>)>,
    /// What the published value counts for each byte that is used here: whole lines, where it counts lines.
    times: f64,
}

impl<'a> BesidePublished<'a> {
    fn of(figure: &'a PublishedFigure, run: &'a Run) -> Self {
        let observations = same(figure, run);
        let point = |point: &PublishedPoint| (*point, here(figure, point.at, &observations));
        let kernel = observations.iter().find_map(|o| run.bench.kernel(o.labels.kernel()?));
        let lines = kernel.filter(|_| figure.lines).map_or(1.0, KernelInfo::lines_for_each_byte);
        Self { figure, points: figure.points.iter().take(MOST_POINTS).map(point).collect(), times: lines }
    }

    fn at(&self, at: u64) -> Option<(PublishedPoint, Option<&'a Observation>)> {
        self.points.iter().find(|(point, _)| point.at == Some(at)).copied()
    }

    /// A value in the unit of the published point.
    fn shown(&self, value: f64, point: PublishedPoint) -> Number {
        number(value, self.figure.metric.unit()).in_time_of(point.value)
    }

    fn measured(&self, point: PublishedPoint, seen: Option<&Observation>) -> Cell {
        seen.map_or_else(
            || Cell::new(ABSENT),
            |o| graded(o.value.map(|v| self.shown(v * self.times, point)), &o.verdict, self.figure.metric.unit()),
        )
    }
}

/// A row a coordinate; of each figure the published value and that of the run.
fn by_coordinate(by: &str, curves: &[&BesidePublished<'_>]) -> Page {
    let at = |of: &&BesidePublished<'_>| of.points.iter().filter_map(|(point, _)| point.at).collect::<Vec<_>>();
    let rows: BTreeSet<u64> = curves.iter().flat_map(at).collect();
    let rows: Vec<u64> = rows.into_iter().collect();
    let head = |at: &u64| if by == "size" { Bytes(*at).to_string() } else { at.to_string() };
    let table = Table::of(&rows).numbers(by, head).each(curves, |table, of| {
        let base = |value: f64| number(value, of.figure.metric.unit());
        let head = format!("{}|publ.", of.figure.name.replace(", ", ",|"));
        let published = |at: &u64| of.at(*at).map(|(point, _)| Cell::inked(base(point.value), Ink::Dim));
        let here = |at: &u64| {
            let (_, seen) = of.at(*at)?;
            let value = |o: &Observation| o.value.map(|value| base(value * of.times));
            Some(seen.map_or_else(|| Cell::new(ABSENT), |o| graded(value(o), &o.verdict, o.unit)))
        };
        table.together(|table| table.numbers(head, published).figures("here", here))
    });
    let unit = curves.first().map_or_else(Text::default, |of| match of.figure.metric {
        Metric::Latency => "ns".into(),
        Metric::Bandwidth if of.figure.lines => rate_unit() + " of lines",
        Metric::Bandwidth => rate_unit(),
    });
    space() + paragraph("", text!["In ", unit, ":"], Ink::Dim) + table.table().gap(1)
}

/// Single figures, one a row.
fn table(figures: &[&BesidePublished<'_>]) -> Page {
    let rows: Vec<(&BesidePublished<'_>, PublishedPoint, Option<&Observation>)> =
        figures.iter().flat_map(|of| of.points.iter().map(move |(point, seen)| (*of, *point, *seen))).collect();
    if rows.is_empty() {
        return Page::new();
    }
    let table = Table::of(&rows).texts("", |(of, point, _)| name(of.figure, *point));
    let table = table.figures("published", |(of, point, _)| of.shown(point.value, *point));
    let table = table.figures("here", |(of, point, seen)| of.measured(*point, *seen));
    let table = table.texts("", |(of, point, _)| Cell::inked(unit(of.figure, *point), Ink::Dim)).table();
    space() + table
}

fn name(figure: &PublishedFigure, point: PublishedPoint) -> String {
    let at = match (point.at, figure.by.as_deref()) {
        (Some(at), Some("size")) => format!(", {}", Bytes(at)),
        (Some(at), Some("threads")) => format!(", {}", count_of(at, "thread")),
        (Some(at), Some(by)) => format!(", {at} {by}"),
        _ => String::new(),
    };
    format!("{}{at}", figure.name)
}

fn unit(figure: &PublishedFigure, point: PublishedPoint) -> Text {
    match figure.metric {
        Metric::Latency => time_unit(point.value).1.into(),
        Metric::Bandwidth if figure.lines => rate_unit() + " of lines",
        Metric::Bandwidth => rate_unit(),
    }
}

/// Observations that match a published figure. If the figure states a distance and the observation has no such label,
/// the distance from its cpus to its node decides.
fn same<'a>(figure: &PublishedFigure, run: &'a Run) -> Vec<&'a Observation> {
    let besides = figure.labels.clone().without(LabelSet::NONE.place());
    let is_same = |o: &Observation, scope: &Scope| match figure.labels.place() {
        Some(place) if o.labels.place_name().is_none() => {
            let names_none = o.labels.node().or(scope.mem_node).is_none() && o.labels.policy().is_none();
            let own = distance(&o.labels, scope, &run.machine).or(names_none.then_some(Distance::Local));
            o.labels.include(&besides) && own == Some(place)
        }
        _ => o.labels.include(&figure.labels),
    };
    let of = |experiment: &'a Experiment| {
        let scope = &experiment.request.scope;
        experiment.observations.iter().filter(move |o| o.metric == figure.metric && is_same(o, scope))
    };
    run.experiments.iter().flat_map(of).collect()
}

/// The number of a point among them.
fn here<'a>(figure: &PublishedFigure, at: Option<u64>, observations: &[&'a Observation]) -> Option<&'a Observation> {
    let fits = |o: &&&Observation| match (&figure.by, at) {
        (Some(by), Some(at)) => o.labels.number_named(by) == Some(at),
        _ => true,
    };
    let mut found = observations.iter().filter(fits);
    // What was measured comes before what was refused.
    let first = found.next();
    first.filter(|o| o.value.is_some()).or_else(|| found.find(|o| o.value.is_some())).or(first).copied()
}

/// Two curves: the published figures and those of the run.
fn curve(published: &Published, of: &BesidePublished<'_>) -> Page {
    let figure = of.figure;
    let mut theirs = Series { name: format!("published: {}", published.machine), ..Series::default() };
    let mut ours = Series { name: "this run".to_owned(), ..Series::default() };
    for (PublishedPoint { at, value }, seen) in &of.points {
        let Some(at) = at else { continue };
        theirs.points.push((*at as f64, *value));
        if let Some(o) = seen {
            ours.points.push((*at as f64, o.value.map_or(NO_VALUE, |value| value * of.times)));
            ours.about.push(observed(o));
        }
    }
    let (series, log_y) = (vec![ours, theirs], figure.metric == Metric::Latency);
    let rates = if log_y { Rates::None } else { Rates::Y };
    let chart = Plot { unit: Text::axis(figure.metric.unit()), rates, log_y, series, rows: ROWS, ..Plot::default() };
    let drawn = match figure.by.as_deref() {
        Some("size") => plot(chart),
        by => plot_over(chart, by.unwrap_or_default()),
    };
    heading(format!("{}: published, and of this run", figure.name)) + drawn
}
