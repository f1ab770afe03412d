//! The numbers of a run as its history keeps them.

use std::collections::HashSet;

use tiermark_model::{
    CpuPlace, FEWEST_JUDGED, FactValue, FigureName, Finding, Grade, Interval, Label, Labels, Quantity, Run, RunFigure,
    RunFigures, Scope, Tier,
};

use crate::facts::facts;
use crate::numbers::{self, Number};

/// Numbers of a run that are kept: a survey has about a hundred, and a matrix of a large server thousands.
const MOST: usize = 400;
/// Bytes of a text of a document that are kept; longer labels are no label that a probe makes.
const LONGEST: usize = 200;
/// Share of the time that interruptions may take on a sound server: its figures are given without them, and a limit near
/// the 0.0 % of an idle one would say nothing of it.
pub(crate) const INTERRUPTED: f64 = 0.01;

/// The facts of a run, and its numbers that are comparable with those of other runs, figures of tiers first. A number
/// that the run measured several times is there once.
#[must_use]
pub fn run_figures(run: &Run) -> RunFigures {
    let figures = named_figures(run).into_iter().map(|(_, figure)| figure).collect();
    RunFigures { figures, facts: run_facts(run) }
}

/// All facts of a run, in the same order for every run.
#[must_use]
pub fn run_facts(run: &Run) -> Vec<FactValue> {
    facts(run).into_iter().map(|(fact, value)| (fact, value.map(|text| clipped(&text)))).collect()
}

/// The figures of [`run_figures`], each with its name in expectations, where it has one.
#[must_use]
pub fn named_figures(run: &Run) -> Vec<(Option<FigureName>, RunFigure)> {
    let mut figures = placed(run, has_direction);
    figures.sort_by_key(|(_, figure)| !figure.is_headline());
    figures.truncate(MOST);
    figures
}

/// The measured sizes of the shared caches. Neither more nor less of them is better for one machine; of machines that
/// ought to be alike, one with less has lost something.
pub(crate) fn shared_cache_sizes(run: &Run) -> Vec<(Option<FigureName>, RunFigure)> {
    let is_shared = |finding: &Finding| finding.labels.tier().and_then(Tier::level).is_some_and(|level| level > 2);
    placed(run, |finding| finding.quantity == Quantity::TierSize && is_shared(finding))
}

/// The figures of a run that are chosen, each once, with the place of their cpus.
fn placed(run: &Run, is_chosen: impl Fn(&Finding) -> bool) -> Vec<(Option<FigureName>, RunFigure)> {
    let placed = |number: &Number<'_>| {
        let figure = figure(number)?;
        Some((number.name, RunFigure { cpus: place(run, &number.experiment.request.scope), ..figure }))
    };
    let numbers = numbers::of(run, false);
    let chosen = numbers.iter().filter(|number| is_chosen(number.finding));
    let mut seen = HashSet::new();
    chosen.filter_map(placed).filter(|(_, figure)| seen.insert(figure.key.clone())).collect()
}

/// Whether more or less of a number is better, at any hour.
fn has_direction(finding: &Finding) -> bool {
    let is_clock = finding.quantity == Quantity::CoreClock;
    let has_direction = is_clock || finding.quantity.less_is_better(finding.unit).is_some();
    has_direction && !finding.quantity.is_of_the_hour()
}

/// The number, where other runs may have one that is comparable.
fn figure(number: &Number<'_>) -> Option<RunFigure> {
    let finding = number.finding;
    let is_sound = matches!(finding.verdict.grade, Grade::Trusted | Grade::Shared | Grade::Bound);
    // Points draw shapes, and a place may be another piece of the machine in the next run.
    let is_figure = is_sound && !finding.labels.is_point() && !number.is_of_a_place();
    let few = counted(finding);
    let (value, interval) = few.or(Some((finding.value?, finding.interval)))?;
    let value = Some(value).filter(|value| is_figure && value.is_finite() && *value > 0.0)?;
    if number.key.len() > LONGEST * 2 || !fits(&finding.labels) {
        return None;
    }
    let basis = number.basis();
    let is_finite = |interval: &Interval| [interval.low, interval.high, interval.level].iter().all(|v| v.is_finite());
    Some(RunFigure {
        key: number.key.clone(),
        name: number.name.map(|name| name.to_string()).or_else(|| {
            // What describes a run is known by the name of its quantity.
            finding.quantity.is_condition().then(|| finding.quantity.name().to_owned())
        }),
        probe: number.experiment.request.probe.clone(),
        quantity: finding.quantity.clone(),
        labels: finding.labels.clone(),
        unit: finding.unit,
        method: basis.method,
        value,
        interval: interval.filter(is_finite),
        per_cycle: number.per_cycle(),
        // A few that took much of the time are no chance.
        grade: match few {
            Some(_) if finding.value? < INTERRUPTED => Grade::Bound,
            _ => finding.verdict.grade,
        },
        is_open: number.is_open(),
        is_middle: basis.is_middle,
        state: basis.state,
        pings: basis.pings,
        cpus: None,
        rivals: number.seen.filter(|_| number.kernel().is_some()).map_or_else(Vec::new, |seen| seen.rivals.clone()),
    })
}

/// A number of fewer than 20 interruptions as it is judged: as if there had been 20, so that a few make no difference,
/// and many are one to a run that had none. `None` of any other number.
pub(crate) fn counted(finding: &Finding) -> Option<(f64, Option<Interval>)> {
    /// The upper end of the 95 % interval of a number of events if none was seen (Poisson).
    const OF_NONE: f64 = 3.689;
    let is_of_few = finding.quantity.is_of_interruptions() && finding.samples < FEWEST_JUDGED;
    let each = match finding.samples {
        _ if !is_of_few => return None,
        0 => finding.interval?.high / OF_NONE,
        count => finding.value? / count as f64,
    };
    let (low, high) = tiermark_stats::poisson_interval(FEWEST_JUDGED, tiermark_stats::BEYOND)?;
    let interval = Interval { low: low * each, high: high * each, level: 1.0 - 2.0 * tiermark_stats::BEYOND };
    Some((FEWEST_JUDGED as f64 * each, Some(interval)))
}

/// Where the cpus lie that a request names, else all that the program may use. The cpus of a guest lie where its
/// hypervisor puts them.
fn place(run: &Run, scope: &Scope) -> Option<CpuPlace> {
    let machine = &run.machine;
    if machine.system.hypervisor.is_some() {
        return None;
    }
    let asked = scope.cpus.as_ref().unwrap_or(&machine.allowed_cpus);
    let cpus = || machine.cpus.iter().filter(|cpu| asked.contains(cpu.id));
    Some(CpuPlace {
        nodes: cpus().filter_map(|cpu| cpu.node).collect(),
        kinds: cpus().filter_map(|cpu| cpu.kind).collect(),
    })
}

fn fits(labels: &Labels) -> bool {
    let length = |(key, label): (&str, &Label)| key.len() + if let Label::Text(text) = label { text.len() } else { 8 };
    labels.iter().map(length).sum::<usize>() <= LONGEST * 2
}

fn clipped(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}
