//! The index of a page of several documents: a row for each, with its host, its verdict and the figures that differ.

use std::collections::{BTreeMap, BTreeSet};

use tiermark_model::{Against, Comparison, FigureName, Grade, Run, Unit};
use tiermark_page::{Cell, Detail, Ink, Page, Style, Table, Text, bullet, heading, html as elements, number, text};
use tiermark_stats::{max, min, upper_median};

use super::sheet::Sheet;
use crate::judgements::{by_damage, ink, run_names};

/// Figures that are shown: those that differ most.
const FIGURES: usize = 4;
/// Relative difference between the least and the greatest value up to which a figure is the same in all runs: `compare`
/// takes it for no change too.
const SAME: f64 = 0.03;
/// Runs from which on their median says what is usual.
const MEDIAN: usize = 3;

/// The index; `titles` are those of the sheets, and `left_out` says why others are not on the page.
pub(super) fn index(
    sheets: &[Sheet<'_>],
    left_out: &[String],
    titles: &[&str],
    detail: Detail,
    style: &Style,
) -> String {
    let table = match sheets {
        [Sheet::Compared(comparison, _), ..] => compared(sheets, comparison, detail),
        _ => documents(sheets, titles),
    };
    let left_out: Page = left_out.iter().map(|why| bullet("!", Ink::Warn, format!("left out: {why}"), None)).collect();
    let all = heading("Documents") + table + left_out;
    format!("<nav aria-label=\"Documents\">{}</nav>\n", elements(&all, "index", style))
}

/// The id of the sheet at a place.
pub(super) fn sheet_id(at: usize) -> String {
    format!("sheet-{at}")
}

/// The runs of a comparison, the largest loss first.
fn compared(sheets: &[Sheet<'_>], comparison: &Comparison, detail: Detail) -> Table {
    let place = |other: &Against| {
        sheets.iter().position(|sheet| matches!(sheet, Sheet::Compared(_, one) if std::ptr::eq(*one, other)))
    };
    let all = by_damage(comparison, detail);
    let table = Table::of(&all)
        .texts("host", |damage| Cell::new(&damage.name).linked(&sheet_id(place(damage.other).unwrap_or_default())));
    let table = table.texts("verdict", |damage| damage.verdict());
    let table = table.numbers("largest loss", |damage| damage.loss().0).texts("figure", |damage| damage.loss().1);
    table.texts("facts that differ", |damage| damage.facts()).table()
}

/// A document in the index.
struct Row {
    at: usize,
    name: String,
    what: String,
    verdict: Cell,
    figures: Figures,
}

/// Values of figures, with their units.
type Figures = BTreeMap<FigureName, (f64, Unit)>;

/// The host of a document.
fn host<'a>(sheet: &Sheet<'a>) -> Option<&'a str> {
    match sheet {
        Sheet::Run(run, _) => run.host(),
        Sheet::Capacity(run) => run.host(),
        Sheet::Load(run) => run.host(),
        Sheet::Checked(check) => check.run.host.as_deref(),
        Sheet::CurveProfile(_) | Sheet::Compared(..) => None,
    }
}

/// Documents in their order, with the figures of runs that differ.
fn documents(sheets: &[Sheet<'_>], titles: &[&str]) -> Table {
    let named = sheets.iter().zip(titles);
    let names = run_names(named.map(|(sheet, title)| ((*title).to_owned(), host(sheet).map(str::to_owned))));
    let row = |(at, (sheet, name)): (usize, (&Sheet<'_>, String))| {
        let (what, verdict, figures) = match sheet {
            Sheet::Run(run, judged) => {
                let (word, ink) = crate::verdict(run, judged);
                (what(&run.title, &run.started), Cell::inked(word, ink), figures(run))
            }
            Sheet::Capacity(run) => {
                let verdict = Cell::new(crate::tenant_views::capacity_line(run));
                (what("capacity", &run.started), verdict, Figures::new())
            }
            Sheet::Load(run) => (what("load", &run.started), Cell::default(), Figures::new()),
            Sheet::Checked(check) => {
                let verdict = Cell::inked(check.verdict.headline(), ink(check.verdict));
                (what("check", &check.run.started), verdict, Figures::new())
            }
            Sheet::CurveProfile(_) | Sheet::Compared(..) => Default::default(),
        };
        Row { at, name, what, verdict, figures }
    };
    let rows: Vec<Row> = sheets.iter().zip(names).enumerate().map(row).collect();
    let differing = differing(&rows);
    let table = Table::of(&rows).texts("host", |row| Cell::new(&row.name).linked(&sheet_id(row.at)));
    let table = table.texts("verdict", |row| row.verdict.clone());
    let table = table.each(&differing, |table, figure| {
        table
            .numbers(figure.head(), |row| row.figures.get(&figure.name).map(|(value, unit)| figure.cell(*value, *unit)))
    });
    table.texts("document", |row| &row.what).table()
}

/// `survey of 2026-11-28`: a command and the day of RFC 3339.
fn what(title: &str, started: &str) -> String {
    format!("{title} of {}", started.get(..10).unwrap_or(started))
}

/// The figures of a run that have a name and a number, of those with one name the first.
fn figures(run: &Run) -> Figures {
    let mut figures = Figures::new();
    for experiment in &run.experiments {
        for finding in experiment.findings.iter().filter(|finding| finding.verdict.grade <= Grade::Bound) {
            let name = FigureName::of(finding, &experiment.request.scope, &run.machine);
            if let (Some(name), Some(value)) = (name, finding.value.filter(|value| value.is_finite() && *value > 0.0)) {
                figures.entry(name).or_insert((value, finding.unit));
            }
        }
    }
    figures
}

/// A figure that differs between runs.
struct Differing {
    name: FigureName,
    unit: Unit,
    /// The middle of its values; `None` of too few to say what is usual.
    median: Option<f64>,
    /// The greatest value over the least.
    ratio: f64,
}

impl Differing {
    fn head(&self) -> Text {
        text![format!("{}|", self.name), Text::unit(self.unit)]
    }

    /// A value, with its difference from the median where that is more than chance and rounding make.
    fn cell(&self, value: f64, unit: Unit) -> Cell {
        let apart = self.median.map(|median| value / median - 1.0).filter(|apart| apart.abs() > SAME);
        match apart {
            Some(apart) => Cell::inked(text![number(value, unit), format!(" ({:+.1} %)", apart * 100.0)], Ink::Warn),
            None => Cell::new(number(value, unit)),
        }
    }
}

/// The figures that differ most between the runs that have them.
fn differing(rows: &[Row]) -> Vec<Differing> {
    let names: BTreeSet<FigureName> = rows.iter().flat_map(|row| row.figures.keys().copied()).collect();
    let one = |name: FigureName| {
        let known = rows.iter().filter_map(|row| row.figures.get(&name));
        let (values, unit) = (known.clone().map(|(value, _)| *value).collect::<Vec<f64>>(), known.clone().next()?.1);
        let ratio = max(&values)? / min(&values)?;
        let is_enough = values.len() >= MEDIAN;
        let median = upper_median(values).filter(|_| is_enough);
        Some(Differing { name, unit, median, ratio })
    };
    let mut all: Vec<Differing> = names.into_iter().filter_map(one).filter(|one| one.ratio > 1.0 + SAME).collect();
    all.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    all.truncate(FIGURES);
    all
}
