//! Curves as data for the script of a page.

use serde::Serialize;

use crate::plot::{Plot, PointAbout, rounded};
use crate::style::Style;
use crate::text::spoken;

#[derive(Serialize)]
struct Chart<'a> {
    /// `size` or `linear`.
    x: &'static str,
    x_unit: String,
    unit: String,
    log_y: bool,
    marks: &'a [(f64, String)],
    #[serde(skip_serializing_if = "Option::is_none")]
    level: &'a Option<(f64, String)>,
    series: Vec<Curve<'a>>,
}

#[derive(Serialize)]
struct Curve<'a> {
    name: String,
    points: Vec<(f64, f64)>,
    about: &'a [PointAbout],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    scatter: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    behind: bool,
}

/// The data of a plot, in one line.
pub(super) fn json(plot: &Plot, style: &Style) -> String {
    let plot = plot.in_style(style);
    let is_size = plot.x_unit.is_none();
    let chart = Chart {
        x: if is_size { "size" } else { "linear" },
        x_unit: plot.x_unit.as_ref().map(|unit| unit.shown(style)).unwrap_or_default(),
        unit: plot.unit.shown(style),
        log_y: plot.log_y,
        marks: &plot.marks,
        level: &plot.level,
        series: plot
            .series
            .iter()
            .map(|series| Curve {
                name: spoken(&series.name, style),
                points: series
                    .points
                    .iter()
                    .map(|(x, y)| (if is_size { *x } else { rounded(*x) }, rounded(*y)))
                    .collect(),
                about: &series.about,
                scatter: series.scatter,
                behind: series.behind,
            })
            .collect(),
    };
    // Nothing in it can fail: what is no number becomes null.
    serde_json::to_string(&chart).unwrap_or_default()
}
