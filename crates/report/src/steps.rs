//! Curves of findings and observations over something else than size: pages, chains, waits, regions.

use tiermark_model::{ChainLayout, Experiment, Finding, Observation};
use tiermark_page::{NO_VALUE, Page, Plot, ROWS, Series, heading, plot, plot_over};

use crate::order::{distinct, grouped};
use crate::points::{found, observed};

/// Points below which a curve says no more than its table.
const FEWEST: usize = 4;
/// Curves in one plot: more cannot be distinguished.
const CURVES: usize = 5;

/// How findings become curves.
pub(crate) struct Curves<'a> {
    /// Where a finding is on the x axis.
    pub(crate) x: &'a dyn Fn(&Finding) -> Option<f64>,
    /// What x counts.
    pub(crate) x_unit: &'a str,
    /// The curve that a finding belongs to.
    pub(crate) series: &'a dyn Fn(&Finding) -> String,
    /// The unit of y, and its size in the unit of the findings.
    pub(crate) unit: (&'a str, f64),
    /// Whether y is logarithmic.
    pub(crate) log_y: bool,
}

impl Curves<'_> {
    /// The plots; empty where there are too few points.
    pub(crate) fn drawn(&self, findings: &[&Finding]) -> Page {
        let series: Vec<Series> = grouped(findings.iter().map(|f| ((self.series)(f), *f)))
            .into_iter()
            .map(|(name, of)| {
                let scale = self.unit.1;
                let point =
                    |f: &Finding| Some((((self.x)(f)?, f.value.map_or(NO_VALUE, |v| v / scale)), found(f, scale)));
                let (points, about) = of.into_iter().filter_map(point).unzip();
                Series { name, points, about, ..Series::default() }
            })
            .filter(|series| series.values().count() >= FEWEST)
            .collect();
        let one = |series: &[Series]| {
            let (unit, log_y, series) = (self.unit.0.into(), self.log_y, series.to_vec());
            let plot = Plot { unit, unit_in_heading: true, log_y, series, rows: ROWS, ..Plot::default() };
            plot_over(plot, self.x_unit)
        };
        series.chunks(CURVES).map(one).collect()
    }
}

/// Latency over the number of pages of which one line each is touched: it rises where a TLB ends.
pub(crate) fn pages(experiments: &[&Experiment]) -> Page {
    let of_probe = experiments.iter().filter(|e| e.request.probe == "tlb");
    let points = of_probe.flat_map(|e| &e.observations).filter_map(|o| Some((page(o)?, o)));
    let series: Vec<Series> = grouped(points)
        .into_iter()
        .map(|(name, of)| {
            let point = |o: &Observation| Some(((pages_of(o)?, o.value.unwrap_or(NO_VALUE)), observed(o)));
            let (points, about) = of.into_iter().filter_map(point).unzip();
            Series { name: format!("{name} pages"), points, about, ..Series::default() }
        })
        .filter(|series| distinct(series.values().map(|(x, _)| x as u64)).len() >= FEWEST)
        .collect();
    let (unit, unit_in_heading) = ("ns".into(), true);
    let drawn = plot(Plot { unit, unit_in_heading, log_y: true, series, rows: ROWS, ..Plot::default() });
    if drawn.is_empty() {
        return drawn;
    }
    heading("Latency by the number of pages touched, one line a page, ns") + drawn
}

/// The size of the pages of an observation that touches one line of each.
fn page(o: &Observation) -> Option<String> {
    let page = o.labels.page()?;
    stride(o).filter(|stride| *stride >= 4096).map(|_| page.to_owned())
}

fn stride(o: &Observation) -> Option<u64> {
    match o.labels.layout()?.parse() {
        Ok(ChainLayout::Scatter(bytes)) => Some(bytes),
        _ => None,
    }
}

fn pages_of(o: &Observation) -> Option<f64> {
    let stride = stride(o).filter(|stride| *stride > 0)?;
    Some((o.labels.bytes()? / stride) as f64)
}
