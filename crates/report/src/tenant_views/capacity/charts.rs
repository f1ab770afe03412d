//! Results over the number of tenants: tiers beside each other at one number, tenants beside each other, and curves.

use std::collections::BTreeSet;

use tiermark_model::capacity::{
    Answer, Capacity, Case, CostTable, CurvePoint, TenantCount, TenantTimes, TimeStatistic, TrialKind, tenants as words,
};
use tiermark_page::{
    Cell, Ink, Page, Plot, PointAbout, ROWS, Series, Table, heading, paragraph, percent, plot_over, space,
};

use super::{Field, micro, or_absent, outcome};

/// All tiers at the number of tenants that was asked for; empty if the run searched.
pub(super) fn side_by_side(cases: &[Case]) -> Page {
    let fixed = |case: &&Case| matches!(case.answer, Answer::Fixed { .. });
    let Some(Answer::Fixed { tenants, .. }) = cases.iter().find(fixed).map(|case| &case.answer) else {
        return Page::new();
    };
    let rows: Vec<(&Case, &CurvePoint)> =
        cases.iter().filter(fixed).filter_map(|case| Some((case, case.curve.last()?))).collect();
    let times: [(&str, Field); 7] = [
        ("average", |point| Some(point.average_ns)),
        ("min", |point| point.min_ns),
        ("P50", |point| Some(point.p50_ns)),
        ("P95", |point| point.p95_ns),
        ("P99", |point| Some(point.p99_ns)),
        ("max", |point| Some(point.max_ns)),
        ("mean of|P99s", |point| Some(point.brief_p99_ns)),
    ];
    let table = Table::of(&rows).texts("tier", |(case, _)| &case.tier);
    let table = table.when(loads(cases).len() > 1, |table| table.texts("load", |(case, _)| &case.load));
    let table =
        table.each(times, |table, (head, field)| table.numbers(head, |(_, point)| or_absent(field(point), micro)));
    let faults = |point: &CurvePoint| or_absent(point.faults_per_request, |faults| format!("{faults:.2}"));
    let ended = |point: &CurvePoint| {
        let Cell { text, ink, .. } = outcome(point.outcome);
        Cell::inked(text + if point.ended_early { ", ended early" } else { "" }, ink)
    };
    let table = table.numbers("faults|/req", |(_, point)| faults(point)).texts("", |(_, point)| ended(point));
    heading(format!("Each tier with {}, µs", words(*tenants))) + table.table().gap(1) + ratios(&rows)
}

/// Each tier's times as multiples of those of each faster one, and of DRAM; empty for a single tier.
fn ratios(rows: &[(&Case, &CurvePoint)]) -> Page {
    let mut pairs: Vec<[(&Case, &CurvePoint); 2]> = Vec::new();
    for slow in rows {
        let faster = rows.iter().filter(|fast| fast.0.load == slow.0.load && fast.1.average_ns < slow.1.average_ns);
        pairs.extend(faster.map(|fast| [*slow, *fast]));
    }
    if pairs.is_empty() {
        return Page::new();
    }
    let fields: [(&str, Field); 5] = [
        ("average", |point| Some(point.average_ns)),
        ("P50", |point| Some(point.p50_ns)),
        ("P95", |point| point.p95_ns),
        ("P99", |point| Some(point.p99_ns)),
        ("max", |point| Some(point.max_ns)),
    ];
    let table = Table::of(&pairs).texts("tier", |[slow, _]| &slow.0.tier).texts("times", |[_, fast]| &fast.0.tier);
    let table = table.when(loads_of(rows) > 1, |table| table.texts("load", |[slow, _]| &slow.0.load));
    let ratio = |[slow, fast]: &[(&Case, &CurvePoint); 2], field: Field| {
        let ratio = field(slow.1)? / field(fast.1)?;
        ratio.is_finite().then(|| format!("{ratio:.1}"))
    };
    let table = table
        .each(fields, |table, (head, field)| table.numbers(head, move |pair| ratio(pair, field).unwrap_or_default()));
    heading("Response times of a tier as multiples of those of another") + table.table()
}

fn loads_of(rows: &[(&Case, &CurvePoint)]) -> usize {
    rows.iter().map(|(case, _)| case.load.as_str()).collect::<BTreeSet<_>>().len()
}

