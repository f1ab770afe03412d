//! Latency over bandwidth: curves as plots, their figures as a table, and their points.

use tiermark_model::{Finding, Grade, Labels, Observation, Purpose, Quantity, RunCounters, Unit, Verdict};
use tiermark_page::{
    Align, Cell, Ink, Page, Plot, ROWS, Series, Style, Table, graded, heading, letter, nanoseconds, paragraph, percent,
    plot_over, rate, space, value, with_interval,
};

use crate::ladder::Shown;
use crate::machine::many;
use crate::mess_csv::MessPoint;
use crate::points::observed;
use crate::reasons::Reasons;
use crate::tally::is_number;
use crate::traffic::on_channels;

/// Most curves in one plot: more cannot be distinguished.
const CURVES_A_PLOT: usize = 5;
/// What stands for a knee where a curve has none.
const NO_KNEE: &str = "none";
/// The figures of a curve, in the order of the columns.
const COLUMNS: [(Quantity, &str); 5] = [
    (Quantity::LoadedUnloaded, "idle|ns "),
    (Quantity::LoadedKnee, "knee| "),
    (Quantity::LoadedMost, "most| "),
    (Quantity::LoadedSaturated, "full|ns "),
    (Quantity::LoadedPeak, "all|cores "),
];

/// Heading of a finding's column.
fn column_name(finding: &Finding) -> String {
    let target = finding.labels.get(Labels::STATISTIC).unwrap_or_default();
    match &finding.metric {
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
    points: Vec<LoadedPoint<'a>>,
}

/// A point of a curve.
struct LoadedPoint<'a> {
    /// ns; `None` without load.
    pause: Option<u64>,
    /// Bytes a second.
    rate: f64,
    seen: &'a Observation,
}

/// The name of a curve: mix and place, with the node where it is named.
fn name(labels: &Labels) -> String {
    let node = labels.number(Labels::NODE).map(|n| format!("node {n}"));
    let words = [labels.get(Labels::MIX), labels.get(Labels::PLACE), node.as_deref()];
    words.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The curves of a run.
fn curves_of<'a>(observations: &[&'a Observation]) -> Vec<LoadedCurve<'a>> {
    let mut curves: Vec<LoadedCurve<'a>> = Vec::new();
    for seen in observations.iter().filter(|o| o.labels.is_for(Purpose::Load)) {
        let Some(rate) = seen.parts.iter().find(|p| p.unit == Unit::BytesPerSecond).and_then(|p| p.value) else {
            continue;
        };
        let point = LoadedPoint { pause: seen.labels.number(Labels::PAUSE), rate, seen };
        let name = name(&seen.labels);
        match curves.iter_mut().find(|c| c.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(LoadedCurve { name, points: vec![point] }),
        }
    }
    for curve in &mut curves {
        let first = curve.points.first().map(|p| p.seen);
        let same = |o: &Observation, key: &str| first.is_some_and(|f| f.labels.0.get(key) == o.labels.0.get(key));
        let idle = observations
            .iter()
            .find(|o| o.labels.is_for(Purpose::Unloaded) && same(o, Labels::PLACE) && same(o, Labels::NODE));
        curve.points.extend(idle.map(|seen| LoadedPoint { pause: None, rate: 0.0, seen }));
        curve.points.sort_by_key(|p| p.pause.map_or((0, 0), |pause| (1, u64::MAX - pause)));
    }
    curves
}

