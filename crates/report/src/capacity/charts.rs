//! Results over the number of tenants: tiers beside each other at one number, tenants beside each other, and curves.

use tiermark_model::capacity::{Answer, Capacity, Case, CostTable, CurvePoint, Outcome, TenantTimes, tenants as words};

use super::{micro, outcome, word};
use crate::number::percent;
use crate::plot::{Plot, PointAbout, ROWS, Series, plot_over};
use crate::style::{Ink, Style};
use crate::table::{Align, Cell, Table};
use crate::text::{hanging, heading};

/// All tiers at the number of tenants that was asked for; empty if the run searched.
pub(super) fn side_by_side(cases: &[Case], style: &Style) -> String {
    let fixed = |case: &&Case| matches!(case.answer, Answer::Fixed { .. });
    let Some(Answer::Fixed { tenants, .. }) = cases.iter().find(fixed).map(|case| &case.answer) else {
        return String::new();
    };
    let several = loads(cases).len() > 1;
    let mut table = Table::new().gap(1).column("tier", Align::Left);
    if several {
        table = table.column("load", Align::Left);
    }
    for head in ["average", "min", "P50", "P95", "P99", "max", "mean of|P99s", "faults|/req"] {
        table = table.column(head, Align::Right);
    }
    table = table.column("", Align::Left);
    for case in cases.iter().filter(fixed) {
        let Some(point) = case.curve.last() else { continue };
        let absent = || style.absent().to_owned();
        let time = |ns: Option<f64>| Cell::new(ns.map_or_else(absent, micro));
        let mut row = vec![Cell::new(&case.tier)];
        row.extend(several.then(|| Cell::new(&case.load)));
        row.extend([Some(point.average_ns), point.min_ns, Some(point.p50_ns), point.p95_ns].map(time));
        row.extend([point.p99_ns, point.max_ns, point.brief_p99_ns].map(|ns| time(Some(ns))));
        row.push(Cell::new(point.faults_per_request.map_or_else(absent, |faults| format!("{faults:.2}"))));
        row.push(outcome(point.outcome, style));
        table.row(row);
    }
    format!("{}{}", heading(&format!("Each tier with {}, µs", words(*tenants)), style), table.render(style))
}

/// The smallest, mean and largest of what tenants had.
fn spread(each: &[TenantTimes], of: impl Fn(&TenantTimes) -> f64) -> [f64; 3] {
    let values: Vec<f64> = each.iter().filter(|one| one.requests > 0).map(of).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    [values.iter().copied().fold(f64::INFINITY, f64::min), mean, values.iter().copied().fold(0.0, f64::max)]
}

/// How different the tenants of each trial were; empty if none had several, or the document does not have each.
pub(super) fn over_tenants(case: &Case, style: &Style) -> String {
    let several = |point: &&CurvePoint| point.each.iter().filter(|one| one.requests > 0).count() > 1;
    let points = numbers(case);
    let mut table = Table::new().gap(1).column("", Align::Right);
    for what in ["average, µs", "P99, µs", "maximum, µs"] {
        table = table.columns_under(what, &["least", "mean", "most"], Align::Right);
    }
    for point in points.into_iter().filter(several) {
        let figures = [
            spread(&point.each, |one| one.average_ns),
            spread(&point.each, |one| one.p99_ns),
            spread(&point.each, |one| one.max_ns),
        ];
        let mut row = vec![Cell::inked(point.tenants.to_string(), Ink::Head)];
        row.extend(figures.as_flattened().iter().map(|ns| Cell::new(micro(*ns))));
        table.row(row);
    }
    if table.is_empty() {
        return String::new();
    }
    let what = "each tenant has its own average, P99 and maximum: the least, mean and most over the tenants";
    format!("\n{}{}", table.render(style), hanging("  ", what, Ink::Dim, style))
}

/// The last trial of each number of tenants, by rising number.
fn numbers(case: &Case) -> Vec<&CurvePoint> {
    let mut points: Vec<&CurvePoint> = case.curve.iter().collect();
    points.sort_by_key(|point| (point.tenants, std::cmp::Reverse(point.trial)));
    points.dedup_by_key(|point| point.tenants);
    points
}