/// The averages and the P99s of all tiers at one number of tenants as bars, each with its limit; empty if the run
/// searched.
pub(super) fn bars(run: &Capacity) -> Page {
    let fixed = |case: &&Case| matches!(case.answer, Answer::Fixed { .. });
    let rows: Vec<(&Case, &CurvePoint)> =
        run.cases.iter().filter(fixed).filter_map(|case| Some((case, case.curve.last()?))).collect();
    if rows.is_empty() {
        return Page::new();
    }
    let mut out = Page::new();
    for (what, of, field) in CHARTED.into_iter().take(2) {
        let longest = rows.iter().map(|(_, point)| field(point)).filter(|ns| ns.is_finite()).fold(0.0, f64::max);
        let limit = limit(run, of).filter(|limit| *limit <= FAR * longest);
        let most = longest.max(limit.unwrap_or(0.0));
        let mut bars: Vec<(String, f64, Ink)> = Vec::new();
        for (case, point) in &rows {
            let name = if loads_of(&rows) > 1 { format!("{}, {}", case.tier, case.load) } else { case.tier.clone() };
            bars.push((name, field(point), Ink::Series(0)));
        }
        bars.extend(limit.map(|ns| ("limit".to_owned(), ns, Ink::Warn)));
        let share = |ns: f64| if most > 0.0 && ns.is_finite() { (ns / most).clamp(0.0, 1.0) } else { 0.0 };
        let table = Table::of(&bars).texts("", |(name, ..)| Cell::new(name.clone()));
        let table = table.numbers("µs", |(_, ns, _)| micro(*ns)).texts("", |(_, ns, ink)| Cell::bar(share(*ns), *ink));
        out += heading(format!("{what} of each tier")) + table.table();
    }
    out
}

/// The limit of the service level on a statistic, ns.
fn limit(run: &Capacity, of: TimeStatistic) -> Option<f64> {
    run.limits.iter().find(|limit| limit.of == of).map(|limit| limit.ns)
}