/// The view of a run's curves, or an empty string if it has none.
pub(crate) fn loaded(
    shown: &mut Shown<'_>,
    observations: &[&Observation],
    counters: Option<&RunCounters>,
    style: &Style,
) -> Page {
    let findings = shown.take_all(|f| f.metric.family() == "loaded");
    let in_table =
        |f: &&&Finding| f.metric == Quantity::LoadedAtTarget || COLUMNS.iter().any(|(metric, _)| f.metric == *metric);
    shown.count(&findings.iter().filter(in_table).copied().collect::<Vec<_>>());
    let curves = curves_of(observations);
    if findings.is_empty() && curves.is_empty() {
        return Page::new();
    }
    let mut out = heading(&title(&curves, style));
    let series: Vec<Series> = curves
        .iter()
        .map(|curve| {
            let point = |p: &LoadedPoint<'_>| {
                Some(((scaled(p.rate, style), p.seen.value?), observed(p.seen, 1.0).named(pressure(p))))
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
    let groups = with_measured(series, &curves, counters, style);
    out += drawn(groups, true, &lines(&findings, &curves, style), style);
    out += table(&findings, style);
    if style.verbose {
        out.extend(curves.iter().map(|curve| points(curve, style)));
    } else {
        let mut reasons = Reasons::new(style);
        let all: Vec<&LoadedPoint<'_>> = curves.iter().flat_map(|c| &c.points).collect();
        all.iter().for_each(|p| reasons.add(&at(p), &p.seen.verdict));
        if let Some(text) = reasons.counted(all.len(), "points") {
            out += paragraph("  ", &text, Ink::Dim);
        }
    }
    out
}

/// The series, each with the same over the bytes that moved on the channels, where they were counted.
fn with_measured(
    series: Vec<Series>,
    curves: &[LoadedCurve<'_>],
    counters: Option<&RunCounters>,
    style: &Style,
) -> Vec<Vec<Series>> {
    let measured = |curve: &LoadedCurve<'_>| {
        let point = |p: &LoadedPoint<'_>| {
            // Without load nothing is useful, and little moves.
            let rate = if p.rate > 0.0 { on_channels(p.seen, p.rate, counters)? } else { 0.0 };
            Some(((scaled(rate, style), p.seen.value?), observed(p.seen, 1.0).named(pressure(p))))
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
fn title(curves: &[LoadedCurve<'_>], style: &Style) -> String {
    // The first point is without load.
    let loaded = if let [only] = curves { only.points.last().map(|point| &point.seen.labels) } else { None };
    let words = loaded.into_iter().flat_map(|labels| {
        let node = labels.number(Labels::NODE).map_or_else(String::new, |node| format!(" of node {node}"));
        let mix = labels.get(Labels::MIX).map(|mix| format!("traffic {mix}"));
        [mix, labels.get(Labels::PLACE).map(|place| format!("{place} memory{node}"))]
    });
    let words: Vec<String> = words.flatten().collect();
    let of = if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
    format!("Latency over bandwidth (ns, {}){of}", style.axis().1)
}

/// A rate in the unit of the axis.
fn scaled(bytes_per_second: f64, style: &Style) -> f64 {
    bytes_per_second / style.axis().0
}

/// What a plot shows beside its curves.
#[derive(Default)]
struct Lines {
    /// The knee of each curve, where it has one.
    knees: Vec<Option<f64>>,
    /// The target latency (`--target-ns`), ns, and its label.
    target: Option<(f64, String)>,
}

fn lines(findings: &[&Finding], curves: &[LoadedCurve<'_>], style: &Style) -> Lines {
    let knee = |curve: &LoadedCurve<'_>| {
        let of_curve = |f: &&&Finding| f.metric == Quantity::LoadedKnee && name(&f.labels) == curve.name;
        Some(scaled(findings.iter().find(of_curve)?.value?, style))
    };
    let target = findings.iter().find(|f| f.metric == Quantity::LoadedAtTarget);
    let target = target.and_then(|f| f.labels.get(Labels::STATISTIC)).and_then(|target| {
        let ns = target.strip_suffix(" ns")?.parse().ok()?;
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

fn drawn(groups: Vec<Vec<Series>>, unit_in_heading: bool, lines: &Lines, style: &Style) -> Page {
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
        let (unit, level) = ("ns".to_owned(), lines.target.clone());
        let plot = Plot { unit, unit_in_heading, series: chunk, marks, level, rows: ROWS, ..Plot::default() };
        out += plot_over(plot, style.axis().1);
    }
    out
}

/// One row a curve.
fn table(findings: &[&Finding], style: &Style) -> Page {
    let mut rows: Vec<String> = Vec::new();
    for finding in findings {
        let name = name(&finding.labels);
        if !rows.contains(&name) {
            rows.push(name);
        }
    }
    let target =
        findings.iter().find(|f| f.metric == Quantity::LoadedAtTarget).and_then(|f| f.labels.get(Labels::STATISTIC));
    let mut table = Table::new().gap(1).column("", Align::Left);
    for (metric, head) in COLUMNS {
        let unit =
            if matches!(metric, Quantity::LoadedUnloaded | Quantity::LoadedSaturated) { "" } else { style.rate_unit() };
        table = table.column(
            &if unit.is_empty() { head.to_owned() } else { head.replacen('|', &format!("|{unit} "), 1) },
            Align::Right,
        );
    }
    if let Some(target) = target {
        table = table.column(&format!("below|{target} "), Align::Right);
    }
    let mut reasons = Reasons::new(style);
    let mut notes: Vec<String> = Vec::new();
    let absent = || Cell::new(format!("{} ", style.absent()));
    for row in &rows {
        let of = |metric: &Quantity| findings.iter().find(|f| f.metric == *metric && name(&f.labels) == *row);
        let cell = |metric: &Quantity| {
            of(metric).map_or_else(absent, |f| {
                // That of a knee is no confidence interval, but where the next points are: its remark says so.
                let interval = f.interval.filter(|_| *metric != Quantity::LoadedKnee);
                let none = (*metric == Quantity::LoadedKnee && f.verdict.grade != Grade::Invalid)
                    .then(|| NO_KNEE.to_owned().into());
                let shown = f.value.map(|v| with_interval(v, interval, f.unit, style));
                let is_told = is_number(f) && (shown.is_some() || none.is_none());
                let verdict = if is_told { f.verdict.clone() } else { Verdict::trusted() };
                graded(shown.or(none), &verdict, f.unit, style)
            })
        };
        let mut cells = vec![Cell::new(row)];
        cells.extend(COLUMNS.iter().map(|(metric, _)| cell(metric)));
        cells.extend(target.map(|_| cell(&Quantity::LoadedAtTarget)));
        table.row(cells);
        for finding in findings.iter().filter(|f| name(&f.labels) == *row) {
            if is_number(finding) {
                reasons.add(&format!("{row} {}", column_name(finding)), &finding.verdict);
            }
            notes.extend(said(row, finding, style));
        }
    }
    if table.is_empty() {
        return Page::new();
    }
    let mut key = "idle = no load, knee = bend of the curve, most = highest rate of the injectors, full = without \
        pauses, all cores = bandwidth without a chaser"
        .to_owned();
    let has = |sign: &str| table.cells().any(|cell| cell.text.split_whitespace().any(|word| word == sign));
    if has(NO_KNEE) {
        key.push_str(&format!(", {NO_KNEE} = no bend up to the highest rate measured"));
    }
    if has(style.absent()) {
        key.push_str(&format!(", {} = no number", style.absent()));
    }
    let mut out = space() + table + paragraph("  ", &key, Ink::Dim) + reasons.page(style);
    notes.iter().for_each(|note| out += paragraph("  ", note, Ink::Plain));
    out
}

/// Notes of a finding: knees, targets and overload always, the rest with `verbose`.
fn said(row: &str, finding: &Finding, style: &Style) -> Option<String> {
    let note = finding.note(style.rate_unit)?;
    match &finding.metric {
        Quantity::LoadedOverload => Some(format!("{row}: overload, {} lost: {note}", percent(finding.value?))),
        Quantity::LoadedKnee => Some(match finding.value {
            Some(_) => format!("{row}, knee: {note}"),
            None => format!("{row}: {note}"),
        }),
        Quantity::LoadedAtTarget => {
            let target = finding.labels.get(Labels::STATISTIC).unwrap_or_default();
            Some(format!("{row}: below {target}: {note}"))
        }
        _ if style.verbose => Some(format!("{row} {}: {note}", column_name(finding))),
        _ => None,
    }
}

fn at(point: &LoadedPoint<'_>) -> String {
    format!("{} {}", name(&point.seen.labels), pressure(point))
}

/// How hard the memory is loaded at a point.
fn pressure(point: &LoadedPoint<'_>) -> String {
    point.pause.map_or_else(|| "no load".to_owned(), |p| format!("pause {p} ns"))
}

/// Every point of a curve.
fn points(curve: &LoadedCurve<'_>, style: &Style) -> Page {
    let mut table = Table::new().column("pause ns", Align::Right);
    table = table.column(&format!("{} ", style.rate_unit()), Align::Right).column("ns ", Align::Right);
    let mut reasons = Reasons::new(style);
    for point in &curve.points {
        let seen = point.seen;
        reasons.add(&at(point), &seen.verdict);
        table.row(vec![
            Cell::new(point.pause.map_or_else(|| "no load".to_owned(), |p| p.to_string())),
            Cell::new(format!("{} ", rate(point.rate, style))),
            graded(
                seen.value.map(|v| with_interval(v, seen.interval, Unit::Ns, style)),
                &seen.verdict,
                seen.unit,
                style,
            ),
        ]);
    }
    heading(&format!("Points of {}", curve.name)) + table + reasons.page(style)
}

/// Curves that were read from a file: a plot and their points.
pub fn curves(title: &str, points: &[MessPoint], style: &Style) -> Page {
    let mut series: Vec<Series> = Vec::new();
    let mut table = Table::new().column("reads %", Align::Right).column("pause", Align::Right);
    table = table.column(style.rate_unit(), Align::Right).column("ns", Align::Right);
    for point in points {
        let name = [point.kind.clone(), format!("{:.0} % reads", point.read_percent)];
        let name = name.iter().filter(|w| !w.is_empty()).cloned().collect::<Vec<_>>().join(" ");
        let at = (scaled(point.bandwidth, style), point.latency_ns);
        match series.iter_mut().find(|s| s.name == name) {
            Some(known) => known.points.push(at),
            None => series.push(Series { name, points: vec![at], ..Series::default() }),
        }
        table.row(vec![
            Cell::new(value(point.read_percent, Unit::Count, style)),
            Cell::new(value(point.pause, Unit::Count, style)),
            Cell::new(rate(point.bandwidth, style)),
            Cell::new(nanoseconds(point.latency_ns)),
        ]);
    }
    let curves = series.len();
    let mut out = heading(title)
        + drawn(series.into_iter().map(|one| vec![one]).collect(), false, &Lines::default(), style)
        + space();
    /// More points than these are a page of their own.
    const LISTED: usize = 60;
    if style.verbose || points.len() <= LISTED {
        out += table;
    } else {
        out += paragraph("  ", "--verbose lists the points", Ink::Dim);
    }
    out += space();
    let least = points.iter().map(|p| p.latency_ns).fold(f64::INFINITY, f64::min);
    let most = points.iter().map(|p| p.bandwidth).fold(0.0, f64::max);
    let text = format!(
        "{} of {}: latency from {} ns, bandwidth up to {} {}",
        many(points.len(), "point"),
        many(curves, "curve"),
        nanoseconds(least),
        rate(most, style),
        style.rate_unit()
    );
    out + paragraph("", &text, Ink::Plain)
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
