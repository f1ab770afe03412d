//! A program on the loaded-latency curves of a run.

use tiermark_model::messages::curve_profile as says;
use tiermark_model::{CurveProfile, ProfileAxis, ProfileCurve, ProfilePart, ProfilePoint, Unit};
use tiermark_page::{
    ABSENT, Ink, Page, Plot, PointAbout, ROWS, Rates, Series, Table, Text, heading, nanoseconds, paragraph, percent,
    plot_over, rate, rate_unit, seconds, space, text,
};

use crate::remark;

/// Most curves in the plot: with the program they are as many as can be distinguished.
const CURVES: usize = 4;
/// Most points of the program in the plot: a page stays small, and a screen has fewer places.
const POINTS: usize = 2_000;

/// The program on the curves: a plot, the time by part of the curve, and the busiest moment.
pub fn curve_profile(profile: &CurveProfile) -> Page {
    let title = format!("{} on the loaded-latency curves of run {}", profile.command, profile.on.run);
    let mut out = heading(&title);
    if profile.points.is_empty() {
        let is_known = !profile.notes.iter().any(|note| note.code == says::codes::traffic_without_nodes);
        let none = if is_known {
            "no traffic was counted: the command ended before the second sample; use a shorter --interval"
        } else {
            "the command is on no curve: its traffic is not known by node"
        };
        return out + paragraph("  ", none, Ink::Warn) + notes(profile);
    }
    out += drawn(profile);
    out += space();
    out += table(profile);
    out.extend(busiest(profile).map(|text| paragraph("  ", text, Ink::Plain)));
    out + notes(profile)
}

/// The curves that the program was on, most seconds first, and the program on them.
fn drawn(profile: &CurveProfile) -> Page {
    let uses =
        |point: &&ProfilePoint, at: usize| point.curve == at || point.other.is_some_and(|other| other.curve == at);
    let on = |at: usize| profile.points.iter().filter(|point| uses(point, at)).map(|point| point.seconds).sum::<f64>();
    let mut used: Vec<(usize, &ProfileCurve)> = profile.on.curves.iter().enumerate().collect();
    used.sort_by(|a, b| on(b.0).total_cmp(&on(a.0)));
    used.retain(|(at, _)| on(*at) > 0.0);
    used.truncate(CURVES);
    let curve = |(_, curve): &(usize, &ProfileCurve)| Series {
        name: name(curve),
        points: curve.points.clone(),
        ..Series::default()
    };
    let mut series: Vec<Series> = used.iter().map(curve).collect();
    let every = profile.points.len().div_ceil(POINTS);
    let (points, about) = profile.points.iter().step_by(every).map(about).unzip();
    series.push(Series { name: "program".to_owned(), points, about, scatter: true, behind: false });
    let knee = |(_, curve): &(usize, &ProfileCurve)| Some((curve.knee?.at, "knee".to_owned()));
    let mut marks: Vec<(f64, String)> = used.iter().filter_map(knee).collect();
    marks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let plot = Plot { unit: "ns".into(), rates: Rates::X, series, marks, rows: 2 * ROWS, ..Plot::default() };
    plot_over(plot, Text::axis(Unit::BytesPerSecond))
}

/// A point of the program with what a page shows of it.
fn about(point: &ProfilePoint) -> ((f64, f64), PointAbout) {
    let time = point.time.get(11..19).unwrap_or(&point.time).to_owned();
    ((point.bytes_per_second, point.ns), PointAbout::doubtful(point.beyond, time))
}

fn name(curve: &ProfileCurve) -> String {
    let node = curve.node.map_or_else(String::new, |node| format!(" node {node}"));
    format!("{}{node}", curve.mix)
}

