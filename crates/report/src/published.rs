//! Published figures beside those of a run.

use tiermark_model::{
    Bytes, Distance, Experiment, Key, Metric, Observation, Published, PublishedFigure, PublishedPoint, Run, Scope,
    distance,
};
use tiermark_page::{
    ABSENT, Cell, Detail, Ink, Number, Page, Plot, ROWS, Rates, Series, Table, Text, graded, heading, number,
    paragraph, plot, plot_over, rate_unit, time_unit, variants,
};

use crate::points::observed;

/// The fewest points that are drawn as a curve.
const CURVE: usize = 4;

/// Figures, and points of one, at most: a document may come from anywhere.
const MOST_FIGURES: usize = 64;
const MOST_POINTS: usize = 256;

/// The section; empty for a run whose plan has none.
pub(crate) fn published(run: &Run, detail: Detail) -> Page {
    let Some(published) = run.plan.as_ref().and_then(|plan| plan.published.as_ref()) else { return Page::new() };
    let (mut rows, mut charts) = (Vec::new(), Page::new());
    for figure in published.figures.iter().take(MOST_FIGURES) {
        let observations = same(figure, run);
        let is_curve = figure.points.len() >= CURVE;
        let last = figure.points.len().saturating_sub(1);
        let row = |(at, point): (usize, &'_ PublishedPoint)| PublishedRow {
            figure,
            point: *point,
            seen: here(figure, point.at, &observations),
            // The ends of a curve, which a browser draws whole.
            is_brief: detail.is_all() || !is_curve || at == 0 || at == last,
        };
        rows.extend(figure.points.iter().take(MOST_POINTS).enumerate().map(row));
        if is_curve {
            charts += curve(published, figure, &observations);
        }
    }
    if rows.is_empty() {
        return Page::new();
    }
    let table = self::table(&rows);
    rows.retain(|row| row.is_brief);
    let brief = self::table(&rows);
    let title = format!("Figures published for {}, beside those of this run", published.machine);
    let note = "The machines differ: compare the shapes, not the values.";
    let note = paragraph("  ", note, Ink::Dim);
    heading(title) + variants(brief + note.clone(), table + note + charts)
}

/// Observations that match a published figure. If the figure states a distance and the observation has no such label,
/// the distance from its cpus to its node decides.
fn same<'a>(figure: &PublishedFigure, run: &'a Run) -> Vec<&'a Observation> {
    let besides = figure.labels.clone().without(&[Key::Place]);
    let is_same = |o: &Observation, scope: &Scope| match figure.labels.place() {
        Some(place) if !o.labels.has(Key::Place) => {
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
        (Some(by), Some(at)) => Key::named(by).and_then(|by| o.labels.number(by)) == Some(at),
        _ => true,
    };
    let mut found = observations.iter().filter(fits);
    // What was measured comes before what was refused.
    let first = found.next();
    first.filter(|o| o.value.is_some()).or_else(|| found.find(|o| o.value.is_some())).or(first).copied()
}

fn table(rows: &[PublishedRow<'_>]) -> Table {
    let measured = |row: &PublishedRow<'_>| match row.seen {
        Some(o) => graded(o.value.map(|of| row.shown(of)), &o.verdict, row.figure.metric.unit()),
        None => Cell::new(ABSENT),
    };
    let table = Table::of(rows).texts("", PublishedRow::name).figures("published", |row| row.shown(row.point.value));
    table.figures("here", measured).texts("", |row| Cell::inked(row.unit(), Ink::Dim)).table()
}

/// A published point, and what a run measured of it.
struct PublishedRow<'a> {
    figure: &'a PublishedFigure,
    point: PublishedPoint,
    seen: Option<&'a Observation>,
    /// Whether it is shown where there is little room.
    is_brief: bool,
}

impl PublishedRow<'_> {
    fn name(&self) -> String {
        let at = match (self.point.at, self.figure.by.as_deref()) {
            (Some(at), Some("size")) => format!(", {}", Bytes(at)),
            (Some(at), Some(by)) => format!(", {at} {by}"),
            _ => String::new(),
        };
        format!("{}{at}", self.figure.name)
    }

    /// A value: times of the system are micro- and milliseconds.
    fn shown(&self, of: f64) -> Number {
        number(of, self.figure.metric.unit()).in_time_of(self.point.value)
    }

    fn unit(&self) -> Text {
        match self.figure.metric {
            Metric::Latency => time_unit(self.point.value).1.into(),
            Metric::Bandwidth => rate_unit(),
        }
    }
}

/// Two curves: the published figures and those of the run.
fn curve(published: &Published, figure: &PublishedFigure, observations: &[&Observation]) -> Page {
    let mut theirs = Series { name: format!("published: {}", published.machine), ..Series::default() };
    let mut ours = Series { name: "this run".to_owned(), ..Series::default() };
    for PublishedPoint { at, value } in figure.points.iter().take(MOST_POINTS) {
        let Some(at) = at else { continue };
        theirs.points.push((*at as f64, *value));
        let seen = here(figure, Some(*at), observations);
        if let Some((o, value)) = seen.and_then(|o| Some((o, o.value?))) {
            ours.points.push((*at as f64, value));
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
