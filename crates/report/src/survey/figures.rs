//! The figures of a survey: the rows of its ladder, each figure with the step it rests on.

use std::collections::HashMap;

use tiermark_model::{Experiment, Finding, Grade, Key, Observation, Quantity, Run, Tier};

use tiermark_page::Detail;

use crate::cold::is_cold;
use crate::findings::words;
use crate::ladder::{OPS, SPANS, row_name, subject};
use crate::order::{first, grouped};
use crate::parts::{RunSection, parts};
use crate::selection::Selection;

/// One figure: a finding with the step it rests on.
#[derive(Clone, Copy)]
pub(crate) struct Figure<'a> {
    pub(crate) finding: &'a Finding,
    /// The step's observation; `None` in documents that do not name it.
    pub(crate) seen: Option<&'a Observation>,
    /// The relative half-width of the interval that the step wanted; `None` where the plan does not say.
    pub(crate) wanted: Option<f64>,
}

/// The steps of some experiments by their ids. Experiments at several places have steps of the same id.
pub(crate) struct Steps<'a> {
    seen: HashMap<&'a str, &'a Observation>,
    /// The relative half-width of the interval that each wants.
    wanted: HashMap<&'a str, f64>,
}

impl<'a> Steps<'a> {
    pub(crate) fn of(experiments: &[&'a Experiment]) -> Self {
        let planned = experiments.iter().flat_map(|e| &e.plan.steps);
        let seen = experiments.iter().flat_map(|e| &e.observations);
        Self {
            seen: first(seen.map(|o| (o.step.as_str(), o))),
            wanted: first(planned.map(|step| (step.id.as_str(), step.stop.precision))),
        }
    }
}

impl<'a> Figure<'a> {
    pub(crate) fn new(steps: &Steps<'a>, finding: &'a Finding) -> Self {
        let step = finding.evidence.first().map(String::as_str);
        let seen = step.and_then(|step| steps.seen.get(step)).copied();
        let wanted = step.and_then(|step| steps.wanted.get(step)).copied();
        Self { finding, seen, wanted }
    }

    pub(crate) fn grade(&self) -> Grade {
        self.finding.verdict.grade
    }

    /// Whether a proof failed, so that there is no number.
    pub(crate) fn is_withheld(&self) -> bool {
        self.grade() == Grade::Invalid && !self.is_unmeasured()
    }

    /// Whether there is no number since the step was not tried.
    pub(crate) fn is_unmeasured(&self) -> bool {
        self.finding.verdict.is_refused()
    }

    /// The best that was sustained, where that is over 5 % better than the figure.
    pub(crate) fn best(&self) -> Option<f64> {
        self.finding.quoted().best
    }

    /// Half the width of the interval by this run alone over the value, where that is wider than wanted: more visits
    /// narrow it. A bound has one certain side only.
    pub(crate) fn too_wide(&self) -> Option<f64> {
        let within = self.seen.and_then(tiermark_model::Observation::within_run).or(self.finding.interval)?;
        let half = within.half_of(self.finding.value?);
        (self.grade() != Grade::Bound && half.is_finite() && half > self.wanted?).then_some(half)
    }