/// The parts of the curves, with the time on each. Without a knee, a curve has only an end.
fn parts(profile: &CurveProfile) -> Vec<(&'static str, ProfilePart, f64)> {
    let time = &profile.time;
    let curves = profile.points.iter().flat_map(|point| [Some(point.curve), point.other.map(|other| other.curve)]);
    let has_knee = curves.flatten().any(|at| profile.on.curves.get(at).is_some_and(|curve| curve.knee.is_some()));
    if has_knee {
        return vec![
            ("below the knee", ProfilePart::Below, time.below),
            ("near the knee", ProfilePart::Near, time.near),
            ("past the knee", ProfilePart::Past, time.past),
        ];
    }
    let mut parts = vec![("on the curve", ProfilePart::Below, time.below)];
    if time.past > 0.0 {
        parts.push(("beyond its end", ProfilePart::Past, time.past));
    }
    parts
}

/// A row for each part of the curve.
fn table(profile: &CurveProfile) -> Page {
    let all = profile.time.all();
    let points = |part: ProfilePart| profile.points.iter().filter(move |point| point.part == part);
    let mean = |part: ProfilePart, value: &dyn Fn(&ProfilePoint) -> Option<f64>| {
        let (area, all) = points(part)
            .filter_map(|point| Some((value(point)? * point.seconds, point.seconds)))
            .fold((0.0, 0.0), |(area, all), (more, seconds)| (area + more, all + seconds));
        (all > 0.0).then(|| area / all)
    };
    let at_least = |part: ProfilePart| if points(part).any(|point| point.beyond) { "≥ " } else { "" };
    let rate_of = |part: ProfilePart| mean(part, &|point| Some(point.bytes_per_second)).map(|of| rate(of).into());
    let ns = |part: ProfilePart| {
        mean(part, &|point| Some(point.ns)).map(|ns| Text::from(format!("{}{}", at_least(part), nanoseconds(ns))))
    };
    let reads = |part: ProfilePart| mean(part, &|point| point.read_share).map(|share| percent(share).into());
    let shown = |text: Option<Text>| text.unwrap_or_else(|| ABSENT.into());
    let parts = parts(profile);
    let table = Table::of(&parts).texts("", |(words, ..)| *words).numbers("time", |(.., of)| seconds(*of));
    let table = table.numbers("share", |(.., of)| percent(if all > 0.0 { of / all } else { 0.0 }));
    let table = table.numbers(Text::from("mean ") + rate_unit(), |(_, part, _)| shown(rate_of(*part)));
    let table = table.numbers("reads", |(_, part, _)| shown(reads(*part)));
    table.numbers("ns", |(_, part, _)| shown(ns(*part))).table().into()
}

/// The moment with the least head room.
fn busiest(profile: &CurveProfile) -> Option<Text> {
    let point = profile.points.iter().min_by(|a, b| a.head_room.total_cmp(&b.head_room))?;
    let curve = profile.on.curves.get(point.curve)?;
    let other = point.other.and_then(|other| profile.on.curves.get(other.curve));
    let on = match other {
        Some(other) => format!("between the curves of {} and {}", name(curve), name(other)),
        None => format!("on the curve of {}", name(curve)),
    };
    let to = if curve.knee.is_some() { "the knee" } else { "the end of the curve, which has no knee" };
    let far = rate(point.head_room.abs()).with_unit();
    let side = if point.head_room < 0.0 { "past" } else { "below" };
    let time = point.time.get(11..19).unwrap_or(&point.time);
    let node = point.node.map_or_else(String::new, |node| format!(" of node {node}"));
    let at_least = if point.beyond { "at least " } else { "" };
    let access = format!("{node} {on}, {at_least}{} ns an access, ", nanoseconds(point.ns));
    let busy = rate(point.bytes_per_second).with_unit();
    Some(text![format!("Busiest at {time} UTC: "), busy, access, far, format!(" {side} {to}")])
}

