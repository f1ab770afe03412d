//! The course of a run: round trips between cpus, and the speed of the visits as a share of each figure.

use tiermark_model::{Grade, Observation, Run, State, Unit, Visit};
use tiermark_page::{Ink, Page, Plot, PointAbout, ROWS, Series, heading, nanoseconds, paragraph, plot_over};
use tiermark_stats::upper_median;

use super::figures::{Figure, of_run};
use super::words;

/// Points of a curve at most: more are no wider than a line.
const POINTS: usize = 120;
/// Figures in the plot of visits: more cannot be distinguished.
const FIGURES: usize = 5;
/// Visits of a figure below which it shows no course of time.
const VISITS: usize = 5;

/// The view; empty where no visit was kept.
pub(super) fn timeline(run: &Run) -> Page {
    let out = pings(run) + figures(run);
    if out.is_empty() {
        return out;
    }
    let mut changes = Page::new();
    for change in run.experiments.iter().flat_map(|e| &e.drift) {
        let Some(at) = change.at_seconds else { continue };
        let text = format!("at {at:.1} s {} changed by {:+.1} %", change.step, 100.0 * change.change);
        changes += paragraph("  ", &text, Ink::Plain);
    }
    out + changes
}

/// The slowest round trip between the cpus of a step, visit by visit. It rises when the host moves the cpus apart.
fn pings(run: &Run) -> Page {
    let visits = run.observations().flat_map(|o| &o.visits.list);
    let slowest = |visit: &Visit| {
        let pings = visit.before.iter().chain(&visit.after).copied().filter(|ns| ns.is_finite());
        pings.reduce(f64::max).map(|ns| (visit.at, ns))
    };
    let mut series = [bucketed(String::new(), visits.filter_map(slowest).collect())];
    let states = named(run);
    if states.len() > 1 {
        name_states(&mut series[0], &states);
    }
    let drawing = drawn(&series, "ns", true);
    if drawing.is_empty() {
        return drawing;
    }
    let mut key =
        "the slowest round trip between the cpus of a step: it is long while the cpus are far apart".to_owned();
    if states.len() > 1 {
        let one = |(ns, name): &(f64, String)| format!("about {} ns: {name}", nanoseconds(*ns));
        key = format!("{key}; {}", states.iter().map(one).collect::<Vec<_>>().join("; "));
    }
    heading("Round trips between cpus during the run (ns)") + drawing + paragraph("  ", &key, Ink::Dim)
}

/// The states of the cpus that round trips identify, with their median round trip, the shortest first.
fn named(run: &Run) -> Vec<(f64, String)> {
    let seen = super::states::states(run).into_iter().filter(|state| words::is_of_cpus(&state.state));
    let sound = |state: State| Some((state.ping_ns.filter(|ns| *ns > 0.0)?, words::state(&state.state, &run.machine)));
    let mut named: Vec<(f64, String)> = seen.filter_map(sound).collect();
    named.sort_by(|a, b| a.0.total_cmp(&b.0));
    named
}

/// Gives each point the name of the state whose round trip is nearest by ratio.
fn name_states(series: &mut Series, states: &[(f64, String)]) {
    for ((_, ns), about) in series.points.iter().zip(&mut series.about) {
        let apart = |state: &&(f64, String)| (ns / state.0).ln().abs();
        let nearest = states.iter().min_by(|a, b| apart(a).total_cmp(&apart(b)));
        about.add(nearest.map_or("", |(_, name)| name));
    }
}

/// The speed of the visits to some figures: 100 % is the figure.
fn figures(run: &Run) -> Page {
    let mut series: Vec<Series> = Vec::new();
    // Times first: each tier has one, and a rate of a tier changes with it.
    let mut all = of_run(run);
    all.sort_by_key(|figure| figure.finding.unit != Unit::Ns);
    for figure in all {
        let points = shares(&figure);
        let name = figure.name();
        if points.len() >= VISITS && series.len() < FIGURES && series.iter().all(|known| known.name != name) {
            series.push(bucketed(name, points));
        }
    }
    let drawing = drawn(&series, "%", false);
    if drawing.is_empty() {
        return drawing;
    }
    let key = "100 % is the figure; other work, the host or a lower core clock slows visits below it";
    heading("Speed of the visits during the run, as a share of each figure (%)")
        + drawing
        + paragraph("  ", key, Ink::Dim)
}

