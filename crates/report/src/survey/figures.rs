//! The figures of a survey: the rows of its ladder, each figure with the step it rests on.

use std::collections::HashMap;

use tiermark_model::{
    Experiment, Finding, Grade, LADDER_OPS, LADDER_SPANS, LabelSet, Observation, Quantity, Run, Rung, Span, Tier,
};

use tiermark_page::Detail;

use crate::ladder::subject;
use crate::order::first;
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
    match (labels.tier_of_node(), &finding.quantity, labels.op(), labels.span()) {
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
        (Some(tier), Quantity::Bandwidth, Some(op), Some(Span::One)) => format!("{tier} {op}, one core"),
        (Some(tier), Quantity::Bandwidth, Some(op), Some(Span::All)) => format!("{tier} {op}, all cores"),
        (None, metric, ..) if metric.family() != metric.part() => {
            let words = labels.words(LabelSet::NONE.kernel().purpose().cpus());
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
    /// Of each of [`LADDER_SPANS`], the operations in the order of [`LADDER_OPS`].
    pub(crate) rates: [[Option<Figure<'a>>; 3]; 2],
    /// Of each of [`LADDER_SPANS`], stores of zeros, where they were measured beside stores of data.
    pub(crate) zeros: [Option<Figure<'a>>; 2],
    /// The latency of accesses at random over the same memory, with the page size as the step names it.
    pub(crate) walks: Vec<(String, Figure<'a>)>,
}

impl<'a> TierRow<'a> {
    fn new(steps: &Steps<'a>, rung: &Rung<'a>) -> Self {
        let figure = |finding: &'a Finding| Figure::new(steps, finding);
        let walk = |f: &&'a Finding| (f.labels.page().unwrap_or_default().to_owned(), figure(f));
        Self {
            name: rung.name.clone(),
            size: rung.size(),
            latency: rung.latency().map(figure),
            rates: LADDER_SPANS.map(|span| LADDER_OPS.map(|op| rung.rate(op, span).map(figure))),
            zeros: LADDER_SPANS.map(|span| rung.zeros(span).map(figure)),
            walks: rung.walks.iter().map(walk).collect(),
        }
    }

    /// Its tier; `None` for one of another version.
    pub(crate) fn tier(&self) -> Option<Tier> {
        self.size.into_iter().chain(self.figures().map(|figure| figure.finding)).find_map(|f| f.labels.tier())
    }

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
        let rungs = Rung::with_walks(tiermark_model::ladder(experiments.iter().flat_map(|e| &e.findings)));
        let rows = rungs.iter().filter(|rung| rung.has_numbers()).map(|rung| TierRow::new(&steps, rung)).collect();
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