fn notes(profile: &CurveProfile) -> Page {
    let axis = match profile.on.axis {
        ProfileAxis::Counted => "bytes on the memory channels",
        ProfileAxis::Useful => "useful bytes",
    };
    let near = if parts(profile).iter().any(|(_, part, _)| *part == ProfilePart::Near) {
        "near = between the measured points beside the knee; "
    } else {
        ""
    };
    let key = format!(
        "ns = read off the curves of the nearest shares of reads; {near}rates of the curves = {axis}; \
         source of counters = {}",
        profile.counters.name()
    );
    let mut out = paragraph("  ", &key, Ink::Dim);
    for note in &profile.notes {
        out += paragraph("  ", remark::notes(std::slice::from_ref(note)), Ink::Dim);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{CounterSourceId, ProfileCurves, ProfileKnee, ProfileTime};
    use tiermark_page::{Style, terminal};

    fn program() -> CurveProfile {
        let knee = ProfileKnee { at: 80e9, low: 60e9, high: 90e9 };
        let points = vec![(0.0, 90.0), (60e9, 100.0), (80e9, 130.0), (90e9, 200.0), (100e9, 400.0)];
        let curve = |mix: &str, read_share| ProfileCurve {
            mix: mix.into(),
            node: None,
            read_share,
            points: points.clone(),
            knee: Some(knee),
        };
        let on = ProfileCurves {
            run: "20261125-1".into(),
            place: "local".into(),
            axis: ProfileAxis::Counted,
            curves: vec![curve("read", 1.0), curve("1:1", 0.67)],
        };
        let point = |second: u32, rate: f64| {
            let ((ns, beyond), (part, head_room)) = (on.curves[0].latency(rate).unwrap(), on.curves[0].part(rate));
            let time = format!("2026-11-25T14:20:{second:02}.000Z");
            ProfilePoint {
                time,
                seconds: 1.0,
                node: None,
                bytes_per_second: rate,
                read_share: Some(0.95),
                curve: 0,
                other: None,
                ns,
                beyond,
                part,
                head_room,
            }
        };
        let points: Vec<ProfilePoint> =
            [10e9, 20e9, 30e9, 65e9, 85e9, 120e9].into_iter().zip(1..).map(|(rate, at)| point(at, rate)).collect();
        let time = ProfileTime::of(&points);
        CurveProfile {
            command: "redis-server".into(),
            counters: CounterSourceId::Perf,
            on,
            points,
            time,
            idle_bytes_per_second: Some(2e8),
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_program_is_shown_on_its_curve() {
        let text = terminal(&curve_profile(&program()), &Style::default());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
        let plain = terminal(&curve_profile(&program()), &Style { unicode: false, ..Style::default() });
        assert!(plain.is_ascii(), "{plain}");
    }

    #[test]
    fn a_curve_without_a_knee_has_no_rows_of_one() {
        let mut straight = program();
        straight.on.curves.iter_mut().for_each(|curve| curve.knee = None);
        for point in &mut straight.points {
            (point.part, point.head_room) = straight.on.curves[0].part(point.bytes_per_second);
        }
        straight.time = ProfileTime::of(&straight.points);
        let text = terminal(&curve_profile(&straight), &Style::default());
        assert!(text.contains("on the curve ") && text.contains("beyond its end"), "{text}");
        for absent in ["below the knee", "near the knee", "past the knee", "near ="] {
            assert!(!text.contains(absent), "{absent}: {text}");
        }
    }

    #[test]
    fn a_moment_between_two_curves_names_both() {
        let mut program = program();
        let other = Some(tiermark_model::ProfileOther { curve: 1, weight: 0.2 });
        program.points.iter_mut().for_each(|point| point.other = other);
        let text = terminal(&curve_profile(&program), &Style::default());
        assert!(text.contains("between the curves of read and") && text.contains("1:1"), "{text}");
    }

    #[test]
    fn a_page_has_the_curves_and_the_program_as_points() {
        let page = tiermark_page::html(&curve_profile(&program()), "program", &Style::default());
        assert!(page.contains("\"scatter\":true") && page.contains("redis-server on the"), "{}", &page[..500]);
        let none = CurveProfile { points: Vec::new(), ..program() };
        assert!(terminal(&curve_profile(&none), &Style::default()).contains("no traffic was counted"));
    }
}