/// When each visit was, and the speed of its median window as a share of the figure's.
fn shares(figure: &Figure<'_>) -> Vec<(f64, f64)> {
    let value = figure.finding.value.filter(|value| value.is_finite() && *value > 0.0);
    let (Some(seen), Some(value)) = (figure.seen, value) else { return Vec::new() };
    let is_time = match figure.finding.unit {
        Unit::Ns => true,
        Unit::BytesPerSecond => false,
        _ => return Vec::new(),
    };
    // A finding that is computed from its step is not measured in the step's unit.
    if figure.grade() == Grade::Invalid || seen.value.is_none_or(|of| (of / value - 1.0).abs() > 0.01) {
        return Vec::new();
    }
    let share = |visit: &Visit| {
        let values = visit.windows.iter().filter_map(|window| window.value()).filter(|value| value.is_finite());
        let got = upper_median(values.collect())?;
        Some((visit.at, 100.0 * if is_time { value / got } else { got / value }))
    };
    let list = |seen: &Observation| seen.visits.list.iter().filter_map(share).collect();
    list(seen)
}

/// Neighbouring points become one: their median, with the least and the greatest.
fn bucketed(name: String, mut points: Vec<(f64, f64)>) -> Series {
    points.retain(|(at, value)| at.is_finite() && value.is_finite());
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let size = points.len().div_ceil(POINTS).max(1);
    let one = |chunk: &[(f64, f64)]| {
        let values = || chunk.iter().map(|(_, value)| *value);
        let visits = if chunk.len() > 1 { format!("{} visits", chunk.len()) } else { String::new() };
        let (low, high) = values().fold((f64::INFINITY, 0.0), |(low, high), v| (low.min(v), f64::max(high, v)));
        Some(((chunk[chunk.len() / 2].0, upper_median(values().collect())?), PointAbout::between(low, high, visits)))
    };
    let (points, about) = points.chunks(size).filter_map(one).unzip();
    Series { name, points, about, ..Series::default() }
}

fn drawn(series: &[Series], unit: &str, log_y: bool) -> Page {
    if series.iter().all(|one| one.points.len() < 2) {
        return Page::new();
    }
    let (unit, series) = (unit.into(), series.to_vec());
    plot_over(Plot { unit, unit_in_heading: true, log_y, series, rows: ROWS, ..Plot::default() }, "s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_visits_become_few_points_that_keep_the_extremes() {
        let visits: Vec<(f64, f64)> = (0..1000).rev().map(|at| (f64::from(at), f64::from(at % 10))).collect();
        let series = bucketed("a".into(), visits);
        assert!(series.points.len() <= POINTS && series.points.len() > POINTS / 2, "{}", series.points.len());
        assert!(series.points.is_sorted_by(|a, b| a.0 <= b.0), "in the order of time");
        assert_eq!(series.about[0], PointAbout::between(0.0, 8.0, "9 visits".into()));
        assert!(bucketed(String::new(), vec![(0.0, f64::NAN)]).points.is_empty());
    }

    #[test]
    fn round_trips_name_the_nearest_state() {
        let mut series = bucketed(String::new(), vec![(0.0, 110.0), (1.0, 290.0)]);
        name_states(&mut series, &[(100.0, "near".into()), (300.0, "apart".into())]);
        assert_eq!(series.about[0], PointAbout::between(110.0, 110.0, "near".into()));
        assert_eq!(series.about[1], PointAbout::between(290.0, 290.0, "apart".into()));
    }
}
