//! Latency over bandwidth: curves as plots, their figures as a table, and their points.

use tiermark_model::{
    Finding, Grade, Labels, LatencyTarget, LoadPoint, MessPoint, Observation, Purpose, Quantity, RunCounters, Unit,
    count_of,
};
use tiermark_page::{
    ABSENT, Cell, Detail, Ink, NO_VALUE, Page, Plot, ROWS, Rates, Series, Table, Text, graded, heading, letter,
    nanoseconds, number, paragraph, percent, plot_over, rate, rate_unit, space, text,
};

use crate::order::distinct;
use crate::points::observed;
use crate::reasons::Reasons;
use crate::remark::remark;
use crate::shown::Shown;
use crate::tally::is_number;
use crate::traffic::on_channels;

/// Most curves in one plot: more cannot be distinguished.
const CURVES_A_PLOT: usize = 5;
/// What stands for a knee where a curve has none.
const NO_KNEE: &str = "none";
/// The figures of a curve, in the order of the columns.
const COLUMNS: [(Quantity, &str, &str); 5] = [
    (Quantity::LoadedUnloaded, "idle|ns", ""),
    (Quantity::LoadedKnee, "knee|", ""),
    (Quantity::LoadedMost, "most|", ""),
    (Quantity::LoadedSaturated, "full|ns", ""),
    (Quantity::LoadedPeak, "all|", " cores"),
];

/// Heading of a finding's column.
fn column_name(finding: &Finding) -> String {
    let target = finding.labels.statistic().unwrap_or_default();
    match &finding.quantity {
        Quantity::LoadedUnloaded => "idle".to_owned(),
        Quantity::LoadedSaturated => "full".to_owned(),
        Quantity::LoadedPeak => "all cores".to_owned(),
        Quantity::LoadedAtTarget => format!("below {target}"),
        metric => metric.part().to_owned(),
    }
}

/// A curve: its name and its points in order of rising pressure.
struct LoadedCurve<'a> {
    name: String,
    points: Vec<LoadPoint<'a>>,
}

/// The name of a curve: mix and place, with the node where it is named.
fn name(labels: &Labels) -> String {
    let node = labels.node().map(|n| format!("node {n}"));
    let words = [labels.mix(), labels.place_name(), node.as_deref()];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The curves of a run.
fn curves_of<'a>(observations: &[&'a Observation]) -> Vec<LoadedCurve<'a>> {
    let mut curves: Vec<LoadedCurve<'a>> = Vec::new();
    for point in observations.iter().filter_map(|seen| LoadPoint::of(seen)) {
        let name = name(&point.seen.labels);
        match curves.iter_mut().find(|c| c.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(LoadedCurve { name, points: vec![point] }),
        }
    }
    for curve in &mut curves {
        let first = curve.points.first().map(|p| p.seen);
        let same =
            |o: &Observation| first.is_some_and(|f| f.labels.are_alike(&o.labels, |of| (of.place_name(), of.node())));
        let idle = observations.iter().find(|o| o.labels.is_for(Purpose::Unloaded) && same(o));
        curve.points.extend(idle.map(|seen| LoadPoint { rate: 0.0, rates: [None; 2], pause: None, seen }));
        curve.points.sort_by_key(|p| p.pause.map_or((0, 0), |pause| (1, u64::MAX - pause)));
    }
    curves
}

/// Takes the figures of curves; those that a table has count.
pub(crate) fn take<'a>(shown: &mut Shown<'a>) -> Vec<&'a Finding> {
    let findings = shown.take_all(|f| f.quantity.family() == "loaded");
    let in_table = |f: &&&Finding| {
        f.quantity == Quantity::LoadedAtTarget || COLUMNS.iter().any(|(metric, ..)| f.quantity == *metric)
    };
    shown.count(&findings.iter().filter(in_table).copied().collect::<Vec<_>>());
    findings
}