/// A statistic that charts have.
type ChartedTime = (&'static str, TimeStatistic, fn(&CurvePoint) -> f64);

/// The charts, in their order.
const CHARTED: [ChartedTime; 3] = [
    ("Average", TimeStatistic::Average, |point| point.average_ns),
    ("P99", TimeStatistic::P99, |point| point.p99_ns),
    ("Maximum", TimeStatistic::Maximum, |point| point.max_ns),
];

/// The smallest, mean and largest of what tenants had.
fn spread(each: &[&TenantTimes], field: impl Fn(&TenantTimes) -> f64) -> [f64; 3] {
    let values: Vec<f64> = each.iter().map(|one| field(one)).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    [values.iter().copied().fold(f64::INFINITY, f64::min), mean, values.iter().copied().fold(0.0, f64::max)]
}

/// A time that a tenant had.
type TenantTime = fn(&TenantTimes) -> f64;

const TIMES_OF_TENANTS: [(&str, TenantTime); 3] =
    [("average, µs", |one| one.average_ns), ("P99, µs", |one| one.p99_ns), ("maximum, µs", |one| one.max_ns)];

/// How different tenants were in all trials of a number; empty if none had several, or the document does not have each.
pub(super) fn over_tenants(case: &Case) -> Page {
    let numbers = case.tenant_counts();
    let several = numbers.iter().filter(|number| number.tenants > 1);
    let each = several.map(|number| (number, number.tenants_times().collect::<Vec<_>>()));
    let rows: Vec<(&TenantCount<'_>, Vec<&TenantTimes>)> = each.filter(|(_, each)| each.len() > 1).collect();
    if rows.is_empty() {
        return Page::new();
    }
    let table = Table::of(&rows).numbers("N", |(number, _)| Cell::inked(number.tenants.to_string(), Ink::Head));
    let table = table.texts("trials", |(number, _)| number.words());
    let table = table.each(TIMES_OF_TENANTS, |table, (what, field)| {
        let ends = ["least", "mean", "most"].into_iter().enumerate();
        table.under(what, |table| {
            table.each(ends, |table, (at, head)| table.numbers(head, |(_, each)| micro(spread(each, field)[at])))
        })
    });
    let what = "each tenant has its own average, P99 and maximum in each trial: the least, mean and most over \
        tenants and trials (the brief judges the means)";
    space() + table.table().gap(1).named_by(2) + paragraph("  ", what, Ink::Dim)
}

/// What a closed loop left out, at the most tenants; empty for an open loop.
pub(super) fn omission(case: &Case) -> Page {
    let numbers = case.tenant_counts();
    let results =
        numbers.iter().rev().map(TenantCount::results).find(|results| !results.is_empty()).unwrap_or_default();
    // The worst of several trials.
    let worst = results.iter().max_by(|a, b| a.p99_ns.total_cmp(&b.p99_ns));
    let Some((point, all)) = worst.and_then(|point| Some((point, point.with_omitted?))) else {
        return Page::new();
    };
    let left_out = all.requests.saturating_sub(point.requests);
    let text = format!(
        "closed loop, {}: P99 {} µs and average {} µs as its client saw them; {} µs and {} µs with the {} of the \
         requests due that it did not send while it waited (coordinated omission)",
        words(point.tenants),
        micro(point.p99_ns),
        micro(point.average_ns),
        micro(all.p99_ns),
        micro(all.average_ns),
        percent(left_out as f64 / all.requests.max(1) as f64)
    );
    paragraph("  ", &text, Ink::Warn)
}

/// A limit that is so many times what was measured would leave nothing of a chart.
const FAR: f64 = 100.0;

/// Curves of all tiers over the number of tenants, under each load; empty where a curve would be a point.
pub(super) fn curves(run: &Capacity) -> Page {
    let mut out = Page::new();
    for load in loads(&run.cases) {
        let cases: Vec<&Case> = run.cases.iter().filter(|case| case.load == load).collect();
        for (what, of, field) in CHARTED {
            let points = || cases.iter().flat_map(|case| case.curve.iter());
            let most = points().map(field).filter(|ns| ns.is_finite()).fold(0.0, f64::max);
            let limit = limit(run, of).filter(|limit| *limit <= FAR * most);
            let (ns, unit) = unit(most.max(limit.unwrap_or(0.0)));
            let mut series: Vec<Series> =
                cases.iter().flat_map(|case| series(case, |point| field(point) / ns)).collect();
            series.extend(limit.and_then(|at| level(&series, at / ns)));
            let drawn = drawn(unit, true, series);
            if !drawn.is_empty() {
                out += heading(format!("{what} over tenants, {unit}: {load}"));
                out += drawn;
            }
        }
    }
    out
}

/// Cost of a tenant over the number of tenants, up to the number that is priced.
pub(super) fn cost_curves(run: &Capacity, cost: &CostTable) -> Page {
    let mut out = Page::new();
    for load in loads(&run.cases) {
        let curve = |case: &Case| {
            let row = cost.rows.iter().find(|row| row.tier == case.tier && row.load == case.load)?;
            let total = Some(row.total).filter(|total| total.is_finite())?;
            let tried = case.tenant_counts().into_iter().map(|number| number.tenants);
            let priced = tried.filter(|tenants| (1..=row.tenants).contains(tenants));
            let points = priced.map(|tenants| (f64::from(tenants), total / f64::from(tenants))).collect();
            Some(Series { name: case.tier.clone(), points, ..Series::default() })
        };
        let series: Vec<Series> = run.cases.iter().filter(|case| case.load == load).filter_map(curve).collect();
        let drawn = drawn(&cost.currency, false, series);
        if !drawn.is_empty() {
            let title = paragraph("  ", format!("cost of a tenant: {load}"), Ink::Head);
            out += space() + title + drawn;
        }
    }
    out
}

/// The unit of an axis that reaches so many ns, and its ns: the labels have room for five digits.
fn unit(most: f64) -> (f64, &'static str) {
    let mut units = [(1e3, "µs"), (1e6, "ms")].into_iter();
    units.find(|(ns, _)| most / ns < 1e5).unwrap_or((1e9, "s"))
}

/// The limit as a line over all numbers of tenants; `None` where nothing was measured.
fn level(series: &[Series], at: f64) -> Option<Series> {
    let numbers = || series.iter().flat_map(|one| &one.points).map(|(tenants, _)| *tenants);
    let (first, last) = (numbers().reduce(f64::min)?, numbers().reduce(f64::max)?);
    let points = vec![(first, at), (last, at)];
    Some(Series { name: "limit".to_owned(), points, behind: true, ..Series::default() })
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

/// Every trial of a search as a point: full ones, and the others by themselves behind them. No line joins them, since
/// trials of one number may differ by more than those of two.
fn series(case: &Case, field: impl Fn(&CurvePoint) -> f64) -> [Series; 2] {
    let mut full = Series { name: case.tier.clone(), scatter: true, ..Series::default() };
    let mut others = Series { behind: true, ..full.clone() };
    let mut names: BTreeSet<TrialKind> = BTreeSet::new();
    for number in case.tenant_counts() {
        for (kind, point) in number.trials.iter().flat_map(|(kind, points)| points.iter().map(move |p| (*kind, p))) {
            let series = if kind == TrialKind::Full { &mut full } else { &mut others };
            let what = kind.name().map_or_else(String::new, |name| format!(" ({name})"));
            series.points.push((f64::from(point.tenants), field(point)));
            series.about.push(PointAbout::doubtful(kind == TrialKind::Unclear, format!("{}{what}", point.outcome)));
            names.insert(kind);
        }
    }
    let names: Vec<&str> = names.into_iter().filter_map(TrialKind::name).collect();
    others.name = format!("{} ({})", case.tier, names.join(", "));
    [full, others]
}

/// A chart, unless all of it is of one number of tenants.
fn drawn(unit: &str, log_y: bool, series: Vec<Series>) -> Page {
    let series: Vec<Series> = series.into_iter().filter(|one| !one.points.is_empty()).collect();
    let mut numbers = series.iter().flat_map(|one| &one.points).map(|(tenants, _)| *tenants);
    let first = numbers.next();
    if numbers.all(|tenants| Some(tenants) == first) {
        return Page::new();
    }
    plot_over(Plot { unit: unit.into(), log_y, series, rows: ROWS, ..Plot::default() }, "tenants")
}