/// What a closed loop left out, at the most tenants; empty for an open loop.
pub(super) fn omission(case: &Case, style: &Style) -> String {
    let points = numbers(case);
    let Some((point, all)) = points.last().and_then(|point| Some((point, point.with_omitted?))) else {
        return String::new();
    };
    let left_out = all.requests.saturating_sub(point.requests);
    let text = format!(
        "closed loop, {}: P99 {} µs and average {} µs as its client saw them; {} µs and {} µs with the {} of the requests due that it \
         did not send while it waited (coordinated omission)",
        words(point.tenants),
        micro(point.p99_ns),
        micro(point.average_ns),
        micro(all.p99_ns),
        micro(all.average_ns),
        percent(left_out as f64 / all.requests.max(1) as f64)
    );
    hanging("  ", &text, Ink::Warn, style)
}

/// Curves of all tiers over the number of tenants, under each load; empty where a curve would be a point.
pub(super) fn curves(run: &Capacity, style: &Style) -> String {
    let mut out = String::new();
    for load in loads(&run.cases) {
        let cases: Vec<&Case> = run.cases.iter().filter(|case| case.load == load).collect();
        for (what, of) in [("P99", p99 as fn(&CurvePoint) -> f64), ("Maximum", max)] {
            let series = cases.iter().map(|case| series(case, |point| Some(of(point) / 1000.0)));
            let drawn = drawn("µs", true, series.collect(), style);
            if !drawn.is_empty() {
                out.push_str(&heading(&format!("{what} over tenants, µs: {load}"), style));
                out.push_str(&drawn);
            }
        }
    }
    out
}

/// Cost of a tenant over the number of tenants that met the level.
pub(super) fn cost_curves(run: &Capacity, cost: &CostTable, style: &Style) -> String {
    let mut out = String::new();
    for load in loads(&run.cases) {
        let total = |case: &Case| {
            let row = cost.rows.iter().find(|row| row.tier == case.tier && row.load == case.load)?;
            Some(row.total).filter(|total| total.is_finite())
        };
        let meets = |point: &CurvePoint| point.outcome == tiermark_model::capacity::Outcome::Pass && point.tenants > 0;
        let of = |case: &Case| {
            let total = total(case);
            series(case, |point| total.filter(|_| meets(point)).map(|total| total / f64::from(point.tenants)))
        };
        let series: Vec<Series> = run.cases.iter().filter(|case| case.load == load).map(of).collect();
        let drawn = drawn(&cost.currency, false, series, style);
        if !drawn.is_empty() {
            let title = hanging("  ", &format!("cost of a tenant: {load}"), Ink::Head, style);
            out.push_str(&format!("\n{title}{drawn}"));
        }
    }
    out
}

fn p99(point: &CurvePoint) -> f64 {
    point.p99_ns
}

fn max(point: &CurvePoint) -> f64 {
    point.max_ns
}

/// The loads, in their order.
fn loads(cases: &[Case]) -> Vec<&str> {
    let mut loads: Vec<&str> = Vec::new();
    for case in cases {
        if !loads.contains(&case.load.as_str()) {
            loads.push(&case.load);
        }
    }
    loads
}

fn series(case: &Case, of: impl Fn(&CurvePoint) -> Option<f64>) -> Series {
    // An unclear trial says little of its number of tenants.
    let about =
        |point: &CurvePoint| PointAbout::told(point.outcome == Outcome::Unclear, word(point.outcome).to_owned());
    let point = |point: &&CurvePoint| Some(((f64::from(point.tenants), of(point)?), about(point)));
    let (points, about) = numbers(case).iter().filter_map(point).unzip();
    Series { name: case.tier.clone(), points, about, ..Series::default() }
}

fn drawn(unit: &str, log_y: bool, series: Vec<Series>, style: &Style) -> String {
    let series: Vec<Series> = series.into_iter().filter(|one| !one.points.is_empty()).collect();
    if series.iter().all(|one| one.points.len() < 2) {
        return String::new();
    }
    plot_over(&Plot { unit, log_y, series: &series, marks: &[], level: None, rows: ROWS }, "tenants", style)
}