    /// `L3 latency`, `DRAM write, all cores`.
    pub(crate) fn name(&self) -> String {
        figure_name(self.finding)
    }
}

/// The name of a number: of a figure of a tier, `L3 latency`, `DRAM write, all cores`.
pub fn figure_name(finding: &Finding) -> String {
    let labels = &finding.labels;
    match (row_name(labels), &finding.metric, labels.op(), labels.span()) {
        // Memory at random has a figure for each page size.
        (Some(tier), Quantity::Latency, ..) if labels.tier() == Some(Tier::DramRandom) => {
            let pages = match labels.page() {
                Some("base") => ", base pages",
                Some("thp") => ", transparent huge pages",
                _ => "",
            };
            format!("{tier} latency{pages}")
        }
        (Some(tier), Quantity::Latency, ..) if is_random(finding) => format!("{tier} latency"),
        (Some(tier), Quantity::Bandwidth, Some(op), Some("one")) => format!("{tier} {op}, one core"),
        (Some(tier), Quantity::Bandwidth, Some(op), Some("all")) => format!("{tier} {op}, all cores"),
        (None, metric, ..) if metric.family() != metric.part() => {
            let words = words(labels, &[Key::Kernel, Key::Purpose, Key::Cpus, Key::Group]);
            if words.is_empty() { subject(finding) } else { words }
        }
        _ => subject(finding),
    }
}

/// One tier.
pub(crate) struct TierRow<'a> {
    pub(crate) name: String,
    /// The size that the curve shows.
    pub(crate) size: Option<&'a Finding>,
    pub(crate) latency: Option<Figure<'a>>,
    /// Of each of [`SPANS`], the operations in the order of [`OPS`].
    pub(crate) rates: [[Option<Figure<'a>>; 3]; 2],
    /// Of each of [`SPANS`], stores of zeros, where they were measured beside stores of data.
    pub(crate) zeros: [Option<Figure<'a>>; 2],
    /// The latency of accesses at random over the same memory, with the page size as the step names it.
    pub(crate) walks: Vec<(String, Figure<'a>)>,
}

impl<'a> TierRow<'a> {
    pub(crate) fn figures(&self) -> impl Iterator<Item = Figure<'a>> {
        let walks = self.walks.iter().map(|(_, figure)| *figure);
        let rates = self.rates.iter().flatten().chain(&self.zeros).flatten().copied();
        self.latency.into_iter().chain(rates).chain(walks)
    }
}

/// What a survey found, row by row.
pub(crate) struct Survey<'a> {
    pub(crate) run: &'a Run,
    /// The experiments that the rows come from: all of the run, or those of one place.
    pub(crate) experiments: Vec<&'a Experiment>,
    pub(crate) rows: Vec<TierRow<'a>>,
}

fn is_random(finding: &Finding) -> bool {
    finding.labels.has_usual_layout()
}

impl<'a> Survey<'a> {
    /// All of a run. Each of its parts has a ladder of its own: the same tiers at another place.
    pub(crate) fn new(run: &'a Run) -> Self {
        let of_part = |part: RunSection<'a>| Self::of(run, part.experiments).rows;
        let rows = parts(run).into_iter().flat_map(of_part).collect();
        Self { run, experiments: run.experiments.iter().collect(), rows }
    }

    /// Some experiments, which measured at one place.
    pub(crate) fn of(run: &'a Run, experiments: Vec<&'a Experiment>) -> Self {
        let steps = Steps::of(&experiments);
        let findings = || experiments.iter().flat_map(|e| &e.findings);
        // Accesses after other work have a line below the ladder.
        let named = |f: &'a Finding| Some((row_name(&f.labels).filter(|_| !is_cold(f))?, f));
        let sizes = first(findings().filter(|f| f.metric == Quantity::TierSize).filter_map(named));
        let numbers = findings().filter(|f| matches!(f.metric, Quantity::Latency | Quantity::Bandwidth));
        let mut rows: Vec<TierRow<'_>> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (name, here) in grouped(numbers.filter_map(named)) {
            // Memory at random has no row of its own: it belongs to that of the same memory.
            let random = here.first().filter(|f| f.labels.tier() == Some(Tier::DramRandom));
            let whole = random.and_then(|f| row_name(&f.labels.clone().with_tier(Tier::Dram)));
            let whole = whole.and_then(|whole| places.get(&whole));
            if let Some(place) = whole {
                let figure = |finding: &&'a Finding| {
                    (finding.labels.page().unwrap_or_default().to_owned(), Figure::new(&steps, finding))
                };
                rows[*place].walks.extend(here.iter().map(figure));
                continue;
            }
            let row = TierRow { size: sizes.get(&name).copied(), ..row(&steps, &name, &here) };
            places.insert(name, rows.len());
            rows.push(row);
        }
        Self { run, experiments, rows }
    }

    pub(crate) fn findings(&self) -> impl Iterator<Item = &'a Finding> {
        self.experiments.iter().flat_map(|e| &e.findings)
    }

    pub(crate) fn figures(&self) -> impl Iterator<Item = Figure<'a>> {
        self.rows.iter().flat_map(TierRow::figures)
    }

    /// How many cores the figures of all cores are of.
    pub(crate) fn cores(&self) -> Option<u64> {
        let all = self.rows.iter().flat_map(|row| row.rates[1].iter().flatten());
        all.filter_map(|figure| figure.finding.labels.threads()).max()
    }
}

/// The figures of a tier, without its size.
fn row<'a>(steps: &Steps<'a>, name: &str, findings: &[&'a Finding]) -> TierRow<'a> {
    let here = |metric: Quantity| findings.iter().copied().filter(move |f| f.metric == metric);
    // Another layout stands in where there is no random chase.
    let latency = here(Quantity::Latency).find(|f| is_random(f)).or_else(|| here(Quantity::Latency).next());
    let rate = |span: &str, op: &str| {
        let found = here(Quantity::Bandwidth).find(|f| f.labels.op() == Some(op) && f.labels.span() == Some(span));
        found.map(|f| Figure::new(steps, f))
    };
    let zeros = |span: &str| {
        let found =
            here(Quantity::Bandwidth).find(|f| f.labels.data() == Some("zeros") && f.labels.span() == Some(span));
        found.map(|f| Figure::new(steps, f))
    };
    TierRow {
        name: name.to_owned(),
        size: None,
        latency: latency.map(|f| Figure::new(steps, f)),
        rates: SPANS.map(|span| OPS.map(|op| rate(span, op))),
        zeros: SPANS.map(zeros),
        walks: Vec::new(),
    }
}

/// The figures of any run, for views that list them: those of the ladder of a survey, else all numbers that the report
/// shows.
pub(crate) fn of_run<'a>(run: &'a Run) -> Vec<Figure<'a>> {
    if super::is_survey(run) {
        return Survey::new(run).figures().collect();
    }
    let of_part = |part: RunSection<'a>| {
        let steps = Steps::of(&part.experiments);
        Selection::of(&part.experiments, Detail::Usual)
            .numbers
            .into_iter()
            .map(|f| Figure::new(&steps, f))
            .collect::<Vec<_>>()
    };
    parts(run).into_iter().flat_map(of_part).collect()
}
