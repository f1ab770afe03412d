//! Figures over the runs of one machine: which values are one series, the trend of a series, and where its level
//! changed.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use tiermark_model::{FigureChange, FigureHistory, FigurePoint, FigureTrend, Obstacle, RunFigure, RunFigures};
use tiermark_stats::{
    LevelChange, LevelRule, holm_levels, joint_changes, least_step_p, level_changes, mann_kendall, other_level,
    theil_sen,
};

use crate::basis::Basis;
use crate::facts::differences;
use crate::scale::Scale;
use crate::{LEVEL, THRESHOLD, kernels};

/// The fewest values on each side of a change. With four on each side the smallest possible p-value (2/70) is above
/// [`LEVEL`]; with five it is 2/252, which is enough for a figure alone.
pub const FEWEST: usize = 5;
/// The newest values of a series that a trend is computed of: the cost grows with the square of their number.
const MOST: usize = 500;

/// A run of a history.
#[derive(Debug, Clone, Copy)]
pub struct OneRun<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its start, RFC 3339 in UTC.
    pub started: &'a str,
    /// Days from the start of the first run to its own; `None` if the document does not have it.
    pub day: Option<f64>,
    /// Its figures and facts.
    pub about: &'a RunFigures,
}

/// A value of a figure with its run.
pub(crate) type Reading<'a> = (&'a OneRun<'a>, &'a RunFigure);

/// The figures of some runs, which are given oldest first: one entry for each series of comparable values. Figures are
/// in the order of the newest run that has them; of the series of a figure, that of its newest value comes first.
#[must_use]
pub fn histories(runs: &[OneRun<'_>], is_asked: impl Fn(&RunFigure) -> bool) -> Vec<FigureHistory> {
    let about = kernels::of_newest(runs);
    let runs = by_kernel(runs, &about);
    let all = by_figure(&runs, is_asked);
    judged(&all.iter().flat_map(|readings| series_of(readings)).collect::<Vec<Series<'_>>>(), &runs)
}

/// The runs with their figures by the kernel of the newest.
pub(crate) fn by_kernel<'a>(runs: &[OneRun<'a>], about: &'a [Cow<'_, RunFigures>]) -> Vec<OneRun<'a>> {
    runs.iter().zip(about).map(|(run, about)| OneRun { about, ..*run }).collect()
}

/// The values of each figure that are comparable with its newest one, oldest first.
pub(crate) fn newest_series<'a>(runs: &'a [OneRun<'a>]) -> Vec<Vec<Reading<'a>>> {
    let newest = |readings: &Vec<Reading<'a>>| series_of(readings).into_iter().next().map(|series| series.readings);
    by_figure(runs, |_| true).iter().filter_map(newest).collect()
}

/// The readings of each figure, newest first. Figures are in the order of the newest run that has them.
fn by_figure<'a>(runs: &'a [OneRun<'a>], is_asked: impl Fn(&RunFigure) -> bool) -> Vec<Vec<Reading<'a>>> {
    let mut place: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all: Vec<Vec<Reading<'a>>> = Vec::new();
    for run in runs.iter().rev() {
        for figure in run.about.figures.iter().filter(|figure| is_asked(figure)) {
            let at = *place.entry(coordinates(figure)).or_insert(all.len());
            if at == all.len() {
                all.push(Vec::new());
            }
            all[at].push((run, figure));
        }
    }
    all
}

/// What values of one figure have in common. A run has one clock, and one share of interruptions, whatever it measured.
fn coordinates(figure: &RunFigure) -> &str {
    if figure.quantity.is_condition() { figure.quantity.name() } else { &figure.key }
}

/// Comparable values of a figure, oldest first.
struct Series<'a> {
    readings: Vec<Reading<'a>>,
    /// Why they are not comparable with the newest value of the figure.
    apart: Option<Obstacle>,
}

/// The series of one figure whose readings are given newest first: first that of the newest value, of the probe that
/// has most of them.
fn series_of<'a>(readings: &[Reading<'a>]) -> Vec<Series<'a>> {
    let mut all: Vec<Vec<Reading<'a>>> = Vec::new();
    for reading in readings {
        // The newest value of a series stands for it: what is comparable with it is comparable with the machine of
        // today.
        let fits = |series: &&mut Vec<Reading<'a>>| apart(series[0].1, reading.1).is_none();
        match all.iter_mut().find(fits) {
            Some(series) => series.push(*reading),
            None => all.push(vec![*reading]),
        }
    }
    let of_probe = |probe: &str| readings.iter().filter(|(_, figure)| figure.probe == probe).count();
    all.sort_by_key(|series| Reverse(of_probe(&series[0].1.probe)));
    let newest = all.first().map(|series| series[0].1);
    let one = |mut readings: Vec<Reading<'a>>| {
        let apart = newest.and_then(|newest| apart(readings[0].1, newest));
        readings.reverse();
        Series { readings, apart }
    };
    all.into_iter().map(one).collect()
}