/// The view of a run's curves; empty if it has none.
pub(crate) fn loaded(
    findings: &[&Finding],
    observations: &[&Observation],
    counters: Option<&RunCounters>,
    detail: Detail,
) -> Page {
    let curves = curves_of(observations);
    if findings.is_empty() && curves.is_empty() {
        return Page::new();
    }
    let mut out = heading(title(&curves));
    let series: Vec<Series> = curves
        .iter()
        .map(|curve| {
            let point = |p: &LoadPoint<'_>| {
                Some(((p.rate, p.seen.value.unwrap_or(NO_VALUE)), observed(p.seen).named(pressure(p))))
            };
            let (points, about) = curve.points.iter().filter_map(point).unzip();
            // A single curve is named by the heading.
            Series {
                name: if curves.len() == 1 { String::new() } else { curve.name.clone() },
                points,
                about,
                ..Series::default()
            }
        })
        .collect();
    let groups = with_measured(series, &curves, counters);
    out += drawn(groups, true, &lines(findings, &curves));
    out += table(findings, detail);
    if detail.is_all() {
        out.extend(curves.iter().map(|curve| points(curve, detail)));
    } else {
        let mut reasons = Reasons::default();
        let all: Vec<&LoadPoint<'_>> = curves.iter().flat_map(|c| &c.points).collect();
        all.iter().for_each(|p| reasons.add(&at(p), &p.seen.verdict));
        if let Some(text) = reasons.counted(all.len(), "points") {
            out += paragraph("  ", &text, Ink::Dim);
        }
    }
    out
}

/// The series, each with the same over the bytes that moved on the channels, where they were counted.
fn with_measured(series: Vec<Series>, curves: &[LoadedCurve<'_>], counters: Option<&RunCounters>) -> Vec<Vec<Series>> {
    let measured = |curve: &LoadedCurve<'_>| {
        let point = |p: &LoadPoint<'_>| {
            // Without load nothing is useful, and little moves.
            let rate = if p.rate > 0.0 { on_channels(p.seen, p.rate, counters)? } else { 0.0 };
            Some(((rate, p.seen.value?), observed(p.seen).named(pressure(p))))
        };
        let (points, about): (Vec<_>, Vec<_>) = curve.points.iter().filter_map(point).unzip();
        (points.len() > 1).then(|| Series {
            name: format!("{} on channels", curve.name),
            points,
            about,
            scatter: false,
            behind: false,
        })
    };
    let pairs = series.into_iter().zip(curves);
    pairs
        .map(|(mut useful, curve)| {
            let measured = measured(curve);
            if measured.is_some() {
                useful.name = format!("{} useful", curve.name);
            }
            [Some(useful), measured].into_iter().flatten().collect()
        })
        .collect()
}

