//! Published figures beside those of a run.

use tiermark_model::{Bytes, Metric, Observation, Published, PublishedFigure, PublishedPoint, Run};
use tiermark_page::{
    Align, Cell, Ink, Page, Plot, ROWS, Series, Style, Table, graded, heading, paragraph, plot, plot_over, time_unit,
    unit_name, value, variants,
};

use crate::points::observed;

/// The fewest points that are drawn as a curve.
const CURVE: usize = 4;

/// Figures, and points of one, at most: a document may come from anywhere.
const MOST_FIGURES: usize = 64;
const MOST_POINTS: usize = 256;

/// The section; empty for a run whose plan has none.
pub(crate) fn published(run: &Run, style: &Style) -> Page {
    let Some(published) = run.plan.as_ref().and_then(|plan| plan.published.as_ref()) else { return Page::new() };
    let observations: Vec<&Observation> = run.observations().collect();
    let mut table = Table::new().column("", Align::Left).column("published ", Align::Right);
    table = table.column("here ", Align::Right).column("", Align::Left);
    let (mut brief, mut charts) = (table.clone(), Page::new());
    for figure in published.figures.iter().take(MOST_FIGURES) {
        let observations = same(figure, &observations);
        let course = figure.points.len() >= CURVE;
        let last = figure.points.len().saturating_sub(1);
        for (at, point) in figure.points.iter().take(MOST_POINTS).enumerate() {
            let row = row(figure, point, &observations, style);
            // The ends of a curve, which a browser draws whole.
            if style.verbose || !course || at == 0 || at == last {
                brief.row(row.clone());
            }
            table.row(row);
        }
        if course {
            charts += curve(published, figure, &observations, style);
        }
    }
    if table.is_empty() {
        return Page::new();
    }
    let title = format!("Figures published for {}, beside those of this run", published.machine);
    let note = "The machines differ: compare the shapes, not the values.";
    let note = paragraph("  ", note, Ink::Dim);
    heading(&title) + variants(brief + note.clone(), table + note + charts)
}

/// What a run measured of a figure.
fn same<'a>(figure: &PublishedFigure, observations: &[&'a Observation]) -> Vec<&'a Observation> {
    let has_labels = |o: &Observation| figure.labels.0.iter().all(|(key, label)| o.labels.0.get(key) == Some(label));
    observations.iter().copied().filter(|o| o.metric == figure.metric && has_labels(o)).collect()
}

/// The number of a point among them.
fn here<'a>(figure: &PublishedFigure, at: Option<u64>, observations: &[&'a Observation]) -> Option<&'a Observation> {
    let fits = |o: &&&Observation| match (&figure.by, at) {
        (Some(by), Some(at)) => o.labels.number(by) == Some(at),
        _ => true,
    };
    let mut found = observations.iter().filter(fits);
    // What was measured comes before what was refused.
    let first = found.next();
    first.filter(|o| o.value.is_some()).or_else(|| found.find(|o| o.value.is_some())).or(first).copied()
}

fn row(figure: &PublishedFigure, point: &PublishedPoint, observations: &[&Observation], style: &Style) -> Vec<Cell> {
    let unit = figure.metric.unit();
    let at = match (point.at, figure.by.as_deref()) {
        (Some(at), Some("size")) => format!(", {}", Bytes(at)),
        (Some(at), Some(by)) => format!(", {at} {by}"),
        _ => String::new(),
    };
    // Times of the system are micro- and milliseconds.
    let (factor, name) = match figure.metric {
        Metric::Latency => time_unit(point.value, style),
        Metric::Bandwidth => (1.0, unit_name(unit, style)),
    };
    let shown = |of: f64| value(of / factor, unit, style);
    let seen = here(figure, point.at, observations);
    let measured = seen.map_or_else(
        || Cell::new(format!("{} ", style.absent())),
        |o| graded(o.value.map(shown), &o.verdict, unit, style),
    );
    vec![
        Cell::new(format!("{}{at}", figure.name)),
        Cell::new(format!("{} ", shown(point.value))),
        measured,
        Cell::inked(name, Ink::Dim),
    ]
}

/// Two curves: the published figures and those of the run.
fn curve(published: &Published, figure: &PublishedFigure, observations: &[&Observation], style: &Style) -> Page {
    let (scale, name) = style.axis();
    let (scale, unit) = if figure.metric == Metric::Latency { (1.0, "ns") } else { (scale, name) };
    let mut theirs = Series { name: format!("published: {}", published.machine), ..Series::default() };
    let mut ours = Series { name: "this run".to_owned(), ..Series::default() };
    for PublishedPoint { at, value } in figure.points.iter().take(MOST_POINTS) {
        let Some(at) = at else { continue };
        theirs.points.push((*at as f64, value / scale));
        let seen = here(figure, Some(*at), observations);
        if let Some((o, value)) = seen.and_then(|o| Some((o, o.value?))) {
            ours.points.push((*at as f64, value / scale));
            ours.about.push(observed(o, scale));
        }
    }
    let (unit, series, log_y) = (unit.to_owned(), vec![ours, theirs], figure.metric == Metric::Latency);
    let of = Plot { unit, log_y, series, rows: ROWS, ..Plot::default() };
    let drawn = match figure.by.as_deref() {
        Some("size") => plot(of),
        by => plot_over(of, by.unwrap_or_default()),
    };
    heading(&format!("{}: published, and of this run", figure.name)) + drawn
}