/// Why two values of a figure are no values of one series; `None` if they are.
fn apart(first: &RunFigure, other: &RunFigure) -> Option<Obstacle> {
    obstacle(first, other).or_else(|| kernels::obstacle(first, other))
}

/// Why two values of a figure are not comparable, of whatever kernel; `None` if they are.
#[must_use]
pub fn obstacle(first: &RunFigure, other: &RunFigure) -> Option<Obstacle> {
    match (&first.cpus, &other.cpus) {
        _ if first.probe != other.probe => {
            Some(Obstacle::Probe { first: first.probe.clone(), other: other.probe.clone() })
        }
        (Some(a), Some(b)) if a != b => Some(Obstacle::Cpus { first: a.clone(), other: b.clone() }),
        _ => basis(first).obstacle(&basis(other), false),
    }
}

fn basis(figure: &RunFigure) -> Basis<'_> {
    Basis {
        method: figure.method,
        size: figure.labels.size(),
        tier: figure.labels.tier_name(),
        is_middle: figure.is_middle,
        state: figure.state,
        pings: figure.pings,
    }
}

/// All series of a list with their changes and trends. The more series are searched, the more of them have one by
/// chance: [`LEVEL`] is the probability that any figure of unchanged machines has a change, and the same for trends.
fn judged(all: &[Series<'_>], runs: &[OneRun<'_>]) -> Vec<FigureHistory> {
    let counted: Vec<Vec<Reading<'_>>> = all.iter().map(Series::counted).collect();
    let counts: Vec<Vec<f64>> = all.iter().zip(&counted).map(|(series, counted)| series.values(counted)).collect();
    let changes: Vec<Vec<LevelChange>> = counts
        .iter()
        .zip(searches(&counted, &counts, runs))
        .map(|(values, level)| {
            let rule = LevelRule { fewest: FEWEST, search: level?, near: LEVEL, ratio: 1.0 + THRESHOLD };
            Some(level_changes(values, rule))
        })
        .map(Option::unwrap_or_default)
        .collect();
    let since = |changes: &[LevelChange]| changes.last().map_or(0, |change| change.index);
    let of_level = counted.iter().zip(&counts).zip(&changes);
    let trends: Vec<Option<FigureTrend>> = of_level
        .map(|((counted, values), changes)| trend(&counted[since(changes)..], &values[since(changes)..]))
        .collect();
    let trend_levels = levels(trends.iter().map(|trend| trend.as_ref().map(|trend| trend.p_value)), LEVEL);
    let is_shown = |(trend, level): (Option<FigureTrend>, Option<f64>)| {
        trend.filter(|trend| level.is_some_and(|level| trend.p_value <= level) && is_large(trend.change))
    };
    let trends = trends.into_iter().zip(trend_levels).map(is_shown);
    let found = counted.iter().zip(changes).zip(trends);
    all.iter().zip(found).map(|(series, ((counted, changes), trend))| series.with(counted, &changes, trend)).collect()
}

/// The p-value up to which the values of each series are divided; `None` of a series without a change of level.
///
/// A rank test of a short series cannot be beyond chance among many figures, however clear the step is. Such series are
/// tested together, with their share of [`LEVEL`]; a series that passes is divided as if it were the only one.
fn searches(counted: &[Vec<Reading<'_>>], counts: &[Vec<f64>], runs: &[OneRun<'_>]) -> Vec<Option<f64>> {
    let first: Vec<Option<f64>> =
        counts.iter().map(|values| other_level(values, FEWEST).map(|place| place.p_value)).collect();
    let tested = first.iter().flatten().count();
    let is_short = |at: &usize| least_step_p(counts[*at].len(), FEWEST).is_some_and(|p| p * tested as f64 > LEVEL);
    let (short, long): (Vec<usize>, Vec<usize>) =
        (0..counts.len()).filter(|at| first[*at].is_some()).partition(is_short);
    let share = |of: &[usize]| LEVEL * of.len() as f64 / tested.max(1) as f64;
    let mut found = vec![None; counts.len()];
    let of_long = levels(long.iter().map(|at| first[*at]), share(&long));
    long.iter().zip(of_long).for_each(|(at, level)| found[*at] = level);
    let rows: Vec<Vec<Option<f64>>> = short.iter().map(|at| by_run(&counted[*at], &counts[*at], runs)).collect();
    let together = joint_changes(&rows, FEWEST, share(&short));
    short.iter().zip(together).for_each(|(at, p)| found[*at] = (p <= share(&short)).then_some(LEVEL));
    found
}