/// The heading of the curves, with the traffic where it is one.
fn title(curves: &[LoadedCurve<'_>]) -> Text {
    // The first point is without load.
    let loaded = if let [only] = curves { only.points.last().map(|point| &point.seen.labels) } else { None };
    let words = loaded.into_iter().flat_map(|labels| {
        let node = labels.node().map_or_else(String::new, |node| format!(" of node {node}"));
        let mix = labels.mix().map(|mix| format!("traffic {mix}"));
        [mix, labels.place_name().map(|place| format!("{place} memory{node}"))]
    });
    let words: Vec<String> = words.flatten().collect();
    let curve = if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
    text!["Latency over bandwidth (ns, ", Text::axis(Unit::BytesPerSecond), ")", curve]
}

/// What a plot shows beside its curves.
#[derive(Default)]
struct Lines {
    /// The knee of each curve, where it has one.
    knees: Vec<Option<f64>>,
    /// The target latency (`--target-ns`), ns, and its label.
    target: Option<(f64, String)>,
}

fn lines(findings: &[&Finding], curves: &[LoadedCurve<'_>]) -> Lines {
    let knee = |curve: &LoadedCurve<'_>| {
        let of_curve = |f: &&&Finding| f.quantity == Quantity::LoadedKnee && name(&f.labels) == curve.name;
        findings.iter().find(of_curve)?.value
    };
    let target = findings.iter().find(|f| f.quantity == Quantity::LoadedAtTarget);
    let target = target.and_then(|f| f.labels.statistic()).and_then(|target| {
        let LatencyTarget(ns) = target.parse().ok()?;
        Some((ns, format!("target {target}")))
    });
    Lines { knees: curves.iter().map(knee).collect(), target }
}

/// A curve, or the same curve over useful and over counted bytes, with its knee, which is one of useful bytes.
type Group = (Vec<Series>, Option<f64>);

/// The curves in as many plots as they need. What belongs to one curve stands in one plot, whose axes compare it.
fn plots(groups: Vec<Group>) -> Vec<Vec<Group>> {
    let mut plots: Vec<Vec<Group>> = Vec::new();
    for group in groups {
        let drawn = |plot: &Vec<Group>| plot.iter().map(|(series, _)| series.len()).sum::<usize>();
        match plots.last_mut().filter(|last| drawn(last) + group.0.len() <= CURVES_A_PLOT) {
            Some(last) => last.push(group),
            None => plots.push(vec![group]),
        }
    }
    plots
}

fn drawn(groups: Vec<Vec<Series>>, unit_in_heading: bool, lines: &Lines) -> Page {
    let mut out = Page::new();
    let knees = lines.knees.iter().copied().chain(std::iter::repeat(None));
    for plot in plots(groups.into_iter().zip(knees).collect()) {
        let knees: Vec<Option<f64>> =
            plot.iter().flat_map(|(series, knee)| (0..series.len()).map(|at| knee.filter(|_| at == 0))).collect();
        let chunk: Vec<Series> = plot.into_iter().flat_map(|(series, _)| series).collect();
        let knees = knees.into_iter().enumerate();
        let named = |(at, knee): (usize, Option<f64>)| {
            let name = if chunk.len() > 1 { format!("knee {}", letter(at)) } else { "knee".to_owned() };
            knee.map(|knee| (knee, name))
        };
        let mut marks: Vec<(f64, String)> = knees.filter_map(named).collect();
        marks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let level = lines.target.clone();
        let plot = Plot {
            unit: "ns".into(),
            rates: Rates::X,
            unit_in_heading,
            series: chunk,
            marks,
            level,
            rows: ROWS,
            ..Plot::default()
        };
        out += plot_over(plot, Text::axis(Unit::BytesPerSecond));
    }
    out
}

/// One row a curve.
fn table(findings: &[&Finding], detail: Detail) -> Page {
    let rows = distinct(findings.iter().map(|finding| name(&finding.labels)));
    if rows.is_empty() {
        return Page::new();
    }
    let target = findings.iter().find(|f| f.quantity == Quantity::LoadedAtTarget).and_then(|f| f.labels.statistic());
    let cell = |row: &str, quantity: &Quantity| {
        let found = findings.iter().find(|f| f.quantity == *quantity && name(&f.labels) == *row);
        found.map_or_else(|| Cell::new(ABSENT), |f| number_of(f))
    };
    let head = |quantity: &Quantity, line: &str, more: &str| match quantity {
        Quantity::LoadedUnloaded | Quantity::LoadedSaturated => Text::from(line),
        _ => text![line, rate_unit(), more],
    };
    let table = Table::of(&rows).texts("", |row| row).each(COLUMNS, |table, (metric, line, more)| {
        table.figures(head(&metric, line, more), |row| cell(row, &metric))
    });
    let table = table.each(target, |table, target| {
        table.figures(format!("below|{target}"), |row| cell(row, &Quantity::LoadedAtTarget))
    });
    let table = table.table().gap(1);
    let mut reasons = Reasons::default();
    let mut notes: Vec<Text> = Vec::new();
    for row in &rows {
        for finding in findings.iter().filter(|f| name(&f.labels) == *row) {
            if is_number(finding) {
                reasons.add(&format!("{row} {}", column_name(finding)), &finding.verdict);
            }
            notes.extend(finding_note(row, finding, detail));
        }
    }
    let mut key = "idle = no load, knee = bend of the curve, most = highest rate of the injectors, full = without \
        pauses, all cores = bandwidth without a chaser"
        .to_owned();
    let has = |sign: &str| table.cells().any(|cell| cell.text == sign.into());
    if has(NO_KNEE) {
        key.push_str(&format!(", {NO_KNEE} = no bend up to the highest rate measured"));
    }
    if has(ABSENT) {
        key.push_str(&format!(", {ABSENT} = no number"));
    }
    let mut out = space() + table + paragraph("  ", &key, Ink::Dim) + reasons.page(detail);
    notes.iter().for_each(|note| out += paragraph("  ", note, Ink::Plain));
    out
}

/// A figure of a curve; that of a curve without a knee says so.
fn number_of(f: &Finding) -> Cell {
    // The interval of a knee is not a confidence interval: its ends are the next points, which its remark states.
    let interval = f.interval.filter(|_| f.quantity != Quantity::LoadedKnee);
    match f.value {
        None if f.quantity == Quantity::LoadedKnee && f.verdict.grade != Grade::Invalid => Cell::new(NO_KNEE),
        value => graded(value.map(|v| number(v, f.unit).within(interval)), &f.verdict, f.unit),
    }
}

/// Notes of a finding: knees, targets and overload always, the rest in detail.
fn finding_note(row: &str, finding: &Finding, detail: Detail) -> Option<Text> {
    let note = remark(finding)?;
    match &finding.quantity {
        Quantity::LoadedOverload => Some(text![format!("{row}: overload, {} lost: ", percent(finding.value?)), note]),
        Quantity::LoadedKnee => Some(match finding.value {
            Some(_) => text![row, ", knee: ", note],
            None => text![row, ": ", note],
        }),
        Quantity::LoadedAtTarget => {
            let target = finding.labels.statistic().unwrap_or_default();
            Some(text![format!("{row}: below {target}: "), note])
        }
        _ if detail.is_all() => Some(text![format!("{row} {}: ", column_name(finding)), note]),
        _ => None,
    }
}

fn at(point: &LoadPoint<'_>) -> String {
    format!("{} {}", name(&point.seen.labels), pressure(point))
}

/// How hard the memory is loaded at a point.
fn pressure(point: &LoadPoint<'_>) -> String {
    point.pause.map_or_else(|| "no load".to_owned(), |p| format!("pause {p} ns"))
}

/// Every point of a curve.
fn points(curve: &LoadedCurve<'_>, detail: Detail) -> Page {
    let mut reasons = Reasons::default();
    curve.points.iter().for_each(|point| reasons.add(&at(point), &point.seen.verdict));
    let pause = |point: &LoadPoint<'_>| point.pause.map_or_else(|| "no load".to_owned(), |p| p.to_string());
    let latency = |seen: &Observation| {
        graded(seen.value.map(|v| number(v, Unit::Ns).within(seen.interval)), &seen.verdict, seen.unit)
    };
    let table = Table::of(&curve.points).numbers("pause ns", pause).figures(rate_unit(), |point| rate(point.rate));
    heading(format!("Points of {}", curve.name))
        + table.figures("ns", |point| latency(point.seen)).table()
        + reasons.page(detail)
}

/// Curves that were read from a file: a plot and their points.
pub fn curves(title: &str, points: &[MessPoint], detail: Detail) -> Page {
    let mut series: Vec<Series> = Vec::new();
    for point in points {
        let name = [point.kind.clone(), format!("{:.0} % reads", point.read_percent)];
        let name = name.iter().filter(|w| !w.is_empty()).cloned().collect::<Vec<_>>().join(" ");
        let at = (point.bandwidth, point.latency_ns);
        match series.iter_mut().find(|s| s.name == name) {
            Some(known) => known.points.push(at),
            None => series.push(Series { name, points: vec![at], ..Series::default() }),
        }
    }
    let table = Table::of(points).numbers("reads %", |point| number(point.read_percent, Unit::Count));
    let table = table.numbers("pause", |point| number(point.pause, Unit::Count));
    let table = table.numbers(rate_unit(), |point| rate(point.bandwidth));
    let table = table.numbers("ns", |point| nanoseconds(point.latency_ns)).table();
    let curves = series.len();
    let mut out =
        heading(title) + drawn(series.into_iter().map(|one| vec![one]).collect(), false, &Lines::default()) + space();
    /// More points than these are a page of their own.
    const LISTED: usize = 60;
    if detail.is_all() || points.len() <= LISTED {
        out += table;
    } else {
        out += paragraph("  ", "--verbose lists the points", Ink::Dim);
    }
    out += space();
    let least = points.iter().map(|p| p.latency_ns).fold(f64::INFINITY, f64::min);
    let most = points.iter().map(|p| p.bandwidth).fold(0.0, f64::max);
    let text = format!(
        "{} of {}: latency from {} ns, bandwidth up to ",
        count_of(points.len() as u64, "point"),
        count_of(curves as u64, "curve"),
        nanoseconds(least)
    );
    out + paragraph("", Text::from(text) + rate(most).with_unit(), Ink::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, series: usize) -> Group {
        let series = (0..series).map(|_| Series { name: name.to_owned(), ..Series::default() }).collect();
        (series, None)
    }

    #[test]
    fn a_curve_of_useful_bytes_stands_beside_that_of_counted_ones() {
        let names = |groups: Vec<Group>| -> Vec<Vec<String>> {
            let of = |plot: Vec<Group>| plot.into_iter().flat_map(|(series, _)| series).map(|own| own.name).collect();
            plots(groups).into_iter().map(of).collect()
        };
        let pairs = ["read", "2:1", "1:1"].map(|name| group(name, 2)).to_vec();
        assert_eq!(names(pairs), [vec!["read", "read", "2:1", "2:1"], vec!["1:1", "1:1"]]);
        let single: Vec<Group> = (0..6).map(|at| group(&at.to_string(), 1)).collect();
        assert_eq!(names(single).iter().map(Vec::len).collect::<Vec<_>>(), [5, 1]);
    }
}