/// The value of each run in a series; `None` of a run without one.
fn by_run(counted: &[Reading<'_>], values: &[f64], runs: &[OneRun<'_>]) -> Vec<Option<f64>> {
    let mut readings = counted.iter().zip(values).peekable();
    let of = |run: &OneRun<'_>| readings.next_if(|((of, _), _)| std::ptr::eq(*of, run)).map(|(_, value)| *value);
    runs.iter().map(of).collect()
}

/// The levels of tests whose p-values are given; `None` of those that were not made.
fn levels(p_values: impl Iterator<Item = Option<f64>>, level: f64) -> Vec<Option<f64>> {
    let p_values: Vec<Option<f64>> = p_values.collect();
    let mut levels = holm_levels(&p_values.iter().flatten().copied().collect::<Vec<f64>>(), level).into_iter();
    p_values.iter().map(|p| p.and_then(|_| levels.next())).collect()
}

impl<'a> Series<'a> {
    /// Without bounds: a bound says on one side only where the number is.
    fn counted(&self) -> Vec<Reading<'a>> {
        self.readings.iter().filter(|(_, figure)| !figure.is_open).copied().collect()
    }

    /// The values of some of its readings, in what it is counted in.
    fn values(&self, readings: &[Reading<'_>]) -> Vec<f64> {
        let scale = Scale::of(self.readings.iter().map(|(_, figure)| *figure));
        readings.iter().map(|(_, figure)| scale.value(figure)).collect()
    }

    fn with(&self, counted: &[Reading<'_>], changes: &[LevelChange], trend: Option<FigureTrend>) -> FigureHistory {
        let scale = Scale::of(self.readings.iter().map(|(_, figure)| *figure));
        let point = |(run, figure): &Reading<'_>| FigurePoint {
            run: run.id.to_owned(),
            started: run.started.to_owned(),
            day: run.day,
            value: scale.value(figure),
            interval: scale.interval(figure),
            grade: figure.grade,
            counts: !figure.is_open,
        };
        let newest = self.readings[self.readings.len() - 1].1;
        FigureHistory {
            key: coordinates(newest).to_owned(),
            name: newest.name.clone(),
            probe: newest.probe.clone(),
            quantity: newest.quantity.clone(),
            labels: newest.labels.clone(),
            unit: scale.unit(newest),
            method: newest.method,
            points: self.readings.iter().map(point).collect(),
            trend,
            changes: changes.iter().map(|change| described(change, counted)).collect(),
            apart: self.apart.clone(),
        }
    }
}

/// Whether a change exceeds the threshold in either direction: a fall to 1/1.03 is as large as a rise to 1.03.
fn is_large(change: f64) -> bool {
    change > -1.0 && (1.0 + change).ln().abs() > (1.0 + THRESHOLD).ln()
}

fn described(change: &LevelChange, counted: &[Reading<'_>]) -> FigureChange {
    let ((last, _), (run, _)) = (counted[change.index - 1], counted[change.index]);
    FigureChange {
        last: last.id.to_owned(),
        run: run.id.to_owned(),
        started: run.started.to_owned(),
        before: change.before,
        after: change.after,
        change: change.after / change.before - 1.0,
        p_value: change.p_value,
        facts: differences(&last.about.facts, &run.about.facts),
    }
}

/// The trend of values of one level, of whatever size.
fn trend(counted: &[Reading<'_>], values: &[f64]) -> Option<FigureTrend> {
    let readings = counted.iter().zip(values);
    let dated: Vec<(f64, f64, &OneRun<'_>)> =
        readings.filter_map(|((run, _), value)| Some((run.day?, *value, *run))).collect();
    let dated = &dated[dated.len().saturating_sub(MOST)..];
    if dated.len() < 2 * FEWEST {
        return None;
    }
    let days: Vec<f64> = dated.iter().map(|(day, ..)| *day).collect();
    let values: Vec<f64> = dated.iter().map(|(_, value, _)| *value).collect();
    let p_value = mann_kendall(&values)?.p_value;
    let slope = theil_sen(&days, &values)?;
    let change = slope * (days[days.len() - 1] - days[0]) / tiermark_stats::median(&values)?;
    let first = dated[0].2;
    Some(FigureTrend {
        change,
        p_value,
        since: first.id.to_owned(),
        started: first.started.to_owned(),
        values: values.len() as u64,
    })
}
